"""A label: the set of acceptable actions in one state, and the tools that are forbidden there (seeds/no_tool_cases).

The JSON form is the essay's, one object a line; its field names are kept. `tool: null` is a first-class member of the
set. What does not belong here: reading files and linting a whole set (labels/versions.py), judging a choice against a
label (scores/classify.py).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_serializer, model_validator
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool
from toolsel_assets.vocabulary.tool_lists import read_tool_list

ToolName = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\s()|]+$")]
Reply = Literal["stop", "acknowledge", "clarify", "refuse", "answer"]


class RowClass(StrEnum):
    """The class of a label row: a true partition, by precedence in this order."""

    NONE = "none"  # null is in the valid set
    SEVERAL = "several"  # more than one distinct tool
    SINGLE = "single"  # one tool, with one or more specifications of its arguments


class ValidAction(BaseModel):
    """One acceptable action: a tool, or null for calling nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: ToolName | None = Field(description="the tool's canonical name; null is the choice of no tool")
    args: dict[str, Any] | None = Field(None, description="the arguments; absent means any are acceptable")
    reason: str | None = Field(None, description="why this is acceptable here")
    reply: Reply | None = Field(None, description="on null only: which kind of message takes the call's place")
    required: bool = Field(False, description="in a set of parallel calls: this call must be among them")
    repeat: bool = Field(False, description="in a set of parallel calls: may be made more than once")

    @model_validator(mode="after")
    def _null_takes_a_reply_and_a_tool_takes_arguments(self) -> "ValidAction":
        if self.tool is None and (self.args is not None or self.required or self.repeat):
            raise ValueError("null is no call: it takes reply and reason, not args, required or repeat")
        if self.tool is not None and self.reply is not None:
            raise ValueError(f"reply belongs to null, not to the tool {self.tool}")
        return self


def contradictions(valid: Sequence[ValidAction], forbidden: Sequence[str]) -> str | None:
    """Say how two sets contradict each other, or that nothing is wrong with them: None."""
    both = set(forbidden) & {action.tool for action in valid}
    if both:
        return f"both acceptable and forbidden: {', '.join(sorted(map(str, both)))}"
    if any(action.tool is None for action in valid) and any(action.required for action in valid):
        return "null and a required call contradict each other"
    return None


class State(BaseModel):
    """What the labeller is told of the state, as in the essay; `messages` on the row takes its place when given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread_id: str | None = None
    last_message: str
    prior_actions: tuple[str, ...] = Field((), description="names of the tools called so far, in order")


class LabelRow(BaseModel):
    """One labelled request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1, description="the decision_id of a sampled state, or an id of the author's own")
    state: State | None = Field(None, description="a summary of the state; the sampled messages are what is replayed")
    messages: tuple[dict[str, Any], ...] | None = Field(None, description="the whole state, in OpenAI chat form")
    tools: tuple[dict[str, Any], ...] | None = Field(
        None, description="the list that the request brings with it, in MCP form, for rungs of catalogue: from_request"
    )
    valid_actions: tuple[ValidAction, ...] = Field(min_length=1, description="the set of acceptable actions")
    forbidden_actions: tuple[ToolName, ...] = Field((), description="tools whose call here is wrong, not just needless")
    labelled_by: tuple[str, ...] = Field(min_length=1, description="the labellers, each once")
    slice: str = Field("existing", pattern=r"^(existing|new:[a-z0-9_+.-]+)$", description="existing, or new:<what>")

    @field_validator("tools")
    @classmethod
    def _the_list_can_be_shown(cls, value: tuple[dict[str, Any], ...] | None) -> tuple[dict[str, Any], ...] | None:
        try:
            read_tool_list(list(value or ()), "tools")
        except BadInput as problem:
            raise ValueError(str(problem)) from problem
        return value

    @model_serializer(mode="wrap")
    def _without_a_list_there_is_no_key(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Released versions are known by the hash of what is written here: rows without a list keep theirs.
        found: dict[str, Any] = write(self)
        if self.tools is None:
            found.pop("tools", None)
        return found

    @model_validator(mode="after")
    def _the_sets_do_not_contradict_each_other(self) -> "LabelRow":
        if found := contradictions(self.valid_actions, self.forbidden_actions):
            raise ValueError(found)
        if len(set(self.labelled_by)) < len(self.labelled_by):
            raise ValueError("a labeller stands twice in labelled_by; agreement needs distinct people")
        return self

    @property
    def own_tools(self) -> tuple[Tool, ...]:
        """The tools that the request brings with it."""
        return read_tool_list(list(self.tools or ()), "tools").tools

    @property
    def allows_no_tool(self) -> bool:
        """Whether calling nothing is acceptable."""
        return any(action.tool is None for action in self.valid_actions)

    @property
    def valid_tools(self) -> tuple[str, ...]:
        """The distinct acceptable tools in the labellers' order of preference, null left out."""
        return tuple(dict.fromkeys(a.tool for a in self.valid_actions if a.tool is not None))

    @property
    def row_class(self) -> RowClass:
        """The class of the row: none before several before single, so that the classes partition the set."""
        if self.allows_no_tool:
            return RowClass.NONE
        return RowClass.SEVERAL if len(self.valid_tools) > 1 else RowClass.SINGLE

    @property
    def expected(self) -> str:
        """What tables call the right answer: `(no tool)` for class none, else the labellers' first choice."""
        return NO_TOOL if self.allows_no_tool else self.valid_tools[0]

    def can_be_served_by(self, tools: frozenset[str]) -> bool:
        """Whether a catalogue holds what this request needs.

        An existing request needs one acceptable action. A request written for a new capability needs every tool that it
        accepts, or one of those it forbids where it accepts no tool: on a rung without the new tools its "no tool"
        would be right by accident.
        """
        if self.slice == "existing":
            return self.allows_no_tool or bool(tools & set(self.valid_tools))
        return set(self.valid_tools) <= tools and bool(tools & {*self.valid_tools, *self.forbidden_actions})
