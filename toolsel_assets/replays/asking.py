"""Ask many questions at once: as many under way as the provider bears, each answer in the ledger before anything else.

What belongs here: order, pace, retries, deadlines, when to stop. What does not: what is sent and how an answer reads
(agents/), batches (batches.py). Nothing here knows a provider.

Questions come in groups that begin alike (one rung, one order of the tools). Where the provider keeps beginnings in a
cache, the first question of a group goes alone and writes it, and the others read it; so that nobody waits, it goes
while the group before is still under way.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolsel_assets.replays.agents import Answer, MustStop, NoAnswer, RemoteAgent
from toolsel_assets.replays.budget import Purse, cost_usd
from toolsel_assets.replays.ledger import Entry, GroupCommit, Ledger, now

#: Seconds before the second attempt; doubled for each further one, up to the longest, and shaken by a quarter.
FIRST_PAUSE, LONGEST_PAUSE, JITTER = 0.5, 8.0, 0.25

#: How long a word that others are waiting for may hold everybody, in seconds, where the provider names no time.
SLOW_DOWN = 1.0


@dataclass(frozen=True)
class Pending:
    """A question that has no answer yet. `input_tokens` is an estimate, for the budget alone."""

    key: str
    request_id: str
    body: Mapping[str, Any]
    input_tokens: int = 0


@dataclass(frozen=True)
class Errand:
    """For whom questions are asked: what the ledger notes beside an answer."""

    asked_for: str
    agent: str
    model: str | None


@dataclass
class Tally:
    """What has happened so far, for the progress line and the run's metadata."""

    total: int
    answered: int = 0
    failed: int = 0
    retries: int = 0
    slowed: int = 0
    usd: float = 0.0
    priced: bool = True
    started: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """Say how far it is, how fast, what it cost, and how long it takes."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        done = self.answered + self.failed
        rate = done / seconds
        parts = [f"{done} of {self.total} asked", f"{rate:.1f} a second"]
        if self.failed:
            parts.append(f"{self.failed} without an answer")
        if self.slowed:
            parts.append(f"slowed down {self.slowed} times")
        if self.priced:
            parts.append(f"${self.usd:.2f}")
        if 0 < done < self.total:
            parts.append(f"{clock((self.total - done) / rate)} left")
        return ", ".join(parts)


def clock(seconds: float) -> str:
    """Write a time as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Pace:
    """How many questions may be under way: fewer after a refusal for speed, one more for each round that goes well."""

    def __init__(self, most: int, requests_per_minute: float | None) -> None:
        self.most, self.limit = most, float(most)
        self.under_way = 0
        self._spacing = 60 / requests_per_minute if requests_per_minute else 0.0
        self._next = 0.0
        self._resume = 0.0
        self._halved = 0.0
        self._freed = asyncio.Event()

    async def enter(self) -> None:
        """Wait for a place."""
        while self.under_way >= max(int(self.limit), 1):
            self._freed.clear()
            await self._freed.wait()
        self.under_way += 1
        while (wait := max(self._resume, self._next) - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        self._next = max(self._next, time.monotonic()) + self._spacing

    def leave(self, *, answered: bool) -> None:
        """Give the place back."""
        self.under_way -= 1
        if answered:
            self.limit = min(self.limit + 1 / self.limit, float(self.most))
        self._freed.set()

    def slow_down(self, after: float | None) -> None:
        """Halve the places, once for all refusals of one moment, and hold everybody as long as the provider asks."""
        moment = time.monotonic()
        if moment - self._halved > SLOW_DOWN:
            self.limit, self._halved = max(self.limit / 2, 1.0), moment
        self._resume = max(self._resume, moment + min(after or SLOW_DOWN, LONGEST_PAUSE))


class Asking:
    """One errand's questions under way."""

    def __init__(self, agent: RemoteAgent, ledger: Ledger, purse: Purse, errand: Errand, tally: Tally) -> None:
        self.agent, self.ledger, self.purse, self.errand, self.tally = agent, ledger, purse, errand, tally
        self.failures: dict[str, str] = {}
        self.pace = Pace(agent.in_flight, agent.requests_per_minute)
        self._commit = GroupCommit(ledger)
        self._stopped: MustStop | None = None
        self._in_a_row = 0
        self._settled = asyncio.Event()

    async def run(self, groups: Sequence[Sequence[Pending]], progress: Callable[[str], None]) -> dict[str, str]:
        """Ask all; give the reasons of those that got no answer. `MustStop` once nothing more is under way."""
        tasks: set[asyncio.Task[None]] = set()
        reporter = asyncio.create_task(self._report(progress))
        try:
            for pending, needs, opens in in_order(groups, 2 * self.agent.in_flight, self.agent.caches):
                if needs is not None:
                    await needs.wait()
                reserved = await self._reserve(pending)
                await self.pace.enter()
                if self._stopped is not None:
                    break
                task = asyncio.create_task(self._settle(pending, reserved, opens))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            # What is under way will be paid for whether or not we listen: wait for it.
            found = await asyncio.gather(*tasks, return_exceptions=True)
            reporter.cancel()
            self._commit.close()
        if self._stopped is not None:
            raise self._stopped
        for error in found:
            if isinstance(error, BaseException):
                raise error
        progress(self.tally.line())
        return self.failures

    async def _report(self, progress: Callable[[str], None]) -> None:
        while True:
            await asyncio.sleep(5)
            progress(self.tally.line())

    async def _reserve(self, pending: Pending) -> float:
        usd = self.purse.at_most(pending.input_tokens, self.agent.max_output_tokens)
        try:
            while not self.purse.reserve(1, usd):
                self._settled.clear()
                await self._settled.wait()
        except MustStop as reached:
            self._stopped = self._stopped or reached
        return usd

    async def _settle(self, pending: Pending, reserved: float, opens: asyncio.Event | None) -> None:
        entry = None
        try:
            entry = await self._ask(pending)
        except NoAnswer as refusal:
            self._note_failure(pending, refusal)
        except MustStop as reason:
            self._stopped = self._stopped or reason
        finally:
            paid = cost_usd(entry.answer.usage, self.purse.price, batched=False) if entry else 0.0
            self.purse.settle(1, reserved, 1 if entry else 0, paid)
            self.pace.leave(answered=entry is not None)
            self._settled.set()
            if opens is not None:
                opens.set()
        if entry is not None:
            self._in_a_row = 0
            self.tally.answered += 1
            self.tally.usd += paid or 0.0

    def _note_failure(self, pending: Pending, refusal: NoAnswer) -> None:
        self.failures[pending.key] = refusal.detail
        self.ledger.failed(pending.key, self.errand.asked_for, pending.request_id, refusal.detail)
        self.tally.failed += 1
        self._in_a_row += 1
        if self._in_a_row >= max(10, 2 * self.agent.in_flight) and self._stopped is None:
            self._stopped = MustStop(f"{self._in_a_row} questions in a row got no answer, the last: {refusal.detail}")

    async def _ask(self, pending: Pending) -> Entry:
        """Ask until there is an answer, or asking again cannot help, or the deadline is over."""
        deadline = time.monotonic() + self.agent.deadline_s
        tries = 0
        while True:
            tries += 1
            began = time.monotonic()
            try:
                answer = await self._attempt(pending, min(self.agent.timeout_s, deadline - began))
            except NoAnswer as refusal:
                if refusal.slower:
                    self.tally.slowed += 1
                    self.pace.slow_down(refusal.after)
                pause = refusal.after if refusal.after is not None else _pause(tries)
                if not refusal.again or self._stopped is not None:
                    raise
                if time.monotonic() + pause >= deadline:
                    raise NoAnswer(
                        f"{refusal.detail} (after {tries} attempts; the next would be in {pause:.0f} s, "
                        f"beyond the deadline of {self.agent.deadline_s:g} s)",
                        again=False,
                    ) from refusal
                self.tally.retries += 1
                await asyncio.sleep(pause)
                continue
            latency = 1000 * (time.monotonic() - began)
            entry = self._entry(pending, answer, latency, tries)
            await self._commit.append(entry)
            return entry

    async def _attempt(self, pending: Pending, seconds: float) -> Answer:
        try:
            return await asyncio.wait_for(self.agent.ask(pending.body, pending.key), seconds)
        except TimeoutError:
            raise NoAnswer(f"no answer within {seconds:.0f} s", again=True) from None

    def _entry(self, pending: Pending, answer: Answer, latency_ms: float, tries: int) -> Entry:
        to = self.errand
        return Entry(
            pending.key, answer, now(), to.asked_for, pending.request_id, to.agent, to.model, latency_ms, tries
        )


def in_order(
    groups: Sequence[Sequence[Pending]], lead: int, caches: bool
) -> Iterator[tuple[Pending, asyncio.Event | None, asyncio.Event | None]]:
    """Give questions in the order in which they go, with the event each waits for and the event each brings about.

    The first of a group goes alone, `lead` questions before the group in front of it is at its end.
    """
    if not caches:
        yield from ((pending, None, None) for group in groups for pending in group)
        return
    filled = [group for group in groups if group]
    warm = [asyncio.Event() for _ in filled]
    if filled:
        yield filled[0][0], None, warm[0]
    for place, group in enumerate(filled):
        rest = group[1:]
        early = max(len(rest) - lead, 0)
        for position, pending in enumerate(rest):
            if position == early and place + 1 < len(filled):
                yield filled[place + 1][0], None, warm[place + 1]
            yield pending, warm[place], None
        if not rest and place + 1 < len(filled):
            yield filled[place + 1][0], None, warm[place + 1]


def _pause(tries: int) -> float:
    pause = min(FIRST_PAUSE * 2.0 ** (tries - 1), LONGEST_PAUSE)
    return pause * (1 - JITTER * random.random())
