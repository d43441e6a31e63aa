"""Replay a rung: every request, in every order of the tools, in every draw.

What belongs here: the cross product, the orders, the rows of choices. What does not: agents (agents/), asking those
that cost something (book.py), files and tables (assets.py), judging (scores/).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolsel_assets.replays import agents
from toolsel_assets.replays.agents import PYTHON, Agent, AgentSetup, Choice, Question, RemoteAgent, Request
from toolsel_assets.vocabulary.action import action_text, calls_to_json
from toolsel_assets.vocabulary.decision import SCORABLE, Status
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import FEWEST_SEEDS, FROM_REQUEST, Ladder, Rung
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.tool import Catalogue, Tool, order_hash, rotated
from toolsel_assets.vocabulary.tool_lists import read_tool_list

Row = dict[str, Any]

#: The seed of an agent that is not asked: the order in which the tools were once shown is not ours to permute.
AS_LOGGED = 0


@dataclass(frozen=True)
class RungPlan:
    """All that a rung's replay needs."""

    study: str
    ladder: Ladder
    rung: Rung
    catalogue: Catalogue
    prompt: str | None
    label_set_version: str
    requests: tuple[tuple[Request, LabelRow], ...]
    folder: Path = field(default_factory=Path)

    @property
    def partition(self) -> str:
        """Name the rung: `<ladder>.<rung>`."""
        return self.ladder.partition(self.rung)

    @property
    def params(self) -> dict[str, Any]:
        """Give the agent's parameters: the ladder's, then the rung's."""
        return {**self.ladder.agent.params, **self.rung.params}

    @property
    def n_choices(self) -> int:
        """Count the choices of a complete rung."""
        return len(self.requests) * len(order_seeds(self.ladder)) * self.ladder.draws

    @cached_property
    def inputs_hash(self) -> str:
        """Hash everything that can change a choice. What labels say is right cannot, so it is not in it."""
        tools = [tool.definition() for tool in self.catalogue.tools]
        asked = [
            (
                request.request_id,
                [dict(message) for message in request.messages],
                self.serves(request, row),
                (calls_to_json(request.logged.action), request.logged.status) if request.logged else None,
            )
            for request, row in self.requests
        ]
        agent = [self.ladder.agent.name, self.params, self.rung.model, self.prompt]
        order = [order_seeds(self.ladder), self.ladder.order, self.ladder.draws]
        more = [*self._own_lists, *files_hashed(self.ladder, self.rung, self.folder)]
        return sha256(json.dumps([*agent, tools, *order, asked, *more], sort_keys=True).encode()).hexdigest()

    @property
    def _own_lists(self) -> list[Any]:
        if not self.rung.is_from_request:
            return []
        return [[tool.definition() for tool in request.tools or ()] for request, _ in self.requests]

    def tools_in_order(self, seed: int) -> tuple[Tool, ...]:
        """Give the tools as a seed shows them."""
        return tools_in_order(self.ladder, self.catalogue, seed)

    def shown(self, seed: int) -> list[tuple[tuple[Tool, ...], str]]:
        """Give the tools that each request is shown under a seed, and the hash of their order."""
        if self.rung.is_from_request:
            lists = [Catalogue(FROM_REQUEST, request.tools or ()) for request, _ in self.requests]
            orders = [tools_in_order(self.ladder, catalogue, seed) for catalogue in lists]
            return [(tools, order_hash(tools)) for tools in orders]
        tools = self.tools_in_order(seed)
        return [(tools, order_hash(tools))] * len(self.requests)

    def serves(self, request: Request, row: LabelRow) -> bool:
        """Say whether a request can be put: the rung's catalogue, or its own list, has what it needs."""
        own = frozenset(tool.name for tool in request.tools or ())
        return row.can_be_served_by(own if self.rung.is_from_request else self.catalogue.names)


@dataclass(frozen=True)
class Slot:
    """One place of the cross product, and what is asked there."""

    seed: int
    draw: int
    order_hash: str
    question: Question
    served: bool


def tools_in_order(ladder: Ladder, catalogue: Catalogue, seed: int) -> tuple[Tool, ...]:
    """Give a catalogue's tools as a seed of a ladder shows them."""
    if seed == AS_LOGGED:
        return catalogue.tools
    if ladder.order == "rotate":
        return rotated(catalogue.tools, order_seeds(ladder), seed)
    return catalogue.shown_in_order(seed)


def order_seeds(ladder: Ladder) -> tuple[int, ...]:
    """Give the order seeds of a ladder, checked against what its agent needs."""
    where = f"ladder {ladder.name}, order_seeds"
    if not agent_module(ladder).ASKED:
        if ladder.order_seeds or ladder.draws != 1:
            raise BadInput(where, f"agent {ladder.agent.name} is not asked anything", "no order_seeds, and one draw")
        return (AS_LOGGED,)
    if len(ladder.order_seeds) < FEWEST_SEEDS:
        raise BadInput(
            where,
            f"found {len(ladder.order_seeds)}",
            f"at least {FEWEST_SEEDS}: the spread over orders of the tools is the noise floor of every comparison",
        )
    if AS_LOGGED in ladder.order_seeds:
        raise BadInput(where, f"found {AS_LOGGED}", "other numbers: it stands for agents that are not asked")
    return ladder.order_seeds


def agent_module(ladder: Ladder) -> agents.AgentModule:
    """Find a ladder's agent."""
    name = ladder.agent.name
    known = agents.names()
    if name == "python" or (name.partition(":")[0] not in known) or (":" in name and not name.startswith(PYTHON)):
        shown = [f"{PYTHON}<module>:<function>" if one == "python" else one for one in known]
        raise BadInput(f"ladder {ladder.name}, agent.name", f"no agent {name!r}", known_names(name, shown))
    return agents.load(name)


def make_agent(ladder: Ladder, rung: Rung, folder: Path) -> Agent | RemoteAgent:
    """Make the agent of a rung, refusing parameters and settings that it does not take."""
    return agent_module(ladder).make(setup_of(ladder, rung, folder))


def setup_of(ladder: Ladder, rung: Rung, folder: Path) -> AgentSetup:
    """Check what a ladder and a rung say to their agent."""
    module, where = agent_module(ladder), f"ladder {ladder.name}, agent {ladder.agent.name}"
    params = agents.checked(module.Params, {**ladder.agent.params, **rung.params}, where, "parameter")
    settings = agents.checked(module.Settings, ladder.agent.settings, where, "setting")
    return AgentSetup(ladder.agent.name, params, settings, rung.model, folder)


def files_hashed(ladder: Ladder, rung: Rung, folder: Path) -> list[str]:
    """Hash the files of the study that an agent answers from, where it says that there are any."""
    reads = getattr(agent_module(ladder), "reads", None)
    found: Iterable[Path] = reads(setup_of(ladder, rung, folder)) if reads else ()
    return [sha256(path.read_bytes()).hexdigest() for path in found]


def slots(plan: RungPlan) -> Iterator[Slot]:
    """Yield the cross product, requests of one order together. Questions of one order share their tuple of tools."""
    served = [plan.serves(request, row) for request, row in plan.requests]
    orders: Counter[tuple[str, str]] = Counter()
    for seed in order_seeds(plan.ladder):
        shown = plan.shown(seed)
        # Few tools have few orders: a seed that gives one for the second time is another draw of it, not the same
        # answer counted twice.
        places = [(request.request_id, order) for (request, _), (_, order) in zip(plan.requests, shown, strict=True)]
        earlier = [orders[place] * plan.ladder.draws for place in places]
        orders.update(places)
        for draw in range(plan.ladder.draws):
            rows = zip(plan.requests, shown, served, earlier, strict=True)
            for (request, _), (tools, order), is_served, before in rows:
                question = Question(request, tools, plan.prompt, plan.rung.model, before + draw)
                yield Slot(seed, draw, order, question, is_served)


def not_served() -> Choice:
    """Give the choice of a request that the catalogue cannot serve: it is a row, and it is not asked."""
    return Choice((), Status.NOT_SERVED, detail="the catalogue holds none of the tools it needs")


def at_once(plan: RungPlan, agent: Agent) -> Iterator[tuple[Slot, Choice]]:
    """Ask an agent that answers at once and costs nothing."""
    for slot in slots(plan):
        yield slot, agent.choose(slot.question) if slot.served else not_served()


def choices(plan: RungPlan, answered: Iterable[tuple[Slot, Choice]], now: datetime) -> Iterator[Row]:
    """Give one row per (seed, draw, request). An answer that has a time of its own keeps it."""
    keys = {
        "study": plan.study,
        "ladder": plan.ladder.name,
        "rung": plan.rung.name,
        "rung_order": plan.ladder.rungs.index(plan.rung),
        "n_tools": None if plan.rung.is_from_request else len(plan.catalogue.tools),
        "label_set_version": plan.label_set_version,
        "catalogue_hash": plan.catalogue.hash,
        "prompt_hash": sha256(plan.prompt.encode()).hexdigest()[:12] if plan.prompt is not None else "",
        "model_requested": plan.rung.model,
        "agent": plan.ladder.agent.name,
        "inputs_hash": plan.inputs_hash,
        "chosen_at": moment(now),
    }
    for slot, choice in answered:
        request = slot.question.request
        place = {"seed": slot.seed, "draw": slot.draw, "order_hash": slot.order_hash}
        yield {**keys, **place, "prefix": prefix(request, plan.rung.model), **_row(request, choice)}


def moment(time: datetime) -> str:
    """Write a time as tables take it."""
    return time.isoformat(sep=" ", timespec="microseconds")


def prefix(request: Request, model: str | None) -> str:
    """Say whose run a state comes from: the model's own, another's, or nobody's.

    A model that is given another's earlier steps is spared its own mistakes in them (seeds/per_tool_and_pair).
    """
    if request.logged is None:
        return "written"
    return "own" if model is not None and request.logged.model_served == model else "foreign"


def _row(request: Request, choice: Choice) -> Row:
    scorable = choice.status in SCORABLE
    return {
        "request_id": request.request_id,
        "slice": request.slice,
        "status": str(choice.status),
        "status_detail": choice.detail,
        "chosen_action": action_text(choice.action) if scorable else f"({choice.status})",
        "calls": calls_to_json(choice.action),
        "gives_args": choice.gives_args,
        "model_served": choice.model_served,
        **choice.measures,
    }


def requests_of(rows: Sequence[Mapping[str, Any]], ladder: Ladder) -> Iterator[tuple[Request, LabelRow]]:
    """Turn joined rows of requests, labels and logged decisions into requests, keeping the ladder's slices."""
    for row in rows:
        if ladder.slices is not None and row["slice"] not in ladder.slices:
            continue
        yield (
            Request(
                row["request_id"],
                row["slice"],
                tuple(json.loads(row["messages"])),
                row.get("logged"),
                read_tool_list(json.loads(row["tools"]), row["request_id"]).tools if row.get("tools") else None,
            ),
            LabelRow.model_validate_json(row["label"]),
        )
