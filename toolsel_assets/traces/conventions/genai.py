"""GenAI 1.37 and later: messages under `gen_ai.input.messages` and `gen_ai.output.messages`, as structures or text.

The SELECT of formats/otlp_json.py reads JSON text of this generation by itself; this module is asked for the rest:
structured attributes, and messages of a provider's own shape (content and tool_calls rather than parts) under today's
names. What cannot be parsed stays text, so that the SELECT sees that it was cut.
"""

from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.conventions import Span, model_span
from toolsel_assets.traces.conventions.aliases import renamed
from toolsel_assets.traces.conventions.parts import BROKEN, message, parsed

SYSTEM = "gen_ai.system_instructions"

#: Attributes whose value is a list.
CONTENT = (model_span.INPUT, model_span.OUTPUT, SYSTEM, model_span.TOOLS)


def speaks(span: Span) -> bool:
    """Whether a span has messages, instructions or a catalogue under today's names."""
    return any(span.attributes.get(name) is not None for name in CONTENT)


def translate(span: Span) -> dict[str, Any]:
    """Give the attributes under today's names, with messages as roles and parts."""
    found = renamed(span.attributes)
    for name in CONTENT:
        text = found.get(name)
        value = parsed(text)
        if value is BROKEN and not str(text).lstrip().startswith(("[", "{", '"')):
            value = text  # a text that never was JSON
        if value is not BROKEN and value is not None:
            found[name] = _content(name, value)
    return {**found, model_span.GENERATION: "genai-1.37"}


def _content(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        value = [value]
    if isinstance(value, str) and name in (model_span.INPUT, model_span.OUTPUT):
        value = [{"content": value}]
    if not isinstance(value, list) or name == model_span.TOOLS:
        return value
    if name == SYSTEM:
        return [{"type": "text", "content": part} if isinstance(part, str) else part for part in value]
    role = "assistant" if name == model_span.OUTPUT else "user"
    return [_message(one, role) for one in value]


def _message(one: Any, role: str) -> Any:
    if not isinstance(one, Mapping) or isinstance(one.get("parts"), list):
        return one
    finish = {"finish_reason": one["finish_reason"]} if "finish_reason" in one else {}
    return {**message(one, role), **finish}
