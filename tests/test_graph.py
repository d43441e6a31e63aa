"""The asset graph loads, has the edges of the journey, and says what its tables are."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from tests.conftest import Run
from toolsel_assets import store
from toolsel_assets.definitions import defs
from toolsel_assets.reports.assets import PUBLISHED

GRAPH = defs.resolve_asset_graph()
ROOT = Path(__file__).parent.parent


def parents(key: str) -> set[str]:
    return {parent.to_user_string() for parent in GRAPH.get(dg.AssetKey(key.split("/"))).parent_keys}


@pytest.mark.parametrize(
    ("table", "reads"),
    [
        ("samples/sampled_states", {"traces/decisions"}),
        ("samples/strata", {"samples/stratum_counts", "samples/sampled_states"}),
        ("replays/choices", {"replays/choices_by_rung", "replays/rungs"}),
        ("scores/scored_rows", {"replays/choices", "replays/rung_runs", "labels/label_rows"}),
        ("reports/per_class", {"scores/scored_rows", "reports/request_correlation"}),
        ("reports/averages", {"reports/per_class"}),
    ],
)
def test_a_decision_travels_along_the_edges(table: str, reads: set[str]) -> None:
    assert parents(table) == reads


def test_every_asset_has_a_description_a_group_an_owner_and_a_kind() -> None:
    for key in GRAPH.get_all_asset_keys():
        node = GRAPH.get(key)
        assert node.description, key
        assert node.group_name in {
            "traces",
            "samples",
            "labels",
            "catalogues",
            "replays",
            "scores",
            "reports",
            "verdict",
        }
        assert node.owners and node.kinds, key


def test_a_table_says_what_one_row_is() -> None:
    for name in PUBLISHED:
        description = GRAPH.get(dg.AssetKey(name.split("."))).description or ""
        assert description.startswith("One row per"), name


def test_integrity_checks_block_and_acceptance_checks_do_not() -> None:
    blocking = {key.name: GRAPH.get_check_spec(key).blocking for key in GRAPH.asset_check_keys}
    assert {name for name, found in blocking.items() if found} == {
        "every_record_is_accounted_for",
        "classes_partition_the_sample",
        "one_change_per_rung",
        "at_least_three_order_seeds",
        "choices_are_complete",
        "choices_are_of_the_catalogue_that_is_listed",
        "criteria_predate_the_run",
    }
    assert {"no_tool_drops", "no_pair_dominates", "resampled_from_live_traffic"} <= blocking.keys()


def test_the_sample_carries_the_freshness_policy() -> None:
    (spec,) = [s for s in defs.resolve_all_asset_specs() if s.key == dg.AssetKey(["samples", "sampled_states"])]
    assert spec.freshness_policy == dg.FreshnessPolicy.time_window(
        fail_window=timedelta(days=365), warn_window=timedelta(days=180)
    )


def test_every_table_of_sql_is_an_asset() -> None:
    keys = {key.to_user_string() for key in GRAPH.get_all_asset_keys()}
    for path in store.sql_dir().glob("*/*.sql"):
        assert f"{path.parent.name}/{path.stem}" in keys


def test_columns_and_comments_reach_dagster_and_duckdb(airline: Run) -> None:
    query = "select comment from duckdb_columns() where table_name = 'per_class' and column_name = 'n_correct'"
    assert airline.one(query) == "rows whose choice is acceptable by name"
    assert (
        airline.one("select count(*) from duckdb_tables() where comment is null and table_name <> 'schema_version'")
        == 0
    )
    undocumented = """select table_name || '.' || column_name as name from duckdb_columns()
                      where comment is null and not internal and table_name <> 'schema_version'"""
    assert airline.rows(undocumented) == []


def test_the_sensors_workspace_loads_in_dagsters_own_tools() -> None:
    dg_check = Path(sys.executable).with_name("dg")
    found = subprocess.run([dg_check, "check", "defs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "All definitions loaded successfully" in found.stdout + found.stderr
