"""The tables of stage 2 that Python fills; sql/samples/ makes the others."""

from toolsel_assets.store import Table, columns

BUCKET = "VARCHAR where in its run a decision stands: first, early, middle, late or last"
PART = "VARCHAR the value of the stratum's second column (sample.by in study.yaml); empty where there is none"

SAMPLED_STATES = Table(
    "samples",
    "sampled_states",
    """One row per sampled decision: a fixed quota from each stratum, by the order of a seeded hash.
Shares of this table are the quota's, not production's; `weight` undoes quota, cap and over-sampling.""",
    columns(
        "study",
        decision_id="VARCHAR the decision",
        bucket=BUCKET,
        part=PART,
        rank="INTEGER place in the stratum, from 1; a smaller quota keeps the lower ranks",
        weight="DOUBLE decisions that this row stands for: eligible / drawn, times n_alike / n_alike_kept",
        n_alike="BIGINT decisions of the stratum that look like this one, itself included; 1 where nothing is capped",
        n_alike_kept="INTEGER of these, how many could be drawn",
        quota="INTEGER rows asked for in the stratum",
        action="VARCHAR what the agent did, never shown to a labeller",
        decided_at="TIMESTAMP when the decision was made, UTC",
    ),
)

STRATUM_COUNTS = Table(
    "samples",
    "stratum_counts",
    """One row per stratum with a population: what the pass over all decisions counted, before anything was drawn.
Decisions whose context is incomplete are in no population.""",
    columns(
        "study",
        bucket=BUCKET,
        part=PART,
        quota="INTEGER rows asked for",
        population="BIGINT decisions in the stratum",
        eligible="BIGINT of these, how many could be drawn: fewer where states that look alike are capped",
        n_no_tool_population="BIGINT decisions of the population that called nothing",
    ),
)
