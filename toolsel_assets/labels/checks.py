"""The checks of stage 3: the classes are a partition, and the label set describes traffic."""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace


@dg.asset_check(asset=key("labels.label_rows"), blocking=True)
def classes_partition_the_sample(workspace: Workspace) -> dg.AssetCheckResult:
    """Every row of a label set is in exactly one of the classes none, several and single, and their counts add up."""
    query = """
    select label_set_version, n_rows, n_none + n_several + n_single as n_in_classes,
           count(distinct request_id) as n_found,
           count(*) filter (where (row_class = 'none')
                            <> list_contains(string_split(valid_tools, '|'), '(no tool)')) as n_odd
    from labels.label_sets left join labels.label_rows using (label_set_version) group by all
    """
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, query)
    passed = bool(found) and all(
        row["n_rows"] == row["n_in_classes"] == row["n_found"] > 0 and not row["n_odd"] for row in found
    )
    return dg.AssetCheckResult(passed=passed, metadata={row["label_set_version"]: str(row) for row in found})


@dg.asset_check(asset=key("labels.drift"))
def label_set_describes_traffic(workspace: Workspace) -> dg.AssetCheckResult:
    """No column of the latest traffic is far from the traffic that a used label set was drawn from.

    A set goes stale when traffic moves, and not only when a year has passed. A shift counts when its population
    stability index is over the limit and permuting runs does not give it as often.
    """
    limits = workspace.study().spec.freshness
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, "select * from labels.drift order by psi desc nulls last")
    moved = [row for row in found if row["psi"] is not None and row["p_value"] <= limits.max_p_value]
    worst = moved[0] if moved else None
    measured = [row for row in found if row["psi"] is not None]
    if worst and worst["psi"] > limits.warn_psi:
        description = (
            f"{worst['traffic']} has moved since {worst['label_set_version']} was drawn: index {worst['psi']:.2f}, "
            f"{worst['largest']} from {worst['share_before']:.1%} to {worst['share_latest']:.1%}"
        )
        severity = dg.AssetCheckSeverity.ERROR if worst["psi"] > limits.max_psi else dg.AssetCheckSeverity.WARN
        return dg.AssetCheckResult(passed=False, severity=severity, description=description)
    if not measured:
        notes = sorted({row["note"] for row in found if row["note"]}) or ["no label set is used"]
        description = f"not measured: {'; '.join(notes)}"
        return dg.AssetCheckResult(passed=True, severity=dg.AssetCheckSeverity.WARN, description=description)
    return dg.AssetCheckResult(passed=True, description=f"{len(measured)} columns of the traffic are as they were")
