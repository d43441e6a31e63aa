"""The assets of stage 2: the sample in one streaming pass over a narrow table, and its strata."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import materialised, newest_decision, sql_assets, table_spec
from toolsel_assets.resources import Workspace
from toolsel_assets.samples.stratify import Candidate, Drawn, Sketch, Stratum, draw, quotas
from toolsel_assets.samples.tables import SAMPLED_STATES, STRATUM_COUNTS
from toolsel_assets.vocabulary.decision import BUCKETS
from toolsel_assets.vocabulary.sampling import PARTS, SampleSpec

STATES = """
select position_bucket(step_index, n_steps) as bucket, {part} as part, action = '(no tool)' as is_no_tool,
       sample_key, decision_id{alike}
from read_parquet($decisions) where context_complete
"""

#: One pass over the Parquet file, memory of strata x quota: no window, no sort, no message text. From the warehouse it
#: would fill DuckDB's cache with every block that it reads.
SKETCH = """
select bucket, part, count(*) as population, count(*) as eligible, count(*) filter (where is_no_tool) as n_no_tool,
       arg_min({{'key': sample_key, 'decision_id': decision_id, 'n_alike': 1, 'n_kept': 1}}, sample_key, {size})
           as lowest
from ({states}) group by bucket, part
"""

#: The same message and the same actions before it, whatever the case and the white space.
ALIKE = """, md5(lower(trim(regexp_replace(nfc_normalize(coalesce(last_message, '')), '\\s+', ' ', 'g')))
       || chr(31) || coalesce(prior_actions, '')) as alike"""

#: With a cap the memory is that of the groups, and DuckDB spills them when they are many.
CAPPED_SKETCH = """
with alike as (
    select bucket, part, alike, count(*) as n_alike, count(*) filter (where is_no_tool) as n_no_tool,
           arg_min(decision_id, sample_key, {cap}) as ids
    from ({states}) group by bucket, part, alike
),
kept as (
    select bucket, part, n_alike, len(ids) as n_kept, unnest(ids) as decision_id,
           md5('{seed}:' || alike || ':' || generate_subscripts(ids, 1)) as key
    from alike
),
lowest as (
    select bucket, part, arg_min({{'key': key, 'decision_id': decision_id, 'n_alike': n_alike, 'n_kept': n_kept}}, key,
                                 {size}) as lowest
    from kept group by bucket, part
)
select bucket, part, sum(n_alike)::bigint as population, sum(len(ids))::bigint as eligible,
       sum(n_no_tool)::bigint as n_no_tool, any_value(lowest) as lowest
from alike join lowest using (bucket, part) group by bucket, part
"""

CHOSEN = """
select decision_id, study, action, decided_at from read_parquet($decisions) where decision_id in (select unnest($ids))
"""

strata = sql_assets("samples")


@dg.multi_asset(
    specs=[
        table_spec(
            SAMPLED_STATES,
            ["traces.decisions"],
            # The visible badge only: it knows when the sample was last drawn, not how old the traffic in it is. That is
            # the check resampled_from_live_traffic.
            freshness_policy=dg.FreshnessPolicy.time_window(
                fail_window=timedelta(days=365), warn_window=timedelta(days=180)
            ),
        ),
        table_spec(STRATUM_COUNTS, ["traces.decisions"]),
    ]
)
def sampled_states(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Draw the sample."""
    study = workspace.study()
    decisions = workspace.folder("traces", "decisions.parquet")
    found = sketches(decisions, study.spec.sample)
    quota = quotas(found, study.spec.sample)
    written = (
        write_sample(workspace, decisions, draw(found, quota), quota),
        write_counts(workspace, study.name, found, quota),
    )
    with workspace.tables() as con:
        for table, path in zip((SAMPLED_STATES, STRATUM_COUNTS), written, strict=True):
            store.load(con, table, [path])
        newest = newest_decision(con, "select max(decided_at) from samples.sampled_states")
        yield materialised(con, SAMPLED_STATES, data_time=newest)
        yield materialised(con, STRATUM_COUNTS)


def sketches(decisions: Path, spec: SampleSpec) -> dict[Stratum, Sketch]:
    """Sketch every stratum of a Parquet file of decisions, in the order of the positions."""
    part = PARTS[spec.by] if spec.by else "''"
    states = STATES.format(part=part, alike=ALIKE if spec.max_alike else "")
    form = CAPPED_SKETCH if spec.max_alike else SKETCH
    query = form.format(states=states, size=max(spec.largest_quota, 1), cap=spec.max_alike, seed=spec.seed)
    found = {}
    for row in store.read_files(query, {"decisions": str(decisions)}):
        lowest = tuple(Candidate(**one) for one in row["lowest"])
        counts = (row["population"], lowest, row["eligible"], row["n_no_tool"])
        found[row["bucket"], row["part"]] = Sketch(*counts)
    return {stratum: found[stratum] for stratum in sorted(found, key=lambda one: (BUCKETS.index(one[0]), one[1]))}


def write_sample(workspace: Workspace, decisions: Path, drawn: list[Drawn], quota: Mapping[Stratum, int]) -> Path:
    """Write the drawn decisions with what the agent did and when."""
    parameters = {"decisions": str(decisions), "ids": [row.candidate.decision_id for row in drawn]}
    known = {row["decision_id"]: row for row in store.read_files(CHOSEN, parameters)}
    path = workspace.folder("samples", "sampled_states.parquet")
    with store.RowFile(path, SAMPLED_STATES) as file:
        for row in drawn:
            bucket, part = row.stratum
            place = {"bucket": bucket, "part": part, "rank": row.rank, "quota": quota[row.stratum]}
            one = row.candidate
            weights = {"weight": row.weight, "n_alike": one.n_alike, "n_alike_kept": one.n_kept}
            file.write({**known[one.decision_id], **place, **weights})
    return path


def write_counts(
    workspace: Workspace, study: str, found: Mapping[Stratum, Sketch], quota: Mapping[Stratum, int]
) -> Path:
    """Write what is known of every stratum, those from which nothing was asked for among them."""
    path = workspace.folder("samples", "stratum_counts.parquet")
    with store.RowFile(path, STRATUM_COUNTS) as file:
        for (bucket, part), one in found.items():
            counts = {"population": one.population, "eligible": one.eligible, "n_no_tool_population": one.n_no_tool}
            file.write({"study": study, "bucket": bucket, "part": part, "quota": quota[bucket, part], **counts})
    return path
