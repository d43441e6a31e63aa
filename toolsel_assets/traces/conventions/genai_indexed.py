"""GenAI up to 1.27 and OpenLLMetry: `gen_ai.prompt.0.content`, `gen_ai.completion.0.tool_calls.0.name`.

OpenLLMetry numbers the messages and their calls; before it the conventions had one attribute, or one event, with JSON
text for all of the prompt. The catalogue is `llm.request.functions.0.name`. Names under `traceloop.` tell of the
workflow around a call. `llm.prompts` and `llm.completions` are older still.
"""

from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.conventions import Span, model_span
from toolsel_assets.traces.conventions.aliases import renamed
from toolsel_assets.traces.conventions.indexed import flat, numbered, tree
from toolsel_assets.traces.conventions.parts import BROKEN, Message, message, parsed
from toolsel_assets.traces.model_call import ContextProblem

PROMPTS = ("gen_ai.prompt", "llm.prompts")
COMPLETIONS = ("gen_ai.completion", "llm.completions")
FUNCTIONS = "llm.request.functions"
EVENTS = {"gen_ai.content.prompt": PROMPTS[0], "gen_ai.content.completion": COMPLETIONS[0]}

#: OpenLLMetry calls Anthropic's chat a completion; both are calls of a model here.
REQUESTS = {"chat": "chat", "completion": "chat", "embedding": "embeddings", "rerank": "rerank"}
KINDS = {"workflow": "invoke_workflow", "agent": "invoke_agent", "tool": "execute_tool", "task": "task"}


def speaks(span: Span) -> bool:
    """Whether a span has a prompt, a completion, a request or a kind of these generations."""
    if "llm.request.type" in span.attributes or "traceloop.span.kind" in span.attributes:
        return True
    starts = (*(f"{name}." for name in PROMPTS + COMPLETIONS), f"{FUNCTIONS}.")
    if any(name in PROMPTS + COMPLETIONS or name.startswith(starts) for name in span.attributes):
        return True
    return any(event.name in EVENTS for event in span.events)


def translate(span: Span) -> dict[str, Any]:
    """Give the attributes of today's conventions."""
    attributes = _with_events(span)
    kind = str(attributes.get("traceloop.span.kind", ""))
    request = str(attributes.get("llm.request.type") or "chat")
    operation = REQUESTS.get(request, request)
    if kind in KINDS and "llm.request.type" not in attributes and not _has(attributes, COMPLETIONS):
        return model_span.other(span, KINDS[kind], "openllmetry", attributes)
    if operation != "chat":
        return model_span.other(span, operation, "openllmetry", attributes)
    saw, problem = _saw(attributes)
    said, finish = _said(attributes)
    known = renamed(attributes)
    if finish:
        known.setdefault(model_span.FINISH, [finish])
    return model_span.model(span, "openllmetry", known, saw=saw, said=said, tools=_tools(attributes), problem=problem)


def _with_events(span: Span) -> dict[str, Any]:
    """Add what 1.27 wrote as events with one attribute; an exporter may have made objects of the numbered names."""
    attributes = flat({k: v for k, v in span.attributes.items() if k.startswith(PROMPTS + COMPLETIONS + (FUNCTIONS,))})
    attributes = {**span.attributes, **attributes}
    for event in span.events:
        name = EVENTS.get(event.name)
        if name and isinstance(event.attributes, Mapping) and name in event.attributes:
            attributes.setdefault(name, event.attributes[name])
    return attributes


def _has(attributes: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    return any(name.startswith(names) for name in attributes)


def _items(attributes: Mapping[str, Any], names: tuple[str, ...]) -> tuple[list[Any], bool]:
    """Give the numbered messages and whether none is missing, or those in the JSON text of one attribute."""
    for name in names:
        numbers = numbered(tree(attributes, name))
        if numbers.items:
            return numbers.items, numbers.whole
        if attributes.get(name):
            value = parsed(attributes[name])
            if value is BROKEN and str(attributes[name]).lstrip().startswith(("[{", '{"')):
                return [], False
            text = attributes[name] if value is BROKEN or not isinstance(value, dict | list) else value
            return text if isinstance(text, list) else [text], True
    return [], True


def _message(item: Any, role: str) -> Message | None:
    """Turn a message into role and parts; None when a part of it was dropped."""
    if not isinstance(item, Mapping):
        return message({"content": item}, role)
    raw = dict(item)
    calls = numbered(raw.get("tool_calls"))
    if isinstance(raw.get("tool_calls"), Mapping):
        if not calls.whole or not all(isinstance(call, Mapping) and call.get("name") for call in calls.items):
            return None
        raw["tool_calls"] = calls.items
    return message(raw, role)


def _saw(attributes: Mapping[str, Any]) -> tuple[list[Message], ContextProblem | None]:
    items, whole = _items(attributes, PROMPTS)
    if not items and not whole:
        return [], "value_truncated"
    numbers = numbered(tree(attributes, PROMPTS[0])).items or numbered(tree(attributes, PROMPTS[1])).items
    whole = whole and all("role" in item for item in numbers if isinstance(item, Mapping))
    saw = [_message(item, "user") for item in items]
    found = [one for one in saw if one is not None]
    return found, None if whole and len(found) == len(saw) else "attributes_dropped"


def _said(attributes: Mapping[str, Any]) -> tuple[Message | str | None, str | None]:
    """Give the first choice and how it ended; text when a part of it is missing."""
    items, whole = _items(attributes, COMPLETIONS)
    if not items:
        return (None if whole else model_span.CUT), None
    first = items[0]
    finish = first.get("finish_reason") if isinstance(first, Mapping) else None
    if isinstance(first, Mapping) and first.get("refusal"):
        finish = "refusal"
    found = _message(first, "assistant")
    if found is None or not whole:
        return model_span.CUT, str(finish) if finish else None
    return {**found, "finish_reason": finish}, str(finish) if finish else None


def _tools(attributes: Mapping[str, Any]) -> list[Any] | None:
    """Give the catalogue, whole or not at all: half of it would be taken for another catalogue."""
    numbers = numbered(tree(attributes, FUNCTIONS))
    found = []
    for tool in numbers.items:
        if not isinstance(tool, Mapping) or not tool.get("name"):
            return None
        schema = parsed(tool.get("parameters", tool.get("arguments", tool.get("input_schema"))))
        described = {key: tool[key] for key in ("name", "description") if key in tool}
        found.append({"type": "function", **described, **({"parameters": schema} if isinstance(schema, dict) else {})})
    return found if numbers.whole else None
