"""Every way in which a provider can go wrong gets its status, and none of them ever counts as "no tool"."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.replays import asking_of
from tests.replays.messages_server import BROKEN, ERRORS, FAULTS, ODD_MESSAGES, WRONG_BODIES, MessagesServer
from tests.replays.paid import MODEL, SECRET
from toolsel_assets.replays.agents import Choice, MustStop
from toolsel_assets.vocabulary.action import action_text
from toolsel_assets.vocabulary.decision import Status


@pytest.fixture(scope="module")
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _as_new(server: MessagesServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    server.script.clear()
    server.received.clear()
    server.bodies.clear()
    server._given.clear()


def ask(server: MessagesServer, tmp_path: Path, *faults: str | None, n: int = 1, **settings: Any) -> list[Choice]:
    """Ask n questions in three orders; the script holds the faults of the first calls."""
    server.script.extend(faults)
    return asking_of.ask(tmp_path, asking_of.agent_of(server, **settings), asking_of.plan(n))


#: What a lasting fault comes to.
LASTING = {
    **dict.fromkeys(WRONG_BODIES, Status.MALFORMED),
    "unknown_stop_reason": Status.UNKNOWN,
    "no_stop_reason": Status.UNKNOWN,
    "tool_use_without_block": Status.MALFORMED,
    "refusal": Status.REFUSED,
    "max_tokens": Status.TRUNCATED,
    "max_tokens_in_call": Status.TRUNCATED,
    "context_exceeded": Status.TRUNCATED,
    "pause_turn": Status.UNKNOWN,
    "input_not_object": Status.MALFORMED,
    "call_without_name": Status.MALFORMED,
    "parallel_calls": Status.CALLED,
    "hallucinated_name": Status.CALLED,
    "other_model": Status.STOPPED,
    "empty_stop": Status.STOPPED,
    "unknown_block": Status.UNKNOWN,
    **dict.fromkeys(("429", "429_after_1s", "429_after_50ms", "429_after_a_day", "529", "500"), Status.API_ERROR),
    **dict.fromkeys(("500_do_not_retry", "400", "413", *BROKEN), Status.API_ERROR),
}
STOPS = {"401", "402", "403", "404", "429_spend_limit"}
ANSWERS = {"other_model", "empty_stop"}


def test_the_list_of_faults_is_complete() -> None:
    assert LASTING.keys() | STOPS == set(FAULTS) == {*WRONG_BODIES, *ODD_MESSAGES, *ERRORS, *BROKEN}


@pytest.mark.parametrize("fault", sorted(LASTING))
def test_a_lasting_fault_has_its_status_and_is_no_choice_of_no_tool(
    server: MessagesServer, tmp_path: Path, fault: str
) -> None:
    for choice in ask(server, tmp_path, *[fault] * 60):
        assert choice.status == LASTING[fault]
        if choice.status not in (Status.CALLED, Status.STOPPED):
            assert choice.action == ()
            assert choice.detail or choice.status == Status.REFUSED
        assert fault in ANSWERS or choice.status != Status.STOPPED


@pytest.mark.parametrize("fault", sorted(STOPS))
def test_a_refusal_that_holds_for_all_stops_at_once_and_never_shows_the_key(
    server: MessagesServer, tmp_path: Path, fault: str
) -> None:
    with pytest.raises(MustStop) as found:
        ask(server, tmp_path, *[None, *[fault] * 100], n=20)
    assert SECRET not in str(found.value)
    assert len(server.received) <= 1 + 2 * 4  # what was under way, and no more
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())


PASSING = ["429", "429_after_50ms", "529", "500", "dropped", "dropped_in_body", "never_answers"]


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_is_asked_again_and_its_answer_is_the_undisturbed_one(
    server: MessagesServer, tmp_path: Path, fault: str
) -> None:
    disturbed = ask(server, tmp_path / "a", fault, deadline_s=10)
    server._given.clear()
    undisturbed = ask(server, tmp_path / "b")
    assert [(c.status, c.action) for c in disturbed] == [(c.status, c.action) for c in undisturbed]
    assert sorted(c.measures["n_tries"] for c in disturbed) == [1, 1, 2]


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(server: MessagesServer, tmp_path: Path) -> None:
    (first, *others) = ask(server, tmp_path, *["429_after_a_day"] * 3)
    assert first.status == Status.API_ERROR and "beyond the deadline" in str(first.detail)
    assert len(server.received) == 3 == 1 + len(others)


def test_a_provider_that_answers_nothing_is_not_asked_to_the_end(server: MessagesServer, tmp_path: Path) -> None:
    with pytest.raises(MustStop, match="questions in a row got no answer, the last: 400"):
        ask(server, tmp_path, *["400"] * 300, n=60)
    assert len(server.received) < 30


def test_calls_at_once_are_one_choice_and_names_are_mapped_back(server: MessagesServer, tmp_path: Path) -> None:
    (choice, *_) = ask(server, tmp_path, *["parallel_calls"] * 3)
    assert action_text(choice.action) == "tool_a|tool_b" and choice.action[0].args == {"x": 1}
    server.keep_bodies = True
    names = {call.tool for choice in ask(server, tmp_path / "b", n=40) for call in choice.action}
    server.keep_bodies = False
    assert "calendar.create_event" in names and "calendar_create_event" not in names
    sent = {tool["name"] for body in server.bodies for tool in body["tools"]}
    assert sent == {"tool_a", "tool_b", "calendar_create_event"}


def test_a_question_without_an_answer_is_asked_again_by_the_next_run_and_only_that(
    server: MessagesServer, tmp_path: Path
) -> None:
    found = ask(server, tmp_path, "400", n=3)
    assert [c.status for c in found].count(Status.API_ERROR) == 1
    n = len(server.received)
    assert Status.API_ERROR not in [c.status for c in ask(server, tmp_path, n=3)]
    assert len(server.received) == n + 1


def test_the_model_that_served_is_kept_and_the_tokens_are_the_servers(server: MessagesServer, tmp_path: Path) -> None:
    (first, second, _) = ask(server, tmp_path, "other_model")
    assert {first.model_served, second.model_served} == {"other-model-2", MODEL}
    assert first.measures["input_tokens"] > 0 and first.measures["output_tokens"] > 0
