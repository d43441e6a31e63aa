"""Answers as CSV: a sheet to fill in, and what was filled in as lines of JSONL.

What belongs here: columns, cells, delimiters, quoting. What does not: bytes and encodings, and checks that answers of
every form need, such as catalogues and missing states (answer_files.py).
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolsel_assets.labels.label_studio import State, actions_of
from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.chat import text_of
from toolsel_assets.vocabulary.problem import BadInput, known_names

NEEDED = ("id", "valid_actions")
#: The columns that are read, and those of the sheet that are there to be looked at.
COLUMNS = (*NEEDED, "reply", "forbidden_actions", "reason", "note", "skipped", "unsure", "labelled_by")
SHOWN = ("last_message", "tools")
_MESSAGE_LENGTH = 200

_DELIMITERS = (",", ";", "\t")
_YES, _NO = ("yes", "true", "x", "1"), ("", "no", "false", "0")
#: A spreadsheet takes a cell that begins so for a formula; tab and carriage return are skipped before it looks.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


# --- out ----------------------------------------------------------------------------------------------------------


def write_csv(states: Sequence[State]) -> str:
    """Write a sheet to fill in: a state a line, with its last message and the names of its tools."""
    target = io.StringIO()
    target.write("\ufeff")  # without it Excel takes UTF-8 for the machine's own code page
    writer = csv.writer(target, lineterminator="\n")
    empty = COLUMNS[1:]
    writer.writerow(["id", *SHOWN, *empty])
    for state in states:
        last = " ".join(text_of(state.messages[-1].get("content")).split()) if state.messages else ""
        shown = (state.id, last[:_MESSAGE_LENGTH], "|".join((NO_TOOL, *state.tools)))
        writer.writerow([*map(_defused, shown), *("" for _ in empty)])
    return target.getvalue()


def _defused(cell: str) -> str:
    """Keep a spreadsheet from running a message as a formula.

    An apostrophe and no refusal: messages are other people's text, and a sheet of a thousand states should not fail for
    one that begins with a hyphen. It is taken off again when the sheet is read, so that an id stays what it is.
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _as_meant(cell: str) -> str:
    cell = cell.strip()
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA) else cell


# --- in -----------------------------------------------------------------------------------------------------------


def read_csv(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]] | BadInput]:
    """Give each line that was filled in as (place, line of JSONL), or why it is none.

    A line on which nothing but the shown columns was filled in is a state without an answer.
    """
    rows = _rows(text, where)
    number, header = next(rows)
    names = [cell.strip().casefold() for cell in header]
    while names and not names[-1]:
        names.pop()
    _check_header(names, f"{where}, line {number}")
    for number, cells in rows:
        place = f"{where}, line {number}"
        if len(cells) < len(names) or any(cell.strip() for cell in cells[len(names) :]):
            told = f"{len(cells)} cells, the header has {len(names)}"
            yield BadInput(place, told, "as many cells as columns; a cell with the delimiter in it stands in quotes")
            continue
        row = {name: _as_meant(cell) for name, cell in zip(names, cells, strict=False) if name in COLUMNS}
        try:
            if line := _line(row, place):
                yield place, line
        except BadInput as error:
            yield error


def _rows(text: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Give (number of the first line, cells) of each row that is not blank."""
    first = next(line for line in text.splitlines() if line.strip())
    delimiter = max(_DELIMITERS, key=lambda one: sum(_bare(name) in COLUMNS for name in first.split(one)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            told = f"quotes that do not pair: {error}" if "field larger" not in str(error) else str(error)
            raise BadInput(
                f"{where}, line {number}", told, 'a cell with quotes in it stands in quotes, and they are doubled: ""'
            ) from error
        if any(cell.strip() for cell in cells):
            yield number, cells


def _bare(name: str) -> str:
    return name.strip().strip('"').casefold()


def _check_header(names: Sequence[str], place: str) -> None:
    if "annotator" in names or "annotation_id" in names:
        raise BadInput(
            place, "a CSV export of Label Studio, which leaves skips out", "the same project exported as JSON"
        )
    if not set(names) & set(COLUMNS):
        shown = ", ".join(names)
        raise BadInput(
            place,
            f"neither JSON nor a header of CSV: {shown[:60]!r}",
            f"JSON lines, one answer a line; a JSON export of Label Studio; CSV with the columns {', '.join(COLUMNS)}",
        )
    if unknown := [name for name in names if name not in (*COLUMNS, *SHOWN)]:
        told = "a column without a name" if not unknown[0] else f"column {unknown[0]!r}"
        raise BadInput(place, told, known_names(unknown[0], COLUMNS))
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(place, f"column {twice[0]} for the second time", "each column once")
    if missing := [name for name in NEEDED if name not in names]:
        raise BadInput(place, f"no column {' and no column '.join(missing)}", f"columns: {', '.join(COLUMNS)}")


def _line(row: Mapping[str, str], place: str) -> dict[str, Any] | None:
    if not row["id"]:
        raise BadInput(place, "no id", "the id of a state")
    said = {name: value for name, value in row.items() if name not in ("id", "labelled_by") and value}
    skipped, unsure = (_truth(name, row.get(name, ""), place) for name in ("skipped", "unsure"))
    if not said.keys() - {"skipped", "unsure"} and not skipped and not unsure:
        return None  # not answered, if perhaps signed already
    line: dict[str, Any] = {"id": row["id"], "skipped": skipped, "unsure": unsure, "note": row.get("note") or None}
    if row.get("labelled_by"):
        line["labelled_by"] = [row["labelled_by"]]
    line["forbidden_actions"] = _parts(row.get("forbidden_actions", ""))
    if not row["valid_actions"] and not skipped:
        raise BadInput(
            place,
            "an empty set of acceptable actions",
            f"{NO_TOOL} for calling nothing, or yes in skipped for no answer",
        )
    return {**line, "valid_actions": _actions(row, place)}


def _actions(row: Mapping[str, str], place: str) -> list[Any]:
    cell, replies, reason = row["valid_actions"], _parts(row.get("reply", "")), row.get("reason", "")
    if not cell.startswith("["):
        return list(actions_of(_parts(cell), replies, place, reason=reason)) if cell else []
    try:
        actions = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise BadInput(place, f"valid_actions: not JSON: {error}", '[{"tool": "name", "args": {...}}, ...]') from error
    if not actions:
        raise BadInput(place, "an empty set of acceptable actions", '[{"tool": null}] for calling nothing')
    if replies:
        raise BadInput(place, "reply beside a JSON list of actions", '{"tool": null, "reply": ...} within the list')
    if not all(isinstance(action, dict) for action in actions):
        raise BadInput(place, "valid_actions: a JSON list whose items are no objects", '[{"tool": "name"}, ...]')
    return [{**({"reason": reason} if reason else {}), **action} for action in actions]


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def _truth(name: str, cell: str, place: str) -> bool:
    if cell.casefold() not in (*_YES, *_NO):
        raise BadInput(place, f"{name}: {cell!r}", f"{', '.join(_YES)}; or {', '.join(_NO[1:])}, or nothing")
    return cell.casefold() in _YES
