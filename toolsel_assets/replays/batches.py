"""Ask by Message Batches: half the price, up to a day, and nothing lost when the process dies meanwhile.

What belongs here: submitting, waiting, resuming, matching results by identifier. What does not: what is sent (agents/).

A batch is noted in the ledger before it is submitted and again when it has an identifier. A process that died between
the two left a batch that nobody knows: it is looked for among the provider's, by time and size, and its results are
taken by their keys, so that one that is not ours does no harm.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from toolsel_assets.replays.agents import Answer, MustStop, NoAnswer
from toolsel_assets.replays.asking import Errand, Pending, Tally
from toolsel_assets.replays.budget import Purse, cost_usd
from toolsel_assets.replays.ledger import Entry, Ledger, now

#: Questions and characters of one batch, well below the provider's limits (100,000 and 256 MB).
MOST_QUESTIONS, MOST_CHARS = 10_000, 100_000_000

#: How far the provider's clock may be behind ours when a batch is looked for.
CLOCK_SKEW = timedelta(minutes=5)

#: Attempts of a call that manages batches, and the seconds between them.
_TRIES, _PAUSE = 6, 5.0


class Batching:
    """One errand's questions in batches."""

    def __init__(self, agent: Any, ledger: Ledger, purse: Purse, errand: Errand, tally: Tally) -> None:
        self.agent, self.ledger, self.purse, self.errand, self.tally = agent, ledger, purse, errand, tally
        self.failures: dict[str, str] = {}
        # A rung resumes its own batches: another rung would not know whose questions the results answer.
        self._endpoint = f"{errand.asked_for} {agent.base_url or ''}".strip()
        self._asked: dict[str, Pending] = {}

    async def run(self, groups: Sequence[Sequence[Pending]], progress: Callable[[str], None]) -> dict[str, str]:
        """Finish what an earlier process left, submit the rest, and wait for all of it."""
        self._asked = {pending.key: pending for group in groups for pending in group}
        waiting = dict(self._asked)
        for left in self.ledger.open_batches(self._endpoint):
            for batch_id in await self._found(left):
                progress(f"batch {batch_id}, submitted by an earlier run")
                is_ours = left["batch_id"] is not None
                for key in await self._collect(left["intent"], batch_id, progress, is_ours=is_ours):
                    waiting.pop(key, None)
        submitted = [await self._submit(part) for part in _parts(list(waiting.values()))]
        for intent, batch_id in submitted:
            await self._collect(intent, batch_id, progress)
        for key in self._asked.keys() - self.ledger.known(self._asked):
            self.failures.setdefault(key, "the batch ended without a result for it")
        progress(self.tally.line())
        return self.failures

    async def _found(self, left: Mapping[str, Any]) -> list[str]:
        """Name the batches that an open intent may have become."""
        if left["batch_id"]:
            return [left["batch_id"]]
        since = datetime.fromisoformat(left["at"]) - CLOCK_SKEW
        found: list[str] = await self._again(lambda: self.agent.batches_since(since, left["n"]))
        if not found:
            self.ledger.batch_event(left["intent"], "ended", endpoint=self._endpoint)  # it never left the house
        return found

    async def _submit(self, part: Sequence[Pending]) -> tuple[str, str]:
        most = sum(self.purse.at_most(p.input_tokens, self.agent.max_output_tokens, batched=True) for p in part)
        if not self.purse.reserve(len(part), most):
            raise MustStop("the budget of study.yaml does not reach for a batch while another is under way")
        intent = uuid4().hex
        self.ledger.batch_event(intent, "intended", n=len(part), endpoint=self._endpoint)
        batch_id = await self._again(lambda: self.agent.submit({p.key: p.body for p in part}))
        self.ledger.batch_event(intent, "submitted", batch_id=batch_id, n=len(part), endpoint=self._endpoint)
        return intent, batch_id

    async def _collect(
        self, intent: str, batch_id: str, progress: Callable[[str], None], *, is_ours: bool = True
    ) -> set[str]:
        """Wait for a batch and take its results; give the keys that it answered or refused.

        What an edit has made obsolete since was paid for all the same, and is kept.
        """
        while True:
            ended, how_far = await self._again(lambda: self.agent.batch_has_ended(batch_id))
            if ended:
                break
            progress(f"batch {batch_id}: {how_far}")
            await asyncio.sleep(self.agent.settings.poll_s)
        settled: set[str] = set()
        entries: list[Entry] = []
        async for key, result in self.agent.batch_results(batch_id):
            if key in self._asked:
                settled.add(key)
                self._take(self._asked[key], result, entries)
            elif is_ours and isinstance(result, Answer):
                entries.append(self._entry(Pending(key, "", {}), result))
        self.ledger.append(entries)
        self.ledger.batch_event(intent, "ended", batch_id=batch_id, endpoint=self._endpoint)
        return settled

    def _take(self, pending: Pending, result: Answer | NoAnswer, entries: list[Entry]) -> None:
        if isinstance(result, NoAnswer):
            self.failures[pending.key] = result.detail
            self.ledger.failed(pending.key, self.errand.asked_for, pending.request_id, result.detail)
            self.tally.failed += 1
            return
        self.failures.pop(pending.key, None)
        self.tally.answered += 1
        self.tally.usd += cost_usd(result.usage, self.purse.price, batched=True) or 0.0
        entries.append(self._entry(pending, result))

    def _entry(self, pending: Pending, answer: Answer) -> Entry:
        to = self.errand
        return Entry(
            pending.key, answer, now(), to.asked_for, pending.request_id, to.agent, to.model, None, batched=True
        )

    async def _again(self, call: Callable[[], Any]) -> Any:
        """Make a managing call, again where that can help."""
        for attempt in range(_TRIES):
            try:
                return await call()
            except NoAnswer as refusal:
                if not refusal.again or attempt == _TRIES - 1:
                    raise MustStop(refusal.detail) from refusal
                await asyncio.sleep(min(refusal.after or _PAUSE, self.agent.deadline_s))
        raise AssertionError("unreachable")


def _parts(waiting: Sequence[Pending]) -> Iterator[list[Pending]]:
    part: list[Pending] = []
    size = 0
    for pending in waiting:
        n_chars = 4 * pending.input_tokens
        if part and (len(part) == MOST_QUESTIONS or size + n_chars > MOST_CHARS):
            yield part
            part, size = [], 0
        part.append(pending)
        size += n_chars
    if part:
        yield part
