"""Labellers' files: recognised by content, checked, and read whole or not at all.

What belongs here: which form a file has, and every check on answers that does not depend on the form: ids, catalogues,
names, what is missing, what is there twice. What does not: how a form says an answer (csv_form.py, label_studio.py;
both give lines as JSONL has them), what an answer is (answers.py), where an accepted file goes (commands.py).
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.csv_form import read_csv
from toolsel_assets.labels.label_studio import read_export
from toolsel_assets.labels.lines import json_value, parse
from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.problem import BadInput, known_names

ACCEPTED = "JSON lines, one answer a line; a JSON export of Label Studio; CSV with the columns id and valid_actions"
#: How many problems of a file an error lists, and how many ids one problem names.
_LISTED, _IDS = 10, 3

#: What a form gives for one answer: (place, line as in JSONL), or why it is none.
Line = tuple[str, dict[str, Any]] | BadInput

_MAGIC = {
    b"PK\x03\x04": "a zip file, as spreadsheets are (xlsx, ods)",
    b"\xd0\xcf\x11\xe0": "an Excel file (xls)",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


def read_answers(
    path: Path,
    states: Mapping[str, frozenset[str]],
    *,
    labeller: str | None = None,
    users: Mapping[str, str] | None = None,
    partial: bool = False,
    version: str | None = None,
) -> list[Answer]:
    """Read a labeller's file, or raise `BadInput` that lists what is wrong with it.

    `states` maps the id of every state to the tools that the agent had there. `labeller` fills in missing names and
    must equal those present; `users` names Label Studio's users by id or e-mail. Only a Label Studio export may hold
    several labellers. `partial` allows states without an answer; `version` refuses tasks of another label set version.
    """
    text = _text(path)
    start = text.lstrip()[:1]
    if start == "{":
        lines: Iterable[Line] = _json_lines(text, str(path))
    elif start == "[":
        lines = read_export(_document(text, str(path)), str(path), users or {}, labeller=labeller, version=version)
    else:
        lines = read_csv(text, str(path))
    return _checked(list(lines), str(path), states, labeller, partial=partial, several=start == "[")


# --- bytes and forms ----------------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(str(path), f"cannot be read: {error.strerror}", ACCEPTED) from error
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise BadInput(str(path), what, "save it as CSV (in Excel: CSV UTF-8)")
    if b"\0" in data:
        raise BadInput(str(path), "no text: it holds zero bytes, as UTF-16 does", "UTF-8 (in Excel: CSV UTF-8)")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{path}, line {line}",
            f"byte {data[error.start]:#04x} is no UTF-8; the file may be in Latin-1 or a code page of Windows, where "
            "the same byte means different letters",
            "UTF-8 (in Excel: CSV UTF-8)",
        ) from error
    if not text.strip():
        raise BadInput(str(path), "the file is empty", ACCEPTED)
    return text


def _json_lines(text: str, where: str) -> Iterator[Line]:
    # Not splitlines(), which also splits at U+2028 and others that JSON leaves as they are within a string.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    for number, line in lines:
        place = f"{where}, line {number}"
        try:
            value = json_value(line)
        except (ValueError, RecursionError) as error:
            if number == lines[-1][0] and not text.endswith("\n"):
                yield BadInput(
                    place, f"the file is cut: its last line is not all of an answer ({error})", "a whole file"
                )
            else:
                yield BadInput(place, f"not JSON: {error}", "one answer a line, as JSON")
            continue
        yield (place, value) if isinstance(value, dict) else BadInput(place, "no JSON object", "one answer a line")


def _document(text: str, where: str) -> list[Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg:
            raise BadInput(
                f"{where}, line {error.lineno}", f"the file is cut: {error.msg}", "a whole export"
            ) from error
        raise BadInput(f"{where}, line {error.lineno}", f"not JSON: {error.msg}", ACCEPTED) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(where, f"not JSON: {error}", ACCEPTED) from error
    if not isinstance(document, list):
        raise BadInput(where, "more than a JSON list", ACCEPTED)
    return document


# --- checks -------------------------------------------------------------------------------------------------------


def _checked(
    lines: Sequence[Line],
    where: str,
    states: Mapping[str, frozenset[str]],
    labeller: str | None,
    *,
    partial: bool,
    several: bool,
) -> list[Answer]:
    problems = [line for line in lines if isinstance(line, BadInput)]
    found = [line for line in lines if not isinstance(line, BadInput)]
    problems += _wrong_ids(found, where, states)
    found, wrong_names = _named(found, where, labeller, several=several)
    problems += wrong_names
    answers: list[Answer] = []
    first: dict[tuple[str, str], str] = {}
    for place, value in found:
        try:
            answer = _answer(value, place, states.get(str(value.get("id"))))
        except BadInput as error:
            problems.append(error)
            continue
        key = (answer.labeller, answer.id)
        if key in first:
            twice = f"{answer.id} for the second time, the first is {first[key].removeprefix(where).lstrip(', ')}"
            problems.append(BadInput(place, twice, "one answer to a state"))
        first.setdefault(key, place)
        answers.append(answer)
    if not problems:
        problems += _missing(answers, where, states, partial=partial)
    refuse(problems, where)
    return answers


def refuse(problems: Sequence[BadInput], where: str) -> None:
    """Raise one `BadInput` for all problems, if there are any."""
    if not problems:
        return
    if len(problems) == 1:
        raise problems[0]
    shown = [str(one).removeprefix(where).lstrip(",: ") for one in problems[:_LISTED]]
    further = len(problems) - _LISTED
    if further > 0:
        shown.append(f"and {further} further problem{'s' if further > 1 else ''}")
    raise BadInput(where, "\n  ".join([f"{len(problems)} problems, so that nothing was taken from it:", *shown]))


def _wrong_ids(found: Sequence[tuple[str, dict[str, Any]]], where: str, states: Mapping[str, Any]) -> list[BadInput]:
    ids = [str(value["id"]) for _, value in found if value.get("id")]
    wrong = list(dict.fromkeys(one for one in ids if one not in states))
    if not wrong:
        return []
    if len(wrong) == len(set(ids)):
        told = (
            f"this file answers other states: none of its {_count(len(wrong), 'id')} is one of this label set version"
        )
    else:
        told = f"{_count(len(wrong), 'id')} of {len(set(ids))} are no states of this label set version"
    return [
        BadInput(where, f"{told}: {_some(wrong)}", f"the {len(states)} states of the version: {_some(list(states))}")
    ]


def _named(
    found: Sequence[tuple[str, dict[str, Any]]], where: str, labeller: str | None, *, several: bool
) -> tuple[list[tuple[str, dict[str, Any]]], list[BadInput]]:
    """Fill in missing names; problems are told once a name and not once a line."""
    named: list[tuple[str, dict[str, Any]]] = []
    places: dict[str | None, list[str]] = defaultdict(list)
    for place, value in found:
        # The labeller as bare text is what CSV has, and what a person writes.
        given = value.get("labelled_by")
        names = [given] if isinstance(given, str) else given
        if not names:
            names = [labeller] if labeller else []
            places[None].append(place)
        elif isinstance(names, list):
            for name in names:
                places[str(name)].append(place)
        named.append((place, {**value, "labelled_by": names}))
    nameless = [] if labeller else places.pop(None, [])
    places.pop(None, None)
    problems = []
    if nameless:
        told = f"no labeller's name in labelled_by ({_count(len(nameless), 'answer')})"
        problems.append(BadInput(nameless[0], told, "labelled_by, or --labeller NAME"))
        named = [(place, value) for place, value in named if value["labelled_by"]]
    if labeller:
        problems += [
            BadInput(
                of_one[0], f"labelled_by is {name} ({_count(len(of_one), 'answer')})", f"{labeller}, as --labeller"
            )
            for name, of_one in places.items()
            if name != labeller
        ]
    elif len(places) > 1 and not several:
        people = ", ".join(f"{name} ({len(of_one)})" for name, of_one in places.items())
        problems.append(BadInput(where, f"{len(places)} labellers in one file: {people}", "one file a labeller"))
    return named, problems


def _answer(value: dict[str, Any], place: str, tools: frozenset[str] | None) -> Answer:
    if tools is not None:
        _known_actions(value, place, tools)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise BadInput(place, "half a character (a lone surrogate) in its text", "text that UTF-8 can write") from error
    except ValueError as error:
        raise BadInput(place, "NaN or Infinity, which are no JSON", "a number, or text") from error
    answer = parse(Answer, value, place)
    if answer.labelled_at and answer.labelled_at.tzinfo is None:
        answer = answer.model_copy(update={"labelled_at": answer.labelled_at.replace(tzinfo=UTC)})
    return answer


def _known_actions(value: Mapping[str, Any], place: str, tools: frozenset[str]) -> None:
    """Refuse names that the state's catalogue lacks, all of the line at once."""
    unknown = {
        name: f"valid_actions: {name!r}"
        for action in _list(value.get("valid_actions"))
        if isinstance(action, Mapping) and isinstance(name := action.get("tool"), str) and name not in tools
    }
    forbidden = _list(value.get("forbidden_actions"))
    if None in forbidden or NO_TOOL in forbidden:
        raise BadInput(
            place, "forbidden_actions: calling nothing cannot be forbidden", "leave it out of valid_actions; tools only"
        )
    unknown |= {
        name: f"forbidden_actions: {name!r}" for name in forbidden if isinstance(name, str) and name not in tools
    }
    if not unknown:
        return
    if NO_TOOL in unknown:
        raise BadInput(place, f"valid_actions: {NO_TOOL!r} as a tool's name", 'no tool is {"tool": null} in JSON')
    told = f"{', '.join(unknown.values())}: no such tool in the catalogue of this state"
    by_closeness = sorted(unknown, key=lambda name: not get_close_matches(name, tools, n=1))
    raise BadInput(place, told, known_names(by_closeness[0], (*tools, NO_TOOL)))


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _missing(answers: Sequence[Answer], where: str, states: Mapping[str, Any], *, partial: bool) -> list[BadInput]:
    if not answers:
        return [BadInput(where, f"no answer to any of the {_count(len(states), 'state')}", "one answer at least")]
    if partial:
        return []
    problems = []
    for name in dict.fromkeys(answer.labeller for answer in answers):
        answered = {answer.id for answer in answers if answer.labeller == name}
        if missing := [one for one in states if one not in answered]:
            told = f"half-finished: {name} has no answer to {len(missing)} of {_count(len(states), 'state')}"
            problems.append(BadInput(where, f"{told}: {_some(missing)}", "--partial takes what is there"))
    return problems


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_IDS]) + (", ..." if len(ids) > _IDS else "")
