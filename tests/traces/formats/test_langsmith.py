import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.damage import check_books, damaged, damaged_file
from toolsel_assets.traces.formats import langsmith
from toolsel_assets.traces.model_call import Item, Link, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

RUNS = Path(__file__).parents[1] / "data" / "langsmith" / "runs.jsonl"
LINES = RUNS.read_text().splitlines()
USER = {"role": "user", "content": "hello"}


def serialised(name: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}


def generation(reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """An output of LangChain's chat models."""
    message = serialised("AIMessage", **{"content": "", **fields})
    info = {"finish_reason": reason} if reason else None
    return {"generations": [[{"text": "", "type": "ChatGeneration", "generation_info": info, "message": message}]]}


def choice(reason: str | None, **message: Any) -> dict[str, Any]:
    """An output of a wrapped client of OpenAI."""
    return {"id": "chatcmpl-1", "choices": [{"finish_reason": reason, "message": {"role": "assistant", **message}}]}


def run(outputs: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "r1",
        "trace_id": "t1",
        "parent_run_id": "p1",
        "session_id": "project",
        "run_type": "llm",
        "name": "ChatOpenAI",
        "status": "success",
        "start_time": "2025-01-02T03:04:05.000000",
        "end_time": "2025-01-02T03:04:06.500000",
        "inputs": {"messages": [USER]},
        "outputs": outputs,
        "extra": {"metadata": {}},
        **more,
    }


def read(*found: Any) -> list[Item]:
    return check_books(langsmith, [Record(position, record) for position, record in enumerate(found, start=1)])


def one(outputs: Any = None, **more: Any) -> ModelCall:
    (call,) = read(run(outputs, **more))
    assert isinstance(call, ModelCall)
    return call


ASKED = {"name": "find", "args": {"q": 1}, "id": "c1", "type": "tool_call"}
ASKED_OPENAI = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}


# --- a genuine export ---------------------------------------------------------------------------------------------


def test_a_genuine_export_gives_its_calls_of_the_model() -> None:
    found = [record for record in records(RUNS) if isinstance(record, Record)]
    items = check_books(langsmith, found)
    made = {item.call_id: item for item in items if isinstance(item, ModelCall)}
    asked = [record.value for record in found if record.value["run_type"] == "llm"]
    assert (len(found), len(asked)) == (8, 4)
    assert list(made) == [each["id"] for each in asked]
    assert sum(isinstance(item, Link) for item in items) == 4
    # The script that was recorded: an error and a retry with two parallel calls, a stop; arguments that are no JSON.
    assert [call.status for call in made.values()] == [
        Status.API_ERROR,
        Status.CALLED,
        Status.STOPPED,
        Status.MALFORMED,
    ]
    failed, called, stopped, _ = made.values()
    assert called.action == (Call("find", {"query": "a"}), Call("find", {"query": "b"}))
    assert failed.messages == called.messages
    assert [message["role"] for message in stopped.messages or ()] == ["system", "user", "assistant", "tool", "tool"]
    for call, each in zip(made.values(), asked, strict=True):
        assert (call.conversation_id, call.client_id) == (each["extra"]["metadata"]["thread_id"], "u1")
        assert (call.trace_id, call.parent_span_id) == (each["trace_id"], each["parent_run_id"])
        assert call.tools_seen == each["extra"]["invocation_params"]["tools"]
        assert call.run_id is None
    assert (called.input_tokens, called.cache_read_tokens, called.output_tokens) == (10, 4, 2)
    assert (called.model_requested, called.model_served) == ("fake-1", "fake-1-2026")


# --- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "status"),
    [
        (generation(content="done"), Status.STOPPED),
        (generation("length", content="par"), Status.TRUNCATED),
        (generation("content_filter", content=""), Status.REFUSED),
        (generation(content="no", additional_kwargs={"refusal": "no"}), Status.REFUSED),
        (generation("tool_calls", tool_calls=[ASKED]), Status.CALLED),
        (generation("stop", tool_calls=[ASKED]), Status.CALLED),
        (generation("tool_calls", invalid_tool_calls=[{"name": "find", "args": '{"q', "id": "c"}]), Status.MALFORMED),
        (
            generation("tool_calls", tool_calls=[ASKED], invalid_tool_calls=[{"name": "f", "args": "{"}]),
            Status.MALFORMED,
        ),
        (generation(None, content="x", response_metadata={"stop_reason": "max_tokens"}), Status.TRUNCATED),
        (generation(None, content="x", response_metadata={"stop_reason": "end_turn"}), Status.STOPPED),
        (choice("tool_calls", tool_calls=[ASKED_OPENAI]), Status.CALLED),
        (choice("stop", content="done"), Status.STOPPED),
        (choice("stop", content=None, refusal="no"), Status.REFUSED),
        (
            choice("tool_calls", tool_calls=[{**ASKED_OPENAI, "function": {"name": "find", "arguments": "{"}}]),
            Status.MALFORMED,
        ),
        ({"role": "assistant", "content": "done", "finish_reason": "stop"}, Status.STOPPED),
        ({"generations": [[{"text": "done", "generation_info": {"finish_reason": "stop"}}]]}, Status.STOPPED),
        ({"something": "else"}, Status.MALFORMED),
        ({}, Status.UNKNOWN),
        (None, Status.UNKNOWN),
    ],
)
def test_a_call_ends_as_its_output_says(outputs: Any, status: Status) -> None:
    assert one(outputs).status == status


@pytest.mark.parametrize(
    "outputs",
    [
        generation("tool_calls", tool_calls=[ASKED]),
        generation("tool_calls", additional_kwargs={"tool_calls": [ASKED_OPENAI]}),
        generation(
            "tool_use",
            content=[{"type": "tool_use", "id": "c1", "name": "find", "input": {"q": 1}}],
            tool_calls=[ASKED],
        ),
        choice("tool_calls", tool_calls=[ASKED_OPENAI]),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"q": 1}}],
            "stop_reason": "tool_use",
        },
    ],
)
def test_a_call_of_a_tool_counts_once_however_it_is_written(outputs: Any) -> None:
    assert one(outputs).action == (Call("find", {"q": 1}),)


def test_an_error_is_no_answer_and_a_run_that_has_not_ended_is_no_stop() -> None:
    assert one(generation(content="par"), error="ReadTimeout").status == Status.API_ERROR
    unfinished = one(generation(None, content="par"), end_time=None, status="pending")
    assert unfinished.status == Status.UNKNOWN
    assert one(None, end_time=None, status="pending").detail is not None


# --- what the model saw -------------------------------------------------------------------------------------------


CHAT = [
    {"role": "system", "content": "help"},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [ASKED_OPENAI]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
]


@pytest.mark.parametrize(
    "messages",
    [
        [
            [
                serialised("SystemMessage", content="help"),
                serialised("HumanMessage", content="hi"),
                serialised("AIMessageChunk", content="", tool_calls=[ASKED]),
                serialised("ToolMessage", content="found", tool_call_id="c1"),
            ]
        ],
        [
            {"type": "system", "content": "help"},
            {"type": "human", "content": "hi"},
            {"type": "ai", "content": "", "tool_calls": [ASKED]},
            {"type": "tool", "content": "found", "tool_call_id": "c1"},
        ],
        [
            {"type": "system", "data": {"content": "help"}},
            {"type": "human", "data": {"content": "hi"}},
            {"type": "ai", "data": {"content": "", "tool_calls": [ASKED]}},
            {"type": "tool", "data": {"content": "found", "tool_call_id": "c1"}},
        ],
        CHAT,
    ],
)
def test_messages_of_any_form_are_chat_messages(messages: Any) -> None:
    seen = one(generation(content="x"), inputs={"messages": messages}).messages
    assert seen is not None
    for message in seen:  # the arguments are JSON text, whose spaces are of no account
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    wanted = json.loads(json.dumps(CHAT))
    wanted[2]["tool_calls"][0]["function"]["arguments"] = {"q": 1}
    assert seen == wanted


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"messages": [USER]}, None),
        ({"prompts": ["Human: hi"]}, None),
        ({}, "content_not_captured"),
        (None, "content_not_captured"),
        ({"messages": []}, "content_not_captured"),
        ({"messages": [7]}, "broken_messages"),
        ({"input": [USER], "previous_response_id": "resp_1"}, "kept_by_provider"),
        ('{"messages": [{"role": "us', "value_truncated"),
    ],
)
def test_a_call_without_its_messages_counts_and_says_why(inputs: Any, problem: str | None) -> None:
    call = one(generation(content="x"), inputs=inputs)
    assert (call.status, call.context_problem) == (Status.STOPPED, problem)
    assert (call.messages is None) == (problem not in (None, "kept_by_provider"))


def test_the_catalogue_stands_in_the_parameters_or_beside_the_messages() -> None:
    tool = {"type": "function", "function": {"name": "find", "parameters": {}}}
    assert one(choice("stop", content="x"), inputs={"messages": [USER], "tools": [tool]}).tools_seen == [tool]
    for key in ("tools", "functions"):
        assert one(choice("stop", content="x"), extra={"invocation_params": {key: [tool]}}).tools_seen == [tool]
    assert one(choice("stop", content="x")).tools_seen is None


OF_ANTHROPIC = {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3}
OF_OPENAI = {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_token_details": {"cache_read": 4}}, (9, 4, None, 3)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (None, None, None, None)),
        ({"outputs": {"usage": OF_ANTHROPIC}}, (10, 2, 3, 1)),
        ({"outputs": {"usage": OF_OPENAI}}, (5, 2, None, 1)),
        ({"outputs": {"usage": "x"}}, (None, None, None, None)),
    ],
)
def test_tokens_include_the_cache_once(more: dict[str, Any], expected: tuple[Any, ...]) -> None:
    call = one(**more)
    assert (call.input_tokens, call.cache_read_tokens, call.cache_write_tokens, call.output_tokens) == expected


# --- what belongs together ----------------------------------------------------------------------------------------


def test_the_thread_is_in_the_metadata_and_the_session_is_the_project() -> None:
    assert one(extra={"metadata": {}}).conversation_id is None
    for key in ("thread_id", "session_id", "conversation_id"):
        assert one(extra={"metadata": {key: "T"}}).conversation_id == "T"


def test_the_order_gives_trace_parent_and_start_where_they_are_missing() -> None:
    dotted = "20230914T223155647000Zt9.20230914T223156000001Zp9.20230914T223157250000Zr1"
    call = one(trace_id=None, parent_run_id=None, start_time=None, dotted_order=dotted)
    assert (call.trace_id, call.parent_span_id, call.started_at) == ("t9", "p9", "2023-09-14 22:31:57.250000")
    for broken in ("x", "", "...", "Z", 7, None):
        assert one(trace_id=None, start_time=None, dotted_order=broken).started_at is None
    assert one().latency_ms == 1500


def test_nested_runs_count_and_inherit_the_thread() -> None:
    inner = run(choice("stop", content="x"))
    outer = run(
        run_type="chain",
        id="p1",
        extra={"metadata": {"thread_id": "T"}},
        child_runs=[{**inner, "child_runs": None}, run(run_type="tool")],
    )
    assert langsmith.units(outer) == 3
    items = read(outer)
    assert [item.conversation_id for item in items if isinstance(item, ModelCall)] == ["T"]
    assert len([item for item in items if isinstance(item, Link)]) == 2


def test_a_page_of_the_api_holds_runs() -> None:
    page = {"runs": [run(choice("stop", content="x")), run(run_type="chain")], "cursors": {"next": None}}
    assert langsmith.recognises(page)
    assert langsmith.units(page) == 2
    assert [type(item) for item in read(page)] == [ModelCall, Link]


@pytest.mark.parametrize(
    ("record", "reason"),
    [("x", "not_a_record"), ({"id": "r"}, "not_a_record"), (run(id=None), "no_id"), (run(id=7), "no_id")],
)
def test_what_cannot_be_read_is_rejected_with_its_reason(record: Any, reason: str) -> None:
    assert [item.reason for item in read(record) if isinstance(item, Rejected)] == [reason]


def test_the_format_is_recognised_by_content() -> None:
    assert all(langsmith.recognises(json.loads(line)) for line in LINES)
    others = (
        {"id": "1", "run_type": "llm"},
        {"id": "1", "run_type": "job", "trace_id": "t"},
        {"id": "1", "type": "GENERATION", "trace_id": "t"},
        {"messages": [USER]},
        {"runs": []},
        [],
        None,
    )
    for other in others:
        assert not langsmith.recognises(other)


# --- damaged exports ----------------------------------------------------------------------------------------------

NESTED = json.dumps({**json.loads(LINES[0]), "child_runs": [json.loads(line) for line in LINES[1:6]]})


@settings(max_examples=400, deadline=None)
@given(text=st.sampled_from((*LINES, NESTED)), random=st.randoms(use_true_random=False))
def test_a_damaged_export_loses_no_run(text: str, random: Random) -> None:
    check_books(langsmith, [Record(1, damaged(text, random))])


@settings(max_examples=100, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_a_broken_file_gives_what_can_still_be_read(random: Random, tmp_path_factory: Any) -> None:
    check_books(langsmith, damaged_file(RUNS.read_bytes(), random, tmp_path_factory.getbasetemp()))
