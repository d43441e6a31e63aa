"""One message of a conversation, in whatever shape a provider or a framework has it, as chat messages.

What belongs here: what tells the shapes of messages apart, one row per shape. What does not: the parts of a message
(parts.py), lists of messages and what stands around them (loose.py).
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolsel_assets.traces.shapes import parts
from toolsel_assets.traces.shapes.values import as_dict
from toolsel_assets.vocabulary.chat import Chat, tool_result

#: Names of roles, and of LangChain's types of messages, that chat messages spell otherwise.
ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "aimessagechunk": "assistant"}
LANGCHAIN = frozenset({"human", "ai", "system", "tool", "function", "developer", "AIMessageChunk"})


def chat_messages(message: Any) -> list[Chat] | None:
    """Give a message as chat messages (results of tools are messages of their own); None when no shape fits."""
    if isinstance(message, str):
        return [{"role": "user", "content": message}]
    if not isinstance(message, Mapping):
        return None
    convert = next((convert for fits, convert in _SHAPES if fits(message)), None)
    return None if convert is None else convert(message)


def _constructed(message: Mapping[str, Any]) -> list[Chat] | None:
    """LangChain's `dumpd`: the class is the last part of `id`, its fields are `kwargs`."""
    name = str((message["id"] or [""])[-1]) if isinstance(message.get("id"), list) else ""
    return chat_messages({"type": name.removesuffix("Chunk").removesuffix("Message").lower(), **message["kwargs"]})


def _pydantic(message: Mapping[str, Any]) -> list[Chat] | None:
    """Pydantic AI: the instructions, the prompts and the results of tools are parts of one request."""
    role = "user" if message["kind"] == "request" else "assistant"
    roles = {"system-prompt": "system", "user-prompt": "user"}
    found: list[Chat] = []
    for part in message["parts"]:
        kind = part.get("part_kind") if isinstance(part, Mapping) else None
        found += parts.said(roles.get(str(kind), role), [part])
    return found if role == "user" else parts.said(role, message["parts"])


def _plain(message: Mapping[str, Any]) -> list[Chat] | None:
    """A message with a role (or LangChain's type) and content, and with calls beside the content or in it."""
    name = message.get("role") if isinstance(message.get("role"), str) else message.get("type")
    role = ROLES.get(str(name).lower(), str(name))
    content = message.get("parts", message.get("content"))
    blocks = [content] if isinstance(content, str | Mapping) else content
    if not isinstance(blocks, list | None):
        return None
    if role == "tool" and not any(parts.is_result(block) for block in blocks or ()):
        return [tool_result(message.get("tool_call_id"), content, message.get("name"))]
    if any(parts.kind(as_dict(block)) in parts.MEDIA for block in blocks or ()):
        return [{"role": role, "content": blocks}]
    return parts.said(role, blocks or (), _calls(message))


def _calls(message: Mapping[str, Any]) -> list[Chat]:
    """Read the calls beside the content: OpenAI's, the older function_call, LangChain's, Vercel's."""
    for place in (message, as_dict(message.get("additional_kwargs"))):
        for key in ("tool_calls", "toolCalls", "function_call"):
            listed = [*_listed(place.get(key)), *_listed(place.get("invalid_tool_calls"))]
            if listed:
                return [_one_call(call) for call in listed]
    return []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _one_call(call: Any) -> Chat:
    call = call if isinstance(call, Mapping) else {}
    return parts.called({**call, **as_dict(call.get("function"))})


_Convert = Callable[[Mapping[str, Any]], list[Chat] | None]
_SHAPES: tuple[tuple[Callable[[Mapping[str, Any]], bool], _Convert], ...] = (
    (lambda m: isinstance(m.get("kwargs"), Mapping) and "lc" in m, _constructed),
    (
        lambda m: isinstance(m.get("data"), Mapping) and "type" in m,
        lambda m: chat_messages({"type": m["type"], **m["data"]}),
    ),
    (lambda m: isinstance(m.get("message"), Mapping), lambda m: chat_messages(m["message"])),
    (lambda m: m.get("kind") in ("request", "response") and isinstance(m.get("parts"), list), _pydantic),
    (lambda m: isinstance(m.get("role"), str), _plain),
    (lambda m: parts.kind(m) in LANGCHAIN and "content" in m, _plain),
    (lambda m: parts.kind(m) in parts.THOUGHTS, lambda m: []),
    (parts.is_part, lambda m: parts.said("user" if parts.kind(m) in parts.TEXTS else "assistant", [m])),
)
