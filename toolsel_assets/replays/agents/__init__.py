"""Agents, one module each. A new agent is a new file here; its module's name is what a ladder's `agent.name` takes.

A module has `ASKED` (is the agent asked anew, so that tool order and draws can matter?), `PARAMS` (the names of the
parameters it takes) and `make(params)`, which gives something with `choose(request, tools, prompt)`.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.tool import Tool


@dataclass(frozen=True)
class Request:
    """One labelled request as an agent sees it. `logged` is what was done at the time, for the agent `recorded`."""

    request_id: str
    slice: str
    messages: tuple[Mapping[str, Any], ...]
    logged: "Choice | None" = None


@dataclass(frozen=True)
class Choice:
    """What an agent answered. `gives_args` is false for an agent that chooses names only."""

    action: Action
    status: Status
    gives_args: bool = True
    model_served: str | None = None
    detail: str | None = None
    measures: Mapping[str, float | int | None] = field(default_factory=dict)


class Agent(Protocol):
    """Something that chooses."""

    def choose(self, request: Request, tools: Sequence[Tool], prompt: str | None) -> Choice:
        """Choose an action among tools, shown in this order. A provider's failure is a status, not an exception."""


class AgentModule(Protocol):
    """What an agent's module offers."""

    ASKED: bool
    PARAMS: frozenset[str]

    def make(self, params: Mapping[str, Any]) -> Agent:
        """Make an agent from the parameters of ladder and rung."""


def names() -> list[str]:
    """List the agents by their names."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> AgentModule:
    """Import an agent's module by its name, one of `names()`."""
    module: AgentModule = importlib.import_module(f"{__name__}.{name}")
    return module
