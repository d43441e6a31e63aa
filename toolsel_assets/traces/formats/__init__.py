"""Trace formats, one module each. A new format is a new file here and a sample under tests/traces/formats/.

A format is recognised by content, never by file name. A module has `recognises(record) -> bool` and
`read_run(record) -> Run`, which raises `Unreadable` with a reason from the closed list in `traces/run.py`.
"""

import importlib
import pkgutil
from typing import Any, Protocol

from toolsel_assets.traces.run import Run


class Format(Protocol):
    """What a format's module offers."""

    __name__: str

    def recognises(self, record: Any) -> bool:
        """Say whether a record looks like this format."""

    def read_run(self, record: Any) -> Run:
        """Turn a record into a run."""


def names() -> list[str]:
    """List the formats by their names, which are what `format:` in study.yaml takes."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Format:
    """Import a format by its name, one of `names()`."""
    module: Format = importlib.import_module(f"{__name__}.{name}")
    return module


def detect(record: Any) -> Format | None:
    """Find the format that recognises a record."""
    return next((found for found in map(load, names()) if found.recognises(record)), None)
