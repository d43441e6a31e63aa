"""The tables of the stage, made by Dagster from real files and a real server, and what the check says of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from tests.catalogues.conftest import Toy, tools_of
from tests.conftest import Run, toolsel
from toolsel_assets import store
from toolsel_assets.catalogues.assets import catalogues
from toolsel_assets.catalogues.checks import catalogues_are_well_formed
from toolsel_assets.catalogues.snapshots import fetch
from toolsel_assets.resources import Workspace

Row = dict[str, Any]
Edit = Callable[[Path, str, str], None]


def made(study: Path) -> dg.AssetCheckEvaluation:
    """Make the tables, and give what the check says."""
    workspace = Workspace(study_dir=str(study), data_dir=str(study / "out"))
    # The instance of the session, by name: without one, Dagster falls back on the last that some other test let go of.
    with dg.DagsterInstance.get() as instance:
        assets = [catalogues, catalogues_are_well_formed]
        result = dg.materialize(assets, instance=instance, resources={"workspace": workspace})
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


def rows(study: Path, query: str) -> list[Row]:
    with store.connect(study / "out" / "warehouse.duckdb", read_only=True) as con:
        return store.rows(con, query)


def rewrite(path: Path, change: Callable[[list[Row]], list[Row]]) -> None:
    path.write_text(json.dumps({"tools": change(tools_of(path))}), encoding="utf-8")


def test_a_run_adds_a_version_for_what_has_changed_and_says_what(starter: Path, edit: Edit) -> None:
    path = starter / "catalogues" / "rooms.json"
    first = path.read_text(encoding="utf-8")
    assert made(starter).passed
    edit(path, "Book a meeting room", "Reserve a meeting room")
    made(starter)
    cancel = {"name": "room.cancel", "description": "Cancel a booking.", "inputSchema": {"type": "object"}}
    rewrite(path, lambda tools: [*tools[1:], cancel])
    made(starter)
    path.write_text(first, encoding="utf-8")
    made(starter)
    made(starter)
    found = rows(starter, "select * from catalogues.catalogue_versions where catalogue = 'rooms' order by version")
    assert [(row["version"], row["returns_to"], row["is_current"]) for row in found] == [
        (1, None, False),
        (2, None, False),
        (3, None, False),
        (4, 1, True),
    ]
    assert {row["study"] for row in found} == {"starter"} and {row["origin"] for row in found} == {"file"}
    changes = rows(starter, "select to_version, tool, change from catalogues.catalogue_changes order by all")
    assert [tuple(row.values()) for row in changes] == [
        (2, "room.book", "description_changed"),
        (3, "room.cancel", "added"),
        (3, "room.find", "removed"),
        (4, "room.book", "description_changed"),
        (4, "room.cancel", "removed"),
        (4, "room.find", "added"),
    ]


def test_a_rename_follows_retired_yaml(starter: Path, edit: Edit) -> None:
    made(starter)
    edit(starter / "catalogues" / "rooms.json", "room.find", "room.search")
    (starter / "catalogues" / "retired.yaml").write_text("room.find: room.search\n", encoding="utf-8")
    made(starter)
    (row,) = rows(starter, "select tool, change, before, after from catalogues.catalogue_changes")
    assert row == {"tool": "room.find", "change": "renamed", "before": "room.find", "after": "room.search"}


@pytest.mark.parametrize(
    ("change", "passed", "severity", "said"),
    [
        ({}, True, None, "without a problem"),
        ({"description": ""}, False, dg.AssetCheckSeverity.WARN, "no_description: rooms: room.find"),
        ({"inputSchema": {"type": "dict"}}, False, dg.AssetCheckSeverity.ERROR, "schema_is_invalid: rooms: room.find"),
    ],
)
def test_the_check_names_what_is_wrong_and_how_bad_it_is(
    starter: Path, change: Row, passed: bool, severity: dg.AssetCheckSeverity | None, said: str
) -> None:
    rewrite(starter / "catalogues" / "rooms.json", lambda tools: [{**tools[0], **change}, *tools[1:]])
    found = made(starter)
    assert found.passed is passed and said in (found.description or "")
    assert passed or found.severity == severity
    problems = rows(starter, "select * from catalogues.catalogue_problems where severity <> 'information'")
    assert bool(problems) is not passed
    assert all(row["catalogue_hash"] and row["detail"] for row in problems)


def test_versions_of_a_server_say_how_it_was_reached(live: Path, toy: Toy) -> None:
    fetch(live, live / "out" / "catalogues" / "sources")
    made(live)
    query = "select catalogue, origin, n_tools from catalogues.catalogue_versions order by all"
    assert [tuple(row.values()) for row in rows(live, query)] == [
        ("base", "file", 4),
        ("rooms", "mcp http", len(tools_of(toy.file))),
    ]


# --- the commands -------------------------------------------------------------------------------------------------


def test_a_run_fetches_by_itself_and_list_shows_what_was_seen(live: Path, toy: Toy) -> None:
    data = ("--study", live, "--data", live / "out")
    assert toolsel("catalogue", "list", *data).code == 2
    ran = toolsel("run", *data)
    assert ran.code == 0, ran.err
    assert "fetched rooms (2 tools)" in ran.err
    published = Run(live / "out", ran)
    counts = {name: published.one(f"select count(*) from catalogue_{name}") for name in ("versions", "changes")}
    assert counts == {"versions": 2, "changes": 0}
    assert published.rows("select tool, problem from catalogue_problems where catalogue = 'rooms' order by tool") == [
        {"tool": name, "problem": "name_refused_by_providers"} for name in ("room.book", "room.find")
    ]
    again = toolsel("catalogue", "fetch", *data)
    assert (again.code, again.out.split()) == (0, ["rooms", "2", "tools,", "as", "they", "were"])
    toy.lists(tools_of(toy.file)[:1])
    assert "1 tools, new or changed" in toolsel("catalogue", "fetch", "rooms", *data).out
    listed = toolsel("catalogue", "list", *data).out.splitlines()
    assert [line.split()[0] for line in listed] == ["base", "rooms"] and "2 tools, mcp http" in listed[1]


def test_a_run_whose_server_is_gone_stops_before_anything_and_names_the_source(live: Path, toy: Toy) -> None:
    toy.lists([])
    ran = toolsel("run", "--study", live, "--data", live / "out")
    assert ran.code == 2 and "rooms.mcp.yaml" in ran.err and "lists no tool" in ran.err
    assert not (live / "out" / "warehouse.duckdb").exists()


def test_a_source_that_is_none_is_named(live: Path) -> None:
    found = toolsel("catalogue", "fetch", "room", "--study", live, "--data", live / "out")
    assert found.code == 2 and "no live source room (did you mean rooms?" in found.err


def test_a_study_without_live_sources_has_nothing_to_fetch(starter: Path) -> None:
    found = toolsel("catalogue", "fetch", "--study", starter, "--data", starter / "out")
    assert found.code == 0 and "no live source" in found.out
