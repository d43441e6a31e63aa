"""Runs as lists of OpenAI chat messages: `{"messages": [...]}`, or tau-bench's `{"traj": [...], "task_id", "trial"}`.

The list is the whole conversation; each assistant message in it is one decision, which saw the messages before it.
Such logs have no finish reason. A complete assistant message with text and without calls is the evidence for a stop;
one with neither is `unknown`, never "no tool". A run that ends on a tool result ends there: no stop is invented.
"""

import json
from typing import Any

from toolsel_assets.traces.run import Run, Turn, Unreadable
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

#: Where the list of messages stands, and what may identify a run, in order of preference.
MESSAGES = ("messages", "traj")
RUN_IDS = ("run_id", "id", "conversation_id", "trace_id", "session_id")
THREAD_IDS = ("thread_id", "conversation_id", "session_id")
CLIENT_IDS = ("client_id", "user", "user_id")


def recognises(record: Any) -> bool:
    """An object with a list of messages that have roles; an empty list counts, so that it is rejected by name."""
    if not isinstance(record, dict):
        return False
    messages = next((record[key] for key in MESSAGES if key in record), None)
    return isinstance(messages, list) and (
        not messages or (isinstance(messages[0], dict) and isinstance(messages[0].get("role"), str))
    )


def read_run(record: Any) -> Run:
    """Turn one record into a run with a turn per assistant message."""
    if not isinstance(record, dict):
        raise Unreadable("not_a_record", f"expected an object, found {type(record).__name__}")
    messages = next((record[key] for key in MESSAGES if isinstance(record.get(key), list)), None)
    if not messages:
        raise Unreadable("no_messages", f"expected a list under {' or '.join(MESSAGES)}, with messages in it")
    for position, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Unreadable("broken_message", f"message {position} is no object with a role")
    turns = [_turn(position, message) for position, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns:
        raise Unreadable("no_decisions", f"{len(messages)} messages, none of them by the assistant")
    return Run(
        run_id=_run_id(record),
        messages=messages,
        turns=turns,
        thread_id=_text(record, THREAD_IDS),
        client_id=_text(record, CLIENT_IDS),
    )


def _text(record: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((str(record[key]) for key in keys if isinstance(record.get(key), str | int)), None)


def _run_id(record: dict[str, Any]) -> str:
    found = _text(record, RUN_IDS)
    if found is None and "task_id" in record:
        found = f"task{record['task_id']}.trial{record.get('trial', 0)}"
    if found is None:
        raise Unreadable("no_run_id", f"expected one of {', '.join(RUN_IDS)}, or task_id and trial")
    return found


def _turn(n_messages: int, message: dict[str, Any]) -> Turn:
    calls = message.get("tool_calls") or (
        [{"function": message["function_call"]}] if "function_call" in message else []
    )
    finish_reason = message.get("finish_reason")
    stop_reason = finish_reason if isinstance(finish_reason, str) else None
    if not calls:
        return Turn(n_messages, (), _status_without_calls(message, stop_reason), stop_reason)
    try:
        action = tuple(_call(call) for call in calls)
    except ValueError as error:
        return Turn(n_messages, (), Status.MALFORMED, stop_reason, detail=str(error))
    return Turn(n_messages, action, Status.CALLED, stop_reason)


def _status_without_calls(message: dict[str, Any], stop_reason: str | None) -> Status:
    if message.get("refusal") or stop_reason == "content_filter":
        return Status.REFUSED
    if stop_reason == "length":
        return Status.TRUNCATED
    return Status.STOPPED if message.get("content") else Status.UNKNOWN


def _call(call: Any) -> Call:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise ValueError("a call without a function name")
    name, arguments = function["name"], function.get("arguments")
    try:
        args = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments of {name} are not JSON: {error}") from error
    if not isinstance(args, dict):
        raise ValueError(f"the arguments of {name} are not a JSON object")
    return Call(name, args)
