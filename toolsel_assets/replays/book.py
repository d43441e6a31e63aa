"""A rung's questions to an agent that costs something: which of them the ledger knows, asking the others, reading all.

What belongs here: questions, keys and answers of one rung put side by side. What does not: how they are asked
(asking.py, batches.py), what is kept (ledger.py).
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from toolsel_assets.replays.agents import CannotAsk, Choice, RemoteAgent
from toolsel_assets.replays.asking import Asking, Errand, Pending, Tally
from toolsel_assets.replays.batches import Batching
from toolsel_assets.replays.budget import Purse, cost_usd, spent_usd
from toolsel_assets.replays.estimate import estimated_tokens
from toolsel_assets.replays.ledger import Entry, Keys, Ledger, now
from toolsel_assets.replays.run import RungPlan, Slot, moment, not_served, slots
from toolsel_assets.study import Budget, Price
from toolsel_assets.vocabulary.decision import Status

#: Answers that are read from the ledger at a time.
_AT_ONCE = 500


@dataclass(frozen=True)
class Line:
    """A slot with its question's key, or with why there is none."""

    slot: Slot
    key: str | None
    n_chars: int = 0
    problem: str | None = None


class Book:
    """A rung's questions, in the order in which they are asked."""

    def __init__(self, plan: RungPlan, agent: RemoteAgent, ledger: Ledger | None) -> None:
        """Work out every question's key. Without a ledger nothing is known yet, and nothing can be asked."""
        self.plan, self.agent, self._ledger = plan, agent, ledger
        self._keys = Keys(plan.ladder.agent.name)
        self.lines = [self._line(slot) for slot in slots(plan)]
        self.known = ledger.known(line.key for line in self.lines if line.key) if ledger else set()
        self.failures: dict[str, str] = {}
        self.asked_now: set[str] = set()

    @property
    def ledger(self) -> Ledger:
        """Give the ledger that answers go to."""
        assert self._ledger is not None, "a book without a ledger is for planning"
        return self._ledger

    def _line(self, slot: Slot) -> Line:
        if not slot.served:
            return Line(slot, None)
        try:
            return Line(slot, *self._keys.key(self.agent.body(slot.question), slot.question.draw))
        except CannotAsk as problem:
            return Line(slot, None, problem=f"cannot be asked: {problem}")

    def todo(self) -> list[list[Pending]]:
        """Give the questions without an answer, in groups that begin alike: one order of the tools each."""
        groups: dict[int, list[Pending]] = {}
        taken = set(self.known)
        for line in self.lines:
            if line.key is not None and line.key not in taken:
                taken.add(line.key)
                body = self.agent.body(line.slot.question)
                pending = Pending(line.key, line.slot.question.request.request_id, body, estimated_tokens(line.n_chars))
                groups.setdefault(line.slot.seed, []).append(pending)
        return list(groups.values())

    def ask(self, budget: Budget, prices: dict[str, Price], progress: Callable[[str], None]) -> Tally:
        """Ask what has no answer yet. `MustStop` when nothing more can be asked; what was answered is kept."""
        groups = self.todo()
        tally = Tally(sum(map(len, groups)))
        if not tally.total:
            return tally
        model = self.plan.rung.model
        price = prices.get(model or "")
        tally.priced = price is not None
        since = now() - timedelta(days=budget.days) if budget.days else None
        spent = self.ledger.spent(since)
        purse = Purse(budget, price, sum(row["calls"] for row in spent), spent_usd(spent, prices))
        errand = Errand(self.plan.partition, self.plan.ladder.agent.name, model)
        way: Any = Batching if getattr(self.agent, "batches", False) else Asking
        asking = way(self.agent, self.ledger, purse, errand, tally)
        asyncio.run(_and_close(asking, groups, progress, self.agent))
        self.failures = asking.failures
        self.asked_now = {pending.key for group in groups for pending in group}
        return tally

    def answered(self, prices: dict[str, Price]) -> Iterator[tuple[Slot, Choice]]:
        """Give each slot's choice, read from the ledger. A question without an answer is `api_error`."""
        price = prices.get(self.plan.rung.model or "")
        for start in range(0, len(self.lines), _AT_ONCE):
            some = self.lines[start : start + _AT_ONCE]
            entries = self.ledger.entries([line.key for line in some if line.key])
            for line in some:
                yield line.slot, self._choice(line, entries.get(line.key or ""), price)

    def _choice(self, line: Line, entry: Entry | None, price: Price | None) -> Choice:
        if not line.slot.served:
            return not_served()
        if line.key is None:
            return Choice((), Status.UNKNOWN, detail=line.problem)
        if entry is None:
            detail = self.failures.get(line.key, "it was not asked: the run stopped before")
            return Choice((), Status.API_ERROR, detail=detail, measures={"call_key": line.key})
        choice = self.agent.read(entry.answer.body, line.slot.question)
        usage = entry.answer.usage
        measures = {
            "input_tokens": usage.input_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": cost_usd(usage, price, batched=entry.batched),
            "latency_ms": entry.latency_ms,
            "n_tries": entry.n_tries,
            "chosen_at": moment(entry.answered_at),
            "call_key": line.key,
        }
        return replace(choice, measures=measures)

    @property
    def n_questions(self) -> int:
        """Count the questions, those that two slots share once."""
        return len({line.key for line in self.lines if line.key})


async def _and_close(
    asking: Any, groups: list[list[Pending]], progress: Callable[[str], None], agent: RemoteAgent
) -> None:
    try:
        await asking.run(groups, progress)
    finally:
        await agent.close()
