"""The tables of stage 2 that Python fills; sql/samples/ makes the others."""

from toolsel_assets.store import Table, columns

SAMPLED_STATES = Table(
    "samples",
    "sampled_states",
    """One row per sampled decision: a fixed quota from each position bucket, by the order of a seeded hash.
Shares of this table are the quota's, not production's; `weight` undoes the quota.""",
    columns(
        "study",
        decision_id="VARCHAR the decision",
        bucket="VARCHAR where in its run it stands: first, early, middle, late or last",
        rank="INTEGER place in the bucket, from 1; a smaller quota keeps the lower ranks",
        weight="DOUBLE decisions of the bucket that this row stands for: population / drawn",
        quota="INTEGER rows asked for in the bucket",
        action="VARCHAR what the agent did, never shown to a labeller",
        decided_at="TIMESTAMP when the decision was made, UTC",
    ),
)
