"""A label set version as rows of the stage's tables.

What belongs here: how values of this stage read in a table. What does not: the tables' columns (tables.py), where the
messages of a state come from (assets.py).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from toolsel_assets.labels.adjudication import RELABEL, Adjudication, both_defensible, differences, latest
from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.versions import LabelSet
from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.label import LabelRow, RowClass, ValidAction

Row = dict[str, Any]


def joined(names: Iterable[str]) -> str:
    """Write a set as the tables do: sorted, each once, joined by |."""
    return "|".join(sorted(set(names)))


def utc(time: datetime | None) -> datetime | None:
    """Give a time as the tables have it: UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None) if time is not None and time.tzinfo else time


def action_names(actions: Sequence[ValidAction]) -> str:
    """Name a set of acceptable actions, (no tool) included."""
    return joined(action.tool or NO_TOOL for action in actions)


def replies(actions: Sequence[ValidAction]) -> str:
    """Name the kinds of message that may take a call's place."""
    return joined(action.reply for action in actions if action.reply)


def label_set_row(found: LabelSet, parent: str, times: Sequence[datetime], n_sampled: int, *, is_used: bool) -> Row:
    """Give the row of label_sets, without study and version."""
    classes, record = found.class_counts(), found.record
    people = {*record.labellers, *found.answers, *(name for row in found.rows for name in row.labelled_by)}
    decided = latest(found.adjudications).values()
    window = record.window
    return {
        "name": found.name,
        "content_hash": found.content_hash,
        "parent_version": parent,
        "is_released": found.is_released,
        "released_on": record.released,
        "is_used": is_used,
        "n_rows": len(found.rows),
        **{f"n_{name}": classes[name] for name in RowClass},
        "n_sampled": n_sampled,
        "n_labellers": len(people),
        "labelled_by": joined(people),
        "n_adjudicated": len(decided),
        "n_relabelled": sum(one.resolution == RELABEL for one in decided),
        "window_from": utc(window.since) if window else None,
        "window_until": utc(window.until) if window else None,
        "sample": record.sample.model_dump_json(exclude_defaults=True) if record.sample else "",
        "newest_decided_at": max(times, default=None),
    }


def label_row(row: LabelRow) -> Row:
    """Give the row of label_rows."""
    return {
        "request_id": row.id,
        "slice": row.slice,
        "row_class": str(row.row_class),
        "expected": row.expected,
        "valid_tools": action_names(row.valid_actions),
        "forbidden_tools": joined(row.forbidden_actions),
        "reply": replies(row.valid_actions),
        "labelled_by": "|".join(row.labelled_by),
        "label": row.model_dump_json(exclude={"messages", "tools"}, exclude_none=False),
    }


def label_actions(row: LabelRow) -> Iterator[Row]:
    """Yield the rows of label_actions."""
    for position, action in enumerate(row.valid_actions):
        args = "" if action.args is None else json.dumps(action.args, ensure_ascii=False)
        extra = {"is_forbidden": False, "args": args, "reply": action.reply, "reason": action.reason}
        yield {"request_id": row.id, "position": position, "action": action.tool or NO_TOOL, **extra}
    for position, tool in enumerate(row.forbidden_actions, start=len(row.valid_actions)):
        yield {"request_id": row.id, "position": position, "action": tool, "is_forbidden": True, "args": ""}


def answer_row(answer: Answer) -> Row:
    """Give the row of labeller_answers."""
    return {
        "request_id": answer.id,
        "labeller": answer.labeller,
        "is_skipped": answer.skipped,
        "is_unsure": answer.unsure,
        "valid_tools": action_names(answer.valid_actions),
        "forbidden_tools": joined(answer.forbidden_actions),
        "reply": replies(answer.valid_actions),
        "labelled_at": utc(answer.labelled_at),
        "seconds": answer.seconds,
        "note": answer.note,
        "answer": answer.model_dump_json(exclude_none=True),
    }


def adjudication_rows(decisions: Sequence[Adjudication]) -> Iterator[Row]:
    """Yield the rows of adjudications."""
    holding = latest(decisions)
    for position, one in enumerate(decisions):
        yield {
            "request_id": one.id,
            "position": position,
            "holds": holding[one.id] is one,
            "resolution": one.resolution,
            "valid_tools": action_names(one.valid_actions),
            "forbidden_tools": joined(one.forbidden_actions),
            "differs_in": one.differs_in,
            "both_defensible": one.both_defensible,
            "capability": one.capability,
            "reason": one.reason,
            "decided_by": one.decided_by,
            "decided_on": one.date,
        }


def disagreement_rows(found: LabelSet) -> Iterator[Row]:
    """Yield the rows of disagreements."""
    decided = latest(found.adjudications)
    for a, b, differs_in in disagreements(found.answers):
        decision = decided.get(a.id)
        yield {
            "request_id": a.id,
            "labeller_a": a.labeller,
            "labeller_b": b.labeller,
            "differs_in": "+".join(differs_in),
            "valid_a": action_names(a.valid_actions),
            "valid_b": action_names(b.valid_actions),
            "forbidden_a": joined(a.forbidden_actions),
            "forbidden_b": joined(b.forbidden_actions),
            "both_defensible": both_defensible((a, b)),
            "resolution": decision.resolution if decision else "",
            "decided_by": decision.decided_by if decision else None,
            "reason": decision.reason if decision else None,
        }


def disagreements(answers: Mapping[str, Sequence[Answer]]) -> Iterator[tuple[Answer, Answer, tuple[str, ...]]]:
    """Yield every two answers to one state that differ, and in what."""
    given = {name: {one.id: one for one in of_one if not one.skipped} for name, of_one in sorted(answers.items())}
    for a, b in combinations(given, 2):
        for state in sorted(given[a].keys() & given[b].keys()):
            if found := differences((given[a][state], given[b][state])):
                yield given[a][state], given[b][state], found
