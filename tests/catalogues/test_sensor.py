"""A catalogue that changes asks the rungs that show it, and only these, once; live sources are polled."""

import json
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from tests.catalogues.conftest import Toy, free_port, source, tools_of
from toolsel_assets.catalogues.sensors import catalogue_changed, catalogue_sources_polled
from toolsel_assets.catalogues.versions import numbered, read_versions
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.problem import BadInput


def tick(study: Path, instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    workspace = Workspace(study_dir=str(study), data_dir=str(study / "out"))
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        found = catalogue_changed(context, workspace=workspace)
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    return found


def poll(study: Path) -> str:
    """Tick the sensor of the live sources, and give what its skip says."""
    workspace = Workspace(study_dir=str(study), data_dir=str(study / "out"))
    with dg.build_sensor_context() as context:
        found = catalogue_sources_polled(context, workspace=workspace)
    assert isinstance(found, dg.SkipReason)
    return found.skip_message or ""


def asked(found: dg.SensorResult | dg.SkipReason) -> list[str | None]:
    assert isinstance(found, dg.SensorResult)
    tables, *rungs = found.run_requests or []
    assert tables.job_name == "prepare" and {request.job_name for request in rungs} <= {"replay_rung"}
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


def test_what_no_model_sees_is_a_version_and_asks_no_rung(starter: Path) -> None:
    path = starter / "catalogues" / "rooms.json"
    with dg.instance_for_test() as instance:
        first = tick(starter, instance, None)
        assert isinstance(first, dg.SensorResult)
        path.write_text(json.dumps({"tools": tools_of(path)[::-1]}), encoding="utf-8")
        second = tick(starter, instance, first.cursor)
        assert asked(second) == []
        assert isinstance(second, dg.SensorResult) and not second.dynamic_partitions_requests
        assert isinstance(tick(starter, instance, second.cursor), dg.SkipReason)
    assert [version.catalogue for version in read_versions(starter / "out" / "catalogues")] == [
        "base",
        "rooms",
        "rooms",
    ]


def test_a_change_that_a_run_has_registered_already_still_asks_the_rungs(
    starter: Path, edit: Callable[[Path, str, str], None]
) -> None:
    with dg.instance_for_test() as instance:
        first = tick(starter, instance, None)
        assert isinstance(first, dg.SensorResult)
        edit(starter / "catalogues" / "rooms.json", "Book a meeting room", "Reserve a meeting room")
        tick(starter, instance, None)  # as `toolsel run` would, and as a tick whose cursor was lost
        assert asked(tick(starter, instance, first.cursor)) == ["growth.+rooms"]


def test_a_server_that_changes_and_changes_back_asks_its_rungs_once_each_time(live: Path, toy: Toy) -> None:
    rooms = tools_of(toy.file)
    other = [{**rooms[0], "description": "Another description."}, *rooms[1:]]
    said, keys, cursor = [], [], None
    with dg.instance_for_test() as instance:
        for tools in (rooms, other, other, rooms):
            toy.lists(tools)
            said.append(poll(live))
            found = tick(live, instance, cursor)
            if isinstance(found, dg.SensorResult):
                keys.append([request.run_key for request in found.run_requests or [] if request.partition_key])
                cursor = found.cursor
            else:
                assert "as they were" in (found.skip_message or "")
    assert [len(one) for one in keys] == [2, 1, 1] and len({key for one in keys for key in one}) == 4
    assert [text.split("; ")[1] for text in said] == [
        "new or changed: rooms",
        "new or changed: rooms",
        "nothing has changed",
        "new or changed: rooms",
    ]
    found_versions = [
        one for one in numbered(read_versions(live / "out" / "catalogues")) if one.version.catalogue == "rooms"
    ]
    assert [(one.version.origin, one.returns_to) for one in found_versions] == [
        ("mcp http", None),
        ("mcp http", None),
        ("mcp http", 1),
    ]


def test_a_study_without_live_sources_is_a_skip_that_says_so(starter: Path) -> None:
    assert "no live source" in poll(starter)


def test_a_server_that_cannot_be_reached_fails_the_tick_after_the_others_were_saved(live: Path, toy: Toy) -> None:
    source(live, "gone", url=f"http://127.0.0.1:{free_port()}/mcp")
    with pytest.raises(BadInput, match=r"gone\.mcp\.yaml.*gave no list"):
        poll(live)
    assert tools_of(live / "out" / "catalogues" / "sources" / "rooms.json") == tools_of(toy.file)


def test_before_the_first_poll_the_other_sensor_says_what_is_missing(live: Path) -> None:
    with dg.instance_for_test() as instance:
        found = tick(live, instance, None)
    assert isinstance(found, dg.SkipReason) and "never fetched" in (found.skip_message or "")
