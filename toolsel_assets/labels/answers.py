"""What one labeller says of one state: the form that every way in (page, Label Studio, JSONL, CSV) ends in.

What belongs here: the answer, and how a line of labellers/<name>.jsonl becomes one. What does not: the other forms
(page.py, label_studio.py, csv_form.py), what becomes of several answers (agreement.py, adjudication.py).
"""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from toolsel_assets.vocabulary.label import ToolName, ValidAction, contradictions

#: The name of a labeller, which is also the name of a file.
Labeller = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@+-]*$", max_length=80)]


class Answer(BaseModel):
    """One labeller's answer: the set of acceptable actions, or that the state was skipped.

    A skip is an abstention, not an empty set: it is no disagreement, and it settles nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1, description="the decision_id of the state, or the id of a written request")
    valid_actions: tuple[ValidAction, ...] = Field((), description="the set of acceptable actions, the preferred first")
    forbidden_actions: tuple[ToolName, ...] = Field((), description="tools whose call here is wrong, not just needless")
    labelled_by: tuple[Labeller] = Field(description="the labeller, as a list of one")
    skipped: bool = Field(False, description="the labeller gave no answer")
    unsure: bool = Field(False, description="the labeller answered, with doubts")
    note: str | None = Field(None, description="a remark, or why the state was skipped")
    labelled_at: datetime | None = Field(None, description="when the answer was given, with a time zone")
    seconds: float | None = Field(None, ge=0, description="how long the state was on the screen")

    @model_validator(mode="after")
    def _an_answer_is_a_set_or_a_skip(self) -> "Answer":
        if self.skipped and (self.valid_actions or self.forbidden_actions):
            raise ValueError("skipped, and yet with actions: one of the two")
        if not self.skipped and not self.valid_actions:
            raise ValueError('no acceptable action; for calling nothing write {"tool": null}, for no answer skipped')
        if found := contradictions(self.valid_actions, self.forbidden_actions):
            raise ValueError(found)
        return self

    @property
    def labeller(self) -> str:
        """Who answered."""
        return self.labelled_by[0]

    @property
    def actions(self) -> frozenset[str | None]:
        """The set of acceptable actions by name, None for no tool: what agreement is measured on."""
        return frozenset(action.tool for action in self.valid_actions)
