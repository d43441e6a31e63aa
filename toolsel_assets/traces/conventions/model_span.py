"""What every convention's span has in the end, once its own names are translated.

What belongs here: input and answer with what was cut in them, tokens, errors. What does not: how a convention spells
them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolsel_assets.traces.conventions import Span
from toolsel_assets.traces.conventions.aliases import renamed
from toolsel_assets.traces.conventions.parts import Message, is_cut
from toolsel_assets.traces.model_call import ContextProblem

INPUT, OUTPUT, TOOLS = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions"
OPERATION, FINISH = "gen_ai.operation.name", "gen_ai.response.finish_reasons"
PROBLEM, GENERATION = "toolsel.context_problem", "toolsel.generation"
IN = "gen_ai.usage.input_tokens"
OUT = "gen_ai.usage.output_tokens"
READ = "gen_ai.usage.cache_read.input_tokens"
WRITE = "gen_ai.usage.cache_write.input_tokens"

#: Stands for an answer of which a part is missing: text, no list of messages, so that nobody takes it for a stop.
CUT = "(cut)"

#: What a span that is no call of the model tells those below it.
_INHERITED = ("gen_ai.conversation.id", "gen_ai.agent.id", "user.id")


def other(span: Span, operation: str, generation: str, attributes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Translate a span that is no call of the model: what it is, and the ids that hold for what it started."""
    known = renamed(span.attributes if attributes is None else attributes)
    ids = {name: known[name] for name in _INHERITED if name in known}
    return {OPERATION: operation, GENERATION: generation, **ids}


def model(
    span: Span,
    generation: str,
    known: Mapping[str, Any],
    *,
    saw: Sequence[Message] | None,
    said: Message | str | None,
    tools: Sequence[Any] | None = None,
    problem: ContextProblem | None = None,
) -> dict[str, Any]:
    """Translate a call of the model: `known` attributes, what it saw, what it said and which tools it was given.

    `said` is text when the answer was cut. Messages of today's shape among the known attributes are kept.
    """
    found = {OPERATION: "chat", **known, GENERATION: generation}
    if not isinstance(found[OPERATION], str):
        found[OPERATION] = "chat"
    found.setdefault("error.type", _error(span))
    if saw:
        found.setdefault(INPUT, list(saw))
    if tools:
        found.setdefault(TOOLS, list(tools))
    if said is not None:
        found.setdefault(OUTPUT, said if isinstance(said, str) else [said])
    elif span.dropped_attributes and not span.failed:
        found.setdefault(OUTPUT, CUT)
    _finish(found)
    _tokens(found)
    found[PROBLEM] = problem or _problem(span, found.get(INPUT))
    return {name: value for name, value in found.items() if value is not None}


def _error(span: Span) -> str | None:
    for event in span.events:
        kind = event.attributes.get("exception.type") if isinstance(event.attributes, Mapping) else None
        if isinstance(kind, str) and kind:
            return kind
    return "_OTHER" if span.failed else None


def _problem(span: Span, saw: Any) -> ContextProblem | None:
    if span.dropped_attributes:
        return "attributes_dropped"
    if not saw:
        return "content_not_captured"
    if isinstance(saw, list) and any(isinstance(message, dict) and is_cut(message) for message in saw):
        return "value_truncated"
    return None


def _finish(found: dict[str, Any]) -> None:
    """Make the finish reasons a list, from the answer's own where the span has none."""
    reasons, said = found.get(FINISH), found.get(OUTPUT)
    if isinstance(reasons, str):
        found[FINISH] = [reasons]
    elif not reasons and isinstance(said, list) and said and isinstance(said[0], Mapping):
        own = said[0].get("finish_reason")
        found[FINISH] = [own] if isinstance(own, str) and own else None


def _tokens(found: dict[str, Any]) -> None:
    """Make counts whole numbers. An input smaller than its cached part was counted without it."""
    for name in (IN, OUT, READ, WRITE):
        found[name] = count(found.get(name))
    cached = (found[READ] or 0) + (found[WRITE] or 0)
    if found[IN] is not None and cached > found[IN]:
        found[IN] += cached


def count(value: Any) -> int | None:
    """Give a number of tokens, which OTLP writes as text; None for what is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        return int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 1e15 else None
