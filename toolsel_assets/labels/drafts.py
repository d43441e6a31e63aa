"""A version before its release: which states are to be labelled, who has answered what, and the rows that follow.

What belongs here: beginning a version, where it stands, releasing it. What does not: the warehouse (commands.py),
how a row is settled (adjudication.py), the files' forms (versions.py).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolsel_assets.labels.adjudication import (
    RELABEL,
    UNION,
    Adjudication,
    Subject,
    latest,
    settle,
    to_decide,
    work_item,
)
from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.lines import parse, read_lines, write_lines
from toolsel_assets.labels.proposals import Proposal, may_be_seen, outside_of_all, read_proposals, shown
from toolsel_assets.labels.versions import (
    LabelSet,
    Record,
    check_adjudication,
    labeller_answers,
    read_adjudications,
    read_label_set,
    read_record,
    write_record,
)
from toolsel_assets.vocabulary.label import LabelRow, State
from toolsel_assets.vocabulary.problem import BadInput, known_names

#: How many ids an error names.
_SHOWN = 5


class Pinned(BaseModel):
    """A line of states.jsonl: a state that is to be labelled."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    slice: str = Field("existing", pattern=r"^(existing|new:[a-z0-9_+.-]+)$")
    state: State | None = None
    messages: tuple[dict[str, Any], ...] | None = Field(None, description="of a written request; else the traces' own")
    catalogue: str = Field("", description="the study's catalogue that the agent had; empty: all tools of the study")

    @property
    def subject(self) -> Subject:
        """What a row takes over."""
        return Subject(self.id, self.slice, self.state, self.messages)


@dataclass(frozen=True)
class Draft:
    """A version that is being labelled."""

    folder: Path
    record: Record
    states: Mapping[str, Pinned]
    answers: Mapping[str, tuple[Answer, ...]]
    adjudications: tuple[Adjudication, ...]
    parent: LabelSet | None = None
    proposals: Mapping[str, list[Proposal]] = field(default_factory=dict)

    @cached_property
    def by_state(self) -> dict[str, list[Answer]]:
        """Give the answers to each state, in the order of the labellers' names."""
        found: dict[str, list[Answer]] = defaultdict(list)
        for name in sorted(self.answers):
            for answer in self.answers[name]:
                found[answer.id].append(answer)
        return found

    @property
    def undecided(self) -> list[str]:
        """Name the states on which somebody has to decide."""
        return to_decide(self.by_state, self.adjudications)

    @property
    def unanswered(self) -> list[str]:
        """Name the states to which nobody gave an answer and on which nobody decided."""
        answered = {row_id for row_id, given in self.by_state.items() if any(not answer.skipped for answer in given)}
        return sorted(self.states.keys() - answered - latest(self.adjudications).keys())

    def work_list(self, *, second_look: bool = False) -> list[dict[str, Any]]:
        """Give what an adjudicator fills in: what labellers differ on, and what models proposed once all have answered.

        `second_look`: also the states on which they agree and every proposal is something that none of them accepts.
        """
        again = self.worth_a_second_look if second_look else []
        items = []
        for row_id in [*self.undecided, *again]:
            item = work_item(self.states[row_id].subject, self.by_state[row_id])
            if row_id in self.proposals and may_be_seen(row_id, self.answers):
                item = {"id": item["id"], "proposals": shown(self.proposals[row_id]), **item}
            items.append(item)
        return items

    @property
    def worth_a_second_look(self) -> list[str]:
        """Name the states on which labellers agree, nobody has decided, and all proposals are outside of their sets."""
        decided = latest(self.adjudications).keys() | set(self.undecided)
        return sorted(
            row_id
            for row_id, proposed in self.proposals.items()
            if row_id in self.states
            and row_id not in decided
            and may_be_seen(row_id, self.answers)
            and outside_of_all(proposed, self.by_state[row_id])
        )

    def rows(self) -> tuple[LabelRow, ...]:
        """Put the rows together: the parent's, with relabels, and those of this version's states. Sorted by id."""
        decided = latest(self.adjudications)
        rows = {row.id: _relabelled(row, decided.get(row.id)) for row in (self.parent.rows if self.parent else ())}
        for row_id, pinned in self.states.items():
            row = settle(pinned.subject, self.by_state.get(row_id, []), decided.get(row_id))
            if row is not None:
                rows[row_id] = row
        return tuple(row for _, row in sorted(rows.items()) if row is not None)


def _relabelled(row: LabelRow, decision: Adjudication | None) -> LabelRow | None:
    if decision is None:
        return row
    if not decision.valid_actions:
        return None  # left out from this version on
    stands = {"valid_actions": decision.valid_actions, "forbidden_actions": decision.forbidden_actions}
    return row.model_copy(update=stands)


def begin(folder: Path, record: Record, states: Iterable[Pinned]) -> None:
    """Begin a version: pin what is to be labelled."""
    if folder.exists():
        raise BadInput(str(folder), "there is a version of this name", "another name; a released version never changes")
    lines = [one.model_dump(mode="json", exclude_defaults=True) for one in states]
    write_record(folder, record)
    write_lines(folder / "states.jsonl", lines)


def read_draft(folder: Path, known_tools: frozenset[str]) -> Draft:
    """Read a version as it stands, released or not. The first mistake raises `BadInput`."""
    if not folder.is_dir():
        known = sorted(path.name for path in folder.parent.glob("*") if path.is_dir())
        raise BadInput(str(folder), "there is no such version", known_names(folder.name, known))
    record = read_record(folder)
    states = {one.id: one for _, one in read_lines(folder / "states.jsonl", Pinned, "one state")}
    answers = labeller_answers(folder, dict.fromkeys(states, known_tools))
    decisions = read_adjudications(folder, known_tools, answers)
    parent = read_label_set(folder.parent / record.parent, known_tools) if record.parent else None
    if parent and not parent.is_released:
        raise BadInput(str(folder / "version.yaml"), f"parent {parent.name} is not released", "a released version")
    inherited = {row.id for row in parent.rows} if parent else set()
    for one in decisions:
        if one.id not in states and one.id not in inherited:
            raise BadInput(str(folder / "adjudications.jsonl"), f"{one.id} is no row of this version or its parent")
        if one.resolution == RELABEL and one.id not in inherited:
            raise BadInput(
                str(folder / "adjudications.jsonl"), f"{one.id}: relabel, but the parent has no such row", "other"
            )
    return Draft(folder, record, states, answers, decisions, parent, read_proposals(folder))


def release(draft: Draft, today: date, *, without_unanswered: bool = False) -> LabelSet:
    """Release a version: write labels.jsonl and its hash. Errors name what is still open; then nothing is written."""
    where = str(draft.folder)
    if draft.record.content_hash:
        raise BadInput(where, f"released on {draft.record.released}", "toolsel label new NAME --parent ...")
    if open_ := draft.undecided:
        raise BadInput(
            where,
            f"labellers differ on {_named(open_)}, and nobody has decided",
            f"toolsel label adjudicate {draft.folder.name}",
        )
    if draft.unanswered and not without_unanswered:
        raise BadInput(
            where, f"nobody answered {_named(draft.unanswered)}", "answers, or --without-unanswered to leave them out"
        )
    rows = draft.rows()
    if not rows:
        raise BadInput(where, "no row would be in it", "answers to its states, or a parent with rows")
    inherited = draft.parent.record.labellers if draft.parent else ()
    people = {*inherited, *draft.answers, *(name for row in rows for name in row.labelled_by)}
    record = draft.record.model_copy(update={"labellers": tuple(sorted(people)), "released": today})
    found = LabelSet(draft.folder.name, rows, record, draft.adjudications, draft.answers)
    write_lines(draft.folder / "labels.jsonl", (_line(row) for row in rows))
    write_record(draft.folder, record.model_copy(update={"content_hash": found.content_hash}))
    return found


def release_by_hand(found: LabelSet, folder: Path, today: date) -> LabelSet:
    """Release a set whose labels.jsonl was written by hand: its hash is noted, and from then on it never changes."""
    if found.is_released:
        raise BadInput(str(folder), f"released on {found.record.released}", "toolsel label new NAME --parent ...")
    people = tuple(sorted({name for row in found.rows for name in row.labelled_by}))
    record = found.record.model_copy(update={"labellers": people, "released": today})
    version = LabelSet(found.name, found.rows, record, found.adjudications, found.answers)
    write_record(folder, record.model_copy(update={"content_hash": version.content_hash}))
    return version


def _line(row: LabelRow) -> dict[str, Any]:
    """Give the row as the essay writes it; null of an action's tool is a value, other absent values are left out."""
    line = row.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    actions = [
        {"tool": action.tool, **action.model_dump(mode="json", exclude={"tool"}, exclude_defaults=True)}
        for action in row.valid_actions
    ]
    return {**line, "valid_actions": actions, "forbidden_actions": list(row.forbidden_actions), "slice": row.slice}


class WorkLine(BaseModel):
    """A line of the work list, filled in or not; what it means is Adjudication's."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = Field(min_length=1)
    resolution: str | None = None
    valid_actions: list[dict[str, Any]] = []
    union_offered: dict[str, Any] | None = None


#: What a work list shows, beside what is to be filled in.
_CONTEXT = ("slice", "state", "answers", "union_offered", "proposals")


def read_work_list(
    path: Path, draft: Draft, known_tools: frozenset[str], decided_by: str | None, today: date
) -> list[Adjudication]:
    """Read a work list that was filled in, all of it or nothing. Lines without a resolution are still open.

    `decided_by` and `today` stand where a line leaves them open. `union` takes over what was offered: by writing the
    word down, somebody has chosen it.
    """
    given = {name: {answer.id for answer in of_one if not answer.skipped} for name, of_one in draft.answers.items()}
    inherited = {row.id for row in draft.parent.rows} if draft.parent else set()
    found: list[Adjudication] = []
    for where, line in read_lines(path, WorkLine, "one decision"):
        if line.resolution is None:
            continue
        values = line.model_dump(exclude=set(_CONTEXT), exclude_none=True)
        if line.resolution == UNION and not line.valid_actions:
            values |= line.union_offered or {}
        values = {"decided_by": decided_by, "date": today, **values}
        one = parse(Adjudication, {key: value for key, value in values.items() if value is not None}, where)
        check_adjudication(one, where, known_tools, given)
        if one.id not in draft.states and one.id not in inherited:
            raise BadInput(where, f"{one.id} is no row of {draft.folder.name}", "the ids of the work list")
        if any(one.id == other.id for other in found):
            raise BadInput(where, f"{one.id} for the second time", "one decision a row")
        found.append(one)
    return found


def _named(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
    return f"{len(ids)} state{'s' if len(ids) > 1 else ''} ({shown})"
