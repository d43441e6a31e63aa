"""The agent `recorded`: answers with what was recorded. Nothing is asked, so there is nothing to permute.

Without parameters: what the traces logged for a request. With `answers`: what a file of the study holds, one JSON line
an answer, `{"id": ..., "answer": ...}` in a form of recorded_answers.py; optional beside it `input_tokens`,
`output_tokens`, `latency_ms`. So that each rung of a ladder of models answers with its own model's.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from toolsel_assets.replays.agents import AgentSetup, Choice, NoSettings, Question
from toolsel_assets.replays.recorded_answers import parse_answer
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.problem import BadInput

ASKED = False
Settings = NoSettings

#: What is known of an answer beside the answer.
MEASURED = ("input_tokens", "output_tokens", "latency_ms")

_LINE = '{"id": "...", "answer": "[f(a=1)]" or [{"f": {"a": 1}}]}'


class Params(BaseModel):
    """Where the answers are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answers: str | None = Field(
        None,
        min_length=1,
        description="a file of the study, with or without .jsonl, or a folder that has <model>.jsonl for the rung's "
        "model; absent: what the traces logged",
    )

    @field_validator("answers")
    @classmethod
    def _a_study_is_one_folder(cls, value: str | None) -> str | None:
        if value is not None and (Path(value).is_absolute() or ".." in Path(value).parts):
            raise ValueError(f"{value} is outside the study")
        return value


class Logged:
    """Looks up what the traces logged."""

    def choose(self, question: Question) -> Choice:
        """Give the logged choice; a request without one is `unknown`, never "no tool"."""
        logged = question.request.logged
        return logged or Choice((), Status.UNKNOWN, detail="the traces hold no decision of this id")


class Recorded:
    """Looks up what a file holds."""

    def __init__(self, choices: Mapping[str, Choice], file: str) -> None:
        """Take the choices by the requests' ids."""
        self.choices, self.file = choices, file

    def choose(self, question: Question) -> Choice:
        """Give the recorded choice; a request without one is `unknown`, never "no tool"."""
        found = self.choices.get(question.request.request_id)
        return found or Choice((), Status.UNKNOWN, detail=f"{self.file} holds no answer of this id")


def make(setup: AgentSetup) -> Logged | Recorded:
    """Make the agent of a rung."""
    for path in reads(setup):
        return Recorded(dict(_choices(path, setup.model)), path.name)
    return Logged()


def reads(setup: AgentSetup) -> tuple[Path, ...]:
    """Name the file that the answers come from: one, or none without the parameter."""
    if setup.params.answers is None:
        return ()
    place = setup.folder / setup.params.answers
    tried = [place, place.with_name(f"{place.name}.jsonl")]
    tried += [place / f"{setup.model}.jsonl"] if setup.model else []
    found = next((path for path in tried if path.is_file()), None)
    if found is None:
        raise BadInput(
            f"agent recorded, answers: {setup.params.answers}",
            f"there is no file {' nor '.join(str(path.relative_to(setup.folder)) for path in tried)}",
            "a file of the study, or a folder with a file for each rung's model",
        )
    return (found,)


def _choices(path: Path, model: str | None) -> Iterator[tuple[str, Choice]]:
    seen: set[str] = set()
    try:
        # Not splitlines(), which also splits at U+2028 and its kind, which JSON leaves inside texts.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise BadInput(str(path), f"byte {error.start} is no UTF-8 text", _LINE) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = _row(line, where)
        if row["id"] in seen:
            raise BadInput(where, f"id {row['id']} for the second time", "each request once")
        seen.add(row["id"])
        choice = parse_answer(row["answer"])
        measures = {name: row[name] for name in MEASURED if _is_number(row.get(name))}
        yield row["id"], Choice(choice.action, choice.status, True, model, choice.detail, measures)


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(where, f"not JSON: {error}", _LINE) from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or "answer" not in row:
        raise BadInput(where, "no object with id and answer", _LINE)
    return row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
