import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.mutants import mutants
from tests.traces.formats.openai_bodies import (
    ASK,
    REQUEST,
    USER,
    chat,
    completion,
    one,
    read,
    response,
    responses,
    said,
    tool_call,
)
from toolsel_assets.traces.formats import anthropic_messages, openai_messages, openai_requests
from toolsel_assets.traces.model_call import Item, Merged, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

DATA = Path(__file__).parent.parent / "data" / "openai_requests"


def test_parallel_calls_are_one_decision() -> None:
    found = chat(completion("tool_calls", tool_calls=[tool_call("a", '{"x": 1}'), tool_call("b")]))
    assert (found.status, found.action) == (Status.CALLED, (Call("a", {"x": 1}), Call("b", {})))
    assert (found.messages, found.context_problem, found.tools_seen) == ([USER], None, REQUEST["tools"])


def test_calls_decide_when_a_forced_tool_choice_ends_with_stop() -> None:
    assert chat(completion("stop", tool_calls=[tool_call()])).action == (Call("a", {}),)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (completion("stop", content="x"), Status.STOPPED),
        (completion("stop"), Status.STOPPED),
        (completion(None, content="x"), Status.UNKNOWN),
        (completion(7, content="x"), Status.UNKNOWN),
        (completion("length", content="x"), Status.TRUNCATED),
        (completion("length", tool_calls=[tool_call(arguments='{"x": ')]), Status.TRUNCATED),
        (completion("length", tool_calls=[tool_call()]), Status.TRUNCATED),
        (completion("content_filter", content="x"), Status.REFUSED),
        (completion("stop", refusal="no"), Status.REFUSED),
        (completion("tool_calls"), Status.MALFORMED),
        (completion("tool_calls", tool_calls=[tool_call(arguments='{"x": ')]), Status.MALFORMED),
        (completion("tool_calls", tool_calls=[tool_call(arguments="[1]")]), Status.MALFORMED),
        (completion("tool_calls", tool_calls=[tool_call(name=None)]), Status.MALFORMED),
        (completion("tool_calls", tool_calls=[3]), Status.MALFORMED),
        (completion("stop", content="x", tool_calls="junk"), Status.MALFORMED),
        (completion("stop", content="x", tool_calls=None, function_call=None), Status.STOPPED),
        ({"object": "chat.completion", "choices": []}, Status.MALFORMED),
        ({"object": "chat.completion", "choices": [{"finish_reason": "stop"}]}, Status.MALFORMED),
        ({"error": {"type": "rate_limit_error", "message": "slow"}}, Status.API_ERROR),
        (None, Status.UNKNOWN),
        ("<html>bad gateway</html>", Status.MALFORMED),
    ],
)
def test_no_tool_needs_positive_evidence(answer: Any, status: Status) -> None:
    found = chat(answer)
    assert (found.status, found.action) == (status, ())


def test_a_log_without_finish_reasons_stops_on_a_complete_text() -> None:
    answer = completion(content="x")
    del answer["choices"][0]["finish_reason"]
    assert chat(answer).status == Status.STOPPED


def test_several_choices_are_alternatives_and_no_parallel_calls() -> None:
    answer = completion("tool_calls", tool_calls=[tool_call("a")])
    other = completion("tool_calls", tool_calls=[tool_call("b")])["choices"][0]
    answer["choices"].insert(0, {**other, "index": 1})
    found = chat(answer)
    assert (found.action, found.detail) == ((Call("a", {}),), "the first of 2 alternatives")


def test_custom_tools_and_the_older_function_call_are_calls() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    assert chat(completion("tool_calls", tool_calls=[custom])).action == (Call("sql", {"input": "select 1"}),)
    older = completion("function_call", function_call={"name": "a", "arguments": '{"x": 1}'})
    found = one({"request": {"model": "m", "messages": [USER], "functions": [{"name": "a"}]}, "response": older})
    assert (found.action, found.tools_seen) == ((Call("a", {"x": 1}),), [{"name": "a"}])


def test_input_tokens_include_the_cached_ones() -> None:
    details = {"cached_tokens": 80}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}
    found = chat({**completion("stop", content="x"), "usage": usage})
    assert (found.input_tokens, found.cache_read_tokens, found.output_tokens) == (100, 80, 5)


# Envelopes

ENVELOPES: dict[str, Any] = {
    "bodies": lambda q, a: {"request": q, "response": a},
    "http messages": lambda q, a: {"request": {"url": "u", "body": q}, "response": {"status_code": 200, "body": a}},
    "status as number": lambda q, a: {"request": {"body": q}, "response": {"status": 200, "body": a}},
    "status as object": lambda q, a: {"request": {"body": q}, "response": {"status": {"code": 200}, "body": a}},
    "named bodies": lambda q, a: {"request_body": q, "response_body": a},
    "JSON text": lambda q, a: {
        "request": {"body": json.dumps(q)},
        "response": {"status": "200", "body": json.dumps(a)},
    },
    "text bodies": lambda q, a: {"request_body": json.dumps(q), "response_body": json.dumps(a)},
    "input and output": lambda q, a: {"input": q, "output": a},
    "kwargs": lambda q, a: {"kwargs": q, "response": a},
    "flat": lambda q, a: {**q, "response": a},
    "input of the batch": lambda q, a: {"custom_id": "x", "body": q, "response": {"status_code": 200, "body": a}},
}


@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES)
def test_every_usual_envelope_gives_the_same_call(envelope: Any) -> None:
    for request, answer in ((REQUEST, completion("stop", content="x")), (ASK, response(said()))):
        value = envelope(request, answer)
        assert openai_requests.recognises(value) and not anthropic_messages.recognises(value)
        assert not openai_messages.recognises(value)
        assert one(value) == one({"request": request, "response": answer})


def test_lists_of_messages_may_stand_alone_as_the_input() -> None:
    assert one({"input": [USER], "output": completion("stop", content="x")}).messages == [USER]
    assert one({"input": [USER], "output": response(said())}).messages == [USER]


@pytest.mark.parametrize("answer", [completion("stop", content="x"), response(said())])
def test_an_answer_without_its_request_is_kept_and_its_context_is_not_captured(answer: Any) -> None:
    for value in (answer, {"custom_id": "x", "response": {"status_code": 200, "request_id": "r", "body": answer}}):
        assert openai_requests.recognises(value)
        found = one(value)
        assert (found.status, found.context_problem) == (Status.STOPPED, "content_not_captured")
        assert (found.messages, found.call_id) == (None, answer["id"])


@pytest.mark.parametrize(
    "value",
    [
        {"request": REQUEST, "response": {"status_code": 429, "body": {"error": {"code": "rate_limit"}}}},
        {"request": REQUEST, "response": {"status": 500, "body": "oops"}},
        {"request": REQUEST, "response": {"status_code": 500}},
        {"request": REQUEST, "response": None, "error": "timed out"},
        {"request": REQUEST, "error": {"message": "timed out"}},
        {"request": REQUEST, "response": {"error": "x"}, "status_code": 500},
        {"custom_id": "x", "response": {"status_code": 400, "body": {"error": {"message": "m"}}}, "error": None},
        {"custom_id": "x", "response": None, "error": {"code": "batch_expired"}, "request": REQUEST},
    ],
)
def test_an_error_is_an_error_and_never_a_stop(value: Any) -> None:
    assert openai_requests.recognises(value)
    found = one(value)
    assert found.status == Status.API_ERROR and found.detail


def test_the_text_of_an_error_that_has_a_kind_is_not_kept() -> None:
    error = {"message": "incorrect key sk-123", "type": "auth", "code": "invalid_api_key"}
    assert chat({"error": error}).detail == "invalid_api_key"


def test_ids_clients_and_times_are_found_where_people_log_them() -> None:
    expected = {"conversation_id": "t", "client_id": "u", "run_id": "r"}
    beside = {"thread_id": "t", "user_id": "u", "run_id": "r"}
    answer = completion("stop", content="x")
    for value in (
        {"request": REQUEST, "response": answer, **beside},
        {"request": REQUEST, "response": answer, "metadata": beside},
        {"request": {**REQUEST, "metadata": beside}, "response": answer},
        {"request": {**REQUEST, "user": "u", "metadata": {"thread_id": "t", "run_id": "r"}}, "response": answer},
        {
            "request": {"headers": {"X-Thread-Id": ["t"], "X-User-Id": "u"}, "body": REQUEST},
            "response": answer,
            "run_id": "r",
        },
    ):
        found = one(value)
        assert {key: getattr(found, key) for key in expected} == expected
    times = {"start_time": "2025-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:02Z"}
    found = chat(answer, **times)
    assert (found.started_at, found.latency_ms) == ("2025-01-01 00:00:00.000000", 2000)
    assert chat(answer).started_at == "2023-11-14 22:13:20.000000"
    assert chat(answer, duration_ms="12.5").latency_ms == 12.5
    assert chat(answer, latency=3).latency_ms is None  # seconds or milliseconds?


def test_call_ids_come_from_the_source_and_never_from_the_place() -> None:
    answer = completion("stop", content="x")
    assert chat(answer).call_id == "chatcmpl-1"
    del answer["id"]
    assert chat(answer, request_id="q").call_id == "q"
    assert one({"custom_id": "c", "request": REQUEST, "response": answer}).call_id == "c"
    ids = {
        item.call_id for item in read(1, *[{"request": REQUEST, "response": answer}] * 2) if isinstance(item, ModelCall)
    }
    assert len(ids) == 1 and ids == {chat(answer).call_id}
    other = {"request": {**REQUEST, "model": "other"}, "response": answer}
    assert one(other).call_id not in ids and chat(answer, timestamp=1700000001).call_id not in ids


def test_broken_messages_are_said_to_be_broken() -> None:
    for messages in ("x", [1], [{"content": "x"}]):
        found = one({"request": {"model": "m", "messages": messages}, "response": completion("stop", content="x")})
        assert (found.context_problem, found.messages) == ("broken_messages", None)
    assert responses(response(said()), {**ASK, "input": [1]}).context_problem == "broken_messages"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        "x",
        {"messages": [USER]},
        {"messages": [USER], "output": "x"},
        {"question": "?", "choices": ["a", "b"], "answer": 1},
        {"input": {"messages": [USER]}, "output": "text"},
        {"prompt": "a", "response": "b"},
        {"request": REQUEST, "response": {"text": "b"}},
        {"type": "GENERATION", "traceId": "t", "input": [USER], "output": completion("stop", content="x")},
        {"run_type": "llm", "input": [USER], "output": completion("stop", content="x")},
        {"trace": {}, "observations": [], "output": completion()},
        {"resourceSpans": []},
        {"request": {"model": "claude", "messages": [USER]}, "response": {"type": "message", "content": []}},
    ],
)
def test_records_of_other_formats_are_not_recognised(value: Any) -> None:
    assert not openai_requests.recognises(value)


def test_what_is_no_call_is_rejected_with_its_place() -> None:
    assert [item.position for item in read(3, {"request": {"x": 1}}, None) if isinstance(item, Rejected)] == [1, 2, 3]


# Real files


def expected_of_chat(record: Mapping[str, Any]) -> tuple[str, int, int]:
    """Count by the plainest reading of one non-streamed exchange: status, calls, tokens read."""
    answer = record["response"]
    calls = answer["choices"][0]["message"]["tool_calls"] or []
    finish = answer["choices"][0]["finish_reason"]
    status = {"stop": "stopped", "tool_calls": "called"}[finish]
    return status, len(calls), answer["usage"]["prompt_tokens"]


def test_real_chat_completions_are_read_as_an_independent_count_has_them() -> None:
    path = DATA / "chat.jsonl"
    expected = [expected_of_chat(json.loads(line)) for line in path.read_text().splitlines()]
    found = [item for item in read_file(path) if isinstance(item, ModelCall)]
    assert [(item.status.value, len(item.action), item.input_tokens) for item in found] == expected
    assert Counter(status for status, _, _ in expected) == {"called": 4, "stopped": 3}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("streams_and_compatible.jsonl", ["get_current_time", "stopped", "get_capital", "stopped"]),
        ("responses.jsonl", ["get_conversation_code", "stopped", "shell", "stopped", "api_error", "not_a_record"]),
    ],
)
def test_real_streams_and_responses_are_read_as_written_down_by_hand(name: str, expected: list[str]) -> None:
    items = read_file(DATA / name)
    assert [outline(item) for item in items] == expected


def outline(item: Item) -> str:
    if isinstance(item, ModelCall):
        return "|".join(call.tool for call in item.action) or item.status.value
    return item.reason if isinstance(item, Rejected) else "merged"


def read_file(path: Path) -> list[Item]:
    return list(openai_requests.read(found for found in records(path) if isinstance(found, Record)))


REAL = [json.loads(line) for path in sorted(DATA.glob("*.jsonl")) for line in path.read_text().splitlines()]


@settings(max_examples=300, deadline=None)
@given(mutants(REAL))
def test_spoilt_records_never_raise_and_the_books_close(values: list[Any]) -> None:
    items = read(*values)
    counted = sum(item.n if isinstance(item, Merged) else 1 for item in items)
    assert counted == sum(openai_requests.units(value) for value in values)
    for item in (item for item in items if isinstance(item, ModelCall)):
        assert bool(item.action) == (item.status == Status.CALLED)
        assert item.call_id and json.dumps(item.messages) and json.dumps(item.tools_seen)
    assert all(openai_requests.recognises(value) in (True, False) for value in values)


@settings(max_examples=200, deadline=None)
@given(
    line=st.sampled_from([json.dumps(value) for value in REAL]),
    noise=st.lists(st.tuples(st.integers(0, 6000), st.text('{}[]":,\\ndata0', max_size=3)), min_size=1, max_size=6),
)
def test_a_line_with_spoilt_characters_that_is_still_json_is_one_unit(line: str, noise: list[tuple[int, str]]) -> None:
    for place, text in noise:
        line = line[:place] + text + line[place + len(text) :]
    try:
        value = json.loads(line)
    except ValueError:
        return
    assert len(read(value)) == 1


def test_records_that_are_nested_too_deeply_are_rejected_or_read_and_never_raise() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    for value in (
        {"request": {**REQUEST, "metadata": deep}, "response": {"object": "chat.completion", "choices": []}},
        {"request": {**ASK, "input": [{"role": "user", "content": deep}]}, "response": response(said())},
        {"request": {**ASK, "instructions": deep}, "response": response(said())},
    ):
        assert len(read(value)) == 1
        assert openai_requests.recognises(value) in (True, False)
