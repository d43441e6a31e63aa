"""Pace, order, money, and that nothing is paid for twice."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replays.asking_of import agent_of, ask, plan
from tests.replays.messages_server import MessagesServer
from tests.replays.paid import MODEL
from toolsel_assets.replays.agents import Answer, MustStop, Usage
from toolsel_assets.replays.asking import Pace, Pending, clock, in_order
from toolsel_assets.replays.budget import Purse, cost_usd
from toolsel_assets.replays.estimate import Load, estimate
from toolsel_assets.replays.ledger import Entry, Keys, Ledger, exclusive, now
from toolsel_assets.study import Budget, Price
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.tool import Catalogue, Tool

PRICE = Price(input=5, output=25)
LARGE = Catalogue("c", tuple(Tool(f"tool_{i}", "what it does " * 60) for i in range(12)))


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer(latency_s=0.01) as server:
        yield server


def pendings(group: str, n: int) -> list[Pending]:
    return [Pending(f"{group}{i}", "", {}) for i in range(n)]


def test_the_first_of_a_group_goes_alone_while_the_group_before_is_at_its_end() -> None:
    found = list(in_order([pendings("a", 5), [], pendings("b", 3)], 2, caches=True))
    assert [p.key for p, _, _ in found] == ["a0", "a1", "a2", "b0", "a3", "a4", "b1", "b2"]
    opens = {p.key: opens for p, _, opens in found if opens}
    assert opens.keys() == {"a0", "b0"}
    assert all(needs is opens[f"{p.key[0]}0"] for p, needs, _ in found if p.key not in opens)


def test_nothing_waits_where_nothing_is_cached_and_a_lone_first_does_not_hold_up_the_next_group() -> None:
    assert all(needs is opens is None for _, needs, opens in in_order([pendings("a", 3)], 2, caches=False))
    assert [p.key for p, _, _ in in_order([pendings("a", 1), pendings("b", 1)], 2, caches=True)] == ["a0", "b0"]


def test_as_many_are_under_way_as_was_said_and_no_more(server: MessagesServer, tmp_path: Path) -> None:
    ask(tmp_path, agent_of(server, in_flight=8), plan(40))
    assert server.most_under_way == 8


def test_a_prompt_cache_is_written_once_for_each_order_and_read_by_all_others(
    server: MessagesServer, tmp_path: Path
) -> None:
    found = ask(tmp_path, agent_of(server, in_flight=8, cache=True), plan(30, catalogue=LARGE))
    written = [choice for choice in found if choice.measures["cache_write_tokens"]]
    assert len(written) == 3 and sum(choice.measures["cache_read_tokens"] > 0 for choice in found) == 3 * 29
    account = server.accounting()
    assert account["input_units"] < 0.27 * account["uncached_input_units"]


def test_without_the_cache_nothing_is_marked(server: MessagesServer, tmp_path: Path) -> None:
    ask(tmp_path, agent_of(server, cache=False), plan(3, catalogue=LARGE))
    assert server.billed["cache_read"] == server.billed["cache_write"] == 0


def test_a_refusal_for_speed_halves_the_places_once_and_they_come_back() -> None:
    async def halved_and_back() -> tuple[float, float]:
        pace = Pace(16, None)
        for _ in range(5):
            pace.slow_down(0.0)
        low = pace.limit
        for _ in range(200):
            pace.under_way += 1
            pace.leave(answered=True)
        return low, pace.limit

    assert asyncio.run(halved_and_back()) == (8, 16)


def test_requests_per_minute_are_kept(server: MessagesServer, tmp_path: Path) -> None:
    began = time.monotonic()
    ask(tmp_path, agent_of(server, requests_per_minute=1200), plan(4))
    assert time.monotonic() - began >= 11 * 60 / 1200


def test_what_the_ledger_holds_is_not_asked_again_and_a_new_request_is(server: MessagesServer, tmp_path: Path) -> None:
    first = ask(tmp_path, agent_of(server), plan(4))
    again = ask(tmp_path, agent_of(server), plan(4))
    assert again == first and len(server.received) == 12
    ask(tmp_path, agent_of(server), plan(5))
    assert len(server.received) == 15


def test_settings_are_no_part_of_a_question_and_a_further_draw_is_one(server: MessagesServer, tmp_path: Path) -> None:
    ask(tmp_path, agent_of(server), plan(2))
    ask(tmp_path, agent_of(server, in_flight=9, cache=True, deadline_s=9), plan(2))
    assert len(server.received) == 6
    ask(tmp_path, agent_of(server), plan(2, draws=2))
    assert len(server.received) == 12


def test_seeds_that_give_one_order_are_further_draws_of_it_and_not_one_answer_counted_twice(
    server: MessagesServer, tmp_path: Path
) -> None:
    one_tool = Catalogue("c", (Tool("tool_a", "A"),))
    found = ask(tmp_path, agent_of(server), plan(2, catalogue=one_tool))
    assert len({choice.measures["call_key"] for choice in found}) == 6 == len(server.received)


def test_a_state_that_cannot_be_asked_is_a_row_without_a_choice(server: MessagesServer, tmp_path: Path) -> None:
    from dataclasses import replace

    work = plan(2)
    (request, row), other = work.requests
    ends = replace(request, messages=(*request.messages, {"role": "assistant", "content": "done"}))
    found = ask(tmp_path, agent_of(server), replace(work, requests=((ends, row), other)))
    assert [choice.status for choice in found].count(Status.UNKNOWN) == 3 and len(server.received) == 3


def test_answers_are_never_changed_or_deleted(server: MessagesServer, tmp_path: Path) -> None:
    import sqlite3

    ask(tmp_path, agent_of(server), plan(1))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as con:
        for statement in ("delete from answers", "update answers set body = ''"):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                con.execute(statement)


def test_answers_and_failures_are_written_by_two_threads_and_none_is_lost(tmp_path: Path) -> None:
    problems: list[Exception] = []
    with Ledger(tmp_path / "ledger.sqlite") as ledger:

        def fail(n: int) -> None:
            try:
                for i in range(n):
                    ledger.failed(f"f{i}", "l.base", "r", "no")
            except Exception as error:
                problems.append(error)

        failing = threading.Thread(target=fail, args=(150,))
        failing.start()
        for i in range(150):
            entries = [Entry(f"{i}-{j}", Answer("{}"), now(), "l.base", "r", "a", None, 1.0) for j in range(5)]
            ledger.append(entries)
        failing.join()
        assert problems == []
        assert len(ledger.known(f"{i}-{j}" for i in range(150) for j in range(5))) == 750


def test_keys_are_the_same_in_every_process_and_differ_with_every_part() -> None:
    body = {"model": "m", "tools": [{"name": "a"}], "messages": [{"role": "user"}]}
    key, n_chars = Keys("anthropic").key(body, 0)
    assert len(key) == 64 and Keys("anthropic").key(dict(reversed(body.items())), 0)[0] == key
    assert n_chars == 3 + len('[{"name": "a"}]') + len('[{"role": "user"}]')
    others = [
        Keys("other").key(body, 0),
        Keys("anthropic").key(body, 1),
        Keys("anthropic").key({**body, "model": "n"}, 0),
        Keys("anthropic").key({**body, "tools": [{"name": "b"}]}, 0),
        Keys("anthropic").key({**body, "more": None}, 0),
    ]
    assert len({key, *(other for other, _ in others)}) == 6


def test_one_process_asks_at_a_time(tmp_path: Path) -> None:
    said: list[str] = []
    with exclusive(tmp_path / "ledger.sqlite", said.append):
        second = threading.Thread(target=lambda: exclusive(tmp_path / "ledger.sqlite", said.append).__enter__())
        second.start()
        second.join(0.3)
        assert second.is_alive() and said == ["another run is asking with this ledger; waiting for it"]
    second.join(5)
    assert not second.is_alive()


# --- money --------------------------------------------------------------------------------------------------------


def test_dollars_are_by_kind_of_token_and_unknown_without_a_price() -> None:
    usage = Usage(1_000_000, 600_000, 100_000, 10_000)
    assert cost_usd(usage, PRICE, batched=False) == pytest.approx(0.3 * 5 + 0.6 * 0.5 + 0.1 * 6.25 + 0.01 * 25)
    assert cost_usd(usage, PRICE, batched=True) == pytest.approx(cost_usd(usage, PRICE, batched=False) / 2)  # type: ignore[operator]
    assert cost_usd(usage, None, batched=False) is None and cost_usd(Usage(), PRICE, batched=False) is None


def test_calls_stop_before_the_one_too_many(server: MessagesServer, tmp_path: Path) -> None:
    with pytest.raises(MustStop, match="10 calls of max_calls 10; what was paid for is kept"):
        ask(tmp_path, agent_of(server), plan(20), Budget(max_calls=10))
    assert len(server.received) == 10
    with pytest.raises(MustStop):  # whichever run it was: the ledger counts
        ask(tmp_path, agent_of(server), plan(20), Budget(max_calls=10))
    assert len(server.received) == 10
    ask(tmp_path, agent_of(server), plan(20), Budget(max_calls=60))
    assert len(server.received) == 60


def test_dollars_are_never_overdrawn_and_are_used_up_before_it_stops(server: MessagesServer, tmp_path: Path) -> None:
    limit = 0.05
    with pytest.raises(MustStop, match=r"of max_usd 0\.05"):
        ask(tmp_path, agent_of(server), plan(200), Budget(max_usd=limit), {MODEL: PRICE})
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        (spent,) = ledger.spent()
    usd = (5 * spent["input_tokens"] + 25 * spent["output_tokens"]) / 1e6
    assert 0.8 * limit < usd <= limit


def test_what_may_be_paid_is_set_aside_while_it_is_under_way() -> None:
    purse = Purse(Budget(max_calls=3), None, 1, 0)
    assert purse.reserve(1, 0) and purse.reserve(1, 0)
    assert not purse.reserve(1, 0)  # the two under way may fail and cost nothing
    purse.settle(1, 0, 0, 0)
    assert purse.reserve(1, 0)
    purse.settle(1, 0, 1, 0)
    purse.settle(1, 0, 1, 0)
    with pytest.raises(MustStop, match="3 calls of max_calls 3"):
        purse.reserve(1, 0)


def test_an_estimate_has_the_cache_batches_and_the_rate_limit_in_it() -> None:
    loads = [Load(100, 10_000, 50_000), Load(100, 10_000, 50_000)]
    found = estimate(loads, PRICE, output_per_call=100, seconds_per_call=4, in_flight=16, requests_per_minute=50)
    assert (found.calls, found.input_tokens, found.output_tokens) == (200, 2_100_000, 20_000)
    assert found.cached_input_units == 100_000 + 0.1 * 2 * 99 * 10_000 + 1.25 * 2 * 10_000
    assert found.usd == pytest.approx(2.1 * 5 + 0.02 * 25) and found.usd_batch == pytest.approx(found.usd / 2)
    assert found.usd_cached == pytest.approx(found.cached_input_units * 5e-6 + 0.5)
    assert found.seconds == 240
    small = estimate(
        [Load(100, 500, 0)], None, output_per_call=1, seconds_per_call=4, in_flight=16, requests_per_minute=None
    )
    assert small.cached_input_units == small.input_tokens and small.usd is None and small.seconds == 25


def test_times_read_as_clocks() -> None:
    assert [clock(59.6), clock(3661)] == ["1:00", "1:01:01"]
