"""SWE-agent's trajectories (.traj): one JSON object with `trajectory`, `history` and `info`.

Each answer of the agent is one decision. Newer files keep with every step of `trajectory` the `query`, which is what
the model saw; then the steps are read, answers that the loop refused and asked again included. Other files are read
from `history`. Where tools are called as functions, the calls stand in `history` only; else the model wrote a command,
whose first word is the tool.

The loop always asks for an action, and has no finish reason: an answer without one is malformed, never "no tool". What
the loop itself wrote down when it gave up ("Exit due to cost limit") is read by its exit status, and is no answer.
Demonstrations are context. Calls have no ids of their own (a replay repeats those of tool calls) and no times. Several
`attempts` at one problem are runs of their own; the copy of the best of them beside them is left out.

A unit of the books is a step of `trajectory` where steps have a query, else a message of `history`; and a record
without either.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Item, Merged, Message, ModelCall, Rejected, Unreadable
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes.answer import Answer, concluded
from toolsel_assets.traces.shapes.values import as_dict, as_list
from toolsel_assets.vocabulary.chat import Chat, text_of
from toolsel_assets.vocabulary.decision import Status

#: What the loop's reasons to give up say of the model's last answer, which it did not write down. Others say nothing.
EXITS = {
    "exit_context": Status.TRUNCATED,
    "exit_cost": Status.TRUNCATED,
    "exit_format": Status.MALFORMED,
    "exit_api": Status.API_ERROR,
}
#: The loop gave up before it asked the model again.
NOT_ASKED = frozenset({"exit_total_execution_time"})
#: Processors of the history that leave what the model reads as it is.
HARMLESS = frozenset({"default", "cache_control", "tag_tool_observations"})


def recognises(record: Any) -> bool:
    """An object whose steps have an action and an observation, or whose history names agents or kinds of messages."""
    parts = _attempts(record)
    return bool(parts) and _is_attempt(parts[0])


def units(record: Any) -> int:
    """Count the steps that have a query, or the messages of the history."""
    return sum(max(1, len(_units(part))) for part in _attempts(record)) or 1


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read one run per attempt."""
    seen: Counter[str] = Counter()
    for record in records:
        for part in _attempts(record.value) or [record.value]:
            try:
                yield from _run(part, record.position, seen)
            except Unreadable as problem:
                for _ in range(max(1, len(_units(part)))):
                    yield Rejected(record.position, problem.reason, problem.detail)


def _attempts(record: Any) -> list[Any]:
    return (as_list(record.get("attempts")) or [record]) if isinstance(record, dict) else []


def _is_attempt(part: Any) -> bool:
    history, steps = _first(as_dict(part).get("history")), _first(as_dict(part).get("trajectory"))
    if not history and not steps:
        keys = {"trajectory", "history", "info"}
        return (
            keys <= as_dict(part).keys() and isinstance(part["trajectory"], list) and isinstance(part["history"], list)
        )
    is_history = isinstance(history.get("role"), str) and ("message_type" in history or "agent" in history)
    return is_history or ({"action", "observation"} <= steps.keys() and ("response" in steps or "thought" in steps))


def _first(value: Any) -> dict[str, Any]:
    return as_dict(next(iter(as_list(value)), None))


def _has_queries(part: Any) -> bool:
    steps = as_list(as_dict(part).get("trajectory"))
    return any(_first(as_dict(step).get("query")).get("role") for step in steps) or not as_dict(part).get("history")


def _units(part: Any) -> list[Any]:
    return as_list(as_dict(part).get("trajectory" if _has_queries(part) else "history"))


@dataclass(frozen=True)
class _Attempt:
    """What the decisions of one attempt share."""

    run_id: str
    model: str | None
    exit_status: str | None  # the loop's reason to give up, when it did
    functions: bool  # tools are called as functions: a command without its call does not name the tool
    window: int | None  # from so many observations on, the model no longer saw all; None when it always did


def _run(part: Any, position: int, seen: Counter[str]) -> Iterator[Item]:
    if not isinstance(part, dict):
        raise Unreadable("not_a_record", f"expected an object, found {type(part).__name__}")
    if not _units(part):
        raise Unreadable("no_messages", "neither a history nor steps")
    try:
        known = _known(part)
        items = list(_steps(part, position, known) if _has_queries(part) else _history(part, known, seen))
    except RecursionError as error:
        raise Unreadable("broken_message", "nested too deeply") from error
    yield from items


def _known(part: Mapping[str, Any]) -> _Attempt:
    config = _config(part.get("replay_config"))
    agent = as_dict(config.get("agent"))
    instance = as_dict(config.get("problem_statement")).get("id")
    model = as_dict(agent.get("model")).get("name")
    status = str(as_dict(part.get("info")).get("exit_status"))
    reason = re.search(r"\bexit_\w+", status)  # "exit_cost", "submitted (exit_cost)"
    last = as_dict(next(reversed(as_list(part.get("trajectory"))), None))
    return _Attempt(
        run_id=f"{instance if isinstance(instance, str) and instance else 'sha'}:{_digest(part)}",
        model=model if isinstance(model, str) else None,
        exit_status=reason[0] if reason else None,
        functions=any(map(_calls, [*as_list(part.get("history")), *as_list(last.get("query"))])),
        window=_window(agent),
    )


def _config(value: Any) -> dict[str, Any]:
    """Newer files hold the configuration as JSON text."""
    try:
        return as_dict(json.loads(value) if isinstance(value, str) else value)
    except ValueError:
        return {}


def _digest(part: Mapping[str, Any]) -> str:
    """Hash what stays the same while a file grows and differs between runs of one problem: all up to the first answer.

    The time that the first action took is part of it: two runs may well begin alike.
    """
    head: list[Any] = []
    for message in as_list(part.get("history")):
        head.append(message)
        if _decides(message):
            break
    first = _first(part.get("trajectory"))
    told = [head or first, first.get("execution_time")]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def _window(agent: Mapping[str, Any]) -> int | None:
    """Say how many observations the model saw whole: processors shorten or change the history before it is sent."""
    listed = agent.get("history_processors")
    found = [as_dict(each) for each in (listed if isinstance(listed, list) else [agent.get("history_processor")])]
    windows = []
    for processor in found:
        n = processor.get("n")
        if processor.get("type") == "last_n_observations":
            windows.append(n + 1 if isinstance(n, int) else 1)  # the first observation is the task, and always stays
        elif processor and str(processor.get("type")) not in HARMLESS:
            windows.append(1)
    return min(windows, default=None)


def _decides(message: Any) -> bool:
    return as_dict(message).get("role") == "assistant" and not message.get("is_demo")


def _calls(message: Any) -> list[Any]:
    return as_list(as_dict(message).get("tool_calls"))


def _steps(part: Mapping[str, Any], position: int, known: _Attempt) -> Iterator[Item]:
    """Read steps. An answer that was accepted stands in the history too, in the same order, with its calls."""
    answers = [message for message in as_list(part.get("history")) if _decides(message)]
    steps = as_list(part.get("trajectory"))
    accepted = 0
    for place, step in enumerate(steps):
        if not isinstance(step, dict):
            yield Rejected(position, "broken_message", f"step {place} is no object")
            continue
        said: dict[str, Any] = {"content": step.get("response"), "action": step.get("action")}
        told = answers[accepted] if accepted < len(answers) else {}
        if told and told.get("content") == said["content"] and told.get("action") == said["action"]:
            said, accepted = told, accepted + 1
        reason = _gave_up(said, known, last=place == len(steps) - 1)
        if reason in NOT_ASKED or reason == "exit_format":  # the answers that were malformed are steps of their own
            yield Merged("bookkeeping")
            continue
        messages, problem = _query(step.get("query"))
        yield ModelCall(
            call_id=f"{known.run_id}:{place}",
            run_id=known.run_id,
            messages=messages,
            context_problem=problem,
            model_requested=known.model,
            **_decision(said, known, reason),
        )


def _query(query: Any) -> tuple[list[Chat] | None, ContextProblem | None]:
    if not isinstance(query, list) or not any(query):
        return None, "content_not_captured"
    if not all(isinstance(as_dict(message).get("role"), str) for message in query):
        return None, "broken_messages"
    return [_chat(message) for message in query], None


def _history(part: Mapping[str, Any], known: _Attempt, seen: Counter[str]) -> Iterator[Item]:
    """Read a history. Each agent sees its own messages; one that the first of them called is a run of its own."""
    history = as_list(part.get("history"))
    for place, message in enumerate(history):
        if not isinstance(as_dict(message).get("role"), str):
            raise Unreadable("broken_message", f"message {place} is no object with a role")
    last = next((place for place in reversed(range(len(history))) if _decides(history[place])), None)
    if last is None:
        raise Unreadable("no_decisions", f"{len(history)} messages, none of them an answer")
    main = history[0].get("agent")
    seen[known.run_id] += 1  # the same run twice in a file has two lists of messages
    again = "" if seen[known.run_id] == 1 else f"#{seen[known.run_id]}"
    counts: Counter[str] = Counter()
    for place, message in enumerate(history):
        named = message.get("agent")
        run_id = known.run_id if named is None or named == main else f"{known.run_id}/{named}"
        reason = _gave_up(message, known, last=place == last)
        if not _decides(message) or reason in NOT_ASKED:
            yield Merged("bookkeeping" if _decides(message) else "context")
        else:
            whole = known.window is None or counts[f"{run_id} observed"] <= known.window
            yield ModelCall(
                call_id=f"{run_id}:{counts[f'{run_id} decided']}",
                run_id=run_id,
                parent_run_id=known.run_id if run_id != known.run_id else None,
                context=f"{run_id}{again}",
                n_messages=counts[run_id],
                context_problem=None if whole else "value_truncated",
                model_requested=known.model,
                **_decision(message, known, reason),
            )
            counts[f"{run_id} decided"] += 1
        counts[run_id] += 1
        counts[f"{run_id} observed"] += message.get("message_type") == "observation" and not message.get("is_demo")
        yield Message(f"{run_id}{again}", _chat(message))


def _decision(said: Mapping[str, Any], known: _Attempt, reason: str | None) -> dict[str, Any]:
    """Read an answer, or the reason to give up that stands in its place."""
    if reason:
        detail = text_of(said.get("content"))[:300]
        return {"status": EXITS.get(reason, Status.UNKNOWN), "stop_reason": reason, "detail": detail or reason}
    action = said.get("action")
    if calls := _calls(said):
        functions = [as_dict(as_dict(call).get("function")) for call in calls]
        return concluded(Answer(calls=[(each.get("name"), each.get("arguments")) for each in functions], text=True))
    if "action" not in said or not isinstance(action, str | None):
        return concluded(Answer(must_finish=True, text=True, note="the log has no action"))
    if not action or not action.strip():
        return concluded(Answer(malformed="the loop found no action in the answer"))
    if known.functions:
        return concluded(Answer(must_finish=True, text=True, note="refused by the loop, its calls are not kept"))
    return concluded(Answer(calls=[(action.split()[0], {"command": action})]))


def _gave_up(said: Mapping[str, Any], known: _Attempt, *, last: bool) -> str | None:
    """Give the loop's reason to stop where it stands in place of an answer: the last one, with no action of its own."""
    action = said.get("action")
    if isinstance(action, str) and (action.strip() in EXITS or action.strip() == "exit_error"):
        return action.strip()  # so until version 0.7
    told = text_of(said.get("content")).startswith(("Exit due to", "Exiting due to"))
    return known.exit_status if last and not action and not _calls(said) and told else None


def _chat(message: Mapping[str, Any]) -> Chat:
    """Give a message without the loop's notes on it."""
    content = message.get("content")
    found: Chat = {"role": message["role"], "content": content if isinstance(content, str | list) else text_of(content)}
    if calls := _calls(message):
        found["tool_calls"] = calls
    if message["role"] == "tool":
        found["tool_call_id"] = str(
            next(iter(as_list(message.get("tool_call_ids"))), message.get("tool_call_id") or "")
        )
    return found
