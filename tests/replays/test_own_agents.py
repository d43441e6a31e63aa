"""A team's own agent loop: a program, or a function."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.replays.asking_of import ask, plan
from toolsel_assets.replays.agents import Choice, MustStop, RemoteAgent
from toolsel_assets.replays.run import RungPlan, make_agent
from toolsel_assets.vocabulary.action import action_text
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.problem import BadInput

PROGRAM = """
import json, os, sys
asked = json.load(sys.stdin)
open("asked.log", "a").write(asked["request_id"] + "\\n")
assert [t["name"] for t in asked["tools"]] and asked["messages"][-1]["role"] == "user"
print(json.dumps({"calls": [{"tool": asked["tools"][0]["name"], "args": {"n": asked["draw"]}}], "model": "mine-1",
                  "usage": {"input_tokens": 12, "output_tokens": 3}}))
"""
QUICK = {"timeout_s": 5, "deadline_s": 0.2, "in_flight": 2}


def command_plan(n: int = 2, program: str = "agent.py", **settings: Any) -> RungPlan:
    spec = {"name": "command", "params": {"command": [sys.executable, program]}, "settings": {**QUICK, **settings}}
    return plan(n, agent=spec, rungs=[{"name": "base", "catalogue": "c"}])


def function_plan(function: str, n: int = 2, **params: Any) -> RungPlan:
    spec = {"name": f"python:my_agent:{function}", "params": params, "settings": QUICK}
    return plan(n, agent=spec, rungs=[{"name": "base", "catalogue": "c"}])


def run(folder: Path, work: RungPlan) -> list[Choice]:
    agent = make_agent(work.ladder, work.rung, folder)
    assert isinstance(agent, RemoteAgent)
    return ask(folder, agent, work)


def test_a_program_is_asked_once_a_question_and_again_only_after_an_edit(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PROGRAM)
    found = run(tmp_path, command_plan())
    assert {choice.status for choice in found} == {Status.CALLED} and found[0].action[0].args == {"n": 0}
    assert (found[0].model_served, found[0].measures["input_tokens"]) == ("mine-1", 12)
    assert run(tmp_path, command_plan()) == found
    log = tmp_path / "asked.log"
    assert len(log.read_text().split()) == 6
    (tmp_path / "agent.py").write_text(PROGRAM + "# better\n")
    run(tmp_path, command_plan())
    assert len(log.read_text().split()) == 12


@pytest.mark.parametrize(
    ("said", "status", "detail"),
    [
        ('{"calls": []}', Status.STOPPED, None),
        ('{"calls": [{"tool": "a"}, {"tool": "b"}]}', Status.CALLED, None),
        ("{}", Status.MALFORMED, "no list `calls`"),
        ("", Status.MALFORMED, "no JSON object"),
        ('{"calls": null}', Status.MALFORMED, "no list `calls`"),
        ('{"calls": [null]}', Status.MALFORMED, "no known shape"),
        ('{"calls": [{"tool": "a", "args": "x"}]}', Status.MALFORMED, "no known shape"),
        ('{"status": "refused", "detail": "not mine"}', Status.REFUSED, "not mine"),
        ('{"status": "stopped"}', Status.MALFORMED, "status 'stopped'"),
        ("no tool needed", Status.MALFORMED, "no JSON object"),
    ],
)
def test_no_tool_has_to_be_said_and_what_is_not_understood_is_malformed(
    tmp_path: Path, said: str, status: Status, detail: str | None
) -> None:
    (tmp_path / "agent.py").write_text(f"print({said!r})")
    for choice in run(tmp_path, command_plan(1)):
        assert choice.status == status and (detail or "") in (choice.detail or "")
        assert status == Status.CALLED or choice.action == ()


def test_a_program_that_fails_or_hangs_is_no_answer_and_says_what_it_wrote(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import sys; sys.exit('no database')")
    (choice, *_) = run(tmp_path, command_plan(1))
    assert choice.status == Status.API_ERROR and "the program left with 1: no database" in str(choice.detail)
    (tmp_path / "agent.py").write_text("import time; time.sleep(60)")
    (choice, *_) = run(tmp_path, command_plan(1, timeout_s=0.3))
    assert choice.status == Status.API_ERROR and "no answer within" in str(choice.detail)


def test_a_program_that_is_not_there_stops_at_once(tmp_path: Path) -> None:
    spec = {"name": "command", "params": {"command": ["no-such-program"]}}
    with pytest.raises(MustStop, match="no-such-program cannot be started"):
        run(tmp_path, plan(1, agent=spec, rungs=[{"name": "base", "catalogue": "c"}]))


FUNCTIONS = """
import asyncio
from helper import PICK

def pick(asked):
    asked["tools"].reverse()
    return {"calls": [{"tool": PICK, "args": asked["params"]}]}

async def wait(asked):
    await asyncio.sleep(0)
    return {"calls": []}

def fails(asked):
    raise KeyError("user")

def odd(asked):
    return None
"""


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(FUNCTIONS)
    (tmp_path / "helper.py").write_text("PICK = 'tool_b'\n")
    return tmp_path


def test_a_function_plain_or_async_is_called(functions: Path) -> None:
    (choice, *_) = run(functions, function_plan("pick", tell={"city": "Rome"}))
    assert action_text(choice.action) == "tool_b" and choice.action[0].args == {"city": "Rome"}
    assert {choice.status for choice in run(functions, function_plan("wait"))} == {Status.STOPPED}


def test_a_function_that_raises_is_no_answer_and_one_that_gives_nothing_is_malformed(functions: Path) -> None:
    (choice, *_) = run(functions, function_plan("fails"))
    assert choice.status == Status.API_ERROR and "KeyError: 'user'" in str(choice.detail)
    (choice, *_) = run(functions, function_plan("odd"))
    assert choice.status == Status.MALFORMED


def test_an_edited_function_is_called_anew_in_a_process_that_lives_on(functions: Path) -> None:
    run(functions, function_plan("pick"))
    (functions / "my_agent.py").write_text(FUNCTIONS.replace("PICK,", "'tool_a',"))
    (choice, *_) = run(functions, function_plan("pick"))
    assert action_text(choice.action) == "tool_a"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("python:my_agent:nothing", "has no function nothing"),
        ("python:no_module_of_this_name:f", "cannot be imported"),
        ("python:my_agent", "no function is named"),
    ],
)
def test_a_function_that_cannot_be_found_is_named(functions: Path, name: str, said: str) -> None:
    work = plan(1, agent={"name": name}, rungs=[{"name": "base", "catalogue": "c"}])
    with pytest.raises(BadInput, match=said):
        make_agent(work.ladder, work.rung, functions)
