"""Proposals of a model for the states of a version: labels/<version>/proposals/<name>.jsonl, one line a state.

What belongs here: their file, and where they may be seen. What does not: asking the model (replays/proposing.py).

A proposal is no answer: it is in no labeller's file, counts in no agreement and settles no row. It may be seen only
after people have said what they think, since a suggestion that stands beside a question is most of its answer: in the
adjudicator's work list, and there for states alone that every labeller of the version has answered or skipped.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.lines import read_lines, write_lines


class Proposed(BaseModel):
    """One thing that was proposed: calling a tool, or nothing (null), and how often."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str | None
    times: int = Field(ge=1)


class Proposal(BaseModel):
    """A line of the file: what a model chose in one state, asked several times in as many orders of the tools."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    proposed_by: str = Field(description="model:<identifier>, or program:<name>: never a person")
    asked: int = Field(ge=1)
    actions: tuple[Proposed, ...] = Field((), description="most frequent first; empty when nothing usable came back")
    on: date


def write_proposals(folder: Path, name: str, proposals: Iterable[Proposal]) -> Path:
    """Write the proposals of one model, in the order of their ids; an earlier file of the same model is replaced."""
    path = folder / "proposals" / f"{name}.jsonl"
    write_lines(path, (one.model_dump(mode="json") for one in sorted(proposals, key=lambda one: one.id)))
    return path


def read_proposals(folder: Path) -> dict[str, list[Proposal]]:
    """Read all proposals of a version, by state."""
    found: dict[str, list[Proposal]] = {}
    for path in sorted((folder / "proposals").glob("*.jsonl")):
        for _, one in read_lines(path, Proposal, "one state's proposal"):
            found.setdefault(one.id, []).append(one)
    return found


def may_be_seen(row_id: str, answers: Mapping[str, Sequence[Answer]]) -> bool:
    """Say whether every labeller of a version has answered a state, or skipped it. Without labellers: no."""
    return bool(answers) and all(any(one.id == row_id for one in given) for given in answers.values())


def shown(proposals: Sequence[Proposal]) -> list[dict[str, Any]]:
    """Give proposals as a work list shows them."""
    return [one.model_dump(mode="json", exclude={"id"}) for one in proposals]


def outside_of_all(proposals: Sequence[Proposal], given: Sequence[Answer]) -> bool:
    """Say whether the action proposed most is one that no labeller accepts: a reason to look again, and no more."""
    accepted = {action.tool for answer in given if not answer.skipped for action in answer.valid_actions}
    first = [one.actions[0].tool for one in proposals if one.actions]
    return bool(accepted) and bool(first) and all(tool not in accepted for tool in first)
