"""Replay a rung: every request, in every order of the tools, in every draw.

What belongs here: the cross product, the orders, and the hash of everything that can change an answer. What does not:
agents (agents/), files and tables (assets.py), judging (scores/).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

from toolsel_assets.replays import agents
from toolsel_assets.replays.agents import Agent, Choice, Request
from toolsel_assets.vocabulary.action import action_text, calls_to_json
from toolsel_assets.vocabulary.decision import SCORABLE, Status
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import FEWEST_SEEDS, Ladder, Rung
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.tool import Catalogue, order_hash

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

    @property
    def params(self) -> dict[str, Any]:
        """Give the agent's parameters: the ladder's, then the rung's."""
        return {**self.ladder.agent.params, **self.rung.params}

    @cached_property
    def inputs_hash(self) -> str:
        """Hash everything that can change a choice. What labels say is right cannot, so it is not in it."""
        tools = [tool.definition() for tool in self.catalogue.tools]
        asked = [
            (
                request.request_id,
                [dict(message) for message in request.messages],
                row.can_be_served_by(self.catalogue.names),
                (calls_to_json(request.logged.action), request.logged.status) if request.logged else None,
            )
            for request, row in self.requests
        ]
        agent = [self.ladder.agent.name, self.params, self.rung.model, self.prompt]
        parts = [*agent, tools, order_seeds(self.ladder), self.ladder.draws, asked]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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
    return ladder.order_seeds


def agent_module(ladder: Ladder) -> agents.AgentModule:
    """Find a ladder's agent."""
    name = ladder.agent.name
    if name not in agents.names():
        raise BadInput(f"ladder {ladder.name}, agent.name", f"no agent {name!r}", known_names(name, agents.names()))
    return agents.load(name)


def make_agent(ladder: Ladder, rung: Rung) -> Agent:
    """Make the agent of a rung, refusing parameters that it does not take."""
    module, params = agent_module(ladder), {**ladder.agent.params, **rung.params}
    for name in params:
        if name not in module.PARAMS:
            where = f"ladder {ladder.name}, agent {ladder.agent.name}"
            raise BadInput(where, f"unknown parameter {name!r}", known_names(name, module.PARAMS))
    return module.make(params)


def choices(plan: RungPlan, agent: Agent, now: datetime) -> Iterator[Row]:
    """Yield one row per (seed, draw, request); a request that the catalogue cannot serve is a row as well."""
    keys = {
        "study": plan.study,
        "ladder": plan.ladder.name,
        "rung": plan.rung.name,
        "rung_order": plan.ladder.rungs.index(plan.rung),
        "n_tools": len(plan.catalogue.tools),
        "label_set_version": plan.label_set_version,
        "catalogue_hash": plan.catalogue.hash,
        "model_requested": plan.rung.model,
        "agent": plan.ladder.agent.name,
        "inputs_hash": plan.inputs_hash,
        "chosen_at": now.isoformat(sep=" ", timespec="microseconds"),
    }
    for seed in order_seeds(plan.ladder):
        tools = plan.catalogue.tools if seed == AS_LOGGED else plan.catalogue.shown_in_order(seed)
        shown = order_hash(tools)
        for draw in range(plan.ladder.draws):
            for request, row in plan.requests:
                if row.can_be_served_by(plan.catalogue.names):
                    choice = agent.choose(request, tools, plan.prompt)
                else:
                    choice = Choice((), Status.NOT_SERVED, detail="the catalogue holds none of the tools it needs")
                yield {**keys, "seed": seed, "draw": draw, "order_hash": shown, **_row(request, choice)}


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
            Request(row["request_id"], row["slice"], tuple(json.loads(row["messages"])), row.get("logged")),
            LabelRow.model_validate_json(row["label"]),
        )
