"""The check of stage 2: the sample still describes live traffic."""

from datetime import UTC, datetime

import dagster as dg

from toolsel_assets.graph import key, newest_decision
from toolsel_assets.resources import Workspace


@dg.asset_check(asset=key("samples.sampled_states"))
def resampled_from_live_traffic(workspace: Workspace) -> dg.AssetCheckResult:
    """The newest sampled decision is not too old, by the clock and against the newest trace.

    Dagster's own freshness looks at when the sample was drawn: drawing it again from year-old traces turns it green.
    """
    freshness = workspace.study().spec.freshness
    with workspace.tables(read_only=True) as con:
        sampled = newest_decision(con, "select max(decided_at) from samples.sampled_states")
        traced = newest_decision(con, "select max(decided_at) from traces.decisions")
    if sampled is None or traced is None:
        found = "no sampled decision carries a time: age unknown"
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=found)
    age = (datetime.now(UTC).replace(tzinfo=None) - sampled).days
    behind = (traced - sampled).days
    worst = max(age, behind)
    severity = dg.AssetCheckSeverity.ERROR if worst > freshness.max_age_days else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(
        passed=worst <= freshness.warn_days,
        severity=severity,
        description=f"the newest sampled decision is {age} days old and {behind} days behind the newest trace",
        metadata={"age_days": age, "days_behind_traces": behind, "max_age_days": freshness.max_age_days},
    )
