"""Inspect AI's evaluation logs: one JSON object with `eval` and `samples`, of all generations since 2024.

A sample is a run. Its `events` (older logs: `transcript.events`) hold one model event per call of the model, retries
and answers from a cache included. Long texts stand apart (`attachment://`, older `tc://`), and in newer logs the
messages too (`input_refs` into a pool). A sample without events gives its `messages`, as openai_messages does.

Calls that a tool made, directly or through an agent, are a run of their own. Calls of a scorer judge the run: they are
no decisions of it. What was tried before a sample was started again (`error_retries`) is not read: it is no whole run.

A unit of the books is an event, those nested in others included; for a sample without events a message; and a record
without samples.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Item, Merged, Message, ModelCall, Rejected, Unreadable
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes.answer import Answer, concluded, tokens
from toolsel_assets.traces.shapes.inspect_events import Spans, around, enters_scorer, from_pool, spans_of, walk, whole
from toolsel_assets.traces.shapes.values import as_dict, as_list, as_text
from toolsel_assets.traces.times import milliseconds, utc
from toolsel_assets.vocabulary import chat
from toolsel_assets.vocabulary.chat import Chat
from toolsel_assets.vocabulary.decision import Status


def recognises(record: Any) -> bool:
    """An object with a version, a status and an `eval` that names its task and its run."""
    if not isinstance(record, dict) or not {"version", "status", "eval"} <= record.keys():
        return False
    spec = record["eval"]
    return isinstance(spec, dict) and "task" in spec and ("run_id" in spec or "eval_id" in spec)


def units(record: Any) -> int:
    """Count the events, or the messages where a sample has no events."""
    return sum(_sample_units(sample) for sample in _samples(record)) or 1


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read one run per sample."""
    seen: Counter[str] = Counter()
    for record in records:
        samples = _samples(record.value)
        if not samples:
            is_log = isinstance(record.value, dict)
            yield Rejected(record.position, "no_messages" if is_log else "not_a_record", "no log with samples")
        for place, value in enumerate(samples):
            try:
                yield from _run(value, record, place, seen)
            except Unreadable as problem:
                for _ in range(_sample_units(value)):
                    yield Rejected(record.position, problem.reason, f"sample {place}: {problem.detail}")


def _samples(record: Any) -> list[Any]:
    return as_list(as_dict(record).get("samples"))


def _first(value: Any) -> dict[str, Any]:
    return as_dict(next(iter(as_list(value)), None))


def _events(sample: Any) -> list[Any]:
    sample = as_dict(sample)
    return as_list(sample.get("events")) or as_list(as_dict(sample.get("transcript")).get("events"))


def _sample_units(sample: Any) -> int:
    events = _events(sample)
    return sum(1 for _ in walk(events)) if events else max(1, len(as_list(as_dict(sample).get("messages"))))


@dataclass(frozen=True)
class _Sample:
    """What the events of one sample share."""

    run_id: str
    texts: Mapping[str, Any]  # the texts that stand apart, by their hash
    pool: list[Any]  # the messages that input_refs point into
    spans: Spans


def _run(sample: Any, record: Record, place: int, seen: Counter[str]) -> Iterator[Item]:
    if not isinstance(sample, dict):
        raise Unreadable("not_a_record", f"expected an object, found {type(sample).__name__}")
    run_id = _run_id(as_dict(record.value.get("eval")), sample)
    transcript = as_dict(sample.get("transcript"))
    texts = {**as_dict(transcript.get("content")), **as_dict(sample.get("attachments"))}
    events = _events(sample)
    if not events:
        seen[run_id] += 1  # the same sample twice in a file has two lists of messages
        yield from _messages(sample, run_id, texts, run_id if seen[run_id] == 1 else f"{run_id}#{seen[run_id]}")
        return
    pool = as_list(as_dict(sample.get("events_data")).get("messages")) or as_list(sample.get("message_pool"))
    known = _Sample(run_id, texts, pool, spans_of(events))
    steps: Counter[str] = Counter()
    scoring = 0
    for event, tools in walk(events):
        try:
            scoring = max(0, scoring + enters_scorer(event))
            yield _item(event, tools, known, steps, scoring > 0)
        except Unreadable as problem:
            yield Rejected(record.position, problem.reason, f"sample {place}: {problem.detail}")
        except RecursionError:
            yield Rejected(record.position, "broken_message", f"sample {place}: an event is nested too deeply")


def _run_id(spec: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    """Name the run: by its own id, which it keeps when a later log takes it over, else by log, sample and epoch."""
    if unique := as_text(sample.get("uuid")):
        return unique
    log = as_text(spec.get("eval_id")) or ":".join(
        filter(None, (as_text(spec.get("run_id")), as_text(spec.get("task_id"))))
    )
    name = sample.get("id")
    if not log or not isinstance(name, str | int):
        raise Unreadable("no_run_id", "expected a uuid, or the log's eval_id or run_id and the sample's id")
    epoch = sample.get("epoch")
    return f"{log}:{name}:{epoch if isinstance(epoch, int) else 1}"


def _item(event: Any, tools: tuple[str, ...], sample: _Sample, steps: Counter[str], scoring: bool) -> Item:
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise Unreadable("broken_message", "an event that is no object with a kind")
    if event["event"] != "model":
        return Merged("bookkeeping")
    runs, in_scorer = around(event.get("span_id"), sample.spans)
    if scoring or in_scorer or event.get("role") == "grader":
        return Merged("other_span")
    names = [*(f"{sample.run_id}/{name}" for name in (*tools, *runs)), sample.run_id]
    call = _call(event, sample, names[0], names[1] if len(names) > 1 else None, steps[names[0]])
    steps[names[0]] += 1
    return call


def _call(event: Mapping[str, Any], sample: _Sample, run_id: str, parent: str | None, step: int) -> ModelCall:
    output = as_dict(event.get("output"))
    missing: list[str] = []
    messages, problem = _input(event, sample, missing)
    tools = event.get("tools")
    response = as_dict(as_dict(event.get("call")).get("response"))
    return ModelCall(
        call_id=f"{run_id}:{step}",
        messages=messages,
        context_problem="content_not_captured" if missing else problem,
        run_id=run_id,
        parent_run_id=parent,
        response_id=None if event.get("cache") == "read" else as_text(response.get("id")),
        started_at=utc(event.get("timestamp")),
        ended_at=utc(event.get("completed")),
        latency_ms=milliseconds(event.get("timestamp"), event.get("completed")),
        tools_seen=whole(tools, sample.texts, []) if isinstance(tools, list) else None,
        model_requested=as_text(event.get("model")),
        model_served=as_text(output.get("model")),
        **_decided(event, output),
        **_usage(as_dict(output.get("usage"))),
    )


def _decided(event: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    choice = _first(output.get("choices"))  # further choices are no parallel calls
    error = as_text(output.get("error"))
    answer = _answer(as_dict(choice.get("message")), as_text(choice.get("stop_reason")), must_finish=True)
    fields = concluded(replace(answer, refused=bool(error)))  # what moderation said stands beside the answer
    if failed := as_text(event.get("error")) or (None if choice else error):
        return {**fields, "status": Status.API_ERROR, "action": (), "detail": failed[:500]}
    return fields


def _answer(message: Mapping[str, Any], stop_reason: str | None, *, must_finish: bool) -> Answer:
    listed = message.get("tool_calls") or []
    calls = [as_dict(call) for call in as_list(listed)]
    problem = None if isinstance(listed, list) else f"tool_calls is no list but {type(listed).__name__}"
    for call in calls:
        if error := call.get("parse_error"):
            problem = f"the arguments of {call.get('function')} cannot be read: {str(error)[:300]}"
    blocks = [as_dict(block) for block in as_list(message.get("content"))]
    return Answer(
        calls=[(call.get("function"), call.get("arguments")) for call in calls],
        text=bool(chat.text_of(message.get("content"))),
        stop_reason=stop_reason,
        must_finish=must_finish,
        server_tools=tuple(str(block.get("name")) for block in blocks if block.get("type") == "tool_use"),
        malformed=problem,
    )


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Give the tokens. Whether `input_tokens` includes the cache differs by provider and version; the total tells."""
    found, out, total = (tokens(usage.get(key)) for key in ("input_tokens", "output_tokens", "total_tokens"))
    read, write = (tokens(usage.get(f"input_tokens_cache_{kind}")) for kind in ("read", "write"))
    cached = (read or 0) + (write or 0)
    if found is not None and total == found + cached + (out or 0):
        found += cached
    return {"input_tokens": found, "output_tokens": out, "cache_read_tokens": read, "cache_write_tokens": write}


def _input(
    event: Mapping[str, Any], sample: _Sample, missing: list[str]
) -> tuple[list[Chat] | None, ContextProblem | None]:
    found = event.get("input")
    if not found and event.get("input_refs") is not None:
        found = from_pool(event["input_refs"], sample.pool)
    if not found:
        return None, "content_not_captured"
    if not isinstance(found, list) or not all(isinstance(as_dict(message).get("role"), str) for message in found):
        return None, "broken_messages"
    return [chat.from_inspect(whole(message, sample.texts, missing)) for message in found], None


def _messages(sample: Mapping[str, Any], run_id: str, texts: Mapping[str, Any], context: str) -> Iterator[Item]:
    """Read a sample without events. Assistant messages that its input brought along are no decisions."""
    found = as_list(sample.get("messages"))
    if not found:
        raise Unreadable("no_messages", "neither events nor messages")
    if not all(isinstance(as_dict(message).get("role"), str) for message in found):
        raise Unreadable("broken_message", "a message that is no object with a role")
    if not any(map(_decides, found)):
        raise Unreadable("no_decisions", f"{len(found)} messages, none of them by the model")
    missing: list[str] = []
    last = _first(as_dict(sample.get("output")).get("choices"))
    try:
        shown = [(chat.from_inspect(whole(message, texts, missing)), bool(missing)) for message in found]
        stops = [as_text(last.get("stop_reason")) if message == last.get("message") else None for message in found]
        read = [concluded(_answer(m, stop, must_finish=False)) for m, stop in zip(found, stops, strict=True)]
    except RecursionError as error:
        raise Unreadable("broken_message", "a message is nested too deeply") from error
    step, lost = 0, False
    for position, (message, loses) in enumerate(shown):
        if _decides(found[position]):
            yield ModelCall(
                call_id=f"{run_id}:{step}",
                context=context,
                n_messages=position,
                context_problem="content_not_captured" if lost else None,
                run_id=run_id,
                model_served=as_text(found[position].get("model")),
                **read[position],
            )
            step += 1
        else:
            yield Merged("context")
        lost = loses
        yield Message(context, message)


def _decides(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and message.get("source") != "input"
