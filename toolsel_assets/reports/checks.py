"""The checks of stage 7: tables that have to add up do, and residues are named.

What belongs here: arithmetic between report tables. What does not: thresholds, which are criteria (verdict/).
"""

from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace

PARTS = """
select b.ladder, b.rung, b.slice, sum(b.n)::bigint as parts, max(b.n_failures) as failures,
       max(c.n - c.n_correct) as of_class, max(b.n) filter (where b.part = 'unknown_reach') as unknown_reach
from reports.no_tool_breakdown as b
join reports.per_class as c on c.ladder = b.ladder and c.rung = b.rung and c.slice = b.slice and c.row_class = 'none'
group by all order by all
"""


@dg.asset_check(asset=key("reports.no_tool_breakdown"), additional_deps=[key("reports.per_class")])
def no_tool_parts_sum_to_the_failures(workspace: Workspace) -> dg.AssetCheckResult:
    """Every failure where no tool was right is in exactly one part; calls of undeclared reach are named, not hidden."""
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, PARTS)
    wrong = [row for row in found if not row["parts"] == row["failures"] == row["of_class"]]
    residue = {
        f"{row['ladder']}.{row['rung']} {row['slice']}": f"{row['unknown_reach']} of {row['failures']} of unknown reach"
        for row in found
        if row["unknown_reach"]
    }
    metadata: dict[str, Any] = {
        "n_rungs": len(found),
        **residue,
        **{f"wrong {n}": str(row) for n, row in enumerate(wrong)},
    }
    return dg.AssetCheckResult(passed=not wrong, metadata=metadata)
