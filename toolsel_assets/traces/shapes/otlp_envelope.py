"""Spans that are not in OTLP's envelope, put into it: exports of Phoenix, and what SDKs print to a console or a file.

`{name, context: {trace_id, span_id}, parent_id, start_time, attributes, status_code, events}` (Phoenix, Python), or
`{name, spanContext: {traceId, spanId}, startTime: [s, ns], ...}` (JavaScript). What belongs here: one such span as
OTLP/JSON. What does not: what its attributes mean (conventions/), how OTLP is read (formats/otlp_json.py).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from toolsel_assets.traces.conventions.indexed import flat
from toolsel_assets.traces.shapes.values import as_list
from toolsel_assets.traces.times import utc

#: Where the spans of a page stand in the answer of Phoenix's server, or of a file with one object.
LISTS = ("data", "spans")

#: The attributes of a data frame that was written row by row are columns with this in front.
COLUMN = "attributes."

_CONTEXT = ("context", "spanContext", "span_context")
_STARTED = ("startTime", "start_time", "startTimeUnixNano")
_ENDED = ("endTime", "end_time", "endTimeUnixNano")
_INT64 = 1 << 63
#: OTLP counts statuses from 0: unset, ok, error.
_ERROR = 2


def spans(record: Any) -> list[Any]:
    """Give the spans of a record: itself, or those of its list; what is no span stays in the list and is counted."""
    if isinstance(record, Mapping) and not is_span(record):
        found: list[Any] = next((record[name] for name in LISTS if isinstance(record.get(name), list)), [])
        if any(is_span(one) for one in found):
            return found
    return [record]


def is_span(value: Any) -> bool:
    """Whether a value has a span's name, ids and attributes, and is in no envelope of OTLP's."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("name"), str)
        and bool(attributes(value))
        and bool(_id(value, "span_id", "spanId"))
        and any(name in value for name in _STARTED)
    )


def attributes(span: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the attributes of a span, empty when they are in a list, as OTLP has them."""
    found = span.get("attributes")
    if isinstance(found, Mapping):
        return found
    return {name[len(COLUMN) :]: value for name, value in span.items() if name.startswith(COLUMN)}


def enveloped(record: Any, *, nested: bool) -> dict[str, Any] | None:
    """Put the spans of a record into OTLP's envelope; None when it holds none.

    `nested`: attributes that are objects stand for one attribute per leaf. What is no span becomes an empty one, which
    whoever reads OTLP counts as a span without an id.
    """
    found = [_span(one, nested) if is_span(one) else {} for one in spans(record)]
    if not any(found):
        return None
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": found}]}]}


def _span(span: Mapping[str, Any], nested: bool) -> dict[str, Any]:
    own = attributes(span)
    status = span.get("status")
    dropped = span.get("droppedAttributesCount", span.get("dropped_attributes_count"))
    started, ended = (next((span[n] for n in names if span.get(n) is not None), None) for names in (_STARTED, _ENDED))
    found = {
        "traceId": _id(span, "trace_id", "traceId"),
        "spanId": _id(span, "span_id", "spanId"),
        "parentSpanId": _parent(span),
        "name": span["name"],
        "startTimeUnixNano": nanoseconds(started),
        "endTimeUnixNano": nanoseconds(ended),
        "attributes": _pairs(flat(own) if nested else own),
        "droppedAttributesCount": dropped if isinstance(dropped, int) and 0 < dropped < _INT64 else None,
        "events": [_event(one) for one in as_list(span.get("events")) if isinstance(one, Mapping)],
        "status": _status(status if isinstance(status, Mapping) else span),
    }
    return {name: value for name, value in found.items() if value is not None}


def _id(span: Mapping[str, Any], *names: str) -> str | None:
    """Give an id in hexadecimal digits: of the span, of its context, of a data frame's column."""
    places = [span] + [span[name] for name in _CONTEXT if isinstance(span.get(name), Mapping)]
    found = [place.get(name) for place in places for name in names] + [span.get(f"context.{name}") for name in names]
    text = next((one for one in found if isinstance(one, str) and one), None)
    return None if text is None else text.removeprefix("0x")


def _parent(span: Mapping[str, Any]) -> str | None:
    context = span.get("parentSpanContext")
    if isinstance(context, Mapping) and isinstance(context.get("spanId"), str):
        return str(context["spanId"]).removeprefix("0x") or None
    names = ("parent_id", "parentSpanId", "parentId", "parent_span_id")
    found = next((span[name] for name in names if isinstance(span.get(name), str)), "")
    return found.removeprefix("0x") or None


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    own = event.get("attributes")
    time = nanoseconds(event.get("time", event.get("timestamp")))
    found = {"name": str(event.get("name", "")), "attributes": _pairs(own if isinstance(own, Mapping) else {})}
    return found if time is None else {**found, "timeUnixNano": time}


def _status(status: Mapping[str, Any]) -> dict[str, Any]:
    code = next((status[n] for n in ("code", "status_code", "statusCode") if status.get(n) is not None), 0)
    name = str(code).upper().rpartition(".")[2].removeprefix("STATUS_CODE_")
    message = status.get("message", status.get("status_message", status.get("description")))
    found: dict[str, Any] = {"code": {"OK": 1, "1": 1, "ERROR": _ERROR, "2": _ERROR}.get(name, 0)}
    return {**found, "message": message} if isinstance(message, str) and message else found


def nanoseconds(value: Any) -> str | None:
    """Give nanoseconds since 1970 as text from [seconds, nanoseconds], ISO 8601 or a number."""
    if isinstance(value, list):
        whole = len(value) == 2 and all(isinstance(one, int) and 0 <= one < _INT64 for one in value)
        return str(value[0] * 10**9 + value[1]) if whole else None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) == 19:
        return value
    text = utc(value)
    if text is None:
        return None
    since = datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return str(since // timedelta(microseconds=1) * 1000)


def _pairs(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for key, value in values.items():
        try:
            found.append({"key": str(key), "value": any_value(value)})
        except RecursionError:
            found.append({"key": str(key), "value": {"stringValue": "(nested too deeply)"}})
    return found


def any_value(value: Any) -> dict[str, Any]:
    """Wrap a JSON value as OTLP does."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_INT64 <= value < _INT64 else {"doubleValue": _double(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, Mapping):
        pairs = [{"key": str(key), "value": any_value(one)} for key, one in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {}


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return 0.0
