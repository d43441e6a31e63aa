"""From several answers to one label: where labellers differ, what a person decided, and what then stands.

What belongs here: differences between answers, the work list, the form of a decision, and the rule that puts a row
together. What does not: how much labellers agree (agreement.py), files and versions (versions.py, drafts.py).

An adjudication is dated, signed, reasoned and kept. Nothing is settled silently: where answers differ in anything that
a score can see, there is no row until somebody has decided. The union of two sets is offered where they overlap, and
stands only when somebody has written it down.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from itertools import combinations
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from toolsel_assets.labels.answers import Answer, Labeller
from toolsel_assets.vocabulary.label import LabelRow, State, ToolName, ValidAction, contradictions

#: What a decision may be, beside the name of the labeller whose answer stands.
UNION, OTHER, RELABEL, LEAVE_OUT = "union", "other", "relabel", "leave_out"
WORDS = (UNION, OTHER, RELABEL, LEAVE_OUT)


class Adjudication(BaseModel):
    """One decision on one row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    resolution: str = Field(description=f"the labeller whose answer stands, or {', '.join(WORDS)}")
    valid_actions: tuple[ValidAction, ...] = Field((), description="what stands, for union, other and relabel")
    forbidden_actions: tuple[ToolName, ...] = Field((), description="what stands, for union, other and relabel")
    reason: str = Field(min_length=1)
    decided_by: Labeller
    date: Date
    both_defensible: bool | None = Field(None, description="whether every answer was defensible")
    differs_in: str | None = Field(None, description="in what the answers differed when it was decided")
    capability: str | None = Field(None, description="for relabel: the new capability that changed the right answer")

    @model_validator(mode="after")
    def _it_says_what_stands(self) -> "Adjudication":
        if self.resolution in (UNION, OTHER, RELABEL) and not self.valid_actions:
            raise ValueError(f"{self.resolution} needs valid_actions: what stands")
        if self.resolution not in (UNION, OTHER, RELABEL) and (self.valid_actions or self.forbidden_actions):
            raise ValueError(f"{self.resolution} takes no actions of its own; write other")
        if (self.resolution == RELABEL) != (self.capability is not None):
            raise ValueError("capability belongs to relabel, and relabel needs it")
        if found := contradictions(self.valid_actions, self.forbidden_actions):
            raise ValueError(found)
        return self


# --- differences --------------------------------------------------------------------------------------------------


def differences(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Say in what answers differ: valid, args, flags, reply, forbidden. Reasons and order are no difference.

    Arguments and flags are compared on the tools that all of them accept, replies where all accept no tool: where one
    set lacks a member the difference is in the set.
    """
    shared = frozenset.intersection(*(answer.actions for answer in answers)) if answers else frozenset()

    def differ(seen: Callable[[Answer], object]) -> bool:
        return len({seen(answer) for answer in answers}) > 1

    def of_shared(seen: Callable[[ValidAction], object]) -> Callable[[Answer], object]:
        return lambda answer: frozenset(
            (action.tool, seen(action)) for action in answer.valid_actions if action.tool in shared
        )

    found = {
        "valid": differ(lambda answer: answer.actions),
        "args": differ(of_shared(lambda action: json.dumps(action.args, sort_keys=True))),
        "flags": differ(of_shared(lambda action: (action.required, action.repeat))),
        "reply": differ(of_shared(lambda action: action.reply)),
        "forbidden": differ(lambda answer: frozenset(answer.forbidden_actions)),
    }
    return tuple(name for name, is_so in found.items() if is_so)


def both_defensible(answers: Sequence[Answer]) -> bool:
    """Say whether every two sets of acceptable actions share one: each picked an action that the other accepts."""
    return all(one.actions & other.actions for one, other in combinations(answers, 2))


def union(answers: Sequence[Answer]) -> tuple[tuple[ValidAction, ...], tuple[str, ...]]:
    """Offer the union: every action that one of them accepts, in order; what any of them accepts is not forbidden."""
    valid: dict[str, ValidAction] = {}
    for answer in answers:
        for action in answer.valid_actions:
            valid.setdefault(action.model_dump_json(exclude={"reason"}), action)
    accepted = {action.tool for action in valid.values()}
    forbidden = dict.fromkeys(tool for answer in answers for tool in answer.forbidden_actions)
    return tuple(valid.values()), tuple(tool for tool in forbidden if tool not in accepted)


# --- the row that stands ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """What is labelled: a state of the traces or a written request."""

    id: str
    slice: str = "existing"
    state: State | None = None
    messages: tuple[dict[str, Any], ...] | None = None


def settle(subject: Subject, answers: Sequence[Answer], decision: Adjudication | None) -> LabelRow | None:
    """Give the row that stands; None where it was left out, where nobody answered, or where somebody has to decide.

    `answers` are in the order of the labellers' names. Where they do not differ the first one's stands, with its
    order of preference and its reasons.
    """
    given = [answer for answer in answers if not answer.skipped]
    if decision is None:
        return None if not given or differences(given) else _row(subject, given, given[0])
    if decision.resolution == LEAVE_OUT:
        return None
    if decision.resolution in WORDS:
        return _row(subject, given, decision)
    return _row(subject, given, next(answer for answer in given if answer.labeller == decision.resolution))


def _row(subject: Subject, given: Sequence[Answer], stands: Answer | Adjudication) -> LabelRow:
    people = [answer.labeller for answer in given]
    if not people and isinstance(stands, Adjudication):
        people = [stands.decided_by]
    return LabelRow(
        id=subject.id,
        state=subject.state,
        messages=subject.messages,
        valid_actions=stands.valid_actions,
        forbidden_actions=stands.forbidden_actions,
        labelled_by=tuple(people),
        slice=subject.slice,
    )


def latest(adjudications: Iterable[Adjudication]) -> dict[str, Adjudication]:
    """Give the decision that holds on each row: the last one written. Earlier ones are kept in the file."""
    return {one.id: one for one in adjudications}


# --- the work list ------------------------------------------------------------------------------------------------


def to_decide(answers: Mapping[str, Sequence[Answer]], adjudications: Iterable[Adjudication]) -> list[str]:
    """Name the rows on which somebody has to decide, in order of their ids."""
    decided = latest(adjudications)
    return sorted(
        row_id
        for row_id, of_row in answers.items()
        if row_id not in decided and differences([answer for answer in of_row if not answer.skipped])
    )


def work_item(subject: Subject, answers: Sequence[Answer]) -> dict[str, Any]:
    """Give one line of the work list: what was said, what is offered, and the fields to be filled in."""
    given = [answer for answer in answers if not answer.skipped]
    keep = {"exclude_defaults": True, "mode": "json"}
    item: dict[str, Any] = {
        "id": subject.id,
        "slice": subject.slice,
        "state": subject.state.model_dump(exclude_none=True, mode="json") if subject.state else None,
        "differs_in": "+".join(differences(given)),
        "answers": {
            answer.labeller: answer.model_dump(exclude={"id", "labelled_by"}, **keep)  # type: ignore[arg-type]
            for answer in given
        },
    }
    if both_defensible(given):
        valid, forbidden = union(given)
        item["union_offered"] = {
            "valid_actions": [_plain(action) for action in valid],
            "forbidden_actions": list(forbidden),
        }
    return {**item, "resolution": None, "reason": None, "decided_by": None, "date": None}


def _plain(action: ValidAction) -> dict[str, Any]:
    return {"tool": action.tool, **action.model_dump(exclude={"tool"}, exclude_defaults=True, mode="json")}
