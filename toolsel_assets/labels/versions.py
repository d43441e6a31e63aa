"""Read and lint a label set version: labels/<version>/labels.jsonl, one labelled request a line.

What belongs here: the file's form, the lint over a whole set, and the content hash that is the version's identity. What
does not: what one row means (vocabulary/label.py), where the messages of a sampled state are (assets.py).
"""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from toolsel_assets.vocabulary.label import LabelRow, RowClass
from toolsel_assets.vocabulary.problem import BadInput, known_names


@dataclass(frozen=True)
class LabelSet:
    """A label set: its folder's name, and its rows sorted by id."""

    name: str
    rows: tuple[LabelRow, ...]

    @cached_property
    def content_hash(self) -> str:
        """Hash what the rows say, whatever their order in the file: 64 hexadecimal digits."""
        return sha256("\n".join(row.model_dump_json() for row in self.rows).encode()).hexdigest()

    @property
    def version(self) -> str:
        """Name the version by folder and content, so that an edited file is another version."""
        return f"{self.name}@{self.content_hash[:8]}"

    def class_counts(self) -> Counter[RowClass]:
        """Count the rows of each class."""
        return Counter(row.row_class for row in self.rows)


def read_label_set(folder: Path, known_tools: frozenset[str]) -> LabelSet:
    """Read labels/<version>. The first mistake raises `BadInput` with file and line."""
    path = folder / "labels.jsonl"
    if not path.is_file():
        raise BadInput(str(path), "there is no such file", "one labelled request a line, as JSON")
    rows: dict[str, LabelRow] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        row = _row(line, f"{path}, line {number}", known_tools)
        if row.id in rows:
            raise BadInput(f"{path}, line {number}", f"id {row.id} for the second time", "each request once")
        rows[row.id] = row
    if not rows:
        raise BadInput(str(path), "the file holds no row", "one labelled request a line, as JSON")
    return LabelSet(folder.name, tuple(rows[row_id] for row_id in sorted(rows)))


def _row(line: str, where: str, known_tools: frozenset[str]) -> LabelRow:
    try:
        row = LabelRow.model_validate(json.loads(line))
    except ValidationError as error:
        found = [
            f"{'.'.join(map(str, p['loc'])) or 'row'}: {p['msg'].removeprefix('Value error, ')}" for p in error.errors()
        ]
        raise BadInput(where, "; ".join(found)) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(where, f"not JSON: {error}") from error
    for tool in (*row.valid_tools, *row.forbidden_actions):
        if tool not in known_tools:
            raise BadInput(where, f"tool {tool!r} is in no catalogue of the study", known_names(tool, known_tools))
    if row.slice != "existing" and not row.valid_tools and not row.forbidden_actions:
        raise BadInput(
            where, f"a {row.slice} row that names no tool", "one tool at least, so that the rungs with it are known"
        )
    return row
