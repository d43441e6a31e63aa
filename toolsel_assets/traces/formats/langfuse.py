"""Langfuse: a trace with its observations, observations alone (one per line, or an array), or pages of them (`data`).

Observations of type GENERATION are calls of the model, and a SPAN whose attributes say so; the others link and execute.
Names are in camel case (the API, the page) or in snake case (the export to a bucket). What stands in `input` and
`output` is whatever the instrumentation put there: loose.py reads it. `run_id` stays empty: a trace may hold many runs.

A unit of the books is an observation; a record without observations is one unit. Within a record, a generation that
only wraps another is merged into it, and so are the blocks of one answer that became generations of their own. Where
each observation is a record, neither can be seen: such calls are kept, with `parent_span_id`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from toolsel_assets.traces.model_call import Item, Link, Merged, Rejected, Unreadable
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes import langfuse_observation as observation
from toolsel_assets.traces.shapes.langfuse_generation import BLOCK, Generation, generation, model_call
from toolsel_assets.traces.times import utc

TYPES = frozenset(
    {"GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
#: What observations that are no calls of the model say of those below them.
LINKS: Mapping[str, Literal["agent", "tool"]] = {"AGENT": "agent", "TOOL": "tool"}

#: Vercel's spans around the steps of one request; each step has a generation of its own.
WRAPPERS = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})


def recognises(record: Any) -> bool:
    """A trace with observations, a page of observations, or an observation."""
    found = _observations(record)
    if found is None:
        return False
    of_langfuse = isinstance(record.get("trace"), Mapping) or observation.field(record, "projectId") is not None
    return any(map(_is_observation, found)) or (of_langfuse and not any(isinstance(each, Mapping) for each in found))


def units(record: Any) -> int:
    """Count the observations."""
    return max(1, len(_observations(record) or ()))


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read the observations of each record, in the order of their start."""
    for record in records:
        found = _observations(record.value)
        if found is None:
            yield Rejected(record.position, "not_a_record", "neither a trace with observations nor an observation")
        elif not found:
            yield Rejected(record.position, "no_decisions", "a trace without observations")
        else:
            yield from _record(record.position, found, record.value)


def _observations(record: Any) -> list[Any] | None:
    if not isinstance(record, Mapping):
        return None
    trace = record.get("trace")
    places = (record, trace if isinstance(trace, Mapping) else {})
    found = next((place["observations"] for place in places if isinstance(place.get("observations"), list)), None)
    if found is None and isinstance(record.get("data"), list) and any(map(_is_observation, record["data"])):
        found = record["data"]
    return [record] if found is None and _is_observation(record) else found


def _is_observation(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("type"), str)
        and value["type"] in TYPES
        and observation.text(value, "id") is not None
        and any(observation.field(value, name) is not None for name in ("traceId", "projectId", "startTime"))
    )


def _record(position: int, observations: list[Any], record: Mapping[str, Any]) -> Iterator[Item]:
    calls: list[Generation] = []
    for raw in observations:
        try:
            call = generation(raw)
        except Unreadable as problem:
            yield Rejected(position, problem.reason, problem.detail)
            continue
        except RecursionError:
            yield Rejected(position, "not_a_record", "nested too deeply")
            continue
        if call is None:
            yield _link(raw)
        else:
            calls.append(call)
    alone = observations[0] is record
    kept = _innermost(calls) if not alone else [call for call in calls if call.name not in WRAPPERS]
    if len(kept) < len(calls):
        yield Merged("instrumented_twice", len(calls) - len(kept))
    trace = record["trace"] if isinstance(record.get("trace"), Mapping) else {} if alone else record
    for call in _whole_answers(sorted(kept, key=lambda call: call.started), observations):
        yield model_call(call, trace, alone=alone)
        if call.blocks:
            yield Merged("content_block", len(call.blocks))


def _link(raw: Mapping[str, Any]) -> Item:
    span_id = observation.text(raw, "id")
    if span_id is None:
        return Merged("other_span")
    return Link(
        kind=LINKS.get(str(raw.get("type")), "other"),
        span_id=span_id,
        trace_id=observation.text(raw, "traceId"),
        parent_span_id=observation.text(raw, "parentObservationId"),
        conversation_id=observation.text(raw, "sessionId"),
        agent=observation.text(raw, "name"),
    )


def _innermost(calls: list[Generation]) -> list[Generation]:
    """Leave out what is there twice: a generation whose own child holds the same answer, or a child without content.

    Only a generation directly around another can be the same call: below tools and agents are sub-agents.
    """
    inner: dict[str, list[Generation]] = {}
    for call in calls:
        if call.parent is not None:
            inner.setdefault(call.parent, []).append(call)
    doubles: set[int] = set()
    for call in calls:
        inside = [each for each in inner.get(str(observation.text(call.raw, "id")), ()) if each is not call]
        if any(each.repeats(call) for each in inside if id(each) not in doubles):
            doubles.add(id(call))
        elif len(inside) == 1 and inside[0].is_hollow:
            doubles.add(id(inside[0]))
    return [call for call in calls if id(call) not in doubles]


def _whole_answers(calls: list[Generation], observations: list[Any]) -> list[Generation]:
    """Join the blocks of one answer: no tool ran between them, and none of them could have seen a result."""
    tools: dict[str | None, list[str]] = {}  # when tools were run, by the observation around them
    for raw in observations:
        if isinstance(raw, Mapping) and raw.get("type") == "TOOL":
            started = utc(observation.field(raw, "startTime"))
            tools.setdefault(observation.text(raw, "parentObservationId"), []).append(started or "")
    found: list[Generation] = []
    last: dict[str | None, Generation] = {}
    for call in calls:
        before = last.get(call.parent) if call.name == BLOCK else None
        if before is not None and _continues(before, call, tools.get(call.parent, [])):
            before.extend(call)
            continue
        found.append(call)
        if call.name == BLOCK:
            last[call.parent] = call
    return found


def _continues(before: Generation, call: Generation, tools: list[str]) -> bool:
    if call.request is None or call.request.messages is not None or not before.started:
        return False
    return not any(before.started <= started <= call.started for started in tools)
