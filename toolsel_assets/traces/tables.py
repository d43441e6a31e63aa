"""The tables of stage 1. Their comments are what Dagster and DuckDB show of them."""

from toolsel_assets.store import Table, columns

DECISIONS = Table(
    "traces",
    "decisions",
    """One row per decision: a point at which the loop asked the model what to do, the final stop included.
Every status is here; only `called` and `stopped` can be scored. Shares of this table are shares of what was traced.
Not an evaluation: nothing here says whether a decision was right.""",
    columns(
        "study",
        decision_id="VARCHAR stable identity: <source>:<run>:<step>",
        source="VARCHAR the trace source in study.yaml",
        run_id="VARCHAR <source>:<run>; sub-agents are runs of their own",
        parent_run_id="VARCHAR the run that started this one",
        thread_id="VARCHAR the conversation",
        client_id="VARCHAR who called the agent",
        step_index="INTEGER position in the run, from 0",
        n_steps="INTEGER decisions in the run",
        decided_at="TIMESTAMP when, in UTC; the day of collection where the traces have no times",
        n_messages="INTEGER how many of the run's messages the model saw",
        last_message="VARCHAR the text of the last of them, first 500 characters",
        prior_actions="VARCHAR tools called earlier in the run, in order, joined by |",
        catalogue_hash="VARCHAR the catalogue that the agent had",
        catalogue_source="VARCHAR in_trace, names_only, joined (from study.yaml) or unknown",
        model_requested="VARCHAR the model that was asked for",
        model_served="VARCHAR the model that answered",
        action="VARCHAR the tool called, several joined by |, (no tool), or the status in brackets",
        n_calls="INTEGER calls in the action",
        calls="VARCHAR the action as JSON: a list of {tool, args}",
        status="VARCHAR called, stopped, refused, truncated, malformed, api_error or unknown",
        status_detail="VARCHAR why it is malformed",
        stop_reason="VARCHAR the finish reason as the trace gives it",
        input_tokens="BIGINT tokens read, cache included",
        cache_read_tokens="BIGINT tokens read from the cache",
        cache_write_tokens="BIGINT tokens written to the cache",
        output_tokens="BIGINT tokens written",
        latency_ms="DOUBLE milliseconds from question to answer",
        context_complete="BOOLEAN whether the messages are all that the model saw",
        source_format="VARCHAR the trace format",
        source_file="VARCHAR the file, relative to the study",
        sample_key="VARCHAR md5(seed:decision_id): the order in which decisions of a bucket are drawn",
    ),
)

MESSAGES = Table(
    "traces",
    "messages",
    """One row per message of a run, kept once; a decision saw the first `n_messages` of its run.
Kept as Parquet beside the warehouse and joined for sampled decisions only.""",
    columns(
        run_id="VARCHAR <source>:<run>",
        position="INTEGER from 0",
        role="VARCHAR system, user, assistant or tool",
        message="VARCHAR the message as JSON, in OpenAI chat form",
    ),
)

INGEST_FILES = Table(
    "traces",
    "ingest_files",
    """One row per trace file: what was in it. The books close: n_records = n_runs + n_rejects.""",
    columns(
        "study",
        source="VARCHAR the trace source in study.yaml",
        source_file="VARCHAR the file, relative to the study",
        source_format="VARCHAR the format it was read as; unknown when nothing recognised it",
        content_hash="VARCHAR sha256 of the file",
        n_bytes="BIGINT size of the file",
        n_records="INTEGER records found, unreadable ones included",
        n_runs="INTEGER records that gave a run",
        n_rejects="INTEGER records that gave none; each is a row of ingest_rejects",
        n_decisions="INTEGER decisions of the runs",
        n_no_tool="INTEGER of these, complete answers without a call",
        n_unscorable="INTEGER of these, decisions whose status cannot be scored",
    ),
)

INGEST_REJECTS = Table(
    "traces",
    "ingest_rejects",
    """One row per record of a trace file that gave no run, with the reason from a closed list.""",
    columns(
        "study",
        source="VARCHAR the trace source in study.yaml",
        source_file="VARCHAR the file, relative to the study",
        position="INTEGER the line in JSON lines, else the how-manieth record, from 1",
        reason="VARCHAR empty_file, not_utf8, not_json, cut_json, unknown_format, not_a_record, no_messages, ...",
        detail="VARCHAR what was found",
    ),
)

TABLES = (DECISIONS, MESSAGES, INGEST_FILES, INGEST_REJECTS)
