import json
from typing import Any

import pytest

from toolsel_assets.traces.formats import detect, openai_messages
from toolsel_assets.traces.model_call import Item, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

USER = {"role": "user", "content": "hello"}


def called(*names: str, arguments: Any = "{}") -> dict[str, Any]:
    calls = [{"id": f"c{i}", "function": {"name": name, "arguments": arguments}} for i, name in enumerate(names)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def items(record: Any) -> list[Item]:
    return list(openai_messages.read([Record(1, record)]))


def read(*messages: dict[str, Any], **more: Any) -> list[ModelCall]:
    found = items({"id": "r", "messages": [USER, *messages], **more})
    return [item for item in found if isinstance(item, ModelCall)]


def test_the_final_answer_is_a_decision_to_stop() -> None:
    calls = read(called("a"), {"role": "tool", "content": "x"}, {"role": "assistant", "content": "done"})
    assert [(turn.status, turn.n_messages) for turn in calls] == [(Status.CALLED, 1), (Status.STOPPED, 3)]


def test_no_stop_is_invented_for_a_run_that_ends_on_a_tool_result() -> None:
    calls = read(called("a"), {"role": "tool", "content": "x"})
    assert [turn.status for turn in calls] == [Status.CALLED]


def test_parallel_calls_are_one_decision() -> None:
    (turn,) = read(called("a", "b", arguments='{"x": 1}'))
    assert turn.action == (Call("a", {"x": 1}), Call("b", {"x": 1}))


@pytest.mark.parametrize("arguments", ['{"x": 1', "not json", "[1]", "null", "3", 7, "[" * 100_000])
def test_arguments_that_are_no_json_object_make_the_decision_malformed_and_never_a_stop(arguments: Any) -> None:
    (turn,) = read(called("a", arguments=arguments))
    assert (turn.status, turn.action) == (Status.MALFORMED, ())
    assert turn.detail and "a" in turn.detail


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"content": "text"}, Status.STOPPED),
        ({"content": None}, Status.UNKNOWN),
        ({"content": ""}, Status.UNKNOWN),
        ({"content": None, "refusal": "no"}, Status.REFUSED),
        ({"content": "par", "finish_reason": "length"}, Status.TRUNCATED),
        ({"content": "x", "finish_reason": "content_filter"}, Status.REFUSED),
        ({"content": "x", "finish_reason": "stop"}, Status.STOPPED),
        ({"content": "", "tool_calls": []}, Status.UNKNOWN),
    ],
)
def test_no_tool_needs_positive_evidence(message: dict[str, Any], status: Status) -> None:
    assert read({"role": "assistant", **message})[0].status == status


def test_the_older_function_call_is_a_call() -> None:
    (turn,) = read({"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}})
    assert turn.action == (Call("a", {}),)


def test_an_older_function_call_that_is_null_is_none() -> None:
    (turn,) = read({"role": "assistant", "content": "done", "function_call": None})
    assert turn.status == Status.STOPPED


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([], "not_a_record"),
        ({"id": "r", "messages": []}, "no_messages"),
        ({"id": "r"}, "no_messages"),
        ({"id": "r", "messages": [USER]}, "no_decisions"),
        ({"id": "r", "messages": [USER, "x"]}, "broken_message"),
        ({"id": "r", "messages": [{"content": "x"}]}, "broken_message"),
        ({"messages": [USER, called("a")]}, "no_run_id"),
    ],
)
def test_a_record_without_a_run_is_rejected_with_its_reason_once_per_unit(record: Any, reason: str) -> None:
    found = items(record)
    assert [item.reason for item in found if isinstance(item, Rejected)] == [reason] * openai_messages.units(record)


def test_runs_are_named_by_their_source() -> None:
    tau = {"task_id": 7, "trial": 1, "traj": [USER, called("a")]}
    assert [item.run_id for item in items(tau) if isinstance(item, ModelCall)] == ["task7.trial1"]
    assert [item.run_id for item in items({**tau, "run_id": "x"}) if isinstance(item, ModelCall)] == ["x"]


def test_a_call_saw_the_messages_before_it() -> None:
    found = items({"id": "r", "messages": [USER, called("a"), {"role": "tool", "content": "x"}, called("b")]})
    seen = 0
    for item in found:
        if isinstance(item, ModelCall):
            assert item.n_messages == seen
        seen += isinstance(item, Message)


def test_the_format_is_recognised_by_content() -> None:
    assert detect({"messages": [USER]}) == "openai_messages"
    for other in ({"messages": "x"}, {"messages": [1]}, [], "x", json.loads("null")):
        assert detect(other) is None
