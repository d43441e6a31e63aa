"""One logged call of an API: its two bodies, and the ids and times that stand beside them.

What belongs here: under which names people log ids, clients, times and latencies. What does not: where in a record the
bodies stand (envelope.py), what a body means (formats/).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolsel_assets.traces.times import milliseconds, utc

Api = Literal["chat", "responses", "anthropic"]

_IDS = {
    "run_id": ("run_id", "runId"),
    "parent_run_id": ("parent_run_id", "parentRunId"),
    "conversation_id": (
        *("conversation_id", "thread_id", "session_id", "conversationId", "threadId", "sessionId"),
        *("x-conversation-id", "x-thread-id", "x-session-id"),
    ),
    "client_id": ("client_id", "user_id", "end_user", "user", "clientId", "userId", "x-user-id", "safety_identifier"),
    "trace_id": ("trace_id", "traceId"),
    "span_id": ("span_id", "spanId"),
    "parent_span_id": ("parent_span_id", "parentSpanId"),
}
_REQUEST_IDS = ("request_id", "requestId", "custom_id", "x-request-id", "request-id", "id")
_STARTS = ("started_at", "start_time", "startTime", "requested_at", "request_time", "timestamp", "ts", "recorded_at")
_ENDS = ("ended_at", "end_time", "endTime", "completed_at", "completedTime")
#: A bare `latency` may be seconds or milliseconds; only names that say which are read.
_MILLISECONDS = ("latency_ms", "duration_ms", "elapsed_ms", "latencyMs", "durationMs", "openai-processing-ms")
_SECONDS = ("latency_s", "duration_s", "latency_seconds", "duration_seconds", "elapsed_seconds")
_NAMES = {*_REQUEST_IDS, *_STARTS, *_ENDS, *_MILLISECONDS, *_SECONDS, *(key for keys in _IDS.values() for key in keys)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call of an API as it was logged."""

    api: Api | None
    request: Mapping[str, Any]  # empty when it was not logged
    answer: Any  # the body, put together when it was a stream; None when there is none
    error: str | None = None  # what went wrong, when no answer came
    streamed: bool = False
    broken_off: bool = False
    args_complete: bool = True
    beside: Mapping[str, Any] = field(default_factory=dict)  # ids and times under the names that stand_beside knows

    @property
    def body(self) -> Mapping[str, Any]:
        """The answer when it is an object, else an empty one."""
        return self.answer if isinstance(self.answer, Mapping) else {}

    def call_id(self) -> str:
        """Give the answer's id, else the request's, else a hash of both and of the time that the log gives them."""
        found = first_text([self.body], ("id",)) or first_text([self.beside], _REQUEST_IDS)
        if found:
            return found
        text = json.dumps([self.request, self.answer, self.error, self._time(_STARTS)], sort_keys=True)
        return f"sha:{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    def fields(self) -> dict[str, Any]:
        """Give the fields of a `ModelCall` that stand beside the bodies."""
        found: dict[str, Any] = {name: first_text([self.beside], keys) for name, keys in _IDS.items()}
        started, ended = self._time(_STARTS), self._time(_ENDS)
        created = next((self.body[key] for key in ("created_at", "created") if self.body.get(key)), None)
        found["started_at"] = (started and utc(started)) or utc(created)
        found["ended_at"] = utc(ended) or utc(self.body.get("completed_at"))
        found["latency_ms"] = self._latency(started, ended)
        found["call_id"] = self.call_id()
        found["response_id"] = first_text([self.body], ("id",))
        found["model_requested"] = first_text([self.request], ("model",))
        found["model_served"] = first_text([self.body], ("model",))
        return found

    def _time(self, keys: Iterable[str]) -> Any:
        return next((self.beside[key] for key in keys if key in self.beside and utc(self.beside[key])), None)

    def _latency(self, started: Any, ended: Any) -> float | None:
        for keys, factor in ((_MILLISECONDS, 1.0), (_SECONDS, 1000.0)):
            for key in keys:
                found = number(self.beside.get(key))
                if found is not None:
                    return found * factor
        return milliseconds(started, ended)


def stand_beside(places: Iterable[Any]) -> dict[str, Any]:
    """Gather what stands beside the bodies under a name that is known here; the first place that has it counts."""
    found: dict[str, Any] = {}
    for place in places:
        if isinstance(place, Mapping):
            for key in place.keys() & _NAMES:
                if place[key] not in (None, ""):
                    found.setdefault(key, place[key])
    return found


def first_text(places: Iterable[Mapping[str, Any]], keys: tuple[str, ...]) -> str | None:
    """Give the first text or whole number under one of the keys, as text."""
    for place in places:
        for key in keys:
            value = place.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return str(value)
    return None


def number(value: Any) -> float | None:
    """Give a number, or text of one, as a number; None when it is none or out of range."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if 0 <= found < 1e12 else None
