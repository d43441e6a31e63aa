"""Agents, one module each. A new agent is a new file here; its module's name is what a ladder's `agent.name` takes.

A module has `ASKED` (is the agent asked anew, so that tool order and draws can matter?), `Params` and `Settings`
(pydantic models of what it takes: parameters can change an answer, settings cannot) and `make(setup)`. What that gives
is an `Agent`, which answers at once, or a `RemoteAgent`, whose answers cost something and go into the ledger.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.tool import Tool

#: `python:<module>:<function>` names the agent `python` and what it calls.
PYTHON = "python:"


@dataclass(frozen=True)
class Request:
    """One labelled request as an agent sees it.

    `logged` is what was done at the time, for the agent `recorded`; `tools` is the list that the request brings with
    it, for rungs of `catalogue: from_request`.
    """

    request_id: str
    slice: str
    messages: tuple[Mapping[str, Any], ...]
    logged: "Choice | None" = None
    tools: tuple[Tool, ...] | None = None


@dataclass(frozen=True)
class Question:
    """A request as it is put: the tools in the order shown, the rung's prompt and model.

    `draw` counts how often the very same is asked.
    """

    request: Request
    tools: tuple[Tool, ...]
    prompt: str | None = None
    model: str | None = None
    draw: int = 0


@dataclass(frozen=True)
class Choice:
    """What an agent answered. `gives_args` is false for an agent that chooses names only."""

    action: Action
    status: Status
    gives_args: bool = True
    model_served: str | None = None
    detail: str | None = None
    measures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer; None where the provider does not say. Tokens read include those of the cache."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class Answer:
    """What came back, as it came: nothing is concluded from it here."""

    body: str
    usage: Usage = Usage()
    model_served: str | None = None
    provider_id: str | None = None


class NoAnswer(Exception):
    """A question that got no answer this time. Never a choice of no tool."""

    def __init__(self, detail: str, *, again: bool, after: float | None = None, slower: bool = False) -> None:
        """Say whether asking again can help, after how many seconds, and whether everybody should ask more slowly."""
        self.detail, self.again, self.after, self.slower = detail, again, after, slower
        super().__init__(detail)


class MustStop(Exception):
    """A refusal that holds for every further question: the key, a spending limit, a model that is not there."""


class CannotAsk(Exception):
    """A request that cannot be put to this agent as it stands; the text says why."""


class Agent(Protocol):
    """Something that chooses at once and costs nothing."""

    def choose(self, question: Question) -> Choice:
        """Choose an action among the tools, which are shown in this order."""


@runtime_checkable
class RemoteAgent(Protocol):
    """Something that is asked, takes its time, and whose answers are kept in the ledger as they came."""

    #: Whether questions with the same beginning are cheaper one after another than at once.
    caches: bool
    #: Questions that are under way at the same time, seconds for one attempt, seconds for a question in all.
    in_flight: int
    timeout_s: float
    deadline_s: float
    requests_per_minute: float | None
    #: The most tokens that one answer can have, for the budget; 0 when unknown.
    max_output_tokens: int

    def body(self, question: Question) -> Mapping[str, Any]:
        """Give everything that can change the answer, as JSON values; parts that questions share are shared objects."""

    async def ask(self, body: Mapping[str, Any], key: str) -> Answer:
        """Ask once. No answer is a `NoAnswer` or a `MustStop`, never an empty one."""

    def read(self, answer: str, question: Question) -> Choice:
        """Conclude what an answer chose. One of an unknown shape is `malformed`; nothing is raised."""

    async def close(self) -> None:
        """Let go of connections."""


class NoSettings(BaseModel):
    """The settings of an agent that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class AgentSetup:
    """What a ladder and a rung say to an agent: checked parameters and settings, and the study's folder."""

    name: str
    params: Any
    settings: Any
    model: str | None
    folder: Path


class AgentModule(Protocol):
    """What an agent's module offers."""

    ASKED: bool
    Params: type[BaseModel]
    Settings: type[BaseModel]

    def make(self, setup: AgentSetup) -> Agent | RemoteAgent:
        """Make the agent of a rung."""


Model = TypeVar("Model", bound=BaseModel)


def names() -> list[str]:
    """List the agents by their names."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> AgentModule:
    """Import an agent's module by its name, one of `names()`."""
    module: AgentModule = importlib.import_module(f"{__name__}.{name.partition(':')[0]}")
    return module


def checked(model: type[Model], values: Mapping[str, Any], where: str, what: str) -> Model:
    """Check what a file says to an agent; the error names the key and what is accepted."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        # A key that is misspelt is also a key that is missing: the misspelling is what helps.
        problem = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
        name = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden":
            raise BadInput(where, f"unknown {what} {name!r}", known_names(name, model.model_fields)) from error
        raise BadInput(f"{where}, {name}", problem["msg"].removeprefix("Value error, "), _shape(model, name)) from error


def _shape(model: type[BaseModel], name: str) -> str:
    found = model.model_fields.get(name.partition(".")[0])
    return (found.description or "") if found else ""


def texts(messages: Sequence[Mapping[str, Any]], role: str) -> list[str]:
    """Give the texts of the messages of one role."""
    return [m["content"] for m in messages if m.get("role") == role and isinstance(m.get("content"), str)]
