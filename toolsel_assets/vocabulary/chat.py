"""Messages of any provider as OpenAI chat messages, which is the one form that is stored, shown and replayed.

What belongs here: the conversion of one message. What does not: where a format keeps its messages (formats/).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Chat = dict[str, Any]


def text_of(content: Any) -> str:
    """Give the text in a message's content: a string, or a list of strings and blocks with text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Sequence):
        return ""
    found = [part if isinstance(part, str) else _part_text(part) for part in content]
    return "\n".join(text for text in found if text)


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return ""
    text = part.get("text", part.get("content", ""))
    return text if isinstance(text, str) else text_of(text)


def system(content: Any) -> list[Chat]:
    """Give a system prompt, text or blocks, as no message or one."""
    text = text_of(content)
    return [{"role": "system", "content": text}] if text else []


def tool_call(call_id: Any, name: Any, arguments: Any) -> Chat:
    """Give one entry of `tool_calls`."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(call_id or ""), "type": "function", "function": {"name": str(name or ""), "arguments": text}}


def tool_result(call_id: Any, content: Any, name: Any = None) -> Chat:
    """Give the message with a tool's result; what is neither text nor blocks of text becomes JSON."""
    text = text_of(content)
    if not text and content not in (None, "", [], {}):
        text = json.dumps(content, ensure_ascii=False, default=str)
    message = {"role": "tool", "tool_call_id": str(call_id or ""), "content": text}
    return {**message, "name": str(name)} if name else message


def with_said(found: list[Chat], role: str, texts: Iterable[str], calls: list[Chat]) -> list[Chat]:
    """Add to the tool results of a message what else was in it: its texts and calls, as one chat message."""
    text = "\n".join(part for part in texts if part)
    if calls:
        found.append({"role": role, "content": text or None, "tool_calls": calls})
    elif text or not found:
        found.append({"role": role, "content": text})
    return found


def from_anthropic(message: Mapping[str, Any]) -> list[Chat]:
    """Turn one message of the Anthropic Messages API into chat messages: tool results become messages of their own.

    Blocks that only the provider's own tools make (server_tool_use and their results) are kept as text, since they are
    what the model saw and no tool of the loop. Thinking is left out: it is not sent back to be answered.
    """
    role, content = str(message.get("role", "user")), message.get("content")
    if not isinstance(content, list):
        return [{"role": role, "content": text_of(content)}]
    found: list[Chat] = []
    texts: list[str] = []
    calls: list[Chat] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif not isinstance(block, Mapping):
            continue
        elif block.get("type") == "tool_use":
            calls.append(tool_call(block.get("id"), block.get("name"), block.get("input", {})))
        elif block.get("type") == "tool_result":
            found.append(tool_result(block.get("tool_use_id"), block.get("content")))
        elif block.get("type") not in ("thinking", "redacted_thinking"):
            texts.append(_block_text(block))
    return with_said(found, role, texts, calls)


def _block_text(block: Mapping[str, Any]) -> str:
    """Give the text of a block; one without text is named, so that a reader sees that something stood there."""
    return _part_text(block) or f"[{block.get('type', 'block')}]"


def from_genai(message: Mapping[str, Any]) -> list[Chat]:
    """Turn one message of OpenTelemetry's GenAI conventions (role and parts) into chat messages."""
    role, parts = str(message.get("role", "user")), message.get("parts")
    if not isinstance(parts, list):
        return [{"role": role, "content": text_of(message.get("content"))}]
    found: list[Chat] = []
    texts: list[str] = []
    calls: list[Chat] = []
    for part in (part for part in parts if isinstance(part, Mapping)):
        kind = part.get("type")
        if kind == "tool_call":
            calls.append(tool_call(part.get("id"), part.get("name"), part.get("arguments", {})))
        elif kind == "tool_call_response":
            found.append(tool_result(part.get("id"), part.get("response", part.get("result"))))
        elif kind not in ("reasoning", "thinking"):
            texts.append(_block_text(part))
    return with_said(found, role, texts, calls)


def from_inspect(message: Mapping[str, Any]) -> Chat:
    """Turn one message of Inspect AI into a chat message. The model sees a tool's error instead of its result."""
    role, content = str(message.get("role", "user")), _inspect_text(message.get("content"))
    if role == "tool":
        error = message.get("error")
        told = error.get("message") if isinstance(error, Mapping) else None
        return tool_result(message.get("tool_call_id"), told or content, message.get("function"))
    found = message.get("tool_calls")
    calls = [call for call in found if isinstance(call, Mapping)] if isinstance(found, list) else []
    if not calls:
        return {"role": role, "content": content}
    made = [tool_call(call.get("id"), call.get("function"), call.get("arguments", {})) for call in calls]
    return {"role": role, "content": content or None, "tool_calls": made}


def _inspect_text(content: Any) -> str:
    if not isinstance(content, list):
        return text_of(content)
    blocks = [block if isinstance(block, Mapping) else {"text": block} for block in content]
    return "\n".join(_block_text(block) for block in blocks if block.get("type") != "reasoning")
