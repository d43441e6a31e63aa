"""Runs as lists of OpenAI chat messages: `{"messages": [...]}`, or tau-bench's `{"traj": [...], "task_id", "trial"}`.

The list is the whole conversation; each assistant message in it is one decision, which saw the messages before it.
Such logs have no finish reason. A complete assistant message with text and without calls is the evidence for a stop;
one with neither is `unknown`, never "no tool". A run that ends on a tool result ends there: no stop is invented.

A unit of the books is a message; a record without messages is one unit.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsel_assets.traces import outcome
from toolsel_assets.traces.model_call import Item, Merged, Message, ModelCall, Rejected, Unreadable
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.times import utc
from toolsel_assets.vocabulary.action import Action, Call
from toolsel_assets.vocabulary.decision import Status

#: Where the list of messages stands, and what may identify a run, in order of preference.
MESSAGES = ("messages", "traj")
RUN_IDS = ("run_id", "id", "conversation_id", "trace_id", "session_id")
THREAD_IDS = ("thread_id", "conversation_id", "session_id")
CLIENT_IDS = ("client_id", "user", "user_id")


def recognises(record: Any) -> bool:
    """An object with a list of messages that have roles and no answer apart from them; an empty list counts."""
    if not isinstance(record, dict) or "response" in record or "choices" in record:
        return False
    messages = next((record[key] for key in MESSAGES if key in record), None)
    return isinstance(messages, list) and (
        not messages or (isinstance(messages[0], dict) and isinstance(messages[0].get("role"), str))
    )


def units(record: Any) -> int:
    """Count the messages."""
    return max(1, len(_messages(record) or ()))


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read one run per record."""
    for record in records:
        try:
            yield from _run(record.value)
        except Unreadable as problem:
            for _ in range(units(record.value)):
                yield Rejected(record.position, problem.reason, problem.detail)


def _messages(record: Any) -> list[Any] | None:
    if not isinstance(record, dict):
        return None
    return next((record[key] for key in MESSAGES if isinstance(record.get(key), list)), None)


def _run(record: Any) -> Iterator[Item]:
    if not isinstance(record, dict):
        raise Unreadable("not_a_record", f"expected an object, found {type(record).__name__}")
    messages = _messages(record)
    if not messages:
        raise Unreadable("no_messages", f"expected a list under {' or '.join(MESSAGES)}, with messages in it")
    for position, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Unreadable("broken_message", f"message {position} is no object with a role")
    if not any(message["role"] == "assistant" for message in messages):
        raise Unreadable("no_decisions", f"{len(messages)} messages, none of them by the assistant")
    run_id = _run_id(record)
    known = {
        "run_id": run_id,
        "conversation_id": _text(record, THREAD_IDS),
        "client_id": _text(record, CLIENT_IDS),
        "model_requested": _text(record, ("model",)),
        "tools_seen": record["tools"] if isinstance(record.get("tools"), list) else None,
    }
    step = 0
    for position, message in enumerate(messages):
        if message["role"] == "assistant":
            yield _decision(message, known, f"{run_id}:{step}", run_id, position)
            step += 1
        else:
            yield Merged("context")
        yield Message(run_id, message)


def _text(record: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((str(record[key]) for key in keys if isinstance(record.get(key), str | int)), None)


def _run_id(record: dict[str, Any]) -> str:
    found = _text(record, RUN_IDS)
    if found is None and "task_id" in record:
        found = f"task{record['task_id']}.trial{record.get('trial', 0)}"
    if found is None:
        raise Unreadable("no_run_id", f"expected one of {', '.join(RUN_IDS)}, or task_id and trial")
    return found


def _decision(
    message: dict[str, Any], known: Mapping[str, Any], call_id: str, context: str, n_messages: int
) -> ModelCall:
    finish = message.get("finish_reason")
    stop_reason = finish if isinstance(finish, str) else None
    action: Action = ()
    try:
        action = tuple(_call(call) for call in _calls(message))
        ended, detail = outcome.status(action, stop_reason, text=bool(message.get("content")))
        if message.get("refusal"):
            ended = Status.REFUSED
    except outcome.Malformed as problem:
        ended, detail = Status.MALFORMED, str(problem)
    return ModelCall(
        call_id=call_id,
        context=context,
        n_messages=n_messages,
        status=ended,
        action=action if ended == Status.CALLED else (),
        stop_reason=stop_reason,
        detail=detail,
        started_at=utc(message.get("timestamp") or message.get("created_at")),
        **known,
    )


def _calls(message: dict[str, Any]) -> list[Any]:
    older = message.get("function_call")
    calls = message.get("tool_calls") or ([{"function": older}] if older is not None else [])
    if not isinstance(calls, list):
        raise outcome.Malformed(f"tool_calls is no list but {type(calls).__name__}")
    return calls


def _call(call: Any) -> Call:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise outcome.Malformed("a call without a function")
    return outcome.call(function.get("name"), function.get("arguments"))
