"""Trace files to Parquet: each file is read once, by content, into one Parquet file and its books.

What belongs here: which files have to be read, and what is kept between runs. What does not: how a file is read
(reading.py), what a record means (formats/), which calls are one decision (sql/traces/), the warehouse.
"""

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from toolsel_assets import store
from toolsel_assets.traces.books import Books
from toolsel_assets.traces.model_call import Unreadable
from toolsel_assets.traces.reading import read_file
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.traces.sources import open_binary

#: Raised by one whenever a reader gives other rows for the same file: what was kept is then read again.
READERS_VERSION = 1

PROGRESS = logging.getLogger("toolsel.traces")


@dataclass(frozen=True)
class TraceFile:
    """A file to read: its source, its path or url, the name to show, and the format when one is prescribed."""

    source: str
    place: Path | str
    shown_as: str
    format: str | None = None
    collected: str | None = None  # ISO 8601: when its traces were collected, for traces without times


@dataclass(frozen=True)
class Kept:
    """A file that was read: its books, and the Parquet file of its records."""

    file: TraceFile
    books: Books
    parquet: Path


class Ingest:
    """Reads trace files into a folder. A file whose content was read before, in the same way, costs nothing."""

    def __init__(self, folder: Path, redact: Callable[[], Redactor], settings: str = "") -> None:
        """Keep what is read below `folder`; `settings` names the redaction rules, so that other rules read again."""
        self.folder, self.redact = folder, redact
        self.settings = sha256(f"{READERS_VERSION}:{store.ENGINE}:{settings}".encode()).hexdigest()[:8]
        self._hashes = _Hashes(folder / "content_hashes.json")

    def read(self, files: Iterable[TraceFile]) -> list[Kept]:
        """Read files that were not read before, in the order of their names, and give all of them."""
        found = []
        for file in sorted(files, key=lambda f: (f.source, f.shown_as)):
            kept, is_new = self._read(file)
            found.append(kept)
            if is_new:
                PROGRESS.info("%s: %s", file.shown_as, _told(kept.books))
        self._hashes.write()
        self._forget({kept.parquet for kept in found})
        return found

    def _read(self, file: TraceFile) -> tuple[Kept, bool]:
        known = self._hashes.get(file.place)
        if known and (kept := self._kept(file, known)):
            return kept, False
        started = perf_counter()
        with _local(file.place) as (path, problem):
            content_hash, n_bytes = _hashed(path)
            if kept := self._kept(file, content_hash):
                self._hashes.put(file.place, content_hash)
                return kept, False
            books = Books(content_hash, n_bytes)
            parquet = self._place(file, content_hash)
            parquet.parent.mkdir(parents=True, exist_ok=True)
            if problem:
                books.n_records += 1
                books.reject(1, problem.reason, problem.detail)
            read_file(path, file.source, file.format, books, parquet, self.redact())
        books.seconds = round(perf_counter() - started, 3)
        _write(parquet.with_suffix(".json"), asdict(books))
        self._hashes.put(file.place, content_hash)
        return Kept(file, books, parquet), True

    def _forget(self, needed: set[Path]) -> None:
        """Delete what was read of files that are gone or have changed: a growing log would be kept in every length."""
        for parquet in self.folder.glob("*/*.parquet"):
            if parquet not in needed:
                parquet.unlink()
                parquet.with_suffix(".json").unlink(missing_ok=True)

    def _place(self, file: TraceFile, content_hash: str) -> Path:
        how = f"{self.settings}-{file.format}" if file.format else self.settings
        return self.folder / file.source / f"{content_hash[:16]}-{how}.parquet"

    def _kept(self, file: TraceFile, content_hash: str) -> Kept | None:
        parquet = self._place(file, content_hash)
        marker = parquet.with_suffix(".json")
        if not marker.is_file() or not parquet.is_file():
            return None
        books = Books(**json.loads(marker.read_text(encoding="utf-8")))
        books.rejects = [(row[0], row[1], row[2]) for row in books.rejects]
        return Kept(file, books, parquet)


def _told(books: Books) -> str:
    speed = books.n_bytes / 1e6 / books.seconds if books.seconds else 0
    return (
        f"{books.format}, {books.n_records} records, {books.n_calls} model calls, {len(books.rejects)} rejects, "
        f"{books.seconds:.1f} s ({speed:.0f} MB/s)"
    )


class _Hashes:
    """Content hashes of files by size and time of change, so that a file that nobody touched is not even opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[Any]] = {}
        if path.is_file():
            self._known = json.loads(path.read_text(encoding="utf-8"))

    @staticmethod
    def _stamp(place: Path | str) -> list[int] | None:
        if not isinstance(place, Path):
            return None
        try:
            found = place.stat()
        except OSError:
            return None
        return [found.st_size, found.st_mtime_ns]

    def get(self, place: Path | str) -> str | None:
        known, stamp = self._known.get(str(place)), self._stamp(place)
        return known[0] if known and stamp and known[1:] == stamp else None

    def put(self, place: Path | str, content_hash: str) -> None:
        if stamp := self._stamp(place):
            self._known[str(place)] = [content_hash, *stamp]

    def write(self) -> None:
        _write(self._path, self._known)


def _write(path: Path, value: Any) -> None:
    """Write JSON whole or not at all: a run may end at any moment, and the next one reads this."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    temporary.replace(path)


@contextmanager
def _local(place: Path | str) -> Iterator[tuple[Path, Unreadable | None]]:
    """Give a file on this machine: itself, or a copy of what a url leads to. What could not be fetched is a failure."""
    if isinstance(place, Path):
        yield place, None
        return
    with tempfile.TemporaryDirectory(prefix="toolsel") as folder:
        path, problem = Path(folder) / "fetched", None
        with path.open("wb") as target:
            try:
                with open_binary(place) as source:
                    shutil.copyfileobj(source, target, 1 << 20)
            except Unreadable as error:
                problem = error
            except (OSError, EOFError, ValueError) as error:
                problem = Unreadable("unreadable_file", f"{type(error).__name__}: {error}")
        yield path, problem


def _hashed(path: Path) -> tuple[str, int]:
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size
