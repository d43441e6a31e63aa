"""Spans and log records as OTLP/JSON holds them: typed values, hexadecimal ids, numbers as text.

What belongs here: OTLP's own shape as plain values, and log records that tell of a call as events of its span. What
does not: what attributes mean (conventions/), which of them are a decision (formats/otlp_json.py).
"""

import importlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsel_assets.traces.conventions import Event, Span
from toolsel_assets.traces.model_call import Merged
from toolsel_assets.traces.records import Record

#: Which conventions are asked, in this order; the first that speaks translates. Today's comes first: where it has the
#: messages it has all of them. The events come last, since spans of every generation may have some.
CONVENTIONS = tuple(
    importlib.import_module(f"toolsel_assets.traces.conventions.{name}")
    for name in ("genai", "openinference", "vercel", "genai_indexed", "genai_events")
)

#: Spans whose log records are held until the span itself comes; what is older is given without it.
HELD = 2000

#: Spans of an export that are given as one line; collectors write thousands at once, and a line has to fit in memory.
PIECE = 64

Json = dict[str, Any]


# --- values -------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Give OTLP's AnyValue as a plain value. DuckDB gives every scalar as text, and fields that are not set as null."""
    if not isinstance(value, Mapping):
        return None
    kind, content = next(((k, v) for k, v in value.items() if v is not None), ("", None))
    if kind in ("arrayValue", "kvlistValue"):
        # DuckDB gives what is nested as JSON text.
        content = json.loads(content) if isinstance(content, str) else content
        values = content.get("values") if isinstance(content, Mapping) else None
        values = values if isinstance(values, list) else []
        return [plain(one) for one in values] if kind == "arrayValue" else attributes(values)
    if kind in ("intValue", "doubleValue"):
        return _number(content, int if kind == "intValue" else float)
    if kind == "boolValue":
        return content in (True, "true")
    return content


def _number(value: Any, kind: type[int] | type[float]) -> Any:
    try:
        return kind(value)
    except (ValueError, TypeError, OverflowError):
        return value


def attributes(pairs: Any) -> Json:
    """Give OTLP's list of keys and values as a dictionary; the first of two equal keys counts."""
    found: Json = {}
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, Mapping) and isinstance(pair.get("key"), str):
            found.setdefault(pair["key"], plain(pair.get("value")))
    return found


def span_of(value: Mapping[str, Any]) -> Span:
    """Give a span of OTLP/JSON with plain attributes."""
    status = value.get("status")
    code = status.get("code") if isinstance(status, Mapping) else None
    trace_id, span_id, parent = (str(value.get(name) or "").lower() for name in ("traceId", "spanId", "parentSpanId"))
    events = value.get("events")
    events = json.loads(events) if isinstance(events, str) else events
    return Span(
        str(value.get("name") or ""),
        attributes(value.get("attributes")),
        trace_id,
        span_id,
        parent,
        failed=str(code) in ("2", "STATUS_CODE_ERROR"),
        events=[
            Event(str(one.get("name") or ""), attributes(one.get("attributes")))
            for one in (events if isinstance(events, list) else ())
            if isinstance(one, Mapping)
        ],
        dropped_attributes=_dropped(value.get("droppedAttributesCount")),
    )


def _dropped(value: Any) -> int:
    found = _number(value, int)
    return found if isinstance(found, int) else 0


def translate_span(text: str) -> str | None:
    """Give a span's attributes under today's names as JSON text; None when no convention knows them."""
    try:
        span = span_of(json.loads(text))
        for convention in CONVENTIONS:
            if convention.speaks(span):
                found = json.dumps(convention.translate(span), ensure_ascii=False, default=str)
                # Lone surrogates, which JSON may hold, are none to DuckDB.
                return found.encode("utf-8", "replace").decode()
    except (ValueError, RecursionError):
        pass
    return None


# --- envelopes ----------------------------------------------------------------------------------------------------


def listed(holder: Any, name: str) -> list[Any]:
    """Give the list under a name, which some exporters write with underscores; empty when there is none."""
    if not isinstance(holder, Mapping):
        return []
    found = holder[name] if name in holder else holder.get(_snake(name))
    return found if isinstance(found, list) else []


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


def _camel(value: Any) -> Any:
    """Rename keys with underscores. Names of attributes are values in OTLP, never keys."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {re.sub("_([a-z])", lambda found: found[1].upper(), key): _camel(one) for key, one in value.items()}


def spans_only(record: Any) -> Json:
    """Give an export, or a list of them, as one that holds its spans alone."""
    if isinstance(record, list):
        return {"resourceSpans": [resource for one in record for resource in spans_only(one)["resourceSpans"]]}
    if isinstance(record, Mapping) and "resourceSpans" not in record and "resource_spans" in record:
        record = _camel({"resource_spans": record["resource_spans"]})
    return {"resourceSpans": listed(record, "resourceSpans")}


def spans(record: Any) -> Iterator[Json]:
    """Yield the spans of an export."""
    for resource in listed(record, "resourceSpans"):
        for scope in listed(resource, "scopeSpans"):
            yield from (span for span in listed(scope, "spans") if isinstance(span, dict))


def log_records(record: Any) -> Iterator[Json]:
    """Yield the log records of an export, or of a list of them."""
    for one in record if isinstance(record, list) else [record]:
        for resource in listed(one, "resourceLogs"):
            for scope in listed(resource, "scopeLogs"):
                yield from (_camel(log) for log in listed(scope, "logRecords") if isinstance(log, dict))


def span_key(value: Json) -> tuple[str, str]:
    """Give the trace and span id of a span or a log record, empty where it has none."""
    trace, span = (found.lower() if isinstance(found := value.get(n), str) else "" for n in ("traceId", "spanId"))
    return trace, span


def spans_of_logs(record: Any) -> list[Json]:
    """Give the spans that an export's log records tell of, with the records as their events."""
    found: dict[tuple[str, str], Json] = {}
    for log in log_records(record):
        key = span_key(log)
        time = next((log[name] for name in ("timeUnixNano", "observedTimeUnixNano") if log.get(name)), None)
        first: Json = {"traceId": key[0], "spanId": key[1], "name": "", "startTimeUnixNano": time, "events": []}
        span = found.setdefault(key, first)
        span["endTimeUnixNano"] = time
        span["events"].append(_event(log))
    return list(found.values())


def _event(log: Json) -> Json:
    pairs = listed(log, "attributes")
    name = log.get("eventName") or attributes(pairs).get("event.name")
    body = [{"key": "body", "value": log["body"]}] if log.get("body") else []
    return {"name": str(name or ""), "attributes": [*pairs, *body]}


def pieces(export: Json) -> Iterator[Json]:
    """Give an export with very many spans as several, which hold the same."""
    if sum(1 for _ in spans(export)) <= PIECE:
        yield export
        return
    for resource in export["resourceSpans"]:
        scopes = listed(resource, "scopeSpans")
        if not scopes:
            yield {"resourceSpans": [resource]}
        for scope in scopes:
            found = listed(scope, "spans")
            for start in range(0, len(found), PIECE) or [0]:
                piece = {**scope, "spans": found[start : start + PIECE]} if len(found) > PIECE else scope
                yield {"resourceSpans": [{**resource, "scopeSpans": [piece]}]}


def enveloped(found: list[Json]) -> Json:
    """Put spans into the envelope of an export."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}


# --- a file -------------------------------------------------------------------------------------------------------


def with_logs(records: Iterable[Record]) -> Iterator[Record | Merged]:
    """Put what log records tell of a span into the span, which comes after them, and yield exports of spans alone.

    Of a span that does not come, what was told is given as a span. Log records that became part of another unit are
    merged.
    """
    held: OrderedDict[tuple[str, str], list[tuple[int, Json]]] = OrderedDict()
    for record in records:
        export, told = spans_only(record.value), spans_of_logs(record.value)
        for span in spans(export):
            for _, one in held.pop(span_key(span), ()):
                span["events"] = [*listed(span, "events"), *one["events"]]
                yield Merged("content_block")
        if export["resourceSpans"] or not told:
            yield from (Record(record.position, piece) for piece in pieces(export))
        for one in told:
            if all(span_key(one)):
                held.setdefault(span_key(one), []).append((record.position, one))
            else:
                yield Record(record.position, enveloped([one]))
        while len(held) > HELD:
            yield from _alone(held.popitem(last=False)[1])
    for rest in held.values():
        yield from _alone(rest)


def _alone(told: list[tuple[int, Json]]) -> Iterator[Record | Merged]:
    events = [event for _, one in told for event in one["events"]]
    position, first = told[0]
    yield Record(position, enveloped([{**first, "endTimeUnixNano": told[-1][1]["endTimeUnixNano"], "events": events}]))
    yield from (Merged("content_block") for _ in told[1:])
