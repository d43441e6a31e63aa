"""What instrumentations write on spans, translated to OpenTelemetry's GenAI conventions of today (1.37 and later).

One module per convention. A module has `speaks(span) -> bool` and `translate(span) -> attributes`, where attributes are
those of the current conventions under their current names, with structures (lists, objects) rather than JSON text in
them. Nothing in `gen_ai.*` is stable: which name stands for which, and since which generation, is one table
(aliases.py). What does not belong here: envelopes (formats/), what an answer means (formats/otlp_json.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """An event on a span, or a log record that belongs to it."""

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """A span with plain attributes: OTLP's `{"stringValue": ...}` wrappers are gone, JSON text is still text."""

    name: str
    attributes: Mapping[str, Any]
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    failed: bool = False  # its status is an error
    events: Sequence[Event] = ()
    dropped_attributes: int = 0
