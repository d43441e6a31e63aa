import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.damage import check_books, damaged, damaged_file
from toolsel_assets.traces.formats import swe_agent
from toolsel_assets.traces.model_call import Item, Merged, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

DATA = Path(__file__).parents[1] / "data" / "swe_agent"
FILES = ("function_calling_simple.traj", "replay_marshmallow-1867.traj")
SYSTEM = {"role": "system", "content": "act", "agent": "main", "message_type": "system_prompt"}
TASK = {"role": "user", "content": "fix it", "agent": "main", "message_type": "observation"}
SEEN = {"role": "user", "content": "result", "agent": "main", "message_type": "observation"}


def answer(content: str, action: str | None, *functions: str, **more: Any) -> dict[str, Any]:
    calls = [{"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in functions]
    kept = {"role": "assistant", "content": content, "action": action, "agent": "main", "message_type": "action"}
    return {**kept, "tool_calls": calls or None, **more}


def step(content: str, action: str, query: Any = None, took: float = 0.25) -> dict[str, Any]:
    found = {"action": action, "observation": "o", "response": content, "thought": content, "execution_time": took}
    return found if query is None else {**found, "query": query}


def run(*history: Any, trajectory: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "environment": "main",
        "trajectory": list(trajectory),
        "history": [SYSTEM, TASK, *history],
        "info": {},
        **more,
    }


def configured(**agent: Any) -> dict[str, Any]:
    return {"problem_statement": {"id": "repo__1"}, "agent": {"model": {"name": "m"}, **agent}}


def read(*found: Any) -> list[Item]:
    return check_books(swe_agent, [Record(position, record) for position, record in enumerate(found, start=1)])


def calls(*found: Any) -> list[ModelCall]:
    return [item for item in read(*found) if isinstance(item, ModelCall)]


# --- real files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "n_units", "n_calls"), [(FILES[0], 12, 5), (FILES[1], 24, 11)])
def test_real_trajectories_give_one_decision_per_answer(name: str, n_units: int, n_calls: int) -> None:
    (record,) = [record for record in records(DATA / name) if isinstance(record, Record)]
    items = check_books(swe_agent, [record])
    made = [item for item in items if isinstance(item, ModelCall)]
    history = record.value["history"]
    said = [message for message in history if message["role"] == "assistant"]
    assert swe_agent.units(record.value) == len(history) == n_units
    assert Counter(call.status for call in made) == {Status.CALLED: len(said)} == {Status.CALLED: n_calls}
    assert [[(c.tool, c.args) for c in call.action] for call in made] == [
        [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message["tool_calls"]]
        for message in said
    ]
    assert [call.n_messages for call in made] == [place for place, m in enumerate(history) if m["role"] == "assistant"]
    assert len({call.call_id for call in made}) == n_calls  # though a replay repeats the ids of its tool calls
    assert len({c["id"] for message in said for c in message["tool_calls"]}) < n_calls or name == FILES[0]
    assert len([item for item in items if isinstance(item, Message)]) == len(history)


def test_a_real_run_is_named_by_its_problem_and_its_beginning() -> None:
    names = {calls(json.loads((DATA / name).read_text()))[0].run_id for name in FILES}
    assert {str(name).split(":")[0] for name in names} == {"sha", "marshmallow-code__marshmallow-1867"}


def test_a_real_model_no_longer_saw_all_from_the_seventh_answer_on() -> None:
    made = calls(json.loads((DATA / FILES[1]).read_text()))  # its history_processor keeps the last 5 observations
    assert [call.context_problem for call in made] == [None] * 6 + ["value_truncated"] * 5
    assert {call.model_requested for call in made} == {"gpt-4o"}


# --- answers ------------------------------------------------------------------------------------------------------


def test_the_first_word_of_a_command_is_the_tool() -> None:
    edit, submit = calls(run(answer("so", "edit 1:1\nx\nend_of_edit"), SEEN, answer("done", "submit")))
    assert edit.action == (Call("edit", {"command": "edit 1:1\nx\nend_of_edit"}),)
    assert submit.action == (Call("submit", {"command": "submit"}),)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (answer("I am done.", ""), Status.MALFORMED),
        (answer("I am done.", None), Status.MALFORMED),
        (answer("I am done.", "  \n"), Status.MALFORMED),
        (answer("", 7), Status.UNKNOWN),  # type: ignore[arg-type]
        ({"role": "assistant", "content": "x", "agent": "main"}, Status.UNKNOWN),
        (answer("x", "a", tool_calls=[{"function": {"name": "a", "arguments": "{"}}]), Status.MALFORMED),
        (answer("x", "a", tool_calls=["a"]), Status.MALFORMED),
        (answer("x", "a", "f", "g"), Status.CALLED),
    ],
)
def test_an_answer_without_an_action_is_never_a_stop(message: dict[str, Any], status: Status) -> None:
    assert [call.status for call in calls(run(message))] == [status]


@pytest.mark.parametrize(
    ("exit_status", "status"),
    [
        ("exit_context", Status.TRUNCATED),
        ("submitted (exit_cost)", Status.TRUNCATED),
        ("exit_format", Status.MALFORMED),
        ("exit_api", Status.API_ERROR),
        ("exit_error", Status.UNKNOWN),
        ("exit_environment_error", Status.UNKNOWN),
        (None, Status.MALFORMED),
    ],
)
def test_the_reason_to_give_up_is_no_answer(exit_status: str | None, status: Status) -> None:
    record = run(answer("a", "ls"), SEEN, answer("Exit due to something", ""), info={"exit_status": exit_status})
    assert [call.status for call in calls(record)] == [Status.CALLED, status]


def test_a_loop_that_gave_up_before_it_asked_made_no_decision() -> None:
    record = run(answer("a", "ls"), answer("Exit due to x", ""), info={"exit_status": "exit_total_execution_time"})
    assert [call.status for call in calls(record)] == [Status.CALLED]
    assert Counter(item.reason for item in read(record) if isinstance(item, Merged)) == {"context": 2, "bookkeeping": 1}


def test_older_files_have_the_reason_to_give_up_in_place_of_the_command() -> None:
    assert [call.status for call in calls(run(answer("Exit due to cost limit", "exit_cost")))] == [Status.TRUNCATED]


# --- what the model saw -------------------------------------------------------------------------------------------


def test_a_query_is_what_the_model_saw_and_answers_that_were_refused_are_decisions() -> None:
    first = [SYSTEM, TASK]
    again = [*first, {"role": "assistant", "content": "hm"}, {"role": "user", "content": "no action"}]
    record = run(
        answer("ok", "open a", "open"),
        SEEN,
        answer("Exit due to repeated format errors", ""),
        trajectory=[
            step("hm", "", first),
            step("ok", "open a", again),
            step("bad", "vim", [*first, SEEN]),
            step("", "x", ["x"]),
            step("Exit due to repeated format errors", "", [{}]),
        ],
        info={"exit_status": "exit_format"},
    )
    assert swe_agent.units(record) == 5
    made = calls(record)
    assert [(c.status, c.context_problem) for c in made] == [
        (Status.MALFORMED, None),
        (Status.CALLED, None),
        (Status.UNKNOWN, None),  # refused by the loop: only its command is known, which may be an argument of bash
        (Status.UNKNOWN, "broken_messages"),
    ]
    assert made[1].action == (Call("open", {}),)
    assert [message["content"] for message in made[1].messages or ()] == ["act", "fix it", "hm", "no action"]
    assert made[0].messages == [{"role": "system", "content": "act"}, {"role": "user", "content": "fix it"}]
    assert [item.reason for item in read(record) if isinstance(item, Merged)] == ["bookkeeping"]


def test_commands_that_a_loop_refused_are_calls_where_commands_are_the_calls() -> None:
    record = run(
        answer("ok", "ls"), trajectory=[step("bad", "vim x", [SYSTEM, TASK]), step("ok", "ls", [SYSTEM, TASK])]
    )
    assert [call.action[0].tool for call in calls(record)] == ["vim", "ls"]


def test_demonstrations_are_context() -> None:
    demonstrated = answer("see", "ls", is_demo=True)
    items = read(run(demonstrated, answer("so", "ls")))
    (call,) = [item for item in items if isinstance(item, ModelCall)]
    assert call.n_messages == 3
    assert len([item for item in items if isinstance(item, Message)]) == 4


def test_messages_lose_what_the_loop_noted_on_them() -> None:
    result = {"role": "tool", "content": "r", "agent": "main", "tool_call_ids": ["c"]}
    found = [item.message for item in read(run(answer("so", "f", "f"), result)) if isinstance(item, Message)]
    assert found[2:] == [
        {"role": "assistant", "content": "so", "tool_calls": answer("so", "f", "f")["tool_calls"]},
        {"role": "tool", "content": "r", "tool_call_id": "c"},
    ]


@pytest.mark.parametrize(
    ("processors", "first_unsure"),
    [
        ([{"type": "last_n_observations", "n": 1}], 2),
        ([{"type": "cache_control", "last_n_messages": 2}], None),
        ([{"type": "remove_regex"}], 1),
        ([], None),
    ],
)
def test_a_history_that_was_shortened_before_it_was_sent_is_not_sampled(
    processors: Any, first_unsure: int | None
) -> None:
    config = json.dumps(configured(history_processors=processors))
    turns = [message for n in range(4) for message in (answer(str(n), "ls"), SEEN)]
    unsure = [call.context_problem is not None for call in calls(run(*turns, replay_config=config))]
    assert unsure == [first_unsure is not None and n >= first_unsure for n in range(4)]


# --- runs ---------------------------------------------------------------------------------------------------------


def test_an_agent_that_another_called_is_a_run_of_its_own_and_sees_its_own_messages() -> None:
    inner = [{**SYSTEM, "agent": "sub"}, answer("y", "ls", agent="sub")]
    outer, called, last = calls(run(answer("x", "sub go"), *inner, SEEN, answer("z", "submit")))
    assert called.run_id == f"{outer.run_id}/sub"
    assert called.parent_run_id == outer.run_id == last.run_id
    assert [(call.context, call.n_messages) for call in (outer, called, last)] == [
        (outer.run_id, 2),
        (f"{outer.run_id}/sub", 1),
        (outer.run_id, 4),
    ]


def test_a_run_keeps_its_name_while_its_file_grows() -> None:
    turns = [answer("a", "ls"), SEEN, answer("b", "submit")]
    steps = [step("a", "ls"), step("b", "submit")]
    config = {"replay_config": configured()}
    grown = calls(run(*turns, trajectory=steps, **config))
    assert calls(run(*turns[:2], trajectory=steps[:1], **config))[0].call_id == grown[0].call_id
    assert str(grown[0].run_id).startswith("repo__1:")
    other = calls(run(*turns, trajectory=[step("a", "ls", took=0.5)], **config))
    assert other[0].run_id != grown[0].run_id


def test_attempts_are_runs_and_the_copy_of_the_best_is_left_out() -> None:
    attempts = [run(answer("a", "ls"), trajectory=[step("a", "ls", took=n)]) for n in (0.1, 0.2)]
    record = {"attempts": attempts, **attempts[1]}
    assert swe_agent.recognises(record)
    assert swe_agent.units(record) == 6
    assert len({call.run_id for call in calls(record)}) == 2


def test_the_same_run_twice_in_a_file_has_two_lists_of_messages() -> None:
    first, second = calls(run(answer("a", "ls")), run(answer("a", "ls")))
    assert first.call_id == second.call_id
    assert (first.context, second.context) == (first.run_id, f"{first.run_id}#2")


@pytest.mark.parametrize(
    ("record", "reason", "n"),
    [
        ([], "not_a_record", 1),
        ({"attempts": ["x"]}, "not_a_record", 1),
        ({"trajectory": [], "history": [], "info": {}}, "no_messages", 1),
        (run(), "no_decisions", 2),
        (run("x", answer("a", "ls")), "broken_message", 4),
        ({"trajectory": ["x"]}, "broken_message", 1),
    ],
)
def test_what_cannot_be_read_is_rejected_with_its_reason(record: Any, reason: str, n: int) -> None:
    assert [item.reason for item in read(record) if isinstance(item, Rejected)] == [reason] * n


def test_the_format_is_recognised_by_content() -> None:
    assert swe_agent.recognises(run())
    assert swe_agent.recognises({"trajectory": [step("a", "ls")]})
    assert swe_agent.recognises({"trajectory": [], "history": [], "info": {}})
    others = (
        {"messages": [TASK]},
        {"history": [{"role": "user", "content": "x"}]},
        {"traj": [], "info": {}},
        [],
        None,
        "x",
    )
    for other in others:
        assert not swe_agent.recognises(other)


# --- damaged files ------------------------------------------------------------------------------------------------

WITH_QUERIES = json.dumps(
    run(
        answer("a", "ls"),
        SEEN,
        answer("Exit due to x", ""),
        trajectory=[
            step("hm", "", [SYSTEM, TASK]),
            step("a", "ls", [SYSTEM, TASK, SEEN]),
            step("Exit due to x", "", [{}]),
        ],
        info={"exit_status": "submitted (exit_cost)"},
        replay_config=configured(history_processors=[{"type": "last_n_observations", "n": 5}]),
    )
)


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from((*FILES, None)), random=st.randoms(use_true_random=False))
def test_a_damaged_trajectory_loses_no_message(name: str | None, random: Random) -> None:
    text = (DATA / name).read_text() if name else WITH_QUERIES
    check_books(swe_agent, [Record(1, damaged(text, random))])


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(FILES), random=st.randoms(use_true_random=False))
def test_a_broken_file_gives_what_can_still_be_read(name: str, random: Random, tmp_path_factory: Any) -> None:
    check_books(swe_agent, damaged_file((DATA / name).read_bytes(), random, tmp_path_factory.getbasetemp()))
