from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolsel_assets.replays import agents
from toolsel_assets.replays.agents import AgentSetup, Choice, Question, Request, bm25, checked, recorded
from toolsel_assets.vocabulary.action import Call, action_text
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool

TOOLS = [
    Tool("cancel_reservation", "Cancel the whole reservation."),
    Tool("search_direct_flight", "Search direct flights between two cities on a specific date."),
    Tool("send_certificate", "Send a certificate to a user. Be careful!"),
]


def ask(text: Any, tools: list[Tool] = TOOLS, threshold: float = 0.5) -> str:
    request = Request("r", "existing", ({"role": "user", "content": text}, {"role": "assistant", "content": "hm"}))
    return action_text(bm25.Bm25(threshold).choose(Question(request, tuple(tools))).action)


def test_bm25_chooses_the_tool_whose_words_the_user_used() -> None:
    assert ask("please cancel my reservation") == "cancel_reservation"
    assert ask("are there direct flights?") == "search_direct_flight"


@pytest.mark.parametrize("text", ["yes please", "", None, "zzz", [{"type": "text", "text": "x"}]])
def test_bm25_calls_nothing_when_no_word_tells_a_tool(text: Any) -> None:
    assert ask(text) == "(no tool)"


def test_bm25_calls_nothing_below_its_threshold() -> None:
    assert ask("please cancel my reservation", threshold=50) == "(no tool)"


@given(st.permutations(TOOLS), st.text("cancel reservation certificate flight direct search ", max_size=60))
def test_bm25_sees_no_order(tools: list[Tool], text: str) -> None:
    assert ask(text, tools) == ask(text)


def test_equal_scores_go_to_the_first_name() -> None:
    assert ask("alpha", [Tool("b_tool", "alpha"), Tool("a_tool", "alpha")], 0.01) == "a_tool"


@pytest.mark.parametrize("threshold", [None, 0, -1, "high", True])
def test_bm25_needs_a_threshold(threshold: object) -> None:
    with pytest.raises(BadInput, match="a number above 0"):
        checked(bm25.Params, {"threshold": threshold}, "agent bm25", "parameter")


def test_recorded_answers_with_what_was_logged_and_never_invents_a_stop() -> None:
    logged = Choice((Call("a", {"x": 1}),), Status.CALLED)
    agent = recorded.make(AgentSetup("recorded", recorded.Params(answers=None), None, None, Path()))
    assert agent.choose(Question(Request("r", "existing", (), logged), ())) is logged
    assert agent.choose(Question(Request("r", "existing", ()), ())).status == Status.UNKNOWN


def test_every_agent_offers_what_the_contract_asks() -> None:
    assert agents.names() == ["anthropic", "bm25", "command", "python", "recorded"]
    for name in agents.names():
        module = agents.load(name)
        assert isinstance(module.ASKED, bool) and callable(module.make)
        assert issubclass(module.Params, BaseModel) and issubclass(module.Settings, BaseModel)
