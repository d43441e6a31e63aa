"""OpenInference spans outside OTLP's envelope: exports of Phoenix, and what the Python SDK prints to a console.

`{"name", "context": {"trace_id", "span_id"}, "parent_id", "start_time", "attributes": {"llm.model_name": ...}}`, one
per record, or in the list `data` of the server's answer; attributes flat or nested. The same attributes inside
`resourceSpans` are otlp_json's. A unit of the books is a span.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.conventions import Span, openinference
from toolsel_assets.traces.shapes import otlp_envelope

#: No line of such a file is what QUERY reads.
REWRITE_ALWAYS = True


def recognises(record: Any) -> bool:
    """A span of that shape with a kind or messages of OpenInference's, or a list with one."""
    return any(otlp_envelope.is_span(span) and _speaks(span) for span in otlp_envelope.spans(record))


def _speaks(span: Mapping[str, Any]) -> bool:
    attributes = otlp_envelope.attributes(span)
    nested = attributes.get("llm")
    if isinstance(nested, Mapping) and ("input_messages" in nested or "output_messages" in nested):
        return True
    return openinference.speaks(Span(span["name"], attributes))


def units(record: Any) -> int:
    """Count the spans."""
    return len(otlp_envelope.spans(record))


def rewrite(record: Any) -> dict[str, Any] | None:
    """Put the spans into OTLP's envelope; None when the record holds none."""
    found = otlp_envelope.enveloped(record, nested=True)
    return found if found is None else _with_kinds(found, otlp_envelope.spans(record))


def _with_kinds(found: dict[str, Any], spans: list[Any]) -> dict[str, Any]:
    """Add the kind where Phoenix has it beside the attributes only."""
    for written, span in zip(found["resourceSpans"][0]["scopeSpans"][0]["spans"], spans, strict=True):
        kind = span.get("span_kind") if isinstance(span, Mapping) else None
        if (
            written
            and isinstance(kind, str)
            and all(pair["key"] != openinference.KIND for pair in written["attributes"])
        ):
            written["attributes"].append({"key": openinference.KIND, "value": {"stringValue": kind}})
    return found


def __getattr__(name: str) -> Any:
    """Give QUERY and UDFS, which are otlp_json's: what comes out of `rewrite` is its format."""
    if name in ("QUERY", "UDFS"):
        # Only when asked: a format's module is imported to recognise records, most often for other files.
        return getattr(importlib.import_module("toolsel_assets.traces.formats.otlp_json"), name)
    raise AttributeError(name)
