import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.damage import check_books, damaged, damaged_file
from toolsel_assets.traces.formats import inspect_ai
from toolsel_assets.traces.model_call import Item, Merged, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

DATA = Path(__file__).parents[1] / "data" / "inspect_ai"
FILES = ("browser.json", "log_formats.json", "log_images_tc.json")
USER = {"role": "user", "content": "hello"}


def called(*names: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    calls = [{"id": f"c{i}", "function": name, "arguments": arguments or {}, **more} for i, name in enumerate(names)]
    return {"role": "assistant", "content": "", "source": "generate", "tool_calls": calls}


def model(message: dict[str, Any] | None, stop: str | None = "stop", **more: Any) -> dict[str, Any]:
    choices = [] if message is None else [{"message": message, "stop_reason": stop}]
    output = {"model": "m-1", "choices": choices}
    return {"event": "model", "model": "p/m", "input": [USER], "tools": [], "output": output, **more}


def text(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "source": "generate"}


def log(*events: Any, **sample: Any) -> dict[str, Any]:
    whole = {"id": 1, "epoch": 1, "uuid": "S", "events": list(events), **sample}
    return {"version": 2, "status": "success", "eval": {"task": "t", "eval_id": "E", "run_id": "R"}, "samples": [whole]}


def read(record: Any) -> list[Item]:
    return check_books(inspect_ai, [Record(1, record)])


def calls(record: Any) -> list[ModelCall]:
    return [item for item in read(record) if isinstance(item, ModelCall)]


def one(*events: Any, **sample: Any) -> ModelCall:
    (call,) = calls(log(*events, **sample))
    return call


def span(name: str, kind: str | None, parent: str | None = None) -> dict[str, Any]:
    return {"event": "span_begin", "id": name, "type": kind, "parent_id": parent, "name": name}


# --- real files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_units", "n_called", "n_stopped"),
    [("browser.json", 43, 4, 1), ("log_formats.json", 11, 0, 1), ("log_images_tc.json", 11, 0, 1)],
)  # counted with: jq '[.samples[] | (.events // .transcript.events)[] | .event] | group_by(.)'
def test_real_logs_give_their_model_events(name: str, n_units: int, n_called: int, n_stopped: int) -> None:
    found = [record for record in records(DATA / name) if isinstance(record, Record)]
    items = check_books(inspect_ai, found)
    (sample,) = found[0].value["samples"]
    events = sample.get("events") or sample["transcript"]["events"]
    outputs = [event["output"]["choices"][0]["message"] for event in events if event["event"] == "model"]
    made = [item for item in items if isinstance(item, ModelCall)]
    assert sum(map(inspect_ai.units, (record.value for record in found))) == len(events) == n_units
    assert Counter(call.status for call in made) == Counter({Status.CALLED: n_called, Status.STOPPED: n_stopped})
    assert [[(c.tool, c.args) for c in call.action] for call in made] == [
        [(c["function"], c["arguments"]) for c in output.get("tool_calls", [])] for output in outputs
    ]
    assert not [item for item in items if isinstance(item, Rejected)]
    assert len({call.call_id for call in made}) == len(made)


def test_real_messages_are_whole_again() -> None:
    for name in FILES:
        for call in calls(json.loads((DATA / name).read_text())):
            told = json.dumps([call.messages, call.tools_seen])
            assert "attachment://" not in told
            assert "tc://" not in told
            assert call.context_problem is None


def test_the_context_of_a_real_call_is_what_its_sample_said_before_it() -> None:
    record = json.loads((DATA / "browser.json").read_text())
    said = record["samples"][0]["messages"]
    last = calls(record)[-1]
    assert last.messages is not None
    assert [message["role"] for message in last.messages] == [message["role"] for message in said[:-1]]
    assert last.messages[2]["content"] == said[2]["content"]
    assert last.started_at == "2025-05-13 00:27:52.049002"
    assert (last.input_tokens, last.cache_read_tokens, last.output_tokens) == (5915, 3840, 207)
    assert last.tools_seen is not None
    assert len(last.tools_seen) == 8


# --- how a call ended ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (model(text("done")), Status.STOPPED),
        (model(text("done"), None), Status.UNKNOWN),
        (model(text("done"), "unknown"), Status.UNKNOWN),
        (model(text("par"), "max_tokens"), Status.TRUNCATED),
        (model(text("par"), "model_length"), Status.TRUNCATED),
        (model(text(""), "content_filter"), Status.REFUSED),
        (model(text("x"), "tool_calls"), Status.MALFORMED),
        (model(None), Status.UNKNOWN),
        (model(None, pending=True), Status.UNKNOWN),
        (model(None, error="429"), Status.API_ERROR),
        (model(text("late"), error="Cancelled by limit"), Status.API_ERROR),
        (model(called("a"), "tool_calls"), Status.CALLED),
        (model(called("a"), "stop"), Status.CALLED),
        (model(called("a", parse_error="no JSON"), "tool_calls"), Status.MALFORMED),
        (model(called("a", arguments=[1]), "tool_calls"), Status.MALFORMED),
        (model({**text(""), "tool_calls": {"a": 1}}, "stop"), Status.MALFORMED),
    ],
)
def test_a_call_ends_as_its_event_says(event: dict[str, Any], status: Status) -> None:
    assert one(event).status == status


def test_a_refusal_of_the_moderation_is_no_stop() -> None:
    event = model(text("I cannot"))
    event["output"]["error"] = "moderated"
    assert one(event).status == Status.REFUSED


def test_parallel_calls_are_one_decision() -> None:
    assert one(model(called("a", "b", arguments={"x": 1}))).action == (Call("a", {"x": 1}), Call("b", {"x": 1}))


def test_tools_of_the_provider_are_no_calls() -> None:
    blocks = [
        {"type": "tool_use", "tool_type": "web_search", "name": "web_search", "id": "s"},
        {"type": "text", "text": "x"},
    ]
    call = one(model(text(blocks)))
    assert (call.status, call.server_tools) == (Status.STOPPED, ("web_search",))


def test_an_answer_from_the_cache_is_a_decision() -> None:
    event = model(text("x"), cache="read", call={"response": {"id": "r1"}})
    assert (one(event).status, one(event).response_id) == (Status.STOPPED, None)
    assert one({**event, "cache": "write"}).response_id == "r1"


def test_an_attempt_that_failed_stays_beside_the_one_that_followed_with_the_same_messages() -> None:
    failed, made = calls(log(model(None, error="529", attempt=1), model(text("x"), attempt=2)))
    assert (failed.status, made.status) == (Status.API_ERROR, Status.STOPPED)
    assert failed.messages == made.messages
    assert failed.call_id != made.call_id


# --- what the model saw -------------------------------------------------------------------------------------------


def test_texts_that_stand_apart_are_put_back() -> None:
    asked = [{"role": "user", "content": [{"type": "text", "text": "attachment://h"}]}]
    tools = [{"name": "a", "description": "attachment://d", "parameters": {}}]
    call = one(model(text("x"), input=asked, tools=tools), attachments={"h": "long", "d": "does"})
    assert call.messages == [{"role": "user", "content": "long"}]
    assert call.tools_seen == [{"name": "a", "description": "does", "parameters": {}}]
    lost = one(model(text("x"), input=asked))
    assert lost.context_problem == "content_not_captured"


@pytest.mark.parametrize(
    "place", [{"events_data": {"messages": [USER, text("a"), USER]}}, {"message_pool": [USER, text("a"), USER]}]
)
def test_messages_from_a_pool_are_put_back(place: dict[str, Any]) -> None:
    call = one(model(text("x"), input=[], input_refs=[[0, 2], [2, 3]]), **place)
    assert [message["role"] for message in call.messages or ()] == ["user", "assistant", "user"]
    for refs in ([[0, 9]], [[2, 1]], [[0]], "x", [["0", "1"]], [[True, None]]):
        assert one(model(text("x"), input=[], input_refs=refs), **place).context_problem == "content_not_captured"


@pytest.mark.parametrize(
    ("found", "problem"),
    [([], "content_not_captured"), (None, "content_not_captured"), (["x"], "broken_messages"), (7, "broken_messages")],
)
def test_a_call_without_its_messages_counts_and_says_why(found: Any, problem: str) -> None:
    call = one(model(text("x"), input=found))
    assert (call.messages, call.context_problem) == (None, problem)


def test_the_error_of_a_tool_is_what_the_model_saw_of_it() -> None:
    asked = [
        USER,
        {
            **called("a", arguments={"x": 1}),
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "so"}],
        },
        {
            "role": "tool",
            "content": "",
            "tool_call_id": "c0",
            "function": "a",
            "error": {"type": "timeout", "message": "slow"},
        },
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image", "image": "data:"}]},
    ]
    assert one(model(text("x"), input=asked)).messages == [
        USER,
        {
            "role": "assistant",
            "content": "so",
            "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c0", "content": "slow", "name": "a"},
        {"role": "user", "content": "see\n[image]"},
    ]


@pytest.mark.parametrize(
    ("usage", "read", "total"),
    [
        ({"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_tokens_cache_read": 4}, 4, 10),
        ({"input_tokens": 10, "output_tokens": 2, "total_tokens": 16, "input_tokens_cache_read": 4}, 4, 14),
        ({"input_tokens": "10"}, None, None),
    ],
)
def test_tokens_include_the_cache_once(usage: Any, read: int | None, total: int | None) -> None:
    event = model(text("x"))
    event["output"]["usage"] = usage
    assert (one(event).cache_read_tokens, one(event).input_tokens) == (read, total)


# --- runs ---------------------------------------------------------------------------------------------------------


def test_an_agent_that_a_tool_started_is_a_run_of_its_own() -> None:
    events = [
        span("solver", "solver"),
        span("main", "agent", "solver"),
        span("tool", "tool", "main"),
        span("sub", "agent", "tool"),
        model(called("a"), span_id="main"),
        model(text("x"), span_id="sub"),
        span("bare", "tool", "sub"),
        model(text("y"), span_id="bare"),
        model(text("z"), span_id="main"),
    ]
    assert [(call.run_id, call.parent_run_id, call.call_id) for call in calls(log(*events))] == [
        ("S", None, "S:0"),
        ("S/sub", "S", "S/sub:0"),
        ("S/bare", "S/sub", "S/bare:0"),
        ("S", None, "S:1"),
    ]


def test_spans_that_contain_each_other_end_the_search() -> None:
    assert one(span("a", "tool", "b"), span("b", "agent", "a"), model(text("x"), span_id="a")).run_id == "S/a"


def test_events_inside_the_event_of_a_tool_count_and_are_a_run_of_their_own() -> None:
    tool = {"event": "tool", "id": "t", "function": "ask", "events": [model(text("x")), {"event": "info"}]}
    record = log(model(called("ask")), tool, model(text("y")))
    assert inspect_ai.units(record) == 5
    assert [call.run_id for call in calls(record)] == ["S", "S/t", "S"]


@pytest.mark.parametrize(
    "events",
    [
        [span("s", "scorer"), model(text("C"), span_id="s")],
        [span("s", "scorers"), span("i", None, "s"), model(text("C"), span_id="i")],
        [
            {"event": "step", "type": "scorer", "action": "begin"},
            model(text("C")),
            {"event": "step", "type": "scorer", "action": "end"},
        ],
        [model(text("C"), role="grader")],
    ],
)
def test_the_model_that_scores_a_run_decides_nothing_in_it(events: list[Any]) -> None:
    found = read(log(*events, model(text("x"))))
    assert [item.status for item in found if isinstance(item, ModelCall)] == [Status.STOPPED]
    assert Counter(item.reason for item in found if isinstance(item, Merged))["other_span"] == 1


def test_a_run_is_named_by_its_own_id_or_by_log_sample_and_epoch() -> None:
    record = log(model(text("x")), uuid=None, epoch=3)
    assert calls(record)[0].run_id == "E:1:3"
    del record["eval"]["eval_id"]
    assert calls(record)[0].run_id == "R:1:3"
    del record["eval"]["run_id"]
    assert [item.reason for item in read(record) if isinstance(item, Rejected)] == ["no_run_id"]


def test_a_sample_without_events_gives_its_messages() -> None:
    example = {"role": "assistant", "content": "an example", "source": "input"}
    last = text("cut off")
    messages = [USER, example, called("a"), {"role": "tool", "content": "r", "tool_call_id": "c0"}, last]
    output = {"choices": [{"message": last, "stop_reason": "max_tokens"}]}
    record = log(events=[], messages=messages, output=output)
    assert inspect_ai.units(record) == 5
    found = read(record)
    made = [item for item in found if isinstance(item, ModelCall)]
    assert [(c.status, c.n_messages, c.context) for c in made] == [(Status.CALLED, 2, "S"), (Status.TRUNCATED, 4, "S")]
    assert len([item for item in found if isinstance(item, Message)]) == 5


def test_the_same_sample_twice_in_a_file_has_two_lists_of_messages() -> None:
    record = log(events=[], messages=[USER, text("x")])
    record["samples"] *= 2
    assert [(c.call_id, c.context, c.n_messages) for c in calls(record)] == [("S:0", "S", 1), ("S:0", "S#2", 1)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([], "not_a_record"),
        ({"version": 2}, "no_messages"),
        ({**log(), "samples": ["x"]}, "not_a_record"),
        (log(), "no_messages"),
        (log(messages=["x"]), "broken_message"),
        (log(messages=[USER]), "no_decisions"),
        (log("x"), "broken_message"),
        (log({"event": None}), "broken_message"),
    ],
)
def test_what_cannot_be_read_is_rejected_with_its_reason(record: Any, reason: str) -> None:
    assert [item.reason for item in read(record) if isinstance(item, Rejected)] == [reason]


def test_the_format_is_recognised_by_content() -> None:
    assert inspect_ai.recognises(log())
    for other in (
        {"messages": [USER]},
        {"eval": {"task": "t"}},
        {"version": 2, "status": "x", "eval": "t"},
        [],
        None,
        "x",
    ):
        assert not inspect_ai.recognises(other)


# --- damaged logs -------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(FILES), random=st.randoms(use_true_random=False))
def test_a_damaged_log_loses_no_event(name: str, random: Random) -> None:
    check_books(inspect_ai, [Record(1, damaged((DATA / name).read_text(), random))])


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(FILES), random=st.randoms(use_true_random=False))
def test_a_broken_file_gives_what_can_still_be_read(name: str, random: Random, tmp_path_factory: Any) -> None:
    check_books(inspect_ai, damaged_file((DATA / name).read_bytes(), random, tmp_path_factory.getbasetemp()))
