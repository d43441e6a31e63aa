import json
from typing import Any

import pytest

from tests.traces.formats.openai_bodies import chat, function_call, response, responses
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status


def chunks(*deltas: Any, finish: Any = None) -> list[dict[str, Any]]:
    events = [{"object": "chat.completion.chunk", "id": "s", "choices": [{"index": 0, "delta": d}]} for d in deltas]
    return [
        *events,
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    ]


def piece(index: int, name: str | None = None, arguments: str | None = None) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"name": name, "arguments": arguments}}]}


CALLS = (
    piece(0, "a", ""),
    piece(1, "b", '{"y"'),
    piece(0, None, '{"x": '),
    piece(1, None, ": 2}"),
    piece(0, None, "1}"),
)


@pytest.mark.parametrize("form", ["events", "text", "lines", "wrapped"])
def test_a_logged_stream_is_put_together(form: str) -> None:
    events: Any = chunks(*CALLS, finish="tool_calls")
    lines = [f"data: {json.dumps(event)}" for event in events]
    forms = {"events": events, "text": "\r\n\r\n".join([*lines, "data: [DONE]"]), "lines": lines}
    forms["wrapped"] = [{"event": "chunk", "data": json.dumps(event)} for event in events]
    found = chat(forms[form])
    assert (found.status, found.action) == (Status.CALLED, (Call("a", {"x": 1}), Call("b", {"y": 2})))
    assert (found.call_id, found.args_complete) == ("s", True)


@pytest.mark.parametrize("deltas", [[{"content": "so far"}], CALLS, CALLS[:3], []])
def test_a_stream_that_broke_off_is_neither_a_stop_nor_a_call(deltas: list[Any]) -> None:
    found = chat(chunks(*deltas))
    assert (found.status, found.action, found.args_complete) == (Status.TRUNCATED, (), False)


def test_a_streamed_call_whose_arguments_never_came_says_so() -> None:
    found = chat(chunks(piece(0, "a"), finish="tool_calls"))
    assert (found.action, found.args_complete) == ((Call("a", {}),), False)


def test_streamed_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    deltas = [{"tool_calls": [{"id": i, "function": {"name": i, "arguments": "{"}}]} for i in "ab"]
    deltas.insert(1, {"tool_calls": [{"function": {"arguments": "}"}}]})
    deltas.append({"tool_calls": [{"function": {"arguments": "}"}}]})
    assert chat(chunks(*deltas, finish="tool_calls")).action == (Call("a", {}), Call("b", {}))


def test_an_error_in_a_stream_is_an_error() -> None:
    assert chat([*chunks({"content": "x"})[:1], {"error": {"code": "server_error"}}]).status == Status.API_ERROR
    events = [{"type": "response.created", "response": response(status="in_progress")}, {"type": "error", "code": "x"}]
    assert responses(events).status == Status.API_ERROR


def test_a_stream_of_the_responses_api_is_put_together() -> None:
    begun = {"type": "response.created", "response": response(status="in_progress")}
    items = [
        {"type": "response.output_item.done", "output_index": n, "item": function_call(x)} for n, x in enumerate("ab")
    ]
    whole = {"type": "response.completed", "response": response(function_call("a"), function_call("b"))}
    bare = {"type": "response.completed", "response": response()}
    for end in (whole, bare):
        assert responses([begun, *items, end]).action == (Call("a", {}), Call("b", {}))
    broken = responses([begun, *items])
    assert (broken.status, broken.action) == (Status.TRUNCATED, ())
