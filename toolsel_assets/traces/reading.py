"""Read one trace file into Parquet rows, by a reader in Python or by a SELECT, and keep its books.

What belongs here: which format reads the file, the count of its units, failures that leave the rest readable. What does
not: reading by a SELECT (selecting.py), what a record means (formats/), how a call becomes a row (rows.py), which files
are read at all (ingest.py).
"""

import logging
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from toolsel_assets import store
from toolsel_assets.traces import formats
from toolsel_assets.traces.books import Books
from toolsel_assets.traces.model_call import Item, Link, Merged, ModelCall, Rejected, Unreadable
from toolsel_assets.traces.records import Failure, Record, records
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.traces.rows import Rows
from toolsel_assets.traces.selecting import Found, by_query
from toolsel_assets.traces.tables import MODEL_CALLS

#: Records that are looked at before a file is said to be of no known format.
LOOK_AT = 200

PROGRESS = logging.getLogger("toolsel.traces")


def read_file(path: Path, source: str, prescribed: str | None, books: Books, parquet: Path, redactor: Redactor) -> None:
    """Read a file into a Parquet file with the columns of `MODEL_CALLS`, and fill its books."""
    name, found = _format(path, prescribed)
    books.format = name or "unknown"
    if name is None:
        by_record(_Unknown(), found, source, books, parquet, redactor)
    elif hasattr(module := formats.load(name), "QUERY"):
        by_query(module, path, found, source, books, parquet, redactor)
    else:
        by_record(module, found, source, books, parquet, redactor)
    # What was found may be quoted in the reason for which it could not be read.
    books.rejects = [(position, reason, redactor.text(detail)) for position, reason, detail in books.rejects]
    books.redacted = dict(redactor.counts)


def _format(path: Path, prescribed: str | None) -> tuple[str | None, Found]:
    """Find the format of a file, and give its records from the first one."""
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    if is_parquet:
        return _parquet(path)
    found = records(path)
    if prescribed:
        return prescribed, found
    looked_at = []
    for record in found:
        looked_at.append(record)
        name = formats.detect(record.value) if isinstance(record, Record) else None
        if name or len(looked_at) == LOOK_AT:
            return name, chain(looked_at, found)
    return None, iter(looked_at)


def _parquet(path: Path) -> tuple[str | None, Found]:
    """Tell Parquet of our own from any other, and from a damaged file."""
    problem = store.parquet_lacks(path, [column.name for column in MODEL_CALLS.columns])
    if problem is None:
        return "toolsel_parquet", iter(())
    return None, iter([Failure(1, Unreadable("not_a_record", problem))])


class _Unknown:
    """The reader of a file that no format recognises."""

    __name__ = "unknown"

    def recognises(self, record: Any) -> bool:
        return False

    def units(self, record: Any) -> int:
        return 1

    def read(self, records: Any) -> Iterator[Item]:
        for record in records:
            detail = f"no format recognises it; known: {', '.join(formats.names())}"
            yield Rejected(record.position, "unknown_format", detail)


def by_record(
    module: formats.Format, found: Found, source: str, books: Books, parquet: Path, redactor: Redactor
) -> None:
    """Read a file with a reader in Python."""
    passing = _Passing(found, module, books)
    with store.RowFile(parquet, MODEL_CALLS) as target:
        rows = Rows(target.write, books.file_id, source, redactor)
        while not passing.ended:
            for item in _items(module, passing, books):
                if isinstance(item, Merged):
                    books.merge(item.reason, item.n)
                elif isinstance(item, Rejected):
                    books.reject(item.position, item.reason, item.detail)
                else:
                    books.n_calls += isinstance(item, ModelCall)
                    books.n_links += isinstance(item, Link)
                    rows.write(item)


class _Passing:
    """The good records of a file on their way to a reader. Units are counted as they pass, failures noted."""

    def __init__(self, found: Found, module: formats.Format, books: Books) -> None:
        self._found, self._module, self._books = found, module, books
        self.ended = False
        self.position = 0

    def __iter__(self) -> Iterator[Record]:
        for record in self._found:
            if isinstance(record, Failure):
                self._books.n_records += 1
                self._books.reject(record.position, record.problem.reason, record.problem.detail)
                continue
            self._books.n_records += self._module.units(record.value)
            self.position = record.position
            yield record
        self.ended = True


def _items(module: formats.Format, passing: _Passing, books: Books) -> Iterator[Item]:
    """Read, and go on behind a record on which a reader fails: a defect of ours must not cost a user the file."""
    try:
        yield from module.read(passing)
    except Exception as error:
        PROGRESS.warning("a reader failed on record %d: %r", passing.position, error)
        PROGRESS.debug("where it failed", exc_info=error)
        for _ in range(books.n_missing):
            books.reject(passing.position, "not_a_record", f"the reader failed on it: {error!r}")
