"""The checks of stage 4: the catalogues can be shown to a model as they are."""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace

#: Of many problems, so many are named in the description; the table has all.
NAMED = 5

FOUND = """
select severity, problem, count(*) as n, string_agg(catalogue || ': ' || if(tool = '', 'the list', tool), ', '
       order by catalogue, tool) as places
from catalogues.catalogue_problems where severity <> 'information'
group by all order by severity, problem
"""


@dg.asset_check(asset=key("catalogues.catalogue_problems"))
def catalogues_are_well_formed(workspace: Workspace) -> dg.AssetCheckResult:
    """Every tool has a description and a valid schema of an object, and every name stands once.

    An invalid schema is an error, since a provider refuses the request; a missing description is a warning.
    """
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, FOUND)
        n_tools = store.count(con, "catalogues.catalogue_tools")
    if not found:
        return dg.AssetCheckResult(passed=True, description=f"{n_tools} tools without a problem")
    errors = [row for row in found if row["severity"] == "error"]
    severity = dg.AssetCheckSeverity.ERROR if errors else dg.AssetCheckSeverity.WARN
    said = "; ".join(f"{row['problem']}: {shortened(row['places'].split(', '))}" for row in (errors or found))
    metadata = {row["problem"]: row["n"] for row in found}
    return dg.AssetCheckResult(passed=False, severity=severity, description=said, metadata=metadata)


def shortened(places: list[str]) -> str:
    """Name the first places and the number of the others."""
    more = len(places) - NAMED
    return ", ".join(places[:NAMED]) + (f" and {more} more" if more > 0 else "")
