"""Flat decisions: one JSON object per decision and line, for teams that log just what toolsel needs.

    {"run_id": "r1", "step_index": 0, "messages": [{"role": "user", "content": "..."}],
     "calls": [{"tool": "search", "args": {"q": "x"}}], "decided_at": "2026-11-30T12:00:00Z"}

`run_id`, `step_index` and `messages` (OpenAI chat messages, all that the model saw) are needed. `calls` is a list;
empty or null is an answer without a call, and `status`, `stop_reason` or the text `answer` is the evidence for what
that was; without any it is `unknown`. Optional: see COLUMNS. Other keys are left out.

A unit is a line. DuckDB reads it, so that ten million decisions take minutes and no more memory than one million.
"""

from pathlib import Path
from typing import Any

from toolsel_assets.traces import outcome
from toolsel_assets.traces.tables import LONGEST_LINE
from toolsel_assets.vocabulary.decision import Status

NEEDED = {"run_id", "step_index", "messages"}

#: The columns of a line, as DuckDB reads them.
COLUMNS = {
    "decision_id": "VARCHAR", "run_id": "VARCHAR", "step_index": "BIGINT", "messages": "JSON", "calls": "JSON",
    "answer": "VARCHAR", "status": "VARCHAR", "stop_reason": "VARCHAR", "decided_at": "VARCHAR",
    "thread_id": "VARCHAR", "parent_run_id": "VARCHAR", "client_id": "VARCHAR", "model": "VARCHAR",
    "model_served": "VARCHAR", "tools": "JSON", "input_tokens": "BIGINT", "cache_read_tokens": "BIGINT",
    "cache_write_tokens": "BIGINT", "output_tokens": "BIGINT", "latency_ms": "DOUBLE",
}  # fmt: skip

_STATUSES = ", ".join(f"'{status}'" for status in Status)
_MALFORMED = """len(list_filter(actions, lambda one:
    coalesce(one.tool, '') = ''
    or not (one.args is null or one.args::varchar ^@ '{' or one.args::varchar = 'null'))) > 0"""


def _words(words: frozenset[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


QUERY = f"""
with lines as (
    select *, row_number() over () - 1 as ordinal,
           calls is null or calls::varchar = 'null' as is_silent, calls::varchar ^@ '[' as is_list,
           try_cast(calls as struct(tool varchar, args json)[]) as actions,
           messages::varchar as list_of_messages,
           replace(lower(trim(coalesce(stop_reason, ''))), '-', '_') as word
    from read_json(getvariable('path'), format = 'newline_delimited', columns = {COLUMNS!r},
                   maximum_object_size = {LONGEST_LINE})
),
judged as (
    select *,
           case when not is_silent and (not is_list or actions is null)
                then 'calls is no list of objects with tool and args'
                when {_MALFORMED} then 'a call without a tool, or with args that are no object' end as malformed,
           coalesce(len(actions), 0) > 0 as has_calls
    from lines
),
ended as (
    select *,
           case when malformed is not null then 'malformed'
                when status in ({_STATUSES}) and (status <> 'called' or has_calls)
                     and (status <> 'stopped' or not has_calls) then status
                when status is not null then 'unknown'
                when word in ({_words(outcome.CUT)}) then 'truncated'
                when word in ({_words(outcome.DECLINED)}) then 'refused'
                when word in ({_words(outcome.FAILED)}) then 'api_error'
                when has_calls then 'called'
                when word in ({_words(outcome.CALLING)}) then 'malformed'
                when word in ({_words(outcome.FINISHED)}) or (word = '' and answer <> '') then 'stopped'
                else 'unknown' end as outcome
    from judged
)
select
    getvariable('file_id') as file_id,
    getvariable('source') as source,
    ordinal,
    'model' as kind,
    coalesce(decision_id, run_id || ':' || step_index) as call_id,
    run_id,
    parent_run_id,
    thread_id as conversation_id,
    client_id,
    null::varchar as agent,
    null::varchar as trace_id,
    null::varchar as span_id,
    null::varchar as parent_span_id,
    null::varchar as response_id,
    make_timestamp(epoch_us(try_cast(decided_at as timestamptz))) as started_at,  -- text without a zone is UTC
    null::timestamp as ended_at,
    latency_ms,
    outcome as status,
    coalesce(malformed, case when outcome = 'unknown' and status is not null
        then 'status is ' || status || ', which its calls contradict or which is none of the known' end
    ) as status_detail,
    stop_reason,
    case when outcome = 'called' then list_transform(actions, lambda one: one.tool) else [] end as tools_called,
    case when outcome = 'called'
         then case when may_hold_secrets(calls) then redact(calls) else calls::varchar end else '[]' end as calls,
    null::varchar as server_tools,
    true as args_complete,
    model as model_requested,
    model_served,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    output_tokens,
    hash(tools::varchar)::varchar as catalogue_key,
    getvariable('file_id') || ':' || ordinal as context_id,
    null::integer as n_messages,
    case when coalesce(list_of_messages, 'null') in ('null', '[]') then 'content_not_captured'
         when not list_of_messages ^@ '[' then 'broken_messages' end as context_problem,
    case when strlen(said) > 500 then left(said, 500) else said end as last_message,
    null::varchar as lineage,
    step_index as length,
    null::ubigint as input_hash,
    null::ubigint[] as prefix_hashes,
    'openai' as form,
    case when list_of_messages ^@ '[' and list_of_messages <> '[]'
         then case when may_hold_secrets(list_of_messages) then redact(list_of_messages) else list_of_messages end
         end as messages,
    case when may_hold_secrets(tools) then redact(tools) else tools::varchar end as tools_seen
from (
    select *, case when may_hold_secrets(last_text) then redact(last_text) else last_text end as said
    from (select *, coalesce(messages ->> '$[#-1].content', '') as last_text from ended)
)
"""


def recognises(record: Any) -> bool:
    """An object with a run, a step and the messages."""
    return isinstance(record, dict) and record.keys() >= NEEDED


def units(record: Any) -> int:
    """One line is one unit."""
    return 1


def count_units(path: Path, n_read: int) -> int:
    """Count the lines with something on them; a count of line ends will do where it agrees with what was read."""
    ends, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            ends, last = ends + chunk.count(b"\n"), chunk[-1:]
    if ends + (last != b"\n") == n_read:
        return n_read
    with path.open("rb") as file:
        return sum(1 for line in file if not line.isspace())
