"""The assets of stage 2: the sample in one streaming pass over a narrow table, and its strata."""

from datetime import timedelta
from pathlib import Path

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import materialised, newest_decision, sql_assets, table_asset
from toolsel_assets.resources import Workspace
from toolsel_assets.samples.stratify import Drawn, Sketch, draw
from toolsel_assets.samples.tables import SAMPLED_STATES
from toolsel_assets.vocabulary.decision import BUCKETS

#: One pass over the Parquet file, memory of buckets x quota: no window, no sort, no message text. From the warehouse it
#: would fill DuckDB's cache with every block that it reads.
SKETCH = """
select bucket, count(*) as population, arg_min({'key': sample_key, 'id': decision_id}, sample_key, $size) as lowest
from (select position_bucket(step_index, n_steps) as bucket, sample_key, decision_id
      from read_parquet($decisions) where context_complete)
group by bucket
"""

CHOSEN = """
select decision_id, study, action, decided_at from read_parquet($decisions) where decision_id in (select unnest($ids))
"""

strata = sql_assets("samples")


@table_asset(
    SAMPLED_STATES,
    ["traces.decisions"],
    # The visible badge only: it knows when the sample was last drawn, not how old the traffic in it is. That is the
    # check resampled_from_live_traffic.
    freshness_policy=dg.FreshnessPolicy.time_window(fail_window=timedelta(days=365), warn_window=timedelta(days=180)),
)
def sampled_states(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Draw the sample."""
    study = workspace.study()
    quota = study.spec.sample.quota
    decisions = workspace.folder("traces", "decisions.parquet")
    drawn = draw(sketches(decisions, max(quota.values(), default=0)), quota)
    path = write_sample(workspace, decisions, drawn, quota)
    with workspace.tables() as con:
        store.load(con, SAMPLED_STATES, [path])
        newest = newest_decision(con, "select max(decided_at) from samples.sampled_states")
        return materialised(con, SAMPLED_STATES, data_time=newest)


def sketches(decisions: Path, size: int) -> dict[str, Sketch]:
    """Sketch every bucket of a Parquet file of decisions, in the order of the buckets."""
    rows = store.read_files(SKETCH.replace("$size", str(max(size, 1))), {"decisions": str(decisions)})
    found = {
        row["bucket"]: Sketch(row["population"], tuple((low["key"], low["id"]) for low in row["lowest"]))
        for row in rows
    }
    return {bucket: found.get(bucket, Sketch(0, ())) for bucket in BUCKETS}


def write_sample(workspace: Workspace, decisions: Path, drawn: list[Drawn], quota: dict[str, int]) -> Path:
    """Write the drawn decisions with what the agent did and when."""
    parameters = {"decisions": str(decisions), "ids": [row.decision_id for row in drawn]}
    known = {row["decision_id"]: row for row in store.read_files(CHOSEN, parameters)}
    path = workspace.folder("samples", "sampled_states.parquet")
    with store.RowFile(path, SAMPLED_STATES) as file:
        for row in drawn:
            extra = {"bucket": row.bucket, "rank": row.rank, "weight": row.weight, "quota": quota[row.bucket]}
            file.write({**known[row.decision_id], **extra})
    return path
