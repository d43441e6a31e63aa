"""OTLP/JSON: `{"resourceSpans": [...]}`, one export per line, as OpenTelemetry's file exporters write it.

Read by DuckDB alone where a span speaks GenAI's conventions of today (1.37 and later, JSON text); a span of any other
convention is translated to these by Python first (conventions/). Log records of the event generations tell of a span
(`rewrite`). An export of OpenInference's or Vercel's spans is read here as well: one envelope, one name.

A unit of the books is a span; a resource or a scope without spans is one, too, and so is what the log records of one
export tell of one span. What does not belong here: which span repeats another, and what is a run (sql/traces/).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from toolsel_assets.traces.model_call import Merged
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes import otlp, otlp_query

#: DuckDB's way to read it, and the functions of Python that it calls.
QUERY = otlp_query.QUERY
UDFS = {"translate_span": (otlp.translate_span, ["VARCHAR"], "VARCHAR")}

_NAMES = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")


def recognises(record: Any) -> bool:
    """An export of spans or of log records, or a list of exports."""
    if isinstance(record, list):
        return bool(record) and all(recognises(one) for one in record)
    return isinstance(record, dict) and any(isinstance(record.get(name), list) for name in _NAMES)


def units(record: Any) -> int:
    """Count the spans, every place where one should be, and the spans that log records tell of."""
    told = len({otlp.span_key(log) for log in otlp.log_records(record)})
    return max(1, told + sum(_places(one) for one in (record if isinstance(record, list) else [record])))


def _places(record: Any) -> int:
    found = 0
    for resource in otlp.listed(record, "resourceSpans"):
        found += sum(max(1, len(otlp.listed(scope, "spans"))) for scope in otlp.listed(resource, "scopeSpans")) or 1
    return found


def rewrite(record: Any) -> dict[str, Any] | None:
    """Give an export as one of spans, what log records tell of included; None when it is none."""
    if not recognises(record):
        return None
    export, told = otlp.spans_only(record), otlp.spans_of_logs(record)
    if told:
        export["resourceSpans"] = [*export["resourceSpans"], *otlp.enveloped(told)["resourceSpans"]]
    return export


def gather(records: Iterable[Record]) -> Iterator[Record | Merged]:
    """Rewrite the records of a whole file: what log records tell of a span goes into the span itself."""
    return otlp.with_logs(records)
