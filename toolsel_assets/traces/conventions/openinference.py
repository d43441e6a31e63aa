"""OpenInference: `openinference.span.kind`, and messages with one attribute per leaf (`llm.input_messages.0...`).

The decision stands in the answer twice, as `message.tool_calls` and as `message.contents` of the type tool_use; it is
counted once. Where the numbered attributes have holes (a limit evicts the oldest), the raw request and response in
`input.value` and `output.value` stand in for them, if they are those of OpenAI or Anthropic.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.conventions import Span, model_span
from toolsel_assets.traces.conventions.aliases import renamed
from toolsel_assets.traces.conventions.indexed import flat, numbered, tree
from toolsel_assets.traces.conventions.parts import BROKEN, Message, Part, call_part, is_cut, message, parsed
from toolsel_assets.traces.model_call import ContextProblem

KIND = "openinference.span.kind"
OPERATIONS = {
    "LLM": "chat",
    "AGENT": "invoke_agent",
    "TOOL": "execute_tool",
    "CHAIN": "invoke_workflow",
    "EMBEDDING": "embeddings",
}
MESSAGES = ("llm.input_messages", "llm.output_messages")


def speaks(span: Span) -> bool:
    """Whether a span has a kind of OpenInference's, or its messages."""
    if KIND in span.attributes or isinstance(span.attributes.get("openinference"), Mapping):
        return True
    return any(name.startswith(MESSAGES) for name in span.attributes)


def translate(span: Span) -> dict[str, Any]:
    """Give the attributes of today's conventions."""
    attributes = flat(span.attributes)
    kind = str(attributes.get(KIND) or "LLM").upper()
    if kind != "LLM":
        return model_span.other(span, OPERATIONS.get(kind, kind.lower()), "openinference", attributes)
    known = renamed(attributes)
    request, response = parsed(attributes.get("input.value")), parsed(attributes.get("output.value"))
    parameters = parsed(attributes.get("llm.invocation_parameters"))
    if isinstance(response, Mapping) and isinstance(response.get("id"), str):
        known.setdefault("gen_ai.response.id", response["id"])
    if isinstance(parameters, Mapping) and isinstance(parameters.get("model"), str):
        known.setdefault("gen_ai.request.model", parameters["model"])
    saw, problem = _saw(attributes, request)
    if saw is None and problem is None and request is BROKEN and attributes.get("input.mime_type") == _JSON:
        problem = "value_truncated"
    said = _said(attributes, response)
    return model_span.model(
        span, "openinference", known, saw=saw, said=said, tools=_tools(attributes, request, parameters), problem=problem
    )


_JSON = "application/json"


def _saw(attributes: Mapping[str, Any], request: Any) -> tuple[list[Message] | None, ContextProblem | None]:
    numbers = numbered(tree(attributes, MESSAGES[0]))
    saw = [_message(item) for item in numbers.items]
    whole = numbers.whole and all(found is not None for found in saw)
    found = [one for one in saw if one is not None]
    if whole and found and not any(is_cut(one) for one in found):
        return found, None
    raw = _raw_request(request)
    if raw:
        return raw, None
    if not found:
        return None, None
    return found, None if whole else "attributes_dropped"


def _raw_request(request: Any) -> list[Message] | None:
    messages = request.get("messages") if isinstance(request, Mapping) else None
    if not isinstance(messages, list) or not messages:
        return None
    if not all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in messages):
        return None
    system = request.get("system")
    first = [message({"role": "system", "content": system})] if system else []
    return first + [message(one) for one in messages]


def _said(attributes: Mapping[str, Any], response: Any) -> Message | str | None:
    """Give the first choice; text when a part of it is missing and the raw response does not have it."""
    numbers = numbered(tree(attributes, MESSAGES[1]))
    if numbers.items and numbers.whole:
        found = _message(numbers.items[0])
        if found is not None:
            return found
    raw = _raw_response(response)
    if raw is not None:
        return raw
    if numbers.items or (response is BROKEN and attributes.get("output.mime_type") == _JSON):
        return model_span.CUT
    return None


def _raw_response(response: Any) -> Message | None:
    if not isinstance(response, Mapping):
        return None
    choices, content = response.get("choices"), response.get("content")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        inner = choices[0].get("message")
        if isinstance(inner, Mapping):
            return {**message(inner, "assistant"), "finish_reason": choices[0].get("finish_reason")}
    if isinstance(content, list) and "stop_reason" in response:
        return {**message(response, "assistant"), "finish_reason": response.get("stop_reason")}
    return None


def _message(item: Any) -> Message | None:
    """Turn one numbered message into role and parts; None when a part of it was dropped."""
    raw = item.get("message") if isinstance(item, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(raw.get("role"), str):
        return None
    calls, contents = numbered(raw.get("tool_calls")), numbered(raw.get("contents"))
    if not calls.whole or not contents.whole:
        return None
    blocks = [_content(block) for block in contents.items]
    made = [_call(call) for call in calls.items]
    if raw.get("function_call_name"):
        made.append(call_part({"name": raw.get("function_call_name"), **_arguments(raw)}))
    plain = {"role": raw["role"], "content": blocks or raw.get("content")}
    if raw.get("tool_call_id") is not None:
        plain["tool_call_id"] = raw["tool_call_id"]
    found = message(plain)
    found["parts"] += _once(found["parts"], made)
    return found


def _arguments(raw: Mapping[str, Any]) -> dict[str, Any]:
    arguments = raw.get("function_call_arguments_json")
    return {} if arguments is None else {"arguments": arguments}


def _content(block: Any) -> Any:
    """Give one block of `message.contents` the shape of any provider's block."""
    inner = block.get("message_content") if isinstance(block, Mapping) else None
    found = dict(inner) if isinstance(inner, Mapping) else {}
    if isinstance(block, Mapping) and isinstance(block.get("tool_call"), Mapping):
        return {**found, **block["tool_call"], "type": "tool_use"}
    return found


def _call(call: Any) -> Part:
    inner = call.get("tool_call") if isinstance(call, Mapping) else None
    return call_part(inner if isinstance(inner, Mapping) else {})


def _once(blocks: list[Part], calls: list[Part]) -> list[Part]:
    """Give the calls that do not stand among the blocks already: by their id, or by tool and arguments."""
    seen = Counter(_identity(block) for block in blocks if block.get("type") == "tool_call")
    fresh = []
    for call in calls:
        identity = _identity(call)
        if seen[identity]:
            seen[identity] -= 1
        else:
            fresh.append(call)
    return fresh


def _identity(call: Part) -> str:
    return f"id {call['id']}" if call.get("id") else f"{call.get('name')} {call.get('arguments')}"


def _tools(attributes: Mapping[str, Any], request: Any, parameters: Any) -> list[Any] | None:
    """Give the catalogue, whole or not at all: half of it would be taken for another catalogue."""
    numbers = numbered(tree(attributes, "llm.tools"))
    found = [_schema(item) for item in numbers.items]
    if found and numbers.whole and all(isinstance(tool, Mapping) for tool in found):
        return found
    for source in (parameters, request):
        tools = source.get("tools") if isinstance(source, Mapping) else None
        if isinstance(tools, list) and tools:
            return tools
    return None


def _schema(item: Any) -> Any:
    tool = item.get("tool") if isinstance(item, Mapping) else None
    if not isinstance(tool, Mapping):
        return None
    return parsed(tool["json_schema"]) if "json_schema" in tool else {"type": "function", **tool}
