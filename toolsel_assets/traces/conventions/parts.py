"""Messages of OpenAI's, Anthropic's and Vercel's shape as GenAI messages: a role and parts.

What belongs here: the conversion of one message and of one block in it. What does not: under which attributes an
instrumentation writes them (the conventions), and chat messages, which are what is stored (traces/chat.py).
"""

import json
from collections.abc import Mapping
from typing import Any

Part = dict[str, Any]
Message = dict[str, Any]

#: JSON text that could not be parsed: most often a limit on the length of values cut it.
BROKEN = object()

TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})
CALLS = frozenset({"tool_use", "tool_call", "tool-call", "function", "function_call"})
RESULTS = frozenset({"tool_result", "tool-result", "tool_call_response", "function_call_output"})
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
OTHERS = frozenset({"image", "image_url", "input_image", "file", "input_file", "document", "input_audio"})
SERVER = frozenset({"server_tool_use", "server_tool_call"})
BLOCKS = TEXTS | CALLS | RESULTS | THOUGHTS | OTHERS | SERVER


def parsed(value: Any) -> Any:
    """Parse JSON text; what is no text stays, and text that is no JSON gives `BROKEN`."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return BROKEN


def message(raw: Mapping[str, Any], role: str = "user") -> Message:
    """Turn one message into role and parts; `role` is what it is without one of its own."""
    role = raw["role"] if isinstance(raw.get("role"), str) else role
    content, calls = raw.get("content"), raw.get("tool_calls")
    if isinstance(raw.get("parts"), list) and content is None:
        return {"role": role, "parts": [part(block) for block in raw["parts"]]}
    call_id = raw.get("tool_call_id", raw.get("id"))
    if role in ("tool", "function") and not _has_results(content):
        return {"role": role, "parts": [_without_none({"type": "tool_call_response", "id": call_id}, content)]}
    found = parts(content)
    found += [call_part(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    if isinstance(raw.get("function_call"), Mapping) and not calls:
        found.append(call_part(raw["function_call"]))
    return {"role": role, "parts": found}


def _has_results(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, Mapping) and _kind(block) in RESULTS for block in content
    )


def _kind(block: Mapping[str, Any]) -> str:
    """Give the type of a block, empty when it has none that is text."""
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _without_none(found: Part, response: Any) -> Part:
    found = {key: value for key, value in found.items() if value is not None}
    return found if response is None else {**found, "response": response}


def parts(content: Any) -> list[Part]:
    """Turn a message's content into parts: text, JSON text of blocks, one block or a list of them."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        blocks = parsed(content) if content.lstrip().startswith("[") else None
        content = blocks if _are_blocks(blocks) else [content]
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        content = [json.dumps(content, ensure_ascii=False, default=str)]
    return [part(block) for block in content]


def _are_blocks(value: Any) -> bool:
    # Text that is the JSON of anything else, a tool's result say, is text.
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(block, Mapping) and _kind(block) in BLOCKS for block in value)
    )


def part(block: Any) -> Part:
    """Turn one block into a part; blocks of no known type stay as they are."""
    if not isinstance(block, Mapping):
        return {"type": "text", "content": block if isinstance(block, str) else json.dumps(block, default=str)}
    kind = _kind(block)
    if kind in TEXTS:
        text = block.get("text", block.get("content", block.get("refusal")))
        return {"type": "text", "content": text if isinstance(text, str) else ""}
    if kind in CALLS:
        return call_part(block)
    if kind in RESULTS:
        call_id = _first(block, "tool_use_id", "toolCallId", "call_id", "id")
        return _without_none({"type": "tool_call_response", "id": call_id}, _result(block))
    if kind in THOUGHTS:
        thought = _first(block, "thinking", "text", "content")
        return {"type": "reasoning", "content": thought if isinstance(thought, str) else ""}
    if kind == "server_tool_use":
        return {"type": "server_tool_call", "id": block.get("id"), "name": block.get("name")}
    return {str(key): value for key, value in block.items()}


def _first(block: Mapping[str, Any], *names: str) -> Any:
    return next((block[name] for name in names if block.get(name) is not None), None)


def _result(block: Mapping[str, Any]) -> Any:
    """Give what a tool returned; Vercel wraps it as `{type, value}`."""
    found = _first(block, "response", "result", "output", "content")
    return found["value"] if isinstance(found, Mapping) and "value" in found and "type" in found else found


def call_part(call: Mapping[str, Any]) -> Part:
    """Turn one call of a tool into a part. Arguments that were not captured are left out, unreadable ones stay text.

    A call that the provider itself carries out, or that code makes in its sandbox, is none of the loop's.
    """
    inner = call.get("function")
    inner = inner if isinstance(inner, Mapping) else call
    found: Part = {"type": "tool_call", "name": _first(inner, "name", "toolName", "function_name")}
    call_id = _first(call, "id", "toolCallId", "call_id", "tool_call_id")
    if call_id is not None:
        found["id"] = call_id
    if call.get("providerExecuted") is True or not _by_the_model(call.get("caller")):
        return {**found, "type": "server_tool_call"}
    arguments = _first(inner, "arguments", "args", "input")
    if arguments is not None:
        as_object = parsed(arguments)
        found["arguments"] = as_object if isinstance(as_object, Mapping | list) else arguments
    return found


def _by_the_model(caller: Any) -> bool:
    return not isinstance(caller, Mapping) or caller.get("type") in (None, "direct")


def is_cut(found: Message) -> bool:
    """Say whether a message holds JSON that ends in the middle: arguments, or a list of blocks that is text."""
    for block in found.get("parts", ()):
        if block.get("type") == "tool_call" and isinstance(block.get("arguments"), str):
            return True
        text = block.get("content") if block.get("type") == "text" else None
        if isinstance(text, str) and text.startswith(('[{"', "[{'")) and parsed(text) is BROKEN:
            return True
    return False
