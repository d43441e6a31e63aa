"""Label set versions: labels/<version>/, what belongs to one, and the hash that is its identity.

    version.yaml           the record: parent, sample definition, window of traffic; once released its content hash
    states.jsonl           what was to be labelled, pinned when the version was begun
    labellers/<name>.jsonl what each labeller said
    adjudications.jsonl    what was decided where they differed, and relabels
    labels.jsonl           what stands: one labelled request a line

What belongs here: reading and linting a version, its hash, and that a released one is never changed. What does not:
what one row means (vocabulary/label.py), how rows come about (adjudication.py, drafts.py). A version that has a
labels.jsonl alone is a set made by hand: usable, and not released.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

from toolsel_assets.labels.adjudication import WORDS, Adjudication
from toolsel_assets.labels.answer_files import read_answers
from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.lines import read_lines, write_text
from toolsel_assets.study import read_yaml
from toolsel_assets.vocabulary.label import LabelRow, RowClass
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.sampling import SampleSpec


class Window(BaseModel):
    """The traffic that the sample was drawn from: its oldest and its newest decision, UTC."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    since: datetime | None = Field(None, alias="from")
    until: datetime | None = None


class Record(BaseModel):
    """version.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parent: str | None = Field(None, description="the version that it goes on from: its rows are taken over")
    sample: SampleSpec | None = Field(None, description="how its states were drawn")
    window: Window | None = None
    labellers: tuple[str, ...] = Field((), description="who labelled, this version's and its parent's")
    released: date | None = None
    content_hash: str | None = Field(None, description="of a released version: it is never changed")


@dataclass(frozen=True)
class LabelSet:
    """A label set: its folder's name, its rows sorted by id, and what they came from."""

    name: str
    rows: tuple[LabelRow, ...]
    record: Record = field(default_factory=Record)
    adjudications: tuple[Adjudication, ...] = ()
    answers: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)

    @cached_property
    def content_hash(self) -> str:
        """Hash rows, sample definition and adjudications, whatever their order in the files: 64 hexadecimal digits."""
        lines = [row.model_dump_json() for row in self.rows]
        lines.append(self.record.sample.model_dump_json() if self.record.sample else "no sample")
        lines += sorted(one.model_dump_json() for one in self.adjudications)
        return sha256("\n".join(lines).encode()).hexdigest()

    @property
    def version(self) -> str:
        """Name the version by folder and content, so that an edited file is another version."""
        return f"{self.name}@{self.content_hash[:8]}"

    @property
    def is_released(self) -> bool:
        """Whether it is released."""
        return self.record.content_hash is not None

    def class_counts(self) -> Counter[RowClass]:
        """Count the rows of each class."""
        return Counter(row.row_class for row in self.rows)


def version_names(labels: Path) -> list[str]:
    """List the versions that have rows, a study's folder `labels` given. Two names may not differ by case alone."""
    names = sorted(path.parent.name for path in labels.glob("*/labels.jsonl"))
    by_lower = Counter(name.lower() for name in names)
    for name in names:
        if by_lower[name.lower()] > 1:
            raise BadInput(str(labels / name), "another version has the same name but for case", "one name a version")
    return names


def read_label_set(folder: Path, known_tools: frozenset[str]) -> LabelSet:
    """Read labels/<version>. The first mistake raises `BadInput` with file and line."""
    rows: dict[str, LabelRow] = {}
    for where, row in read_lines(folder / "labels.jsonl", LabelRow, "one labelled request"):
        _lint(row, where, known_tools)
        if row.id in rows:
            raise BadInput(where, f"id {row.id} for the second time", "each request once")
        rows[row.id] = row
    if not rows:
        raise BadInput(str(folder / "labels.jsonl"), "the file holds no row", "one labelled request a line, as JSON")
    record = read_record(folder)
    in_order = tuple(rows[row_id] for row_id in sorted(rows))
    answers = labeller_answers(folder, {**pinned_ids(folder, known_tools), **dict.fromkeys(rows, known_tools)})
    decisions = read_adjudications(folder, known_tools, answers)
    found = LabelSet(folder.name, in_order, record, decisions, answers)
    if record.content_hash not in (None, found.content_hash):
        raise BadInput(
            str(folder),
            f"released as {record.content_hash}, and is now {found.content_hash}: a released version was edited",
            f"put back what was released, or `toolsel label new NAME --parent {folder.name}`",
        )
    return found


def read_record(folder: Path) -> Record:
    """Read version.yaml; an empty record where there is none."""
    path = folder / "version.yaml"
    return read_yaml(path, Record) if path.is_file() else Record()


def write_record(folder: Path, record: Record) -> None:
    """Write version.yaml."""
    values = record.model_dump(mode="json", exclude_none=True, by_alias=True)
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)
    write_text(folder / "version.yaml", f"# Written by `toolsel label`. A released version is never changed.\n{text}")


def labeller_answers(folder: Path, states: Mapping[str, frozenset[str]]) -> dict[str, tuple[Answer, ...]]:
    """Read labellers/*.jsonl of a version, which may leave states out."""
    return {
        path.stem: tuple(read_answers(path, states, labeller=path.stem, partial=True))
        for path in sorted((folder / "labellers").glob("*.jsonl"))
    }


def read_adjudications(
    folder: Path, known_tools: frozenset[str], answers: Mapping[str, tuple[Answer, ...]]
) -> tuple[Adjudication, ...]:
    """Read adjudications.jsonl; none where there is no such file."""
    path = folder / "adjudications.jsonl"
    if not path.is_file():
        return ()
    found = []
    given = {name: {answer.id for answer in of_one if not answer.skipped} for name, of_one in answers.items()}
    for where, one in read_lines(path, Adjudication, "one decision"):
        check_adjudication(one, where, known_tools, given)
        found.append(one)
    return tuple(found)


def check_adjudication(
    one: Adjudication, where: str, known_tools: frozenset[str], given: Mapping[str, set[str]]
) -> None:
    """Refuse a decision for a labeller who did not answer the row, or with an unknown tool."""
    if one.resolution not in WORDS and one.id not in given.get(one.resolution, ()):
        answered = sorted(name for name, ids in given.items() if one.id in ids)
        raise BadInput(
            where, f"resolution: {one.resolution!r} gave no answer to {one.id}", known_names("", (*answered, *WORDS))
        )
    _known_tools((*(a.tool for a in one.valid_actions if a.tool), *one.forbidden_actions), where, known_tools)


def pinned_ids(folder: Path, known_tools: frozenset[str]) -> dict[str, frozenset[str]]:
    """Name the states that were to be labelled, where states.jsonl says so."""
    path = folder / "states.jsonl"
    if not path.is_file():
        return {}
    return {json.loads(line)["id"]: known_tools for line in path.read_text(encoding="utf-8").split("\n") if line}


def _lint(row: LabelRow, where: str, known_tools: frozenset[str]) -> None:
    own = {tool.name for tool in row.own_tools}
    _known_tools((*row.valid_tools, *row.forbidden_actions), where, known_tools | own)
    if row.slice != "existing" and not row.valid_tools and not row.forbidden_actions:
        raise BadInput(
            where, f"a {row.slice} row that names no tool", "one tool at least, so that the rungs with it are known"
        )


def _known_tools(tools: tuple[str, ...], where: str, known_tools: frozenset[str]) -> None:
    for tool in tools:
        if tool not in known_tools:
            raise BadInput(where, f"tool {tool!r} is in no catalogue of the study", known_names(tool, known_tools))
