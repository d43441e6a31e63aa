"""A generation of Langfuse: one call of the model, with what was asked and what was answered, and how it ended.

What belongs here: the conclusions from one observation. What does not: where an observation keeps what
(observation.py), the shapes of content (loose.py), which observations are one call (formats/langfuse.py).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, ModelCall, Unreadable
from toolsel_assets.traces.shapes import langfuse_observation as observation
from toolsel_assets.traces.shapes import loose
from toolsel_assets.traces.shapes.answer import Answer, concluded
from toolsel_assets.traces.times import milliseconds, utc
from toolsel_assets.vocabulary.decision import Status

#: LangSmith's instrumentation of the Claude Agent SDK makes a generation of each block of an answer.
BLOCK = "claude.assistant.turn"
#: Stop reasons that exclude a call. `stop` does not: OpenAI gives it for forced calls, Google for every call.
NO_CALL = frozenset({"end_turn", "stop_sequence"})

Observation = Mapping[str, Any]


@dataclass
class Generation:
    """A generation, with what was asked and what was answered."""

    raw: Observation
    said_beside: Observation  # metadata, and the attributes of the span
    request: loose.Request | None  # None: it was cut
    answer: loose.Said | None
    answer_cut: bool
    blocks: list[Observation] = field(default_factory=list)  # further generations of the same answer

    @property
    def name(self) -> str | None:
        """What the instrumentation called it."""
        return observation.text(self.raw, "name")

    @property
    def parent(self) -> str | None:
        """The observation around it."""
        return observation.text(self.raw, "parentObservationId")

    @property
    def started(self) -> str:
        """When it began, as text that sorts."""
        return utc(observation.field(self.raw, "startTime")) or ""

    @property
    def is_hollow(self) -> bool:
        """Whether its content was not captured."""
        asked = self.request is None or self.request.messages is not None
        return self.answer is None and not self.answer_cut and not asked

    def extend(self, other: "Generation") -> None:
        """Add a further block of the same answer."""
        self.blocks.append(other.raw)
        self.answer = _joined(self.answer, other.answer)
        self.answer_cut = self.answer_cut or other.answer_cut

    def repeats(self, other: "Generation") -> bool:
        """Say whether two generations hold the same answer."""
        mine, its = self.answer, other.answer
        if mine is None or its is None:
            return mine is its and not (self.answer_cut or other.answer_cut)
        return mine.calls == its.calls and mine.text == its.text


def generation(raw: Any) -> Generation | None:
    """Read an observation; None when it is no call of the model, `Unreadable` when it cannot be told."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("type"), str):
        raise Unreadable("not_a_record", f"expected an observation with a type, found {type(raw).__name__}")
    if not observation.is_call(raw):
        return None
    if observation.text(raw, "id") is None:
        raise Unreadable("no_id", "a generation without an id")
    call = Generation(raw, observation.attributes(raw), None, None, answer_cut=False)
    with suppress(loose.Cut):
        call.request = loose.request(raw.get("input"))
    try:
        call.answer = loose.answer(raw.get("output"))
    except loose.Cut:
        call.answer_cut = True
    return call


def _joined(one: loose.Said | None, other: loose.Said | None) -> loose.Said | None:
    if one is None or other is None:
        return one or other
    return replace(
        other,
        calls=(*one.calls, *other.calls),
        text="\n".join(text for text in (one.text, other.text) if text),
        stop_reason=other.stop_reason or one.stop_reason,
        refused=one.refused or other.refused,
        oddity=one.oddity or other.oddity,
        server_tools=(*one.server_tools, *other.server_tools),
    )


def model_call(call: Generation, trace: Observation, *, alone: bool) -> ModelCall:
    """Conclude. `trace` stands around the observation; `alone`: further blocks of its answer could not be seen."""
    raw, beside = call.raw, call.said_beside
    ids = observation.ids(raw, beside, trace)
    said = call.answer or loose.Said()
    started = observation.field(raw, "startTime")
    ended = observation.field(call.blocks[-1] if call.blocks else raw, "endTime")
    tokens = {} if call.blocks else observation.tokens(raw, beside)
    asked, problem = _asked(call, said)
    offered = (call.request.tools if call.request else None) or said.request.tools
    fields = {
        **observation.models(raw, beside, said.model),
        **ids,
        **tokens,
        "response_id": ids["response_id"] or said.response_id,
        "tools_seen": offered or observation.catalogue(raw, beside),
        **_ended(call, said, tokens.get("output_tokens"), alone=alone),
    }
    return ModelCall(
        call_id=str(ids["span_id"]),
        messages=asked,
        context_problem=problem,
        started_at=utc(started),
        ended_at=utc(ended),
        latency_ms=milliseconds(started, ended),
        **fields,
    )


def _asked(call: Generation, said: loose.Said) -> tuple[list[dict[str, Any]] | None, ContextProblem | None]:
    """Give the messages that the model saw; instructions may stand in the answer only (OpenAI's Responses)."""
    if call.request is None:
        return None, "value_truncated"
    messages = call.request.messages
    if messages is None:
        missing = observation.decoded(call.raw.get("input")) in (None, [], {})
        return None, "content_not_captured" if missing else "broken_messages"
    if said.request.messages and messages[0].get("role") != "system":
        messages = [*said.request.messages, *messages]
    return messages, "kept_by_provider" if call.request.partial or said.request.partial else None


def _ended(call: Generation, said: loose.Said, output_tokens: int | None, *, alone: bool) -> dict[str, Any]:
    raw = call.raw
    reason = said.stop_reason or observation.stop_reason(call.said_beside, observation.parameters(raw))
    if str(raw.get("level")).upper() == "ERROR":
        detail = observation.text(raw, "statusMessage")
        return {"status": Status.API_ERROR, "detail": detail, "stop_reason": reason}
    if call.answer_cut:
        detail = "the answer is JSON text that was cut or damaged"
        return {"status": Status.TRUNCATED, "detail": detail, "stop_reason": reason, "args_complete": False}
    beside = [] if said.calls else observation.recorded_calls(raw, call.said_beside)
    ended = concluded(
        Answer(
            calls=said.calls or [(name, {} if arguments is None else arguments) for name, arguments in beside],
            text=bool(said.text),
            stop_reason=reason,
            must_finish=alone and call.name == BLOCK,
            refused=said.refused,
            server_tools=said.server_tools,
            malformed=None if beside else said.oddity,
        )
    )
    ended["args_complete"] = all(arguments is not None for _, arguments in beside)
    if call.answer is None and ended["status"] in (Status.STOPPED, Status.MALFORMED) and not _excludes_calls(reason):
        return {**ended, "status": Status.UNKNOWN, "detail": f"it ended with {reason}; the answer was not captured"}
    limit = observation.limit(raw)
    if ended["status"] == Status.STOPPED and not reason and limit and (output_tokens or 0) >= limit:
        return {
            **ended,
            "status": Status.TRUNCATED,
            "detail": f"the answer has all of the {limit} tokens it could have",
        }
    return ended


def _excludes_calls(reason: str | None) -> bool:
    return (reason or "").strip().lower() in NO_CALL
