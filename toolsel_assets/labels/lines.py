"""JSON lines that a person may have written: read with the line of every mistake, written whole or not at all."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolsel_assets.vocabulary.problem import BadInput

Model = TypeVar("Model", bound=BaseModel)


def read_lines(path: Path, model: type[Model], what: str) -> Iterator[tuple[str, Model]]:
    """Yield (place, value) of each line; `what` names a line's meaning. The first mistake raises `BadInput`."""
    if not path.is_file():
        raise BadInput(str(path), "there is no such file", f"{what} a line, as JSON")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(str(path), f"byte {error.start} is no UTF-8 text", f"{what} a line, as JSON") from error
    # Not splitlines(), which also splits at U+2028 and its kind, which JSON leaves inside texts.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, parse_line(line, model, where)


def parse_line(line: str, model: type[Model], where: str) -> Model:
    """Read one line."""
    try:
        value = json_value(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(where, f"not JSON: {error}") from error
    return parse(model, value, where)


def json_value(text: str) -> Any:
    """Read JSON in which every key stands once. Raises ValueError, or RecursionError for too deep a nesting."""
    return json.loads(text, object_pairs_hook=_each_key_once)


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse a key that stands twice: the first value would be lost without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return found


def parse(model: type[Model], value: object, where: str) -> Model:
    """Read a value of JSON; a mistake raises `BadInput` that names its keys."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = [
            f"{'.'.join(map(str, p['loc'])) or 'row'}: {p['msg'].removeprefix('Value error, ')}" for p in error.errors()
        ]
        raise BadInput(where, "; ".join(found)) from error


def write_lines(path: Path, lines: Iterable[object]) -> None:
    """Write values as JSON lines to a temporary file and rename it: what stood there stays until all is written."""
    write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
