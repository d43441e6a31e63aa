"""The checks of stage 8: one per rule, and the commitment.

A rejected catalogue is a result, not a broken pipeline: the rules' checks do not block, the run stays green and the
check is red. Criteria that came after the choices are a broken instrument: that check blocks what others are shown.
"""

from collections.abc import Iterator

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.criteria import RULES

FINDINGS = key("verdict.findings")


@dg.multi_asset_check(
    name="acceptance",
    specs=[
        dg.AssetCheckSpec(name, asset=FINDINGS, description=f"No candidate breaks the committed {rule}.")
        for rule, name in RULES.items()
    ],
    can_subset=True,
)
def acceptance(context: dg.AssetCheckExecutionContext, workspace: Workspace) -> Iterator[dg.AssetCheckResult]:
    """Say rule by rule what the findings on the candidates are."""
    query = """
    select f.rule, f.ladder, f.slice, f.subject, f.state, f.sentence, f.threshold, v.criteria_hash
    from verdict.findings as f join verdict.verdicts as v using (ladder, rung) where v.is_candidate
    """
    with workspace.tables(read_only=True) as con:
        rows = store.rows(con, query)
    for rule, name in RULES.items():
        if dg.AssetCheckKey(FINDINGS, name) in context.selected_asset_check_keys:
            yield _acceptance(name, [row for row in rows if row["rule"] == rule])


def _acceptance(name: str, rows: list[dict[str, object]]) -> dg.AssetCheckResult:
    states = [row["state"] for row in rows]
    measured = [state for state in states if state != "not_applicable"]
    rejected = "reject" in states
    said = [f"{row['ladder']} ({row['slice']}): {row['sentence']}" for row in rows if row["state"] != "not_applicable"]
    return dg.AssetCheckResult(
        check_name=name,
        asset_key=FINDINGS,
        passed=bool(measured) and set(measured) == {"accept"},
        severity=dg.AssetCheckSeverity.ERROR if rejected else dg.AssetCheckSeverity.WARN,
        description="\n".join(said)
        or "not measured: no ladder's criteria hold this rule, or nothing could be compared",
        metadata={
            **{state: states.count(state) for state in ("accept", "reject", "not_enough_data", "not_applicable")},
            "thresholds": ", ".join(sorted({f"{row['ladder']}: {row['threshold']}" for row in rows})),
            "criteria_hash": ", ".join(sorted({str(row["criteria_hash"]) for row in rows})),
        },
    )


@dg.asset_check(asset=key("verdict.verdicts"), blocking=True)
def criteria_predate_the_run(workspace: Workspace) -> dg.AssetCheckResult:
    """Every ladder's criteria were registered before its first choice was obtained, and not changed since."""
    with workspace.tables(read_only=True) as con:
        rows = store.rows(con, "select ladder, state, why from verdict.verdicts where is_candidate")
    late = [row for row in rows if row["state"] == "inadmissible"]
    return dg.AssetCheckResult(
        passed=bool(rows) and not late, description="; ".join(f"{row['ladder']}: {row['why']}" for row in late) or None
    )
