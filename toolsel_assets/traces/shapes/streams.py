"""Logged streams of the OpenAI and Anthropic APIs, put together to the body that the API gives without streaming.

What belongs here: server-sent events, as text or as a list of events, of the three APIs. What does not: what an answer
means (answer.py, formats/). A stream that broke off is put together as far as it goes, and says that it broke off:
nothing may be concluded from what is missing behind the break.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolsel_assets.traces.shapes.values import as_list

Event = Mapping[str, Any]

#: Events of the Anthropic Messages API that tell it from others. `ping` and `error` do not.
_ANTHROPIC = frozenset(
    {"message_start", "message_delta", "message_stop"}
    | {"content_block_start", "content_block_delta", "content_block_stop"}
)
#: Events of the Responses API that carry the whole answer at its end.
_RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


@dataclass(frozen=True, slots=True)
class Assembled:
    """An answer put together from its stream."""

    body: dict[str, Any]
    broken_off: bool = False  # no finish or stop reason came
    args_complete: bool = True  # false when a call began and its arguments never came


def assemble(body: Any) -> Assembled | None:
    """Put a stream together; None when the body is no stream. Never raises for what stands in it."""
    events = list(_events(body)) if isinstance(body, str | list) else []
    reader = next((found for found in map(_reader, events) if found), None)
    if reader:
        return reader(events)
    error = next((event for event in events if event.get("error")), None)
    return Assembled(dict(error)) if error else None


def _reader(event: Event) -> Callable[[list[Event]], Assembled] | None:
    kind = event.get("type")
    if event.get("object") == "chat.completion.chunk" or (kind is None and isinstance(event.get("choices"), list)):
        return _chat
    if isinstance(kind, str) and kind.startswith("response."):
        return _responses
    return _anthropic if isinstance(kind, str) and kind in _ANTHROPIC else None


def _events(body: str | list[Any]) -> Iterable[Event]:
    if isinstance(body, str):
        yield from _from_text(body)
        return
    for item in body:
        if isinstance(item, str):
            yield from _from_text(item)
        elif isinstance(item, Mapping):
            inner = item.get("data") if "type" not in item and "choices" not in item else None
            if isinstance(inner, str):
                inner = parsed(inner)
            yield inner if isinstance(inner, Mapping) else item


def _from_text(text: str) -> Iterable[Event]:
    """Read server-sent events. One that was cut, or is no JSON, is left out: the end of the stream tells of it."""
    for line in text.split("\n"):
        event = parsed(line[5:]) if line.startswith("data:") else None
        if isinstance(event, Mapping):
            yield event


def parsed(text: str) -> Any:
    """Parse JSON; None when it is none. Infinity and NaN are no JSON, though Python would take them."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _place(value: Any, otherwise: Any) -> Any:
    return value if isinstance(value, int | str) else otherwise


class _Call:
    """A call whose name and arguments come in pieces."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.name, self.pieces, self.custom = "", list[str](), False

    def add(self, piece: Event) -> None:
        self.custom = self.custom or "custom" in piece
        self.head.update({key: piece[key] for key in ("id", "type") if piece.get(key)})
        inner = _object(piece.get("custom") if self.custom else piece.get("function"))
        self.name = self.name or _text(inner.get("name"))
        self.pieces.append(_text(inner.get("input") if self.custom else inner.get("arguments")))

    @property
    def lost(self) -> bool:
        return not self.custom and not any(self.pieces)

    def whole(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.custom:
            return {**self.head, "custom": {"name": self.name, "input": text}}
        return {**self.head, "function": {"name": self.name, "arguments": text or "{}"}}


def _chat(events: list[Event]) -> Assembled:
    body: dict[str, Any] = {"object": "chat.completion"}
    contents, refusals = list[str](), list[str]()
    calls: dict[Any, _Call] = {}
    finish: Any = None
    others: set[Any] = set()
    for event in events:
        body.update({key: event[key] for key in ("id", "created", "model", "usage", "error") if event.get(key)})
        for choice in map(_object, as_list(event.get("choices"))):
            if choice.get("index") not in (None, 0):
                others.add(str(choice["index"]))
                continue
            finish = choice.get("finish_reason") or finish
            delta = _object(choice.get("delta"))
            contents.append(_text(delta.get("content")))
            refusals.append(_text(delta.get("refusal")))
            _chat_calls(delta, calls)
    message: dict[str, Any] = {"role": "assistant", "content": "".join(contents) or None}
    message["refusal"] = "".join(refusals) or None
    message["tool_calls"] = [call.whole() for call in calls.values()]
    body["choices"] = [{"index": 0, "message": message, "finish_reason": finish}, *({"index": i} for i in others)]
    lost = any(call.lost for call in calls.values())
    return Assembled(body, broken_off=finish is None and "error" not in body, args_complete=not lost)


def _chat_calls(delta: Event, calls: dict[Any, _Call]) -> None:
    if isinstance(delta.get("function_call"), Mapping):
        calls.setdefault("function_call", _Call()).add({"function": delta["function_call"]})
    for piece in map(_object, as_list(delta.get("tool_calls"))):
        # Some servers leave out the index: then an id begins a call, and a piece without one continues the last.
        place = _place(piece.get("index"), _place(piece.get("id") or None, next(reversed(calls), 0)))
        calls.setdefault(place, _Call()).add(piece)


def _responses(events: list[Event]) -> Assembled:
    body: dict[str, Any] = {}
    items: dict[Any, Any] = {}
    ended = False
    for event in events:
        kind = _text(event.get("type"))
        if kind == "error":
            body["error"] = event.get("error") or {"code": event.get("code"), "message": event.get("message")}
        elif kind == "response.output_item.done":
            items[_place(event.get("output_index"), len(items))] = event.get("item")
        elif isinstance(event.get("response"), Mapping) and not ended:
            body.update(event["response"])
            ended = kind in _RESPONSE_ENDS
    body["object"] = "response"
    if not as_list(body.get("output")):
        body["output"] = list(items.values())
    return Assembled(body, broken_off=not ended and not body.get("error"))


def _anthropic(events: list[Event]) -> Assembled:
    body: dict[str, Any] = {"role": "assistant", "stop_reason": None}
    usage: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    inputs: dict[Any, list[str]] = {}
    for event in events:
        kind, place = event.get("type"), _place(event.get("index"), 0)
        if kind == "message_start":
            body.update(_object(event.get("message")))
            usage.update(_object(body.get("usage")))
        elif kind == "content_block_start":
            blocks[place] = dict(_object(event.get("content_block")))
        elif kind == "content_block_delta":
            _add_delta(blocks.setdefault(place, {}), inputs.setdefault(place, []), _object(event.get("delta")))
        elif kind == "message_delta":
            body.update(_known(event.get("delta")))
            usage.update(_known(event.get("usage")))
        elif kind == "error":
            body["error"] = event.get("error") or {"type": "error"}
    lost = [_finish_input(block, inputs.get(place, [])) for place, block in blocks.items()]
    body.update(type="message", usage=usage, content=[*as_list(body.get("content")), *blocks.values()])
    broken_off = not body.get("stop_reason") and "error" not in body
    return Assembled(body, broken_off=broken_off, args_complete=not any(lost))


def _known(value: Any) -> dict[str, Any]:
    return {key: found for key, found in _object(value).items() if found is not None}


def _add_delta(block: dict[str, Any], pieces: list[str], delta: Event) -> None:
    if delta.get("type") == "input_json_delta":
        pieces.append(_text(delta.get("partial_json")))
    for key in ("text", "thinking"):
        if isinstance(delta.get(key), str):
            block.setdefault("type", key)
            block[key] = _text(block.get(key)) + delta[key]


def _finish_input(block: dict[str, Any], pieces: list[str]) -> bool:
    """Parse the input that came in pieces. True when it is a call whose input never came.

    A call without arguments sends one empty piece; a call without any piece lost its input on the way to the log.
    """
    text = "".join(pieces)
    if text:
        whole = parsed(text)
        block["input"] = text if whole is None else whole  # text that is no JSON is judged as such later
    return block.get("type") == "tool_use" and not pieces and not block.get("input")
