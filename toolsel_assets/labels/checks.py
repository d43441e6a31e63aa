"""The check of stage 3: the classes are a partition."""

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
