import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.mutants import mutants
from toolsel_assets.traces.formats import anthropic_messages, openai_messages, openai_requests
from toolsel_assets.traces.model_call import Item, Merged, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

DATA = Path(__file__).parent.parent / "data" / "anthropic_messages"
USER = {"role": "user", "content": "hello"}
REQUEST = {"model": "claude-x", "max_tokens": 9, "system": "be brief", "messages": [USER], "tools": [{"name": "a"}]}
TEXT = {"type": "text", "text": "hi"}


def read(*values: Any) -> list[Item]:
    return list(anthropic_messages.read(Record(n, value) for n, value in enumerate(values, start=1)))


def one(value: Any) -> ModelCall:
    (item,) = read(value)
    assert isinstance(item, ModelCall), item
    return item


def message(*content: Any, stop: Any = "end_turn", **more: Any) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1"}
    return {**head, "content": list(content), "stop_reason": stop, **more}


def tool_use(name: Any = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}, **more}


def searched(id_: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": id_, "name": "web_search", "input": {}}


def answered(answer: Any, **request: Any) -> ModelCall:
    return one({"request": {**REQUEST, **request}, "response": answer})


def test_parallel_calls_are_one_decision() -> None:
    found = answered(message(TEXT, tool_use("a", input={"x": 1}), tool_use("b"), stop="tool_use"))
    assert (found.status, found.action) == (Status.CALLED, (Call("a", {"x": 1}), Call("b", {})))
    assert (found.call_id, found.model_served, found.tools_seen) == ("msg_1", "claude-x-1", [{"name": "a"}])


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (message(TEXT), Status.STOPPED),
        (message(TEXT, stop="stop_sequence"), Status.STOPPED),
        (message(), Status.STOPPED),
        (message(TEXT, stop=None), Status.UNKNOWN),
        (message(TEXT, stop=3), Status.UNKNOWN),
        (message(TEXT, stop="pause_turn"), Status.UNKNOWN),
        (message(TEXT, stop="compaction"), Status.UNKNOWN),
        (message(TEXT, stop="max_tokens"), Status.TRUNCATED),
        (message(tool_use(), stop="max_tokens"), Status.TRUNCATED),
        (message(TEXT, stop="model_context_window_exceeded"), Status.TRUNCATED),
        (message(stop="refusal"), Status.REFUSED),
        (message(TEXT, stop="tool_use"), Status.MALFORMED),
        (message(tool_use(input=[1]), stop="tool_use"), Status.MALFORMED),
        (message(tool_use(input='{"x"'), stop="tool_use"), Status.MALFORMED),
        (message(tool_use(name=None), stop="tool_use"), Status.MALFORMED),
        ({**message(), "content": None}, Status.MALFORMED),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, Status.API_ERROR),
        (None, Status.UNKNOWN),
    ],
)
def test_no_tool_needs_positive_evidence(answer: Any, status: Status) -> None:
    found = answered(answer)
    assert (found.status, found.action) == (status, ())


def test_calls_from_code_that_the_provider_runs_are_no_decision_of_the_loop() -> None:
    code = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    mcp = {"type": "mcp_tool_use", "server_name": "docs", "name": "read", "input": {}}
    found = answered(message(searched(), tool_use("b", caller=code), mcp, TEXT))
    assert (found.status, found.action) == (Status.STOPPED, ())
    assert found.server_tools == ("web_search", "b", "docs.read")
    for direct in (None, {"type": "direct"}):
        found = answered(message(searched(), tool_use("a", caller=direct), tool_use("b", caller=code), stop="tool_use"))
        assert (found.action, found.server_tools) == ((Call("a", {}),), ("web_search", "b"))


def test_the_toolset_is_part_of_a_tools_identity() -> None:
    assert answered(message(tool_use("key", toolset_name="computer"), stop="tool_use")).action == (
        Call("computer.key", {}),
    )


def test_input_tokens_include_the_cache() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 200, "output_tokens": 5}
    found = answered(message(TEXT, usage=usage))
    assert (found.input_tokens, found.cache_read_tokens, found.cache_write_tokens, found.output_tokens) == (
        213,
        3,
        200,
        5,
    )
    assert answered(message(TEXT, usage={"input_tokens": "10"})).input_tokens is None


@pytest.mark.parametrize("system", ["be brief", [{"type": "text", "text": "be brief"}]])
def test_the_context_is_what_the_model_saw_in_chat_form(system: Any) -> None:
    messages = [
        USER,
        {"role": "assistant", "content": [TEXT, tool_use("a", input={"x": 1})]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [TEXT]}]},
    ]
    found = answered(message(TEXT), system=system, messages=messages)
    call = {"id": "toolu_1", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}
    assert found.messages == [
        {"role": "system", "content": "be brief"},
        USER,
        {"role": "assistant", "content": "hi", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "hi"},
    ]
    assert found.context_problem is None


def test_broken_messages_are_said_to_be_broken() -> None:
    for messages in ("x", [1], [{"content": "x"}], [{"role": "user", "content": 3}]):
        found = answered(message(TEXT), messages=messages)
        assert (found.context_problem, found.messages) == ("broken_messages", None)


def test_a_deferred_tool_is_seen_once_a_search_found_it() -> None:
    tools = [{"name": "search"}, {"name": "a", "defer_loading": True}, {"name": "b", "defer_loading": True}]
    references = {"tool_references": [{"type": "tool_reference", "tool_name": "b"}]}
    result = {"type": "tool_search_tool_result", "content": references}
    assert [tool["name"] for tool in answered(message(TEXT), tools=tools).tools_seen or ()] == ["search"]
    history = [USER, {"role": "assistant", "content": [result]}, USER]
    found = answered(message(TEXT), tools=tools, messages=history)
    assert [tool["name"] for tool in found.tools_seen or ()] == ["search", "b"]
    own = {"type": "tool_result", "content": [{"type": "tool_reference", "tool_name": "a"}]}
    found = answered(message(TEXT), tools=tools, messages=[{"role": "user", "content": [own]}])
    assert [tool["name"] for tool in found.tools_seen or ()] == ["search", "a"]


# Streams


def events(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], stop: str | None = "end_turn") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"type": "message_start", "message": message(stop=None, usage={"input_tokens": 7, "output_tokens": 1})}
    ]
    for index, (block, deltas) in enumerate(blocks):
        found.append({"type": "content_block_start", "index": index, "content_block": block})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    if stop:
        usage = {"input_tokens": None, "output_tokens": 9}
        found.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
    return [*found, {"type": "ping"}]


def pieces(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "input_json_delta", "partial_json": text} for text in texts]


SAID = ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "h"}, {"type": "text_delta", "text": "i"}])


@pytest.mark.parametrize("as_text", [False, True])
def test_a_logged_stream_is_put_together(as_text: bool) -> None:
    stream: Any = events(
        SAID, (tool_use("a"), pieces("", '{"x"', ": 1}")), (tool_use("b"), pieces("")), stop="tool_use"
    )
    if as_text:
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream)
    found = answered(stream, stream=True)
    assert (found.status, found.action) == (Status.CALLED, (Call("a", {"x": 1}), Call("b", {})))
    assert (found.args_complete, found.input_tokens, found.output_tokens) == (True, 7, 9)


@pytest.mark.parametrize("blocks", [(SAID,), ((tool_use("a"), pieces('{"x": 1}')),), ((tool_use("a"), pieces('{"x')),)])
def test_a_stream_that_broke_off_is_neither_a_stop_nor_a_call(blocks: Any) -> None:
    found = answered(events(*blocks, stop=None))
    assert (found.status, found.action, found.args_complete) == (Status.TRUNCATED, (), False)


def test_a_streamed_call_whose_input_never_came_says_so() -> None:
    found = answered(events((tool_use("a"), []), stop="tool_use"))
    assert (found.action, found.args_complete) == ((Call("a", {}),), False)


def test_an_empty_input_in_a_stream_that_a_logger_put_together_says_so() -> None:
    assert not answered(message(tool_use(), stop="tool_use"), stream=True).args_complete
    assert answered(message(tool_use(), stop="tool_use")).args_complete
    assert answered(message(tool_use(input={"x": 1}), stop="tool_use"), stream=True).args_complete


def test_an_error_in_a_stream_is_an_error() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error"}}
    for stream in ([*events(SAID, stop=None), error], [error], f"event: error\ndata: {json.dumps(error)}\n\n"):
        found = answered(stream)
        assert (found.status, found.detail) == (Status.API_ERROR, "overloaded_error")


# Paused answers


def paused(n: int = 1, **request: Any) -> dict[str, Any]:
    answer = message(TEXT, searched(f"srvtoolu_{n}"), stop="pause_turn", id=f"msg_p{n}")
    usage = {"input_tokens": 10, "output_tokens": 2}
    return {"request": {**REQUEST, **request}, "response": {**answer, "usage": usage}, "timestamp": 1700000000 + n}


def resumed(*before: dict[str, Any], answer: Any = None) -> dict[str, Any]:
    tail = [{"role": "assistant", "content": record["response"]["content"]} for record in before]
    usage = {"input_tokens": 30, "output_tokens": 4}
    answer = answer or message(searched("srvtoolu_z"), tool_use("a"), stop="tool_use", usage=usage)
    return {"request": {**REQUEST, "messages": [USER, *tail]}, "response": answer, "timestamp": 1700000100}


def test_a_paused_answer_is_merged_into_the_call_that_continues_it() -> None:
    first, other = paused(), {"request": REQUEST, "response": message(TEXT, id="msg_2")}
    items = read(first, other, resumed(first))
    assert [type(item).__name__ for item in items] == ["ModelCall", "Merged", "ModelCall"]
    assert Merged("content_block") in items
    found = items[2]
    assert isinstance(found, ModelCall)
    assert (found.status, found.action, found.call_id) == (Status.CALLED, (Call("a", {}),), "msg_1")
    assert found.server_tools == ("web_search", "web_search")
    assert found.messages == one({"request": REQUEST, "response": message(TEXT)}).messages
    assert (found.input_tokens, found.output_tokens) == (40, 6)
    assert found.started_at == "2023-11-14 22:13:21.000000"


def test_an_answer_may_pause_more_than_once() -> None:
    first = paused(1)
    second = paused(2, messages=resumed(first)["request"]["messages"])
    items = read(first, second, resumed(first, second))
    assert items[:2] == [Merged("content_block"), Merged("content_block")]
    assert isinstance(items[2], ModelCall) and len(items[2].server_tools) == 3 and items[2].input_tokens == 50


def test_a_continuation_that_was_tried_again_has_the_paused_part_both_times() -> None:
    first = paused()
    failed = resumed(first, answer={"type": "error", "error": {"type": "overloaded_error"}})
    items = read(first, failed, resumed(first))
    assert [getattr(item, "status", "merged") for item in items] == ["merged", Status.API_ERROR, Status.CALLED]
    assert isinstance(items[2], ModelCall) and items[2].server_tools == ("web_search", "web_search")


def test_a_pause_without_a_continuation_is_unknown_and_no_stop() -> None:
    (found,) = read(paused())
    assert isinstance(found, ModelCall) and found.status == Status.UNKNOWN
    assert found.detail == "it paused, and no continuation follows in the file"


def test_a_paused_answer_that_was_delivered_twice_is_counted_once() -> None:
    assert read(paused(), paused(), resumed(paused()))[:2] == [Merged("same_call"), Merged("content_block")]


def test_only_a_few_pauses_are_remembered_and_none_is_lost() -> None:
    many = [paused(n) for n in range(anthropic_messages.MOST_PAUSED + 10)]
    items = read(*many, resumed(many[-1]))
    assert len(items) == len(many) + 1
    assert sum(isinstance(item, ModelCall) and item.status == Status.UNKNOWN for item in items) == len(many) - 1


# Envelopes


@pytest.mark.parametrize(
    "value",
    [
        {"request": REQUEST, "response": message(TEXT)},
        {"request": {"url": "u", "body": json.dumps(REQUEST)}, "response": {"status": 200, "body": message(TEXT)}},
        {"request_body": json.dumps(REQUEST), "response_body": json.dumps(message(TEXT))},
        {"kwargs": REQUEST, "response": message(TEXT)},
        {"input": REQUEST, "output": message(TEXT)},
        {**REQUEST, "response": message(TEXT)},
        {"custom_id": "c", "params": REQUEST, "result": {"type": "succeeded", "message": message(TEXT)}},
    ],
)
def test_every_usual_envelope_gives_the_same_call(value: Any) -> None:
    assert anthropic_messages.recognises(value)
    assert not openai_requests.recognises(value) and not openai_messages.recognises(value)
    assert one(value) == one({"request": REQUEST, "response": message(TEXT)})


def test_the_results_of_a_batch_come_without_their_requests() -> None:
    done = {"custom_id": "c", "result": {"type": "succeeded", "message": message(TEXT)}}
    assert anthropic_messages.recognises(done)
    assert (one(done).status, one(done).context_problem) == (Status.STOPPED, "content_not_captured")
    error = {"type": "error", "error": {"type": "invalid_request_error"}}
    for result in ({"type": "errored", "error": error}, {"type": "expired"}, {"type": "canceled"}):
        value = {"custom_id": "c", "result": result}
        assert anthropic_messages.recognises(value) and not openai_requests.recognises(value)
        assert (one(value).status, one(value).call_id) == (Status.API_ERROR, "c")


def test_an_http_error_is_an_error() -> None:
    value = {"request": {"body": REQUEST}, "response": {"status_code": 529, "body": "busy"}}
    assert anthropic_messages.recognises(value)
    assert (one(value).status, one(value).detail) == (Status.API_ERROR, "HTTP status 529")


def test_the_user_that_the_api_is_told_is_the_client() -> None:
    assert answered(message(TEXT), metadata={"user_id": "u"}).client_id == "u"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"messages": [USER]},
        {"type": "assistant", "message": message(TEXT), "sessionId": "s", "uuid": "u"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
        {"type": "GENERATION", "traceId": "t", "input": REQUEST, "output": message(TEXT)},
        {"request": {"model": "gpt-x", "messages": [USER]}, "response": {"object": "chat.completion", "choices": []}},
        {"custom_id": "c", "result": "succeeded"},
    ],
)
def test_records_of_other_formats_are_not_recognised_and_are_rejected(value: Any) -> None:
    assert not anthropic_messages.recognises(value)


def test_what_is_no_call_is_rejected_with_its_place() -> None:
    assert [item.position for item in read(3, {"request": {"x": 1}}, None) if isinstance(item, Rejected)] == [1, 2, 3]


# Real files


def test_real_exchanges_are_read_as_written_down_by_hand() -> None:
    path = DATA / "messages.jsonl"
    found = [item for item in read_file(path) if isinstance(item, ModelCall)]
    assert [(item.status.value, [call.tool for call in item.action], item.server_tools) for item in found] == [
        ("called", ["get_user_country"], ()),
        ("called", ["final_result"], ()),
        ("called", ["str_replace_based_edit_tool"], ()),
        ("stopped", [], ()),
        ("stopped", [], ("bash_code_execution",)),
    ]
    assert found[2].action[0].args == {"command": "view", "path": "/tmp/example.py"}
    # The names of the tools that were called, counted in the text of each line: whole answers and streams alike.
    lines = [json.loads(line)["response"]["body"] for line in path.read_text().splitlines()]
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    assert [text.count('"type":"tool_use"') for text in texts] == [len(item.action) for item in found]
    assert [item.output_tokens for item in found] == [23, 56, 82, 49, 78]


def read_file(path: Path) -> list[Item]:
    return list(anthropic_messages.read(found for found in records(path) if isinstance(found, Record)))


REAL = [json.loads(line) for path in sorted(DATA.glob("*.jsonl")) for line in path.read_text().splitlines()]
PAUSED = paused()


@settings(max_examples=400, deadline=None)
@given(mutants([*REAL, PAUSED, resumed(PAUSED), {"custom_id": "c", "result": {"type": "expired"}}]))
def test_spoilt_records_never_raise_and_the_books_close(values: list[Any]) -> None:
    items = read(*values)
    counted = sum(item.n if isinstance(item, Merged) else 1 for item in items)
    assert counted == sum(anthropic_messages.units(value) for value in values)
    for item in (item for item in items if isinstance(item, ModelCall)):
        assert bool(item.action) == (item.status == Status.CALLED)
        assert item.call_id and json.dumps(item.messages) and json.dumps(item.tools_seen)
    assert all(anthropic_messages.recognises(value) in (True, False) for value in values)


@settings(max_examples=200, deadline=None)
@given(
    line=st.sampled_from([json.dumps(value) for value in [*REAL, PAUSED]]),
    noise=st.lists(st.tuples(st.integers(0, 5000), st.text('{}[]":,\\ndata0', max_size=3)), min_size=1, max_size=6),
)
def test_a_line_with_spoilt_characters_that_is_still_json_is_one_unit(line: str, noise: list[tuple[int, str]]) -> None:
    for place, text in noise:
        line = line[:place] + text + line[place + len(text) :]
    try:
        value = json.loads(line)
    except ValueError:
        return
    assert len(read(value)) == 1


def test_records_that_are_nested_too_deeply_never_raise() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    for value in (
        {"request": {**REQUEST, "system": deep}, "response": message(TEXT)},
        {"request": {**REQUEST, "messages": [{"role": "user", "content": deep}]}, "response": message(TEXT)},
        {"request": REQUEST, "response": message({"type": "tool_use", "name": "a", "input": {"x": deep}})},
    ):
        assert len(read(value)) == 1
        assert anthropic_messages.recognises(value) in (True, False)
