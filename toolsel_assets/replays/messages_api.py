"""Questions and answers in the form of Anthropic's Messages API, which compatible servers take as well.

What belongs here: a chat as a request body, an answer's text as a choice. What does not: the SDK, retries, money
(agents/anthropic.py, asking.py). Pure: nothing is sent from here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolsel_assets.replays.agents import CannotAsk, Choice, Question, Usage
from toolsel_assets.replays.wire_names import wire_name
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.chat import text_of
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.tool import Tool

Json = dict[str, Any]

#: A conversation that an assistant opens has no first user message, which the API asks for.
OPENING = "(The conversation begins.)"

#: An empty text is refused by the API; a message that said nothing is shown as one.
NOTHING_SAID = "(empty)"

#: Blocks that are known to be no call of the loop's tools. Another one might be: nothing is concluded beside it.
SAYS_NOTHING_OF_TOOLS = frozenset({"text", "thinking", "redacted_thinking", "server_tool_use", "container_upload"})

#: What the documented stop reasons say when no tool was called.
STOPPED = frozenset({"end_turn", "stop_sequence"})
WITHOUT_A_CHOICE = {
    "max_tokens": (Status.TRUNCATED, "max_tokens"),
    "model_context_window_exceeded": (Status.TRUNCATED, "the context window is full"),
    "refusal": (Status.REFUSED, None),
    "pause_turn": (Status.UNKNOWN, "a pause of the provider's own tools: the turn had not ended"),
}


# --- what is asked ------------------------------------------------------------------------------------------------


def tool_definitions(tools: Sequence[Tool]) -> list[Json]:
    """Give the tools in the order shown."""
    return [
        {
            "name": wire_name(tool.name),
            "description": tool.description,
            "input_schema": {"type": "object", **tool.input_schema},
        }
        for tool in tools
    ]


def system_text(messages: Sequence[Mapping[str, Any]], prompt: str | None) -> str:
    """Give the system prompt: the rung's file, else what the state began with."""
    if prompt is not None:
        return prompt
    return "\n\n".join(text_of(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))


def conversation(messages: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Turn a chat (OpenAI form) into alternating messages; a state that cannot be one raises `CannotAsk`.

    Identifiers of calls are numbered anew: logs cut, repeat and omit them, and the API refuses what it does not know.
    """
    turns: list[Json] = []
    open_calls: list[tuple[str, str]] = []  # (the log's identifier, ours) of calls without a result so far
    n_calls = 0
    for message in messages:
        role = message.get("role")
        if role in ("system", "developer"):
            continue
        if role == "assistant":
            blocks = _text_blocks(message.get("content"))
            _refuse_open(open_calls)
            for call in _calls(message):
                n_calls += 1
                open_calls.append((call["id"], f"call_{n_calls}"))
                use = {"type": "tool_use", "id": f"call_{n_calls}", "name": call["name"], "input": call["args"]}
                blocks.append(use)
            _add(turns, "assistant", blocks or _nothing())
        elif role in ("tool", "function"):
            ours = _close(open_calls, str(message.get("tool_call_id") or ""))
            result = {"type": "tool_result", "tool_use_id": ours, "content": text_of(message.get("content"))}
            _add(turns, "user", [result])
        elif role == "user":
            _refuse_open(open_calls)
            _add(turns, "user", _text_blocks(message.get("content")) or _nothing())
        else:
            raise CannotAsk(f"a message of role {role!r}")
    _refuse_open(open_calls)
    if not turns:
        raise CannotAsk("there is no message")
    if turns[-1]["role"] == "assistant":
        raise CannotAsk("it ends with the assistant's own message, which the model would go on writing")
    if turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    return turns


def _nothing() -> list[Json]:
    return [{"type": "text", "text": NOTHING_SAID}]


def _text_blocks(content: Any) -> list[Json]:
    text = text_of(content)
    return [{"type": "text", "text": text}] if text.strip() else []


def _add(turns: list[Json], role: str, blocks: list[Json]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].extend(blocks)
    else:
        turns.append({"role": role, "content": blocks})


def _calls(message: Mapping[str, Any]) -> Iterator[Json]:
    found = list(message.get("tool_calls") or ())
    if isinstance(legacy := message.get("function_call"), Mapping):
        found.append({"id": "", "function": legacy})
    for call in found:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not function.get("name"):
            raise CannotAsk("a call without a tool's name")
        arguments = function.get("arguments")
        try:
            args = json.loads(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
        except ValueError as error:
            raise CannotAsk(f"an earlier call of {function['name']} whose arguments are not JSON") from error
        if not isinstance(args, Mapping):
            raise CannotAsk(f"an earlier call of {function['name']} whose arguments are no JSON object")
        yield {"id": str(call.get("id") or ""), "name": wire_name(str(function["name"])), "args": args}


def _close(open_calls: list[tuple[str, str]], theirs: str) -> str:
    """Find the call that a result belongs to: by its identifier, else the first without a result."""
    matching = [place for place, (logged, _) in enumerate(open_calls) if logged == theirs]
    unnamed = [place for place, (logged, _) in enumerate(open_calls) if not theirs or not logged]
    if places := matching or unnamed:
        return open_calls.pop(places[0])[1]
    raise CannotAsk(f"a result of {theirs or 'a call'} without its call")


def _refuse_open(open_calls: list[tuple[str, str]]) -> None:
    if open_calls:
        raise CannotAsk(f"{len(open_calls)} earlier call(s) without a result")


# --- what came back -----------------------------------------------------------------------------------------------


def choice(text: str, question: Question, names: Mapping[str, str]) -> Choice:
    """Conclude what an answer chose; `names` maps wire names to tools. A name that is none of them stays as it is.

    *No tool* needs a stop reason that says that the model finished. An answer of another shape is `malformed`.
    """
    message = parsed(text)
    content = message.get("content") if message else None
    if message is None or message.get("type") not in (None, "message") or not isinstance(content, list):
        return Choice((), Status.MALFORMED, detail=f"no message of the Messages API: {text[:80]!r}")
    served = message.get("model") if isinstance(message.get("model"), str) else None
    if not all(isinstance(block, Mapping) for block in content):
        return Choice((), Status.MALFORMED, model_served=served, detail="a content block that is no object")
    uses = [block for block in content if block.get("type") == "tool_use"]
    reason = message.get("stop_reason")
    status, detail = _status(uses, reason)
    if status == Status.REFUSED and isinstance(why := message.get("stop_details"), Mapping):
        detail = str(why.get("explanation") or why.get("category") or "")[:200] or None
    if status == Status.STOPPED and (odd := [kind for block in content if not _is_known(kind := block.get("type"))]):
        status, detail = Status.UNKNOWN, f"an unknown kind of block, {str(odd[0])[:40]!r}"
    action = tuple(Call(names.get(use["name"], use["name"]), use["input"]) for use in uses) if not detail else ()
    return Choice(action if status == Status.CALLED else (), status, model_served=served, detail=detail)


def _is_known(kind: object) -> bool:
    """Say whether a block is one of text, thinking, or the provider's own tools and their results."""
    return isinstance(kind, str) and (kind in SAYS_NOTHING_OF_TOOLS or kind.endswith("_tool_result"))


def _status(uses: Sequence[Mapping[str, Any]], reason: Any) -> tuple[Status, str | None]:
    if reason is not None and not isinstance(reason, str):
        return Status.MALFORMED, "a stop reason that is no text"
    if reason in WITHOUT_A_CHOICE:
        return WITHOUT_A_CHOICE[reason]
    for use in uses:
        if not isinstance(use.get("name"), str) or not use["name"]:
            return Status.MALFORMED, "a call without a tool's name"
        if not isinstance(use.get("input"), Mapping):
            return Status.MALFORMED, f"the arguments of {use['name']} are no JSON object"
    if reason == "tool_use":
        return (Status.CALLED, None) if uses else (Status.MALFORMED, "it ended with tool_use, and no call is there")
    if reason in STOPPED:
        return (Status.CALLED if uses else Status.STOPPED), None
    return Status.UNKNOWN, "there is no stop reason" if reason is None else f"unknown stop reason {reason[:40]!r}"


def parsed(text: str) -> Json | None:
    """Read JSON text of an object; None when it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def usage(text: str) -> tuple[Usage, str | None]:
    """Give the tokens of an answer and the model that served it. The API's input_tokens leave the cache out."""
    message = parsed(text) or {}
    raw = message.get("usage")
    found = {name: value for name, value in raw.items() if _is_count(value)} if isinstance(raw, Mapping) else {}
    read, written = found.get("cache_read_input_tokens"), found.get("cache_creation_input_tokens")
    tokens = found.get("input_tokens")
    total = None if tokens is None else tokens + (read or 0) + (written or 0)
    model = message.get("model")
    return Usage(total, read, written, found.get("output_tokens")), model if isinstance(model, str) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
