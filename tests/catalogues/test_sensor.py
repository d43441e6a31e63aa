"""A catalogue that changes asks the rungs that show it, and only these."""

import json
from collections.abc import Callable
from pathlib import Path

import dagster as dg

from toolsel_assets.catalogues.sensors import catalogue_changed
from toolsel_assets.resources import Workspace


def tick(study: Path, instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    workspace = Workspace(study_dir=str(study), data_dir=str(study / "out"))
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        found = catalogue_changed(context, workspace=workspace)
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    return found


def asked(found: dg.SensorResult | dg.SkipReason) -> list[str | None]:
    assert isinstance(found, dg.SensorResult)
    tables, *rungs = found.run_requests or []
    assert tables.job_name == "prepare" and {request.job_name for request in rungs} == {"replay_rung"}
    return [request.partition_key for request in rungs]


def test_first_all_rungs_are_asked_then_only_those_that_show_the_change(
    starter: Path, edit: Callable[[Path, str, str], None]
) -> None:
    with dg.instance_for_test() as instance:
        first = tick(starter, instance, None)
        assert asked(first) == ["growth.base", "growth.+rooms"]
        assert isinstance(first, dg.SensorResult) and first.dynamic_partitions_requests
        assert isinstance(tick(starter, instance, first.cursor), dg.SkipReason)

        edit(starter / "catalogues" / "rooms.json", "Book a meeting room", "Reserve a meeting room")
        second = tick(starter, instance, first.cursor)
        assert asked(second) == ["growth.+rooms"]


def test_going_back_to_an_earlier_catalogue_is_not_dropped(
    starter: Path, edit: Callable[[Path, str, str], None]
) -> None:
    path, keys, cursor = starter / "catalogues" / "rooms.json", [], None
    with dg.instance_for_test() as instance:
        for old, new in (("Book a", "Book a"), ("Book a", "Reserve a"), ("Reserve a", "Book a")):
            edit(path, old, new)
            found = tick(starter, instance, cursor)
            assert isinstance(found, dg.SensorResult)
            keys += [request.run_key for request in found.run_requests or []]
            cursor = found.cursor
    assert len(set(keys)) == len(keys) == 7
    assert json.loads(cursor or "{}")["counter"] == 3


def test_a_new_rung_gets_a_partition_and_a_run(starter: Path, edit: Callable[[Path, str, str], None]) -> None:
    with dg.instance_for_test() as instance:
        first = tick(starter, instance, None)
        assert isinstance(first, dg.SensorResult)
        edit(
            starter / "ladders" / "growth.yaml",
            "  - {name: +rooms, catalogue: [base, rooms]}",
            "  - {name: +rooms, catalogue: [base, rooms]}\n"
            "  - {name: strict, catalogue: [base, rooms], params: {threshold: 2}}",
        )
        assert asked(tick(starter, instance, first.cursor)) == ["growth.strict"]


def test_a_study_that_cannot_be_read_is_a_skip_that_says_why(starter: Path) -> None:
    (starter / "study.yaml").unlink()
    with dg.instance_for_test() as instance:
        found = tick(starter, instance, None)
    assert isinstance(found, dg.SkipReason) and "study.yaml" in (found.skip_message or "")
