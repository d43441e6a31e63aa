"""Message Batches: the same choices at half the price, resumed by identifier, and none lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replays.asking_of import agent_of, ask, plan
from tests.replays.messages_server import MessagesServer
from tests.replays.paid import MODEL
from toolsel_assets.replays.agents import MustStop
from toolsel_assets.replays.agents.anthropic import Anthropic
from toolsel_assets.replays.ledger import Ledger
from toolsel_assets.study import Budget, Price
from toolsel_assets.vocabulary.decision import Status

PRICES = {MODEL: Price(input=5, output=25)}


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


def batching(server: MessagesServer) -> Anthropic:
    return agent_of(server, mode="batch", poll_s=0.01, timeout_s=5, deadline_s=5)


def test_batches_give_the_choices_of_live_calls_at_half_the_price(server: MessagesServer, tmp_path: Path) -> None:
    server.batch_polls = 3
    live = ask(tmp_path / "live", agent_of(server), plan(30), prices=PRICES)
    batched = ask(tmp_path / "batched", batching(server), plan(30), prices=PRICES)
    assert [(c.status, c.action) for c in live] == [(c.status, c.action) for c in batched]
    costs = [sum(choice.measures["cost_usd"] for choice in found) for found in (live, batched)]
    assert costs[1] == pytest.approx(costs[0] / 2) and len(server.batches) == 1
    assert all(choice.measures["latency_ms"] is None for choice in batched)


def test_nothing_is_submitted_for_what_the_ledger_holds(server: MessagesServer, tmp_path: Path) -> None:
    ask(tmp_path, batching(server), plan(3))
    ask(tmp_path, batching(server), plan(3))
    ask(tmp_path, agent_of(server), plan(3))
    assert len(server.batches) == 1 and server.received == []


def test_results_that_are_no_answers_are_failures_and_are_asked_again(server: MessagesServer, tmp_path: Path) -> None:
    kinds = iter(["errored", "expired", "canceled", *["succeeded"] * 100])
    server.batch_result_of = lambda custom_id: next(kinds)
    found = ask(tmp_path, batching(server), plan(4))
    failed = [choice for choice in found if choice.status == Status.API_ERROR]
    assert sorted(str(choice.detail).split()[1] for choice in failed) == ["canceled", "errored", "expired"]
    assert Status.API_ERROR not in [choice.status for choice in ask(tmp_path, batching(server), plan(4))]
    assert len(server.batches["msgbatch_2"]["requests"]) == 3


class Died(Exception):
    """The process was killed."""


@pytest.mark.parametrize("dies_in", ["submit", "batch_has_ended", "batch_results"])
def test_a_process_that_dies_at_any_point_goes_on_with_the_batch_it_had(
    server: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    dying = batching(server)
    real = getattr(dying, dies_in)

    async def dies(*args: object) -> object:
        if dies_in == "submit":
            await real(*args)  # the provider has it, and we never hear of it
        raise Died

    def dies_at_once(*args: object) -> object:
        raise Died

    monkeypatch.setattr(dying, dies_in, dies_at_once if dies_in == "batch_results" else dies)
    with pytest.raises(Died):
        ask(tmp_path, dying, plan(5))
    assert len(server.batches) == 1
    found = ask(tmp_path, batching(server), plan(5))
    assert len(server.batches) == 1, "what was submitted was paid for, and is not submitted again"
    assert {choice.status for choice in found} <= {Status.CALLED, Status.STOPPED}


def test_another_batch_of_the_same_size_does_no_harm(server: MessagesServer, tmp_path: Path) -> None:
    ask(tmp_path / "other", batching(server), plan(4, order_seeds=[7, 8, 9], draws=1))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.batch_event("lost", "intended", n=12, endpoint=f"l.base {server.url}")
    found = ask(tmp_path, batching(server), plan(4, order_seeds=[1, 2, 3], draws=2))
    assert {choice.status for choice in found} <= {Status.CALLED, Status.STOPPED} and len(found) == 24


def test_what_an_edit_made_obsolete_is_kept_all_the_same(
    server: MessagesServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = batching(server)

    async def dies(*args: object) -> object:
        raise Died

    monkeypatch.setattr(dying, "batch_has_ended", dies)
    with pytest.raises(Died):
        ask(tmp_path, dying, plan(4))
    ask(tmp_path, batching(server), plan(2))  # two requests have left the label set meanwhile
    assert len(server.batches) == 1
    ask(tmp_path, batching(server), plan(4))
    assert len(server.batches) == 1


def test_a_batch_is_not_submitted_beyond_the_budget(server: MessagesServer, tmp_path: Path) -> None:
    with pytest.raises(MustStop, match="budget"):
        ask(tmp_path, batching(server), plan(4), Budget(max_calls=11))
    assert server.batches == {}
