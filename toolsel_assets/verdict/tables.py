"""The tables of stage 8."""

from toolsel_assets.store import Table, columns

CRITERIA_REGISTRY = Table(
    "verdict",
    "criteria_registry",
    """One row per content that a criteria file has had, with the time from which it counts. Append-only.""",
    columns(
        "study",
        criteria="VARCHAR the file, without .yaml",
        criteria_hash="VARCHAR hash of what it says",
        registered_at="TIMESTAMP when this content was registered, UTC",
        is_current="BOOLEAN whether it is in force",
    ),
)

_KEYS = ("study", "ladder", "rung", "rung_order", "label_set_version", "catalogue_hash", "model_served", "run_date")

FINDINGS = Table(
    "verdict",
    "findings",
    """One row per rung, slice, rule and subject (a tool, a pair, all): what the committed rule says, in three values.
Bounds of one-rung rates and weighted changes are one-sided 95 %; those of a tool's drop are the two-sided Tango
interval.
The decision uses one-sided bounds and Holm-adjusted tests throughout.""",
    columns(
        *_KEYS,
        slice="VARCHAR existing, or new:<capability>",
        rule="VARCHAR the criterion",
        subject="VARCHAR the tool or the pair, or what else the rule looks at",
        state="VARCHAR accept, reject, not_enough_data or not_applicable",
        sentence="VARCHAR what a reviewer reads",
        threshold="DOUBLE the committed threshold, in the criterion's own unit",
        observed="DOUBLE the figure: a proportion, or a count for max_forbidden",
        low="DOUBLE lower bound",
        high="DOUBLE upper bound",
        p="DOUBLE one-sided exact sign-flip p of a drop",
        p_adjusted="DOUBLE the same after Holm over the tools of the rung",
        n_requests="INTEGER requests behind the figure",
        request_ids="VARCHAR the requests to look at, joined by |",
    ),
)

VERDICTS = Table(
    "verdict",
    "verdicts",
    """One row per rung that is judged: every rung above the first, or the only one.
The last rung is the candidate: what its row says is the answer to "may this catalogue ship?". Fixed before the run:
criteria_hash and registered_at say by
what.""",
    columns(
        *_KEYS,
        is_candidate="BOOLEAN whether it is the ladder's last rung",
        state="VARCHAR accept, reject, not_enough_data, inadmissible or incomplete",
        why="VARCHAR the reason, in a sentence",
        criteria="VARCHAR the criteria",
        criteria_hash="VARCHAR hash of what they said",
        registered_at="TIMESTAMP since when they were registered, UTC",
        first_chosen_at="TIMESTAMP when the ladder's first choice was obtained, UTC",
        n_accept="INTEGER findings that accept",
        n_reject="INTEGER findings that reject",
        n_not_enough_data="INTEGER findings that cannot tell",
    ),
)
