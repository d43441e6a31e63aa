"""Drift between two windows of traffic, the check on it, and the sensor that follows from it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from toolsel_assets import store
from toolsel_assets.labels.sensors import CHECKS, sample_is_stale
from toolsel_assets.labels.traffic import drift_rows, latest_window
from toolsel_assets.study import Freshness

DAY = datetime(2026, 6, 1)
LABEL_SET = {
    "study": "shop",
    "label_set_version": "v1@1",
    "window_from": DAY,
    "window_until": DAY + timedelta(days=9, hours=23),
}


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Any]:
    with store.connect(tmp_path / "w.duckdb") as opened:
        opened.execute("create schema traces")
        yield opened


def traffic(con: Any, later_tool: str, days: int = 60) -> None:
    """Ten runs a day of four steps; from day 30 on the tool called is `later_tool`."""
    con.execute(
        f"""create table traces.decisions as
        select 'run' || r as run_id, s as step_index, 4 as n_steps,
               timestamp '2026-06-01' + interval (r // 10) day as decided_at,
               case when s = 3 then '(no tool)' when r // 10 < 30 then 'get_order' else '{later_tool}' end as action,
               repeat('x', 10 + r % 50) as last_message
        from range({days * 10}) as runs(r), range(4) as steps(s)"""
    )


def found(con: Any) -> dict[str, dict[str, Any]]:
    rows = drift_rows(lambda query, values: store.rows(con, query, values), [LABEL_SET], Freshness())
    return {row["traffic"]: row for row in rows}


def test_a_new_tool_mix_is_seen_and_what_stayed_is_not(con: Any) -> None:
    traffic(con, "find_order")
    rows = found(con)
    assert rows["tool"]["psi"] > 1 and rows["tool"]["p_value"] < 0.05
    assert rows["tool"]["largest"] in ("find_order", "get_order") and rows["tool"]["n_runs_latest"] == 300
    assert rows["position"]["psi"] == pytest.approx(0, abs=0.01) and rows["no_tool"]["p_value"] > 0.05


def test_the_same_traffic_has_not_moved(con: Any) -> None:
    traffic(con, "get_order")
    assert all(row["psi"] < 0.1 for row in found(con).values())


def test_without_later_traffic_nothing_is_measured_and_the_row_says_so(con: Any) -> None:
    traffic(con, "get_order", days=10)
    assert {(row.get("psi"), row["note"]) for row in found(con).values()} == {
        (None, "no traffic after what the label set was drawn from")
    }


def test_the_latest_window_never_reaches_into_that_of_the_label_set() -> None:
    until = DAY + timedelta(days=9)
    assert latest_window(until, until, 30) is None and latest_window(None, until, 30) is None
    after = latest_window(until, until + timedelta(days=5), 30)
    assert after and until < after[0] < until + timedelta(seconds=1)
    last = latest_window(until, until + timedelta(days=90), 30)
    assert last == (until + timedelta(days=60, microseconds=1), until + timedelta(days=90))


@pytest.mark.parametrize(
    ("rows", "passed", "said"),
    [
        ([{"psi": 0.4, "p_value": 0.01}], False, "tool has moved since v1@1 was drawn: index 0.40, get from 50.0% to"),
        ([{"psi": 0.4, "p_value": 0.4}], True, "1 columns of the traffic are as they were"),
        ([{"psi": 0.05, "p_value": 0.01}], True, "1 columns"),
        ([{"psi": None, "note": "no traffic after"}], True, "not measured: no traffic after"),
    ],
)  # fmt: skip
def test_the_check_fails_on_a_shift_and_says_what_moved(
    tmp_path: Path, starter: Path, rows: list[dict[str, Any]], passed: bool, said: str
) -> None:
    from toolsel_assets.labels.checks import label_set_describes_traffic
    from toolsel_assets.labels.tables import DRIFT
    from toolsel_assets.resources import Workspace

    workspace = Workspace(study_dir=str(starter), data_dir=str(tmp_path / "data"))
    file = tmp_path / "data" / "drift.parquet"
    with store.RowFile(file, DRIFT) as target:
        for row in rows:
            keys = {"study": "shop", "label_set_version": "v1@1", "traffic": "tool", "largest": "get"}
            target.write({**keys, "share_before": 0.5, "share_latest": 0.1, **row})
    with workspace.tables() as con:
        store.load(con, DRIFT, [file])
    result = label_set_describes_traffic(workspace)
    assert isinstance(result, dg.AssetCheckResult)
    assert result.passed is passed and said in (result.description or "")


def evaluated(instance: dg.DagsterInstance, passed: bool) -> None:
    check = CHECKS[0]

    @dg.asset(key=check.asset_key)
    def sampled() -> None: ...

    @dg.asset_check(asset=check.asset_key, name=check.name)
    def of_sample() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=passed, description="the newest sampled decision is 400 days old")

    dg.materialize([sampled, of_sample], instance=instance)


def test_a_failed_check_has_one_new_sample_proposed() -> None:
    with dg.DagsterInstance.ephemeral() as instance:

        def asked(cursor: str | None = None) -> Any:
            return sample_is_stale(dg.build_sensor_context(instance=instance, cursor=cursor))

        assert isinstance(asked(), dg.SkipReason)
        evaluated(instance, passed=True)
        assert isinstance(asked(), dg.SkipReason)
        evaluated(instance, passed=False)
        proposed = asked()
        assert isinstance(proposed, dg.SensorResult) and proposed.run_requests and len(proposed.run_requests) == 1
        assert "400 days old" in (proposed.run_requests[0].run_key or "")
        assert isinstance(asked(proposed.cursor), dg.SkipReason)
