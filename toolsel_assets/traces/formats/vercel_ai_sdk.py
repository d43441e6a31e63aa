"""Spans of the Vercel AI SDK outside OTLP's envelope, as JavaScript's SDK holds them.

`{"name", "spanContext": {"traceId", "spanId"}, "attributes": {"ai.operationId": ...}, "startTime": [s, ns]}`, one per
record. The same attributes inside `resourceSpans` are otlp_json's. A unit of the books is a span.
"""

import importlib
from typing import Any

from toolsel_assets.traces.conventions import Span, openinference, vercel
from toolsel_assets.traces.shapes import otlp_envelope

#: No line of such a file is what QUERY reads.
REWRITE_ALWAYS = True


def recognises(record: Any) -> bool:
    """A span of that shape with an operation of the SDK's, or a list with one; OpenInference's are not these."""
    found = [Span(one["name"], otlp_envelope.attributes(one)) for one in otlp_envelope.spans(record) if _is_span(one)]
    return any(vercel.speaks(span) for span in found) and not any(openinference.speaks(span) for span in found)


def _is_span(value: Any) -> bool:
    return otlp_envelope.is_span(value)


def units(record: Any) -> int:
    """Count the spans."""
    return len(otlp_envelope.spans(record))


def rewrite(record: Any) -> dict[str, Any] | None:
    """Put the spans into OTLP's envelope; None when the record holds none."""
    return otlp_envelope.enveloped(record, nested=False)


def __getattr__(name: str) -> Any:
    """Give QUERY and UDFS, which are otlp_json's: what comes out of `rewrite` is its format."""
    if name in ("QUERY", "UDFS"):
        # Only when asked: a format's module is imported to recognise records, most often for other files.
        return getattr(importlib.import_module("toolsel_assets.traces.formats.otlp_json"), name)
    raise AttributeError(name)
