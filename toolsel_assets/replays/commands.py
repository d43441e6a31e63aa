"""`toolsel plan`: what a run would ask, and what that takes, before anything is asked.

What belongs here: counting questions, saying what they take. What does not: the arithmetic (estimate.py), options and
exit codes (cli/).
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

from toolsel_assets.replays.agents import RemoteAgent
from toolsel_assets.replays.asking import clock
from toolsel_assets.replays.assets import ledger_path, plan
from toolsel_assets.replays.book import Book, Line
from toolsel_assets.replays.budget import spent_usd
from toolsel_assets.replays.estimate import (
    SECONDS_PER_ANSWER,
    TOKENS_PER_ANSWER,
    Load,
    estimate,
    estimated_tokens,
)
from toolsel_assets.replays.ledger import Ledger
from toolsel_assets.replays.run import RungPlan, make_agent
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study

Say = Callable[[str], None]

#: Questions of a rung that a provider is asked to count; the others are scaled by what it says.
COUNTED = 5

_SHARED = ("tools", "system")


def show_plan(workspace: Workspace, say: Say, *, as_json: bool) -> None:
    """Print the plan of every rung of the study's ladders."""
    study = workspace.study()
    with Ledger(ledger_path(workspace)) if ledger_path(workspace).exists() else nullcontext() as ledger:
        spent = ledger.spent() if ledger else []
        rows = list(plan_rows(workspace, study, ledger, spent))
    paid = {"calls": sum(row["calls"] for row in spent), "usd": spent_usd(spent, study.spec.prices)}
    if as_json:
        say(json.dumps({"rungs": rows, "paid": paid, "budget": study.spec.budget.model_dump()}, indent=2))
        return
    for line in as_text(rows, paid, study):
        say(line)


def plan_rows(
    workspace: Workspace, study: Study, ledger: Ledger | None, spent: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Give one row per rung: calls, those that the ledger knows, tokens, dollars, seconds."""
    seen: set[str] = set()
    for ladder in study.ladders:
        for rung in ladder.rungs:
            work = plan(workspace, study, ladder, rung)
            agent = make_agent(ladder, rung, study.folder)
            row: dict[str, Any] = {"rung": work.partition, "agent": ladder.agent.name, "choices": work.n_choices}
            if isinstance(agent, RemoteAgent):
                row |= _remote(work, agent, study, ledger, spent, seen)
            yield row


def _remote(
    work: RungPlan,
    agent: RemoteAgent,
    study: Study,
    ledger: Ledger | None,
    spent: Sequence[dict[str, Any]],
    seen: set[str],
) -> dict[str, Any]:
    book = Book(work, agent, ledger)
    new = [line for line in book.lines if line.key and line.key not in book.known and line.key not in seen]
    new = list({line.key: line for line in new}.values())  # a question that two slots share is asked once
    seen.update(line.key for line in new if line.key)
    scale, how = _scale(agent, new)
    model = work.rung.model
    of_model = [row for row in spent if row["model_requested"] == model and row["calls"]]
    calls = sum(row["calls"] for row in of_model)
    live = next((row["latency_ms"] for row in of_model if row["latency_ms"]), None)
    found = estimate(
        [_load(agent, lines, scale) for lines in _by_order(new)],
        study.spec.prices.get(model or ""),
        output_per_call=sum(row["output_tokens"] for row in of_model) / calls if calls else TOKENS_PER_ANSWER,
        seconds_per_call=live / 1000 if live else SECONDS_PER_ANSWER,
        in_flight=agent.in_flight,
        requests_per_minute=agent.requests_per_minute,
    )
    cannot = sum(line.problem is not None for line in book.lines)
    return {"model": model, "in_ledger": len(book.known), "cannot_be_asked": cannot, "tokens_are": how, **asdict(found)}


def _by_order(lines: Sequence[Line]) -> list[list[Line]]:
    groups: dict[int, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.slot.seed, []).append(line)
    return list(groups.values())


def _load(agent: RemoteAgent, lines: Sequence[Line], scale: float) -> Load:
    body = agent.body(lines[0].slot.question)
    n_shared = sum(len(json.dumps(body[name], ensure_ascii=False)) for name in _SHARED if name in body)
    shared = round(scale * estimated_tokens(n_shared)) if agent.caches else 0
    total = round(scale * sum(estimated_tokens(line.n_chars) for line in lines))
    return Load(len(lines), shared, max(total - len(lines) * shared, 0))


def _scale(agent: RemoteAgent, lines: Sequence[Line]) -> tuple[float, str]:
    """Compare the estimate with the provider's own count of a few questions, where it counts and can be reached."""
    count = getattr(agent, "count_tokens", None)
    sample = lines[:: max(len(lines) // COUNTED, 1)][:COUNTED]
    if count is None or not sample:
        return 1.0, "estimated"

    async def counted() -> int:
        try:
            return sum([await count(agent.body(line.slot.question)) for line in sample])
        finally:
            await agent.close()

    try:
        found = asyncio.run(counted())
    except Exception as error:  # a plan is made without a provider as well; what is missing is said
        return 1.0, f"estimated (counting failed: {type(error).__name__})"
    estimated = sum(estimated_tokens(line.n_chars) for line in sample)
    return found / max(estimated, 1), f"counted by the provider on {len(sample)} questions"


def as_text(rows: Sequence[dict[str, Any]], paid: dict[str, Any], study: Study) -> Iterator[str]:
    """Write the plan for a person."""
    asked = [row for row in rows if "calls" in row]
    for row in rows:
        if "calls" not in row:
            yield f"{row['rung']:<28} {row['choices']:>7} choices, {row['agent']} answers at once and costs nothing"
            continue
        yield (
            f"{row['rung']:<28} {row['calls']:>7} calls ({row['in_ledger']} answers in the ledger), "
            f"{row['input_tokens']:,} tokens in, {row['output_tokens']:,} out, {_dollars(row)}, "
            f"about {clock(row['seconds'])}"
        )
        if row["cannot_be_asked"]:
            yield f"{'':<28} {row['cannot_be_asked']:>7} cannot be asked of this agent; they are rows without a choice"
    if asked:
        yield ""
        yield f"tokens are {', '.join(sorted({row['tokens_are'] for row in asked}))}; answers and times are estimates"
        yield f"paid so far: {paid['calls']} calls, ${paid['usd']:.2f} by the study's prices; budget: {_budget(study)}"


def _dollars(row: dict[str, Any]) -> str:
    if row["usd"] is None:
        return "dollars unknown (no price of the model in study.yaml)"
    return f"${row['usd']:.2f} plain, ${row['usd_cached']:.2f} with the cache, ${row['usd_batch']:.2f} in batches"


def _budget(study: Study) -> str:
    budget = study.spec.budget
    limits = [f"{budget.max_calls} calls" if budget.max_calls is not None else ""]
    limits.append(f"${budget.max_usd:g}" if budget.max_usd is not None else "")
    found = ", ".join(limit for limit in limits if limit) or "none"
    return f"{found} in {budget.days} days" if budget.days and found != "none" else found
