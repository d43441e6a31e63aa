"""The checks of stage 6: nothing is compared in a way that nobody has decided.

What belongs here: the instrument's own integrity. What does not: whether choices are good enough (verdict/).
"""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace

UNDECIDED = """
select tool, field, status, n_compared, n_bad from reports.argument_coverage
where status <> 'declared' and n_compared > 0 order by n_compared desc, tool, field
"""


@dg.asset_check(asset=key("reports.argument_coverage"))
def compared_arguments_have_rules(workspace: Workspace) -> dg.AssetCheckResult:
    """Every argument that was compared has a declared rule: decided and forgotten look alike in a score."""
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, UNDECIDED)
    return dg.AssetCheckResult(
        passed=not found,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            f"{row['tool']}.{row['field']}": f"{row['status']}, compared {row['n_compared']} times" for row in found
        },
    )
