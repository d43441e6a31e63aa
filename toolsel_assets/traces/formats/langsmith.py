"""LangSmith's runs: one per line or in an array, nested (`child_runs`), or a page of the API (`{"runs": [...]}`).

A run of LangSmith is a span: those of type `llm` are calls of the model, each with the messages it saw; the others
link and execute. `dotted_order` names all spans above a run and when each began. The thread stands in the metadata; the
`session_id` of a run is its project. `run_id` stays empty: a trace may hold many runs. What stands in `inputs` and
`outputs` is what LangChain, a wrapped SDK or one's own code handed over: loose.py reads it.

A unit of the books is a run, those nested in others included; a record without runs is one unit.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Item, Link, Merged, ModelCall, Rejected, Unreadable
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes import loose
from toolsel_assets.traces.shapes.answer import Answer, concluded, tokens
from toolsel_assets.traces.shapes.values import as_dict, as_list, as_text
from toolsel_assets.traces.times import milliseconds, utc
from toolsel_assets.vocabulary.decision import Status

TYPES = frozenset({"llm", "chain", "tool", "retriever", "embedding", "prompt", "parser"})
#: What only LangSmith's runs have beside their type.
MARKS = frozenset({"dotted_order", "trace_id", "parent_run_id", "child_runs", "child_run_ids", "session_id"})
THREAD_IDS = ("thread_id", "session_id", "conversation_id")
CLIENT_IDS = ("client_id", "user_id", "user")
STOPS = ("finish_reason", "stop_reason", "done_reason")
INPUT = ("prompt_tokens", "input_tokens")
OUTPUT = ("completion_tokens", "output_tokens")
DETAILS = tuple(f"{name}_details" for name in ("prompt_token", "prompt_tokens", "input_token", "input_tokens"))


def recognises(record: Any) -> bool:
    """A run with an id and one of LangSmith's types, or a page of such runs."""
    run = next(iter(as_list(record.get("runs"))), None) if isinstance(record, dict) and "runs" in record else record
    return isinstance(run, dict) and "id" in run and as_text(run.get("run_type")) in TYPES and not MARKS.isdisjoint(run)


def units(record: Any) -> int:
    """Count the runs."""
    return sum(1 for _ in _walk(record))


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read runs in the order of the file."""
    for record in records:
        for run, thread in _walk(record.value):
            try:
                yield _item(run, thread)
            except Unreadable as problem:
                yield Rejected(record.position, problem.reason, problem.detail)
            except RecursionError:
                yield Rejected(record.position, "not_a_record", "a run that is nested too deeply")


def _walk(record: Any) -> Iterator[tuple[Any, str | None]]:
    """Give every run with the thread of the run around it, without recursion."""
    runs = as_list(record.get("runs")) if isinstance(record, dict) and "run_type" not in record else []
    levels: list[tuple[Iterator[Any], str | None]] = [(iter(runs or [record]), None)]
    while levels:
        for run in levels[-1][0]:
            thread = _thread(run) or levels[-1][1]
            yield run, thread
            if children := as_list(as_dict(run).get("child_runs")):
                levels.append((iter(children), thread))
                break
        else:
            levels.pop()


def _metadata(run: Any) -> dict[str, Any]:
    return as_dict(as_dict(as_dict(run).get("extra")).get("metadata"))


def _named(place: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    values = (place.get(key) for key in keys)
    return next((str(value) for value in values if isinstance(value, str | int) and value != ""), None)


def _thread(run: Any) -> str | None:
    return _named(_metadata(run), THREAD_IDS)


def _item(run: Any, thread: str | None) -> Item:
    if not isinstance(run, dict) or not isinstance(run.get("run_type"), str):
        raise Unreadable("not_a_record", "expected a run with a run_type")
    run_id = as_text(run.get("id"))
    if run["run_type"] != "llm":
        return _link(run, run_id, thread)
    if run_id is None:
        raise Unreadable("no_id", "a call of the model without an id")
    trace, parent, began = _order(run.get("dotted_order"))
    started = utc(run.get("start_time")) or utc(began)
    said = _said(run.get("outputs"))
    metadata = as_dict(said.get("response_metadata"))
    parameters = as_dict(as_dict(run.get("extra")).get("invocation_params"))
    request, problem = _request(run.get("inputs"))
    response_id = as_text(metadata.get("id")) or as_text(as_dict(run.get("outputs")).get("id"))
    return ModelCall(
        call_id=run_id,
        span_id=run_id,
        trace_id=as_text(run.get("trace_id")) or trace,
        parent_span_id=as_text(run.get("parent_run_id")) or parent,
        conversation_id=thread,
        client_id=_named(_metadata(run), CLIENT_IDS),
        response_id=response_id,
        started_at=started,
        ended_at=utc(run.get("end_time")),
        latency_ms=milliseconds(run.get("start_time"), run.get("end_time")),
        messages=request.messages,
        context_problem=problem,
        tools_seen=loose.definitions(parameters.get("tools") or parameters.get("functions")) or request.tools,
        model_requested=_named(_metadata(run), ("ls_model_name",)) or _named(parameters, ("model", "model_name")),
        model_served=_named(metadata, ("model_name", "model")) or _named(as_dict(run.get("outputs")), ("model",)),
        **_decided(run, said),
        **_usage(run, said),
    )


def _link(run: dict[str, Any], run_id: str | None, thread: str | None) -> Item:
    if run_id is None:
        return Merged("other_span")
    trace, parent, _ = _order(run.get("dotted_order"))
    return Link(
        kind="tool" if run["run_type"] == "tool" else "other",
        span_id=run_id,
        trace_id=as_text(run.get("trace_id")) or trace,
        parent_span_id=as_text(run.get("parent_run_id")) or parent,
        conversation_id=thread,
    )


def _order(dotted: Any) -> tuple[str | None, str | None, str | None]:
    """Read the trace, the span above and the start from `<time>Z<id>.<time>Z<id>`, a segment per level."""
    segments = [segment.partition("Z") for segment in (as_text(dotted) or "").split(".")]
    if not all(name for _, _, name in segments):
        return None, None, None
    time = segments[-1][0]  # 20230914T223155647000
    parent = segments[-2][2] if len(segments) > 1 else None
    return segments[0][2], parent, f"{time[:15]}.{time[15:21]}" if len(time) > 15 else time


def _request(inputs: Any) -> tuple[loose.Request, ContextProblem | None]:
    try:
        found = loose.request(inputs)
        if found.messages is None and as_list(as_dict(inputs).get("prompts")):  # models that complete a text
            found = loose.Request(loose.messages(inputs["prompts"][:1]), found.tools)
    except loose.Cut:
        return loose.Request(), "value_truncated"
    if found.partial:
        return found, "kept_by_provider"
    if found.messages is not None:
        return found, None
    held = [inputs.get(key) for key in ("messages", "input", "prompts")] if isinstance(inputs, dict) else [inputs]
    return found, "broken_messages" if any(held) else "content_not_captured"


def _said(outputs: Any) -> dict[str, Any]:
    """Give the message in an output of LangChain, out of its serialised form."""
    batch = next(iter(as_list(as_dict(outputs).get("generations"))), None)
    generation = as_dict(next(iter(batch), None) if isinstance(batch, list) else batch)
    message = as_dict(generation.get("message")) or as_dict(as_dict(outputs).get("message"))
    fields = as_dict(message.get("kwargs")) if "lc" in message else as_dict(message.get("data"))
    return {**message, **fields}


def _decided(run: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    if error := run.get("error"):
        return {"status": Status.API_ERROR, "detail": str(error)[:500]}
    try:
        found = loose.answer(run.get("outputs"))
    except loose.Cut as problem:
        return {"status": Status.TRUNCATED, "detail": f"the log cut the answer: {problem}"}
    unfinished = run.get("end_time") is None and run.get("status") != "success"
    if found is None:
        return concluded(Answer(note="the run has not ended" if unfinished else None))
    # Calls whose arguments LangChain could not read stand apart from those that it could.
    invalid = [
        f"the arguments of {as_dict(call).get('name')} cannot be read"
        for call in as_list(said.get("invalid_tool_calls"))
    ]
    return concluded(
        Answer(
            calls=found.calls,
            text=bool(found.text),
            stop_reason=found.stop_reason or _named(as_dict(said.get("response_metadata")), STOPS),
            must_finish=unfinished,
            refused=found.refused or bool(as_dict(said.get("additional_kwargs")).get("refusal")),
            server_tools=found.server_tools,
            malformed=next(iter(invalid), found.oddity),
        )
    )


def _usage(run: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Give the tokens as LangSmith or LangChain counts them, cache included, else as the API said. 0 is not known."""
    outputs = as_dict(run.get("outputs"))
    places = [run, *(as_dict(place.get("usage_metadata")) for place in (said, outputs, _metadata(run)))]
    places += [as_dict(outputs.get("usage")), as_dict(as_dict(outputs.get("llm_output")).get("token_usage"))]
    asked = next((place for place in places if _count([place], INPUT)), {})
    details = [as_dict(place[key]) for place in places for key in DETAILS if key in place]
    read, write = tokens(asked.get("cache_read_input_tokens")), tokens(asked.get("cache_creation_input_tokens"))
    count = _count([asked], INPUT)  # Anthropic's API counts the cache beside it
    return {
        "input_tokens": None if count is None else count + (read or 0) + (write or 0),
        "output_tokens": _count(places, OUTPUT),
        "cache_read_tokens": read if read is not None else _count(details, ("cache_read", "cached_tokens")),
        "cache_write_tokens": write if write is not None else _count(details, ("cache_creation",)),
    }


def _count(places: Iterable[Mapping[str, Any]], keys: tuple[str, ...]) -> int | None:
    return next((count for place in places for key in keys if (count := tokens(place.get(key)))), None)
