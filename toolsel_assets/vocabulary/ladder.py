"""A ladder: configurations scored on one label set, each rung one change away from its neighbour.

"The configuration has to change in exactly one respect between rungs" (seeds/per_tool_and_pair): a ladder whose
neighbours differ in more than one of catalogue, prompt, model and parameters is refused, and the differences named.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

#: Rungs name partitions in Dagster, which accepts `|`, `,` and `/` in a key and breaks on them later.
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_+.-]+$", min_length=1, max_length=80)]

#: What may differ between neighbouring rungs, one at a time.
CHANGES = ("catalogue", "prompt", "model", "params")

FEWEST_SEEDS = 3

#: The catalogue of a rung whose requests bring their own lists of tools, as single-turn benchmarks do.
FROM_REQUEST = "from_request"


class Rung(BaseModel):
    """One configuration: one catalogue, one prompt, one model, one set of parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Slug
    catalogue: tuple[str, ...] = Field(
        min_length=1,
        description=f"files of catalogues/, without .json, put together; {FROM_REQUEST}: each request brings its own",
    )
    prompt: str | None = Field(
        None, description="a file of prompts/, without .md; takes the place of the states' own system messages"
    )
    model: str | None = Field(None, description="the model's pinned identifier; an offline agent has none")
    params: dict[str, Any] = Field(default_factory=dict, description="what the agent takes: threshold, effort, ...")

    @field_validator("catalogue", mode="before")
    @classmethod
    def _one_name_is_a_list_of_one(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("catalogue")
    @classmethod
    def _lists_of_requests_stand_alone(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if FROM_REQUEST in value and len(value) > 1:
            raise ValueError(f"{FROM_REQUEST} stands alone: what a request brings is the whole list")
        return value

    @property
    def is_from_request(self) -> bool:
        """Whether every request brings its own list of tools."""
        return self.catalogue == (FROM_REQUEST,)

    def differences(self, other: "Rung") -> tuple[str, ...]:
        """Say in which respects another rung differs, each as `what: before -> after`."""
        return tuple(
            f"{what}: {getattr(self, what)!r} -> {getattr(other, what)!r}"
            for what in CHANGES
            if getattr(self, what) != getattr(other, what)
        )


class AgentSpec(BaseModel):
    """Which agent answers, and what it is told besides the rung."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="a module of replays/agents/, or python:<module>:<function>")
    params: dict[str, Any] = Field(default_factory=dict, description="what can change an answer")
    settings: dict[str, Any] = Field(default_factory=dict, description="how it is asked, which changes no answer")
    pinned: bool = Field(False, description="you state that the models' identifiers name one version each, for ever")


class Ladder(BaseModel):
    """A ladder as its file states it; `name` is the file's name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Slug
    label_set: str = Field(description="a folder of labels/")
    agent: AgentSpec
    criteria: str = Field(description="a file of criteria/, without .yaml, committed before the run")
    rungs: tuple[Rung, ...] = Field(min_length=1)
    order_seeds: tuple[int, ...] = Field(
        (), description=f"at least {FEWEST_SEEDS} for an agent that is asked; none for one that is not"
    )
    order: Literal["hashed", "rotate"] = Field(
        "hashed", description="an order of its own for each seed, or one order that each seed begins elsewhere"
    )
    draws: int = Field(1, ge=1, description="repeated answers in the same order of tools")
    slices: tuple[str, ...] | None = Field(None, description="slices of the label set to replay; absent: all")

    @model_validator(mode="after")
    def _rungs_and_seeds_are_distinct(self) -> "Ladder":
        names = [rung.name for rung in self.rungs]
        if len(set(names)) < len(names):
            raise ValueError(f"rung names must differ, found {', '.join(names)}")
        if len(set(self.order_seeds)) < len(self.order_seeds):
            raise ValueError(f"order_seeds must differ, found {list(self.order_seeds)}: a repeat adds no evidence")
        return self

    @model_validator(mode="after")
    def _neighbours_differ_in_one_respect(self) -> "Ladder":
        for before, after in zip(self.rungs, self.rungs[1:], strict=False):
            found = before.differences(after)
            if len(found) != 1:
                raise ValueError(
                    f"rung {after.name} must differ from {before.name} in exactly one of {', '.join(CHANGES)}; "
                    f"it differs in {len(found)}" + (f": {'; '.join(found)}" if found else "")
                )
        return self

    @property
    def baseline(self) -> Rung:
        """The first rung: what every other is compared with."""
        return self.rungs[0]

    @property
    def candidate(self) -> Rung:
        """The last rung: what the verdict is about."""
        return self.rungs[-1]

    def partition(self, rung: Rung) -> str:
        """Name the Dagster partition of a rung: `<ladder>.<rung>`."""
        return f"{self.name}.{rung.name}"
