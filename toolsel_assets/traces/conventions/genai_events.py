"""GenAI 1.28 to 1.36: an event per message (`gen_ai.user.message`, `gen_ai.choice`), on the span or as a log record.

Since 1.37 there is one event for all of a call, `gen_ai.client.inference.operation.details`, with today's attributes;
it is read here as well. The body of an event stands in its attributes, under `body` or `event_body`, or spread out.

One choice is one answer. OpenLLMetry writes a choice per block of Anthropic's one answer: there all belong together.
"""

from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.conventions import Event, Span, model_span
from toolsel_assets.traces.conventions.aliases import renamed
from toolsel_assets.traces.conventions.indexed import numbered, tree
from toolsel_assets.traces.conventions.parts import BROKEN, Message, message, parsed
from toolsel_assets.traces.model_call import ContextProblem

ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
CHOICE = "gen_ai.choice"
DETAILS = "gen_ai.client.inference.operation.details"
NAMES = {*ROLES, CHOICE, DETAILS}
BODIES = ("body", "event_body", "event.body")

#: Attributes of the details that are JSON text where the exporter has no structures.
STRUCTURES = (model_span.INPUT, model_span.OUTPUT, model_span.TOOLS, "gen_ai.system_instructions")


def speaks(span: Span) -> bool:
    """Whether a span has an event with a message, a choice or the details of a call."""
    return any(_name(event) in NAMES for event in span.events)


def translate(span: Span) -> dict[str, Any]:
    """Give the attributes of today's conventions."""
    known = renamed(span.attributes)
    operation = str(known.get(model_span.OPERATION) or "chat")
    if operation in ("invoke_agent", "execute_tool", "invoke_workflow", "create_agent"):
        return model_span.other(span, operation, "genai-1.36")
    details = [event for event in span.events if _name(event) == DETAILS]
    if details:
        return _details(span, known, details[-1])
    events = [(_name(event), _body(event)) for event in span.events if _name(event) in NAMES]
    tools = [tool for name, body in events if name != CHOICE for tool in _catalogue(body)]
    saw = [_seen(ROLES[name], body) for name, body in events if name != CHOICE and not _catalogue(body)]
    choices = [body for name, body in events if name == CHOICE]
    said, finish = _said(choices, str(known.get("gen_ai.provider.name", "")).lower())
    if finish:
        known.setdefault(model_span.FINISH, [finish])
    # Without capture of content the events are there, and what was said is not.
    heard = [one for one in saw if _has_content(one)]
    problem: ContextProblem | None = None
    if any(one["role"] in ("user", "tool") and not _has_content(one) for one in saw):
        problem = "content_not_captured"
    return model_span.model(span, "genai-1.36", known, saw=heard, said=said, tools=tools, problem=problem)


def _name(event: Event) -> str:
    if event.name in NAMES or not isinstance(event.attributes, Mapping):
        return event.name
    return str(event.attributes.get("event.name", event.name))


def _body(event: Event) -> dict[str, Any]:
    """Give the body of an event, or its attributes where they are the body."""
    attributes = event.attributes if isinstance(event.attributes, Mapping) else {}
    for name in BODIES:
        body = parsed(attributes[name]) if name in attributes else None
        if isinstance(body, Mapping):
            return dict(body)
        if body is BROKEN:
            return {"content": attributes[name]}
    found = {str(name): _structure(value) for name, value in attributes.items()}
    if any(name.startswith("message.") for name in found):
        found["message"] = {key: _listed(value) for key, value in tree(found, "message").items()}
    return found


def _structure(value: Any) -> Any:
    """Parse text that is a JSON list or object; other text is text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    found = parsed(value)
    return found if isinstance(found, dict | list) else value


def _listed(value: Any) -> Any:
    numbers = numbered(value)
    return numbers.items or value


def _catalogue(body: Mapping[str, Any]) -> list[Any]:
    """Give the tools that OpenLLMetry writes as a user's message which holds nothing else."""
    content = body.get("content")
    tools = content.get("tools") if isinstance(content, Mapping) and len(content) == 1 else None
    return tools if isinstance(tools, list) else []


def _seen(role: str, body: Mapping[str, Any]) -> Message:
    if role == "tool" and isinstance(body.get("content"), dict | list):
        return message({**body, "role": body.get("role", "tool")}, role)
    return message(body, role)


def _has_content(found: Message) -> bool:
    return any(part.get("type") != "tool_call_response" or "response" in part for part in found["parts"])


def _said(choices: list[dict[str, Any]], provider: str) -> tuple[Message | str | None, str | None]:
    """Give the answer and how it ended."""
    if not choices:
        return None, None
    mine = (
        choices if provider.startswith("anthropic") else [one for one in choices if _index(one) == _index(choices[0])]
    )
    parts: list[Any] = []
    for choice in mine:
        inner = _structure(choice.get("message", choice))
        if not isinstance(inner, Mapping):
            return model_span.CUT, _finish(choice)
        # A choice's calls stand in its message, or, in OpenLLMetry, beside it.
        calls = inner.get("tool_calls") or choice.get("tool_calls")
        parts += message({**inner, "tool_calls": calls}, "assistant")["parts"]
    finish = _finish(mine[-1])
    return {"role": "assistant", "parts": parts, "finish_reason": finish}, finish


def _index(choice: Mapping[str, Any]) -> str:
    return str(choice.get("index", 0))


def _finish(choice: Mapping[str, Any]) -> str | None:
    finish = choice.get("finish_reason")
    return finish if isinstance(finish, str) and finish not in ("", "unknown") else None


def _details(span: Span, known: dict[str, Any], event: Event) -> dict[str, Any]:
    found = {**renamed({**dict(event.attributes), **_body(event)}), **known}
    problem: ContextProblem | None = None
    for name in STRUCTURES:
        value = parsed(found.get(name))
        if value is BROKEN and name != model_span.OUTPUT:
            problem = "value_truncated" if name != model_span.TOOLS else problem
            del found[name]
        elif value is not BROKEN and value is not None:
            found[name] = value
    return model_span.model(span, "genai-1.37", found, saw=None, said=None, problem=problem)
