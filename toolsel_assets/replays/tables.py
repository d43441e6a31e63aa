"""The tables of stage 5 that Python fills; sql/replays/ makes the others."""

from toolsel_assets.store import Table, columns

RUNGS = Table(
    "replays",
    "rungs",
    """One row per rung of a ladder: one catalogue, one prompt, one model, one set of parameters.""",
    columns(
        "study",
        "ladder",
        "rung",
        "rung_order",
        is_candidate="BOOLEAN whether the verdict is about it: the last rung",
        agent="VARCHAR who answers",
        is_asked="BOOLEAN whether the agent is asked anew, so that order seeds are needed",
        model_requested="VARCHAR the pinned model; empty for an offline agent",
        params="VARCHAR parameters as JSON",
        catalogue="VARCHAR files of the catalogue, joined by +",
        catalogue_hash="VARCHAR hash of the tools' definitions",
        n_tools="INTEGER tools shown",
        prompt_hash="VARCHAR hash of the prompt text; empty without one",
        criteria="VARCHAR the criteria",
        label_set_version="VARCHAR the label set version",
        n_seeds="INTEGER order seeds",
        n_draws="INTEGER draws in each order",
        n_requests="INTEGER requests of the ladder's slices, those that the rung cannot serve included",
        n_changes="INTEGER respects in which it differs from the rung before; 0 for the first",
        changes="VARCHAR what differs, before -> after",
    ),
)

CHOICES = Table(
    "replays",
    "choices",
    """One row per (ladder, rung, seed, draw, request): what the agent chose.
Requests that a rung cannot serve are rows too, with the status not_served.
Not judged: scores.scored_rows has what can be scored.""",
    columns(
        "study",
        "ladder",
        "rung",
        "rung_order",
        "seed",
        "draw",
        "request_id",
        "slice",
        n_tools="INTEGER tools shown",
        label_set_version="VARCHAR the label set version",
        catalogue_hash="VARCHAR hash of the tools' definitions",
        order_hash="VARCHAR hash of the order in which they were shown",
        agent="VARCHAR who answered",
        model_requested="VARCHAR the model that was asked for",
        model_served="VARCHAR the model that answered",
        status="VARCHAR called, stopped, refused, truncated, malformed, api_error, unknown or not_served",
        status_detail="VARCHAR why it cannot be scored",
        chosen_action="VARCHAR the tool called, several joined by |, (no tool), or the status in brackets",
        calls="VARCHAR the action as JSON: a list of {tool, args}; args null when the agent gives none",
        gives_args="BOOLEAN whether the agent gives arguments at all",
        input_tokens="BIGINT tokens read, cache included",
        cache_read_tokens="BIGINT tokens read from the cache",
        output_tokens="BIGINT tokens written",
        latency_ms="DOUBLE milliseconds from question to answer",
        chosen_at="TIMESTAMP when the choice was obtained, UTC; it is kept when a rung is run again unchanged",
        inputs_hash="VARCHAR hash of everything that can change a choice of this rung",
    ),
)
