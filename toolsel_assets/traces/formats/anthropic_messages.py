"""Logs of Anthropic's Messages API, request and answer side by side, batches and logged streams included.

Each record is one call of the model and the unit of the books, in any of the envelopes that envelope.py knows. A
decision is its tool_use blocks together, those only that the model itself made: what code that the provider ran has
called, and what the provider ran itself, are `server_tools`. The API's input tokens leave out the cache; here they
include it.

An answer that paused (`pause_turn`) is no decision yet: it is merged into the call whose request ends with it. The
decision then saw what the paused call saw, and took the tokens and the time of both. A pause without a continuation is
`unknown`.

What does not belong here: transcripts of Claude Code (claude_code), spans (otlp_json).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Item, Merged, ModelCall, Rejected
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes.answer import Answer, concluded, direct, tokens
from toolsel_assets.traces.shapes.envelope import exchange, known
from toolsel_assets.traces.shapes.exchange import Exchange
from toolsel_assets.vocabulary import chat
from toolsel_assets.vocabulary.decision import Status

PAUSE = "pause_turn"
#: How many paused answers wait for their continuation: more than agents that one log interleaves at a time.
MOST_PAUSED = 32


def recognises(record: Any) -> bool:
    """A logged call whose answer, address or request is of Anthropic's Messages API."""
    try:
        found = known(record)
    except RecursionError:
        return False
    return found is not None and found.api == "anthropic"


def units(record: Any) -> int:
    """Count the calls: one per record."""
    return 1


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read one call per record."""
    pauses = _Pauses()
    for record in records:
        try:
            yield from _read(record, pauses)
        except RecursionError:
            yield Rejected(record.position, "not_a_record", "nested too deeply")
    yield from pauses.left()


def _read(record: Record, pauses: "_Pauses") -> Iterator[Item]:
    found = exchange(record.value)
    if found is None or found.api != "anthropic":
        api = found and found.api
        detail = f"a call of another API: {api}" if api else "no request to Anthropic with its answer"
        yield Rejected(record.position, "not_a_record", detail)
        return
    call = _decision(found)
    before = pauses.before(found.request)
    if before:
        call = _continued(before.call, call)
    mark = _mark(found.body.get("content")) if call.status == Status.UNKNOWN and call.stop_reason == PAUSE else None
    # Everything that could raise stands above: exactly one item per record is yielded, whatever is in it.
    if before and not before.merged:
        before.merged = True
        yield Merged("content_block")
    if mark:
        yield from pauses.add(mark, call)
    else:
        yield call


@dataclass(slots=True)
class _Paused:
    call: ModelCall
    merged: bool = False  # its unit is accounted for; kept since a continuation may be tried again


class _Pauses:
    """The paused answers of late, found again by how a request ends."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Paused] = {}

    def before(self, request: Mapping[str, Any]) -> _Paused | None:
        messages = request.get("messages")
        last = messages[-1] if isinstance(messages, list) and messages else None
        if not isinstance(last, Mapping) or last.get("role") != "assistant":
            return None
        mark = _mark(last.get("content"))
        return self._waiting.get(mark) if mark else None

    def add(self, mark: str, call: ModelCall) -> Iterator[Item]:
        old = self._waiting.get(mark)
        if old and old.call.call_id == call.call_id:
            yield Merged("same_call")
            return
        if old or len(self._waiting) >= MOST_PAUSED:
            yield from _unfinished(self._waiting.pop(mark if old else next(iter(self._waiting))))
        self._waiting[mark] = _Paused(call)

    def left(self) -> Iterator[Item]:
        for paused in self._waiting.values():
            yield from _unfinished(paused)


def _unfinished(paused: _Paused) -> Iterator[Item]:
    if not paused.merged:
        yield replace(paused.call, detail="it paused, and no continuation follows in the file")


def _mark(content: Any) -> str | None:
    """Give what tells an assistant's content from any other: the id of its last server tool, else its text."""
    blocks = _blocks(content)
    ids = [block["id"] for block in blocks if isinstance(block.get("id"), str) and block.get("type") != "tool_use"]
    return ids[-1] if ids else chat.text_of(content) or None


def _continued(before: ModelCall, call: ModelCall) -> ModelCall:
    """Give the decision that began with a paused answer and went on with another call."""
    summed = ("latency_ms", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    sums = {field: _sum(getattr(before, field), getattr(call, field)) for field in summed}
    return replace(
        call,
        messages=before.messages,
        context_problem=before.context_problem,
        tools_seen=before.tools_seen,
        started_at=before.started_at,
        server_tools=(*before.server_tools, *call.server_tools),
        args_complete=before.args_complete and call.args_complete,
        **sums,
    )


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one + other


def _decision(found: Exchange) -> ModelCall:
    messages, problem = _messages(found.request)
    if found.error:
        ended: dict[str, Any] = {"status": Status.API_ERROR, "detail": found.error}
    elif found.answer is None:
        ended = {"status": Status.UNKNOWN, "detail": "no answer was logged"}
    else:
        answer = _answer(found.body)
        # Some loggers put a stream together and lose the input on the way: then `{}` says nothing.
        lost = found.request.get("stream") is True and not found.streamed and any(not args for _, args in answer.calls)
        complete = found.args_complete and not lost
        ended = concluded(answer, broken_off=found.broken_off, args_complete=complete)
    return ModelCall(
        **found.fields(),
        **ended,
        **_usage(found.body),
        messages=messages,
        context_problem=problem,
        tools_seen=_tools_seen(found),
    )


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _answer(body: Mapping[str, Any]) -> Answer:
    content, stop = body.get("content"), body.get("stop_reason")
    blocks = _blocks(content)
    called = [block for block in blocks if block.get("type") == "tool_use" and direct(block.get("caller"))]
    text = chat.text_of([block for block in blocks if block.get("type") == "text"])
    return Answer(
        calls=[(_tool_name(block), block.get("input")) for block in called],
        text=bool(text or (isinstance(content, str) and content)),
        stop_reason=stop if isinstance(stop, str) else None,
        must_finish="stop_reason" in body,
        server_tools=tuple(name for block in blocks if (name := _server_tool(block))),
        malformed=None if isinstance(content, list | str) else "the answer has no content",
    )


def _tool_name(block: Mapping[str, Any]) -> Any:
    name, family = block.get("name"), block.get("toolset_name")
    return f"{family}.{name}" if isinstance(family, str) and family and isinstance(name, str) else name


def _server_tool(block: Mapping[str, Any]) -> str | None:
    kind = block.get("type")
    if kind == "mcp_tool_use":
        return f"{block.get('server_name', 'mcp')}.{block.get('name', '')}"
    if kind == "server_tool_use":
        return str(block.get("name", ""))
    return str(_tool_name(block)) if kind == "tool_use" and not direct(block.get("caller")) else None


def _messages(request: Mapping[str, Any]) -> tuple[list[chat.Chat] | None, ContextProblem | None]:
    given = request.get("messages")
    if not given:
        return None, "content_not_captured"
    if not isinstance(given, list) or not all(_is_message(message) for message in given):
        return None, "broken_messages"
    found = chat.system(request.get("system"))
    for message in given:
        found.extend(chat.from_anthropic(message))
    return found, None


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, Mapping)
        and isinstance(message.get("role"), str)
        and isinstance(message.get("content"), str | list)
    )


def _tools_seen(found: Exchange) -> list[Any] | None:
    """Give the catalogue; a tool whose loading is deferred is part of it once a search has found it."""
    tools = found.request.get("tools")
    if not isinstance(tools, list):
        return None
    if not any(_is_deferred(tool) for tool in tools):
        return tools
    messages = found.request.get("messages")
    contents = [message.get("content") for message in _blocks(messages)] + [found.body.get("content")]
    loaded = {name for content in contents for name in _references(content)}
    return [tool for tool in tools if not _is_deferred(tool) or str(tool.get("name")) in loaded]


def _is_deferred(tool: Any) -> bool:
    return isinstance(tool, Mapping) and tool.get("defer_loading") is True


def _references(content: Any) -> Iterator[Any]:
    """Find the names in tool_reference blocks, which stand in the results of tool searches."""
    for block in _blocks(content):
        if block.get("type") == "tool_reference":
            yield str(block.get("tool_name"))
        inner = block.get("content")
        inner = inner.get("tool_references") if isinstance(inner, Mapping) else inner
        yield from _references(inner)


def _usage(body: Mapping[str, Any]) -> dict[str, Any]:
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    plain = tokens(usage.get("input_tokens"))
    read, written = tokens(usage.get("cache_read_input_tokens")), tokens(usage.get("cache_creation_input_tokens"))
    return {
        "input_tokens": None if plain is None else plain + (read or 0) + (written or 0),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": tokens(usage.get("output_tokens")),
    }
