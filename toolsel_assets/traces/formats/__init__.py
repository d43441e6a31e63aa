"""Trace formats, one module each. A new format is a new file here and its tests under tests/traces/formats/.

A format is recognised by content, never by file name. Every module has

- `recognises(record) -> bool`: whether a record, one JSON value of the file, is of this format and of no other;
- `units(record) -> int`: how many units of the books a record holds (lines, spans, messages: the smallest thing that
  can be a decision), counted without reading it, so that the books are checked against a second count;

and one of

- `read(records) -> Iterator[Item]`: Python's way, record by record, in memory that does not grow with the file; it
  yields exactly one `ModelCall`, `Merged` or `Rejected` per unit, and never raises for what stands in a record;
- `QUERY`: DuckDB's way, a SELECT over the file that gives the columns of `tables.MODEL_CALLS` (see otlp_json.py);
  with `rewrite(record) -> record | None` where records must become those of the QUERY first.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from toolsel_assets.traces.model_call import Item
from toolsel_assets.traces.records import Record


class Format(Protocol):
    """What a format's module offers."""

    __name__: str

    def recognises(self, record: Any) -> bool:
        """Say whether a record is of this format."""

    def units(self, record: Any) -> int:
        """Count the units of a record."""

    def read(self, records: Iterable[Record]) -> Iterator[Item]:
        """Read the records of one file."""


def names() -> list[str]:
    """List the formats by their names, which are what `format:` in study.yaml takes."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Format:
    """Import a format by its name, one of `names()`."""
    module: Format = importlib.import_module(f"{__name__}.{name}")
    return module


def detect(record: Any) -> str | None:
    """Name the format that recognises a record."""
    return next((name for name in names() if load(name).recognises(record)), None)
