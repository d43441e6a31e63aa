"""The tables of stage 1 that Python fills. Their comments are what Dagster and DuckDB show of them.

The tables that are made of these, `decisions` first among them, are in sql/traces/.
"""

from toolsel_assets.store import Table, columns

#: Bytes of the longest line that DuckDB reads by itself; it keeps two buffers of this size per thread.
LONGEST_LINE = 32 << 20

MODEL_CALLS = Table(
    "traces",
    "model_calls",
    """One row per call of the model that a trace file holds, per span that links calls, and per message of a context.
The raw material of `decisions`: a call stands here as often as it was recorded (exported again, instrumented twice,
tried again). Kept as one Parquet file per trace file, by content hash. Not to be counted: count `decisions`.""",
    columns(
        file_id="VARCHAR the content hash of the trace file, 12 hexadecimal digits",
        source="VARCHAR the trace source in study.yaml",
        ordinal="BIGINT place in the file, from 0",
        kind="VARCHAR model; agent, tool, other: a span that only links; message, extends: a part of a context",
        call_id="VARCHAR stable identity within the source: a span's, a response's, a message's",
        run_id="VARCHAR the run, where the format says which",
        parent_run_id="VARCHAR the run that started this one, where the format says which",
        conversation_id="VARCHAR the conversation or thread, where the trace has one",
        client_id="VARCHAR who called the agent",
        agent="VARCHAR name or id of the agent, on an agent's span",
        trace_id="VARCHAR the trace that a span belongs to",
        span_id="VARCHAR the span",
        parent_span_id="VARCHAR the span that started it",
        response_id="VARCHAR the provider's id of the answer",
        started_at="TIMESTAMP when it was asked, in UTC",
        ended_at="TIMESTAMP when the answer was complete, in UTC",
        latency_ms="DOUBLE milliseconds from question to answer",
        status="VARCHAR called, stopped, refused, truncated, malformed, api_error or unknown",
        status_detail="VARCHAR why it is malformed or unknown",
        stop_reason="VARCHAR the stop reason as the trace gives it",
        tools_called="VARCHAR[] the tools called, in order",
        calls="VARCHAR the action as JSON: a list of {tool, args}",
        server_tools="VARCHAR tools that the provider itself ran, joined by |",
        args_complete="BOOLEAN whether the log surely has all arguments",
        model_requested="VARCHAR the model that was asked for",
        model_served="VARCHAR the model that answered",
        input_tokens="BIGINT tokens read, cache included",
        cache_read_tokens="BIGINT tokens read from the cache",
        cache_write_tokens="BIGINT tokens written to the cache",
        output_tokens="BIGINT tokens written",
        catalogue_key="VARCHAR hash of tools_seen, NULL when the trace does not say which tools there were",
        context_id="VARCHAR where the messages are: <file_id>:<context>",
        n_messages="INTEGER how many messages of the context the model saw; of a message: its place, from 0",
        context_problem="VARCHAR why these are not what the model saw, NULL when they are",
        last_message="VARCHAR the text of the last message, first 500 characters",
        lineage="VARCHAR equal for calls whose messages begin alike, so that length orders them; NULL: all of a run",
        length="BIGINT length of the messages: the order within a lineage, whatever the clocks say",
        input_hash="UBIGINT hash of the messages (spans: of length and last one): equal for two attempts at one answer",
        prefix_hashes="UBIGINT[] hashes of the first 1, 2, ... messages; only where no run or conversation is known",
        form="VARCHAR form of messages: openai or genai chat messages",
        messages="VARCHAR a call's own messages as a JSON list, a context's message; of extends {context_id, n}",
        tools_seen="VARCHAR the catalogue as the trace has it: a JSON list of definitions or names",
    ),
)

TRACE_FILES = Table(
    "traces",
    "trace_files",
    """One row per trace file that was found: what the reader saw in it. `ingest_files` adds what became of it.""",
    columns(
        "study",
        source="VARCHAR the trace source in study.yaml",
        source_file="VARCHAR the file, relative to the study",
        file_id="VARCHAR the content hash, 12 hexadecimal digits",
        is_copy="BOOLEAN whether a file with the same content comes before it",
        source_format="VARCHAR the format it was read as; unknown when nothing recognised it",
        content_hash="VARCHAR sha256 of the file",
        n_bytes="BIGINT size of the file",
        n_records="BIGINT units found, counted without reading them: lines, spans or messages",
        n_rejects="BIGINT of these, unreadable; each is a row of ingest_rejects",
        n_redacted="BIGINT secrets and personal data that were replaced before anything was written",
        seconds="DOUBLE time that reading took, when it was read",
        collected="DATE when its traces were collected, for traces that carry no times",
    ),
)

MERGED_UNITS = Table(
    "traces",
    "merged_units",
    """One row per trace file and reason for which units of it are no decisions of their own, as the reader saw it.""",
    columns(
        source="VARCHAR the trace source in study.yaml",
        file_id="VARCHAR the content hash, 12 hexadecimal digits",
        reason="VARCHAR context, bookkeeping, content_block, other_span, ...",
        n="BIGINT units",
    ),
)

INGEST_REJECTS = Table(
    "traces",
    "ingest_rejects",
    """One row per unit of a trace file that could not be read, with the reason from a closed list.""",
    columns(
        "study",
        source="VARCHAR the trace source in study.yaml",
        source_file="VARCHAR the file, relative to the study",
        position="BIGINT the line in JSON lines, else the how-manieth record, from 1",
        reason="VARCHAR empty_file, not_utf8, not_json, cut_json, unknown_format, not_a_record, no_messages, ...",
        detail="VARCHAR what was found",
    ),
)

TRACE_CATALOGUES = Table(
    "traces",
    "trace_catalogues",
    """One row per distinct list of tools that a trace says the model was shown.""",
    columns(
        catalogue_key="VARCHAR hash of the list as the trace has it",
        catalogue_hash="VARCHAR the hash of the catalogue; of the study's own where the names are the same",
        catalogue_source="VARCHAR in_trace, or names_only when the trace gives no definitions",
        n_tools="INTEGER tools in it",
        tools="VARCHAR their names, sorted and joined by |",
    ),
)

JOINED_CATALOGUES = Table(
    "traces",
    "joined_catalogues",
    """One row per rule of study.yaml that says which catalogue an agent had, for traces that do not.""",
    columns(
        "study",
        priority="INTEGER the order in study.yaml; of those that fit, the last one holds",
        client_id="VARCHAR the client it holds for; NULL for all",
        since="TIMESTAMP from when, in UTC; NULL for ever",
        until="TIMESTAMP until when, exclusive; NULL for ever",
        catalogue_hash="VARCHAR the catalogue; empty where none is joined",
        sample_seed="BIGINT the study's sampling seed",
    ),
)

RETIRED_TOOLS = Table(
    "traces",
    "retired_tools",
    """One row per retired tool name of catalogues/retired.yaml.""",
    columns(
        retired="VARCHAR the name that is no more",
        tool="VARCHAR the tool that took its place",
        args="VARCHAR arguments that go with it, as JSON; a call's own arguments win",
    ),
)

TABLES = (MODEL_CALLS, TRACE_FILES, MERGED_UNITS, INGEST_REJECTS, TRACE_CATALOGUES, JOINED_CATALOGUES, RETIRED_TOOLS)
