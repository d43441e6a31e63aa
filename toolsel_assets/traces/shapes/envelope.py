"""The envelope of a logged request and its answer: where the two bodies stand, and which API it was.

What belongs here: the shapes in which people log calls of a model's HTTP API, whichever API it is. What does not: the
names of ids and times (exchange.py), what a body means (formats/openai_requests, formats/anthropic_messages).

Known shapes: request and response side by side, under several names, each a body, JSON text of it, the events of a
stream, or an HTTP message with `body`, `headers` and `status`; batch files of both providers; an answer's body alone.
"""

from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.shapes.exchange import Api, Exchange, first_text, number, stand_beside
from toolsel_assets.traces.shapes.streams import assemble, parsed

#: Where the two bodies stand in a record, in order of preference; and the body in an HTTP message.
REQUESTS = ("request", "request_body", "kwargs", "params", "input", "body")
ANSWERS = ("response", "response_body", "output", "raw_response")
BODIES = ("body", "parsed_body", "json", "data")
#: What only a body has, and no HTTP message.
_MARKS = ("messages", "model", "choices", "output", "object", "type")
#: What only records of other formats have that also say `input` and `output`: Langfuse and LangSmith.
_FOREIGN = frozenset({"observations", "parentObservationId", "parent_observation_id", "run_type", "dotted_order"})
_BATCH_RESULTS = frozenset({"succeeded", "errored", "canceled", "expired"})
_ADDRESSES: tuple[tuple[str, Api], ...] = (
    ("/chat/completions", "chat"),
    ("/v1/responses", "responses"),
    ("/v1/messages", "anthropic"),
)


def exchange(record: Any) -> Exchange | None:
    """Open a record; None when it is none of the known shapes."""
    if not isinstance(record, Mapping) or not _FOREIGN.isdisjoint(record) or _is_observation(record):
        return None
    sent, came = _sides(record)
    if sent is None and came is None:
        return None
    request, request_beside, _ = _http(sent)
    answer, answer_beside, status = _http(came)
    stream = assemble(answer)
    answer = stream.body if stream else answer
    request = _as_request(request, answer)
    metadata = [record.get("metadata"), record.get("meta"), *_metadata(request)]
    error = _error(record, answer, status or _status(record))
    return Exchange(
        api=_api(record, sent, request, answer, error),
        request=request,
        answer=answer,
        error=error,
        streamed=bool(stream),
        broken_off=bool(stream and stream.broken_off),
        args_complete=not stream or stream.args_complete,
        beside=stand_beside([record, *metadata, *request_beside, *answer_beside]),
    )


def known(record: Any) -> Exchange | None:
    """Open a record that is surely a logged call: its API is known, and its answer, or the lack of one, is readable."""
    found = exchange(record)
    if found is None or found.api is None:
        return None
    readable = found.error or found.streamed or any(mark in found.body for mark in ("choices", "output", "content"))
    unanswered = found.answer is None and any(key in record for key in ANSWERS) and "model" in found.request
    return found if readable or unanswered else None


def _is_observation(record: Mapping[str, Any]) -> bool:
    return isinstance(kind := record.get("type"), str) and kind.isupper()


def _sides(record: Mapping[str, Any]) -> tuple[Any, Any]:
    """Give what stands where the request and where the answer should stand."""
    sent = next((record[key] for key in REQUESTS if record.get(key) is not None), None)
    result = record.get("result")
    if isinstance(result, Mapping) and result.get("type") in tuple(_BATCH_RESULTS):
        return sent, result.get("message") or {"type": "error", "error": result.get("error") or result["type"]}
    if _is_answer(record):
        return record.get("request") or (record if "messages" in record else None), record
    has_messages = isinstance(record.get("messages"), list)
    if has_messages and "response" not in record:
        return None, None
    if has_messages or ("model" in record and isinstance(record.get("input"), str | list)):
        sent = record
    return sent, next((record[key] for key in ANSWERS if record.get(key) is not None), None)


def _is_answer(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    if value.get("object") in ("chat.completion", "response") or _has_items(value.get("choices"), ("message", "delta")):
        return True
    return value.get("type") == "message" and "stop_reason" in value


def _has_items(value: Any, keys: tuple[str, ...]) -> bool:
    """Say whether a value is a list whose first item is an object with one of the keys."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, Mapping) and any(key in first for key in keys)


def _http(side: Any) -> tuple[Any, list[Any], int | None]:
    """Take an HTTP message apart: its body, what stands beside the body, its status. A body alone stays as it is."""
    side = _from_json(side)
    if not isinstance(side, Mapping):
        return side, [], None
    parts = (*BODIES, "status_code", "headers")
    if any(mark in side for mark in _MARKS) or not any(part in side for part in parts):
        return side, [_headers(side.get("headers"))], _status(side)
    body = next((side[key] for key in BODIES if side.get(key) is not None), None)
    if isinstance(body, Mapping) and set(body) == {"string"}:
        body = body["string"]
    return _from_json(body), [side, _headers(side.get("headers"))], _status(side)


def _from_json(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    found = parsed(value)
    return value if found is None else found


def _status(value: Mapping[str, Any]) -> int | None:
    for key in ("status_code", "status", "http_status"):
        found = value.get(key)
        code = number(found.get("code") if isinstance(found, Mapping) else found)
        if code is not None and 100 <= code < 600:
            return int(code)
    return None


def _headers(value: Any) -> dict[str, Any]:
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {name.lower(): found[0] if isinstance(found, list) and found else found for name, found in pairs}


def _as_request(sent: Any, answer: Any) -> Mapping[str, Any]:
    if isinstance(sent, Mapping):
        return sent
    if isinstance(sent, list):
        return {"input" if isinstance(answer, Mapping) and "output" in answer else "messages": sent}
    return {"input": sent} if isinstance(sent, str) and sent else {}


def _metadata(request: Mapping[str, Any]) -> list[Any]:
    clients = {key: request.get(key) for key in ("user", "safety_identifier")}
    return [request.get("metadata"), clients, _headers(request.get("extra_headers"))]


def _error(record: Mapping[str, Any], answer: Any, status: int | None) -> str | None:
    body = answer if isinstance(answer, Mapping) else {}
    found = body.get("error") or ("error" if body.get("type") == "error" else None)
    if not found and not any(mark in body for mark in ("choices", "output", "content")):
        found = record.get("error") or record.get("exception")
    if found:
        return _error_text(found)
    return f"HTTP status {status}" if status and status >= 400 else None


def _error_text(error: Any) -> str:
    """Name an error: by its kind where it has one, since its text may quote what was sent."""
    if isinstance(error, Mapping):
        inner = error.get("error")
        error = _error_text(inner) if inner else first_text([error], ("code", "type", "message"))
    return str(error)[:200] if isinstance(error, str | int) else "an error"


def _api(
    record: Mapping[str, Any], sent: Any, request: Mapping[str, Any], answer: Any, error: str | None
) -> Api | None:
    """Say which API it was: from the answer, else from the address, else from the request, else from the error."""
    body = answer if isinstance(answer, Mapping) else {}
    if body.get("object") == "chat.completion" or _has_items(body.get("choices"), ("message", "delta")):
        return "chat"
    if body.get("object") == "response" or _has_items(body.get("output"), ("type",)):
        return "responses"
    if body.get("type") == "message" or (isinstance(body.get("content"), list) and "stop_reason" in body):
        return "anthropic"
    wrapper = sent if isinstance(sent, Mapping) else {}
    address = first_text([wrapper, record], ("url", "uri", "path", "endpoint")) or ""
    for end, api in _ADDRESSES:
        if end in address:
            return api
    return _api_of_request(request) or _api_of_error(record, body, error)


def _api_of_request(request: Mapping[str, Any]) -> Api | None:
    model = first_text([request], ("model",)) or ""
    tools = request.get("tools")
    tool = next((tool for tool in tools if isinstance(tool, Mapping)), {}) if isinstance(tools, list) else {}
    if isinstance(request.get("messages"), list):
        of_anthropic = "system" in request or "anthropic_version" in request or "input_schema" in tool
        return "anthropic" if of_anthropic or ("claude" in model and "function" not in tool) else "chat"
    return "responses" if "input" in request and model else None


def _api_of_error(record: Mapping[str, Any], body: Mapping[str, Any], error: str | None) -> Api | None:
    """Tell by the error of a batch, which comes without its request."""
    if not error or "custom_id" not in record:
        return None
    return "anthropic" if body.get("type") == "error" else "chat"
