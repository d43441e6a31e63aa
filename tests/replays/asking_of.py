"""What tests share that ask questions without a command line: a plan of n requests in three orders, and an agent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401 - the agent imports it with its first question: a second, more than the deadlines here

from tests.replays.messages_server import MessagesServer
from tests.replays.paid import MODEL
from toolsel_assets.replays.agents import Choice, RemoteAgent, Request
from toolsel_assets.replays.agents.anthropic import Anthropic, Params, Settings
from toolsel_assets.replays.book import Book
from toolsel_assets.replays.ledger import Ledger
from toolsel_assets.replays.run import RungPlan
from toolsel_assets.study import Budget, Price
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import Ladder
from toolsel_assets.vocabulary.tool import Catalogue, Tool

CATALOGUE = Catalogue("c", (Tool("tool_a", "A"), Tool("tool_b", "B"), Tool("calendar.create_event", "dotted")))


def plan(n: int = 1, *, catalogue: Catalogue = CATALOGUE, **ladder: Any) -> RungPlan:
    """Plan a rung of n requests, "question 0" and so on."""
    given = {
        "name": "l", "label_set": "v1", "criteria": "c", "order_seeds": [1, 2, 3], "agent": {"name": "anthropic"},
        "rungs": [{"name": "base", "catalogue": "c", "model": MODEL}], **ladder,
    }  # fmt: skip
    found = Ladder.model_validate(given)
    requests = tuple(
        (
            Request(f"r{i}", "existing", ({"role": "user", "content": f"question {i}"},)),
            LabelRow.model_validate({"id": f"r{i}", "valid_actions": [{"tool": None}], "labelled_by": ["x"]}),
        )
        for i in range(n)
    )
    return RungPlan("s", found, found.rungs[0], catalogue, None, "v1@x", requests)


def agent_of(server: MessagesServer, **settings: Any) -> Anthropic:
    """Give an agent that is soon tired of waiting."""
    fast = {"timeout_s": 0.4, "deadline_s": 1.0, "in_flight": 4, "cache": False, **settings}
    return Anthropic(Params(base_url=server.url, max_tokens=100), Settings(**fast), MODEL)


def ask(
    folder: Path,
    agent: RemoteAgent,
    work: RungPlan,
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
) -> list[Choice]:
    """Ask what the ledger in a folder does not know; give all choices."""
    with Ledger(folder / "ledger.sqlite") as ledger:
        book = Book(work, agent, ledger)
        book.ask(budget or Budget(), dict(prices or {}), lambda text: None)
        return [choice for _, choice in book.answered(dict(prices or {}))]
