"""The SELECT that reads OTLP/JSON: a row of `tables.MODEL_CALLS` per span.

It needs the variables `path`, `file_id` and `source`, the macro `may_hold_secrets(text)` and the functions `redact` and
`translate_span`. What it costs is measured by tests/bench/otlp_ingest.py; these choices are its outcome: typed structs
rather than JSON paths, two lists of an attribute's names and texts rather than a map or a filter per attribute, one
parse for several paths, and no window but the number of the row, which streams (on one thread).

Attributes are read once, as they stand or as `translate_span` gives them; all that follows is the same for both. What
does not belong here: what a stop reason means (outcome.py, from which the lists come).
"""

from typing import get_args

from toolsel_assets.traces import outcome
from toolsel_assets.traces.conventions.aliases import ALIASES
from toolsel_assets.traces.model_call import ContextProblem
from toolsel_assets.traces.tables import LONGEST_LINE, MODEL_CALLS

#: Operations of model calls, and of agents and workflows around them.
CALLS = ("chat", "text_completion", "generate_content", "completion", "messages", "responses")
AGENTS = ("invoke_agent", "create_agent", "invoke_workflow")

#: Column of the SELECT -> attribute of today's conventions.
ATTRIBUTES = {
    "operation": "gen_ai.operation.name",
    "conversation_id": "gen_ai.conversation.id",
    "agent": "gen_ai.agent.id",
    "client_id": "user.id",
    "model_requested": "gen_ai.request.model",
    "model_served": "gen_ai.response.model",
    "response_id": "gen_ai.response.id",
    "finish": "gen_ai.response.finish_reasons",
    "system": "gen_ai.system_instructions",
    "input": "gen_ai.input.messages",
    "output": "gen_ai.output.messages",
    "tools": "gen_ai.tool.definitions",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_write.input_tokens",
    "previous": "gen_ai.request.previous_response.id",
    "error": "error.type",
    "is_cut": "anthropic.content.truncated",
    "problem": "toolsel.context_problem",
}

#: Names that only spans of other conventions have: these are translated.
_FOREIGN = ("llm.", "ai.", "traceloop.")
_MARKS = (" llm.", " ai.", " traceloop.", " openinference.", " operation.name", " gen_ai.prompt", " gen_ai.completion")

#: White space of JSON, as SQL writes it.
_BLANKS = r"E' \t\r\n'"

#: What says whether a span has to be translated, and what only calls of the model have.
_CONTENT = ("operation", "input", "output", "system", "tools")
_OF_CALLS = tuple(name for name in ATTRIBUTES if name not in (*_CONTENT, "conversation_id", "agent"))

_ANY_VALUE = ", ".join(
    f"{name} VARCHAR" for name in ("stringValue", "intValue", "doubleValue", "boolValue", "arrayValue", "kvlistValue")
)
_PAIRS = f"attributes STRUCT(key VARCHAR, value STRUCT({_ANY_VALUE}))[]"
_SPAN = ", ".join(
    f"{name} VARCHAR"
    for name in ("traceId", "spanId", "parentSpanId", "name", "startTimeUnixNano", "endTimeUnixNano", "events")
)
_RESOURCE = f"""STRUCT(
    resource STRUCT({_PAIRS}),
    scopeSpans STRUCT(spans STRUCT({_SPAN}, status STRUCT(code VARCHAR), droppedAttributesCount VARCHAR,
        {_PAIRS})[])[])[]
"""


def _words(words: object) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))  # type: ignore[call-overload]


def _read(column: str) -> str:
    """Read an attribute under today's name, else under one of those that it had before."""
    name = ATTRIBUTES[column]
    old = [alias.old for alias in ALIASES if alias.new == name and not alias.old.startswith(_FOREIGN)]
    old += ["enduser.id"] if column == "client_id" else []
    reads = [f"texts[list_position(names, '{one}')]" for one in (name, *old)]
    read = reads[0] if len(reads) == 1 else f"coalesce({', '.join(reads)})"
    return f"nullif({read}, '')"


Rule = tuple[str, str, str]  # condition, status, detail; all SQL


def outcome_rules(called: str, text: str, must_finish: str) -> list[Rule]:
    """Give outcome.status as rules, the first that holds, over `word` (the normalised reason) and `stop_reason`."""
    words = {
        name: f"word in ({_words(getattr(outcome, name))})"
        for name in ("CUT", "DECLINED", "FAILED", "CALLING", "FINISHED")
    }
    return [
        (words["CUT"], "'truncated'", "null"),
        (words["DECLINED"], "'refused'", "null"),
        (words["FAILED"], "'api_error'", "null"),
        (called, "'called'", "null"),
        (words["CALLING"], "'malformed'", "'it ended with ' || stop_reason || ', and no call is there'"),
        (words["FINISHED"], "'stopped'", "null"),
        ("word <> ''", "'unknown'", "'unknown stop reason ' || stop_reason"),
        (f"{text} and not {must_finish}", "'stopped'", "null"),
        (text, "'unknown'", "'there is no stop reason'"),
        ("true", "'unknown'", "'there is neither a stop reason nor an answer'"),
    ]


#: Asked only of answers without a call and without a reason.
_TEXT = (
    """coalesce(content <> '' or len(list_filter(parts, lambda p: p.type = 'text' and p.content <> '')) > 0, false)"""
)


def status_rules() -> list[Rule]:
    """Give the rules of a span: what the log lost comes before what the answer says, and after what its reason says."""
    first, rest = (found := outcome_rules("len(called) > 0", _TEXT, "must_finish"))[:3], found[3:]
    none = "not has_output"
    lost = [
        (f"{none} and (is_error or error is not null)", "'api_error'", "null"),
        (f"{none} and {rest[1][0]}", "'unknown'", "'a tool was called; which one was not captured'"),
        (f"{none} and {rest[2][0]}", "'stopped'", "null"),
        (
            none,
            "'unknown'",
            "case when word = '' then 'there is neither a stop reason nor an answer' "
            "else 'unknown stop reason ' || stop_reason end",
        ),
        ("answers is null and not json_valid(output)", "'truncated'", "'the answer was cut'"),
        ("(is_error or error is not null) and word = ''", "'api_error'", "null"),
        ("parts is null and content is null", "'malformed'", "'the answer is no message'"),
        (
            "broken_call is not null",
            "'malformed'",
            "case when broken_call.tool is null then 'a call without a tool''s name' "
            "else 'the arguments of ' || broken_call.tool || ' are not a JSON object' end",
        ),
    ]
    return [*first, *lost, *rest]


def _case(rules: list[Rule], which: int) -> str:
    return (
        "case when not is_call then null " + " ".join(f"when {rule[0]} then {rule[which]}" for rule in rules) + " end"
    )


def _redacted(text: str) -> str:
    return f"case when may_hold_secrets({text}) then redact({text}) else {text} end"


def _time(nanoseconds: str) -> str:
    return f"make_timestamp(nullif(greatest(try_cast({nanoseconds} as bigint), 0), 0) // 1000)"


def _or_empty(list_: str) -> str:
    """A place without spans is a row, too, so that the books see it."""
    return f"unnest(case when len({list_}) > 0 then {list_} else [null] end)"


def _number(column: str) -> str:
    return f"try_cast({column} as bigint)"


_CACHED = f"(coalesce({_number('cache_read_tokens')}, 0) + coalesce({_number('cache_write_tokens')}, 0))"

_COLUMNS = {
    "file_id": "getvariable('file_id')",
    "source": "getvariable('source')",
    "call_id": "trace_id || ':' || span_id",
    "run_id": "null",
    "parent_run_id": "null",
    "client_id": "coalesce(client_id, service)",
    "latency_ms": "case when ended_at >= started_at then epoch_us(ended_at) - epoch_us(started_at) end / 1000",
    "tools_called": "case when status = 'called' then called when is_call then [] end",
    "calls": f"""case when status = 'called' then {_redacted("calls_text")} when is_call then '[]' end""",
    "server_tools": "nullif(array_to_string(server_tools, '|'), '')",
    "args_complete": """case when status = 'called' then len(list_filter(asked_for, lambda call: not call.is_there)) = 0
        when is_call then true end""",
    # Those who count the cached tokens apart give an input that is smaller than its cached part.
    "input_tokens": f"""{_number("input_tokens")}
        + case when {_number("input_tokens")} < {_CACHED} then {_CACHED} else 0 end""",
    **{name: _number(name) for name in ("cache_read_tokens", "cache_write_tokens", "output_tokens")},
    "catalogue_key": "hash(tools_seen)::varchar",
    "context_id": "case when messages is not null then getvariable('file_id') || ':' || ordinal end",
    "n_messages": "case when messages is not null then len(seen) + (instructions is not null)::int end",
    "last_message": f"left({_redacted('last_message')}, 500)",
    "length": "strlen(messages)",
    # Of all messages it would be a third of the cost; what is as long and ends alike is the same question in a run.
    "input_hash": "hash(strlen(messages) || last_seen)",
    "prefix_hashes": """case when conversation_id is null and messages is not null then list_reduce(
        list_transform(case when instructions is null then seen else list_prepend(instructions::json, seen) end,
                       lambda one: [hash(one)]),
        lambda before, one: list_append(before, hash(before[-1] || ':' || one[1]))) end""",
    "form": "case when messages is not null then 'genai' end",
    "messages": _redacted("messages"),
}

QUERY = f"""
with lines as (
    select case when resourceLogs is not null or resourceSpans is null
                then error('not an export of spans alone: it has to be rewritten') else resourceSpans end as resources
    from read_json(getvariable('path'), format = 'newline_delimited', records = true,
                   maximum_object_size = {LONGEST_LINE},
                   columns = {{resourceSpans: '{_RESOURCE}', resourceLogs: 'VARCHAR'}})
),
resources as (
    select {_or_empty("resources")} as resource from lines
),
scopes as (
    select list_filter(resource.resource.attributes, lambda a: a.key = 'service.name')[1].value.stringValue as service,
           {_or_empty("resource.scopeSpans")} as scope
    from resources
),
spans as (
    select service, {_or_empty("scope.spans")} as span from scopes
),
raw as (
    select row_number() over () - 1 as ordinal, service, span,
           list_transform(span.attributes, lambda a: a.key) as names,
           list_transform(span.attributes, lambda a: coalesce(
               a.value.stringValue, a.value.intValue, a.value.arrayValue, a.value.doubleValue, a.value.boolValue,
               a.value.kvlistValue)) as texts
    from spans
),
content as (
    select *, {", ".join(f"{_read(name)} as own_{name}" for name in _CONTENT)}
    from raw
),
-- A structure's text begins with a brace, JSON text of a list with a bracket.
translated as (
    select *, case
        when own_operation in ({_words(("execute_tool", *AGENTS))}) then null
        when coalesce(left(own_input, 1) <> '[', false) or coalesce(left(own_output, 1) <> '[', false)
             or coalesce(left(own_tools, 1) <> '[', false) or left(own_system, 1) = '{{'
             or not contains(own_input, '"parts"') or not contains(own_output, '"parts"')
             then translate_span(to_json(span))
        when own_input is not null and own_output is not null then null
        when contains(span.events, 'gen_ai.') then translate_span(to_json(span))
        when {" or ".join(f"contains(' ' || array_to_string(names, ' '), '{mark}')" for mark in _MARKS)}
             then translate_span(to_json(span)) end as translation
    from content
),
listed as (
    select * exclude (names, texts),
           case when translation is null then names else json_keys(translation) end as names,
           case when translation is null then texts else json_extract_string(translation, '$.*') end as texts
    from translated
),
known as (
    select ordinal, service, names, texts, span.name as name, nullif(lower(span.traceId), '') as trace_id,
           nullif(lower(span.spanId), '') as span_id, nullif(lower(span.parentSpanId), '') as parent_span_id,
           {_time("span.startTimeUnixNano")} as started_at, {_time("span.endTimeUnixNano")} as ended_at,
           coalesce(try_cast(span.droppedAttributesCount as bigint), 0) > 0 as has_lost,
           coalesce(span.status.code in ('2', 'STATUS_CODE_ERROR'), false) as is_error,
           {_read("conversation_id")} as conversation_id,
           {", ".join(f"case when translation is null then own_{x} else {_read(x)} end as {x}" for x in _CONTENT)}
    from listed
),
kinds as (
    select *, case
        when trace_id is null or span_id is null then 'other'
        when lower(operation) in ({_words(CALLS)}) then 'model'
        when lower(operation) in ({_words(AGENTS)}) then 'agent'
        when lower(operation) = 'execute_tool' then 'tool'
        when output is not null then 'model'
        when operation is null and (input is not null or {_read("finish")} is not null
             or ({_read("model_requested")} is not null and not contains(lower(name), 'embed'))) then 'model'
        else 'other' end as kind
    from known
),
-- Whatever only a call of the model has is NULL from here on for all other spans, so that it costs them nothing.
calls as (
    select ordinal, service, trace_id, span_id, parent_span_id, started_at, ended_at, has_lost, is_error,
           conversation_id, kind, kind = 'model' as is_call,
           case when kind = 'agent' then {_read("agent")} end as agent,
           {", ".join(f"case when kind = 'model' then {x} end as {x}" for x in _CONTENT[1:])},
           {", ".join(f"case when kind = 'model' then {_read(x)} end as {x}" for x in _OF_CALLS)}
    from kinds
),
parsed as (
    select *, try(json_extract(input, '$[*]')) as seen, try(from_json(output, '[{{
               "finish_reason": "VARCHAR", "content": "VARCHAR", "parts": [
                   {{"type": "VARCHAR", "name": "VARCHAR", "arguments": "JSON", "content": "VARCHAR"}}]}}]'))
               as answers,
           case when left(system, 1) = '[' then try(json_array_length(system)) end as n_system,
           case when try(json_array_length(tools)) > 0 then {_redacted("tools")} end as tools_seen,
           nullif(case left(finish, 1) when '{{' then json_extract_string(finish, '$.values[0].stringValue')
                       when '[' then try(json_extract_string(finish, '$[0]')) else finish end, '') as own_reason
    from calls
),
read as (
    select *, answers[1].parts as parts, answers[1].content as content, seen[1] as first_seen, seen[-1] as last_seen,
           from_json(seen[-1], '{{"content": "VARCHAR", "parts": [
               {{"type": "VARCHAR", "content": "VARCHAR", "response": "VARCHAR", "result": "VARCHAR"}}]}}') as last,
           coalesce(own_reason, nullif(answers[1].finish_reason, '')) as stop_reason,
           output is not null and coalesce(len(answers) > 0 or left(output, 1) <> '[', true) as has_output,
           case when n_system > 0 then system
                when n_system is null then '[{{"type":"text","content":' || to_json(system) || '}}]' end as instructions
    from parsed
),
asked as (
    select *, finish is not null or contains(output, '"finish_reason"') as must_finish,
           list_transform(list_filter(parts, lambda p: p.type = 'tool_call'), lambda p: {{
               'tool': nullif(trim(p.name), ''),
               'args': case when p.arguments is null then '{{}}' when left(p.arguments, 1) = '{{' then p.arguments
                            when left(p.arguments, 1) = '"' then try(json_extract(p.arguments ->> '$', '$')) end,
               'is_there': p.arguments is not null}}) as asked_for,
           case when contains(output, '"server_tool_call"') then list_transform(
               list_filter(parts, lambda p: p.type = 'server_tool_call'), lambda p: coalesce(p.name, p.type)) end
               as server_tools,
           case when coalesce(left(first_seen, 1) <> '{{' or left(last_seen, 1) <> '{{', true)
                     or problem = 'content_not_captured' then null
                when instructions is null then input
                else '[{{"role":"system","parts":' || instructions || '}},' || ltrim(input, {_BLANKS[:-1]}[') end
               as messages
    from read
),
judged as (
    select *, replace(lower(trim(coalesce(stop_reason, ''))), '-', '_') as word,
           list_transform(asked_for, lambda call: call.tool) as called,
           list_filter(asked_for, lambda call: call.tool is null or coalesce(left(call.args, 1) <> '{{', true))[1]
               as broken_call,
           case when messages is not null then hash(
               substring(coalesce(system, ''), 1, 200) || substring(first_seen, 1, 500)
               || case when contains(first_seen, '"role":"system"') then substring(coalesce(seen[2], ''), 1, 500)
                       else '' end) end as lineage
    from asked
),
concluded as (
    select *, {_case(status_rules(), 1)} as status, {_case(status_rules(), 2)} as status_detail,
           case when not is_call then null
                when problem in ({_words(get_args(ContextProblem))}) then problem
                when coalesce(len(seen) = 0, input is null) then
                    case when previous is not null then 'kept_by_provider'
                         when has_lost then 'attributes_dropped' else 'content_not_captured' end
                when seen is null or is_cut = 'true' or (left(system, 1) = '[' and n_system is null)
                    then 'value_truncated'
                when messages is null then 'broken_messages'
                when has_lost then 'attributes_dropped'
                when previous is not null then 'kept_by_provider' end as context_problem,
           case when status = 'called' then '[' || array_to_string(list_transform(asked_for, lambda call:
               '{{"tool": ' || to_json(call.tool)::varchar || ', "args": ' || call.args || '}}'), ', ') || ']' end
               as calls_text,
           case when messages is not null then coalesce(list_transform(
               list_filter(last.parts, lambda p: p.type in ('text', 'tool_call_response')),
               lambda p: coalesce(p.content, p.response, p.result))[1], last.content, '') end as last_message
    from judged
)
select {", ".join(f"({_COLUMNS.get(c.name, c.name)})::{c.type} as {c.name}" for c in MODEL_CALLS.columns)}
from concluded
"""
