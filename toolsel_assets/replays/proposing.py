"""What a model would do in states that people are labelling: `toolsel label suggest`.

What belongs here: asking an agent about states that have no label yet, several times in as many orders of the tools.
What does not: what becomes of the proposals (labels/proposals.py). They are asked like a replay, through the same
ledger, and the same state is not paid for twice.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsel_assets.replays.agents import Choice, MustStop, RemoteAgent, Request
from toolsel_assets.replays.book import Book
from toolsel_assets.replays.ledger import Ledger, exclusive
from toolsel_assets.replays.pins import check_pinned
from toolsel_assets.replays.run import RungPlan, make_agent
from toolsel_assets.study import Study
from toolsel_assets.vocabulary.decision import SCORABLE
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import AgentSpec, Ladder
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Catalogue, Tool

Messages = Sequence[Mapping[str, Any]]

#: Orders of the tools in which each state is asked.
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Asked:
    """What came back for one state: how often each action was chosen, and out of how many."""

    asked: int
    actions: Counter[str | None]


def propose(
    study: Study,
    ledger_file: Path,
    agent: AgentSpec,
    model: str | None,
    states: Mapping[str, Messages],
    tools_of: Mapping[str, Sequence[Tool]],
    progress: Callable[[str], None],
) -> dict[str, Asked]:
    """Ask an agent about states, each with the tools it had. Several calls at once count each; failures do not."""
    if agent.name == "anthropic" or model:
        check_pinned(model, said_so=agent.pinned, where="--model")
    by_catalogue: dict[str, tuple[Catalogue, list[str]]] = {}
    for state in states:
        catalogue = Catalogue("the_states_own", tuple(tools_of[state]))
        by_catalogue.setdefault(catalogue.hash, (catalogue, []))[1].append(state)
    found: dict[str, Asked] = {}
    with exclusive(ledger_file, progress), Ledger(ledger_file) as ledger:
        for catalogue, ids in by_catalogue.values():
            work = _plan(study, agent, model, catalogue, {state: states[state] for state in ids})
            asked = make_agent(work.ladder, work.rung, study.folder)
            if not isinstance(asked, RemoteAgent):
                raise BadInput("--agent", f"{agent.name} proposes nothing", "anthropic, command or python:...")
            book = Book(work, asked, ledger)
            try:
                book.ask(study.spec.budget, study.spec.prices, progress)
            except MustStop as reason:
                raise BadInput("label suggest", str(reason), "answers so far are kept; again to go on") from reason
            for slot, choice in book.answered(study.spec.prices):
                one = found.setdefault(slot.question.request.request_id, Asked(len(SEEDS), Counter()))
                one.actions.update(_actions(choice, catalogue))
    return found


def _actions(choice: Choice, catalogue: Catalogue) -> list[str | None]:
    """Give what a choice calls; names that no tool has are dropped, since nobody could accept them."""
    if choice.status not in SCORABLE:
        return []
    return [*sorted({call.tool for call in choice.action} & catalogue.names)] if choice.action else [None]


def _plan(
    study: Study, agent: AgentSpec, model: str | None, catalogue: Catalogue, states: Mapping[str, Messages]
) -> RungPlan:
    """Make a rung of the states. Its labels are never looked at: they only say that every tool serves."""
    rung = {"name": "suggest", "catalogue": catalogue.name, "model": model}
    ladder = Ladder.model_validate(
        {
            "name": "label", "label_set": "none", "criteria": "none", "agent": agent, "rungs": [rung],
            "order_seeds": SEEDS,
        }
    )  # fmt: skip
    requests = []
    for state, messages in states.items():
        unlabelled = {"id": state, "valid_actions": [{"tool": None}], "labelled_by": ["nobody"]}
        row = LabelRow.model_validate(unlabelled)
        requests.append((Request(state, "existing", tuple(messages)), row))
    return RungPlan(study.name, ladder, ladder.rungs[0], catalogue, None, "", tuple(requests), study.folder)
