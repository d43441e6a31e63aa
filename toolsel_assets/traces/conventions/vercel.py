"""The Vercel AI SDK, versions 3 to 6: `ai.operationId`, messages and calls as JSON text.

Only the inner spans (`ai.generateText.doGenerate`, `ai.streamText.doStream`, ...) are calls of the model. The outer one
holds the same text again and is the agent that made the calls; `ai.toolCall` is a tool at work.
"""

from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.conventions import Span, model_span
from toolsel_assets.traces.conventions.aliases import renamed
from toolsel_assets.traces.conventions.parts import BROKEN, Message, Part, call_part, message, parsed
from toolsel_assets.traces.model_call import ContextProblem

OPERATION = "ai.operationId"
CALLS = (".doGenerate", ".doStream")
OTHERS = {"ai.toolCall": "execute_tool", "ai.embed": "embeddings", "ai.embedMany": "embeddings", "ai.rerank": "rerank"}


def speaks(span: Span) -> bool:
    """Whether a span has an operation of the SDK's."""
    return _operation(span).startswith("ai.")


def translate(span: Span) -> dict[str, Any]:
    """Give the attributes of today's conventions."""
    operation, attributes = _operation(span), span.attributes
    if not operation.endswith(CALLS):
        kind = next((kind for name, kind in OTHERS.items() if operation.split(".do")[0] == name), "invoke_agent")
        return model_span.other(span, kind, "vercel")
    known = renamed(attributes)
    _count_the_cache(known, attributes)
    saw, problem = _saw(attributes)
    said = _said(attributes)
    return model_span.model(span, "vercel", known, saw=saw, said=said, tools=_tools(attributes), problem=problem)


def _operation(span: Span) -> str:
    # Older versions have only operation.name, which the function's id follows.
    found = span.attributes.get(OPERATION) or span.attributes.get("operation.name")
    return found.split(" ")[0] if isinstance(found, str) else ""


def _saw(attributes: Mapping[str, Any]) -> tuple[list[Message] | None, ContextProblem | None]:
    text = attributes.get("ai.prompt.messages")
    if text is None:
        return None, None
    messages = parsed(text)
    if messages is BROKEN:
        return None, "value_truncated"
    if not isinstance(messages, list) or not all(isinstance(one, Mapping) for one in messages):
        return None, "broken_messages"
    return [message(one) for one in messages], None


def _said(attributes: Mapping[str, Any]) -> Message | str | None:
    """Give the answer: text, or an object that the SDK asked for, and calls; text when the calls were cut."""
    texts = [attributes.get(name) for name in ("ai.response.text", "ai.result.text")]
    objects = [attributes.get(name) for name in ("ai.response.object", "ai.result.object")]
    raw = attributes.get("ai.response.toolCalls", attributes.get("ai.result.toolCalls"))
    calls = parsed(raw)
    if calls is BROKEN or (calls is not None and not _are_calls(calls)):
        return str(raw) if calls is BROKEN else model_span.CUT
    spoken = next((text for text in texts + objects if isinstance(text, str) and text), None)
    if spoken is None and calls is None and not any(text == "" for text in texts):
        return None
    parts: list[Part] = [{"type": "text", "content": spoken}] if spoken else []
    return {"role": "assistant", "parts": parts + [call_part(call) for call in calls or ()]}


def _are_calls(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(call, Mapping) for call in value)


def _tools(attributes: Mapping[str, Any]) -> list[Any] | None:
    """Give the catalogue, whole or not at all; each tool is JSON text of its own."""
    raw = parsed(attributes.get("ai.prompt.tools"))
    tools = [parsed(tool) for tool in raw] if isinstance(raw, list) else []
    return tools if tools and all(isinstance(tool, Mapping) for tool in tools) else None


def _count_the_cache(known: dict[str, Any], attributes: Mapping[str, Any]) -> None:
    """Add the cached tokens of Anthropic's, which the SDK leaves out of the input before version 6."""
    is_newer = any(name.startswith("ai.usage.inputTokenDetails.") for name in attributes)
    if is_newer or "anthropic" not in str(attributes.get("ai.model.provider", "")).lower():
        return
    metadata = parsed(attributes.get("ai.response.providerMetadata"))
    own = metadata.get("anthropic") if isinstance(metadata, Mapping) else None
    own = own if isinstance(own, Mapping) else {}
    for name, key in ((model_span.READ, "cacheReadInputTokens"), (model_span.WRITE, "cacheCreationInputTokens")):
        if known.get(name) is None:
            known[name] = own.get(key)
    counts = [model_span.count(known.get(name)) for name in (model_span.IN, model_span.READ, model_span.WRITE)]
    if counts[0] is not None:
        known[model_span.IN] = sum(one or 0 for one in counts)
