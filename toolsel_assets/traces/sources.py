"""Find and open the files of a trace source: a file, a directory, a glob, or a url of storage that fsspec knows.

What belongs here: names of files, storage that is not local, compression. What does not: what stands in a file
(records.py), which files were read before (assets.py).
"""

import glob
import gzip
import importlib
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar

from toolsel_assets.traces.model_call import Unreadable
from toolsel_assets.vocabulary.problem import BadInput

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

T = TypeVar("T")

CHUNK = 1 << 20
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError)

#: What a directory is searched for. A file or a glob that a user names is taken as it is.
SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".log", ".traj", ".parquet", ".gz", ".zst", ".txt", ""})
_ROTATED = re.compile(r"\.[\d-]+$")  # calls.log.1, calls.log.2026-01-31
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_USER_IS_A_CONTAINER = ("abfs", "abfss")  # abfs://container@account/path
_WEB = ("http://", "https://")  # where "?" begins a query, and listing a directory would load the file

#: The package of a protocol, for those that fsspec does not bring itself.
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp"} | (
    dict.fromkeys(("abfs", "abfss", "az", "adl"), "adlfs")
)


@dataclass(frozen=True)
class Found:
    """A file to read: its path or url, and what it is called in tables: relative to the base, without secrets."""

    place: Path | str
    shown_as: str
    size: int | None = None
    mtime: float | None = None  # seconds since the epoch


def find(pattern: str, base: Path) -> list[Found]:
    """List the files that a pattern names, sorted by their shown names; nothing found is an empty list."""
    try:
        found = _remote(pattern) if is_url(pattern) else _local(pattern, base)
        return sorted(found, key=lambda file: file.shown_as)
    except OSError as error:
        where = shown(pattern) if is_url(pattern) else pattern
        raise BadInput(where, f"cannot be reached: {error.strerror or error}") from error


def is_url(pattern: str) -> bool:
    """Say whether a pattern is a url: it has a protocol of two letters or more, as no drive has."""
    return _URL.match(pattern) is not None


def shown(url: str) -> str:
    """Give a url without the credentials, query and fragment that may be in it."""
    protocol, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if url.startswith(_WEB):
        path = re.split("[?#]", path)[0]
    if protocol not in _USER_IS_A_CONTAINER:
        host = host.rpartition("@")[2]
    return f"{protocol}://{host}{slash}{path}"


def open_binary(path: Path | str) -> io.BufferedReader:
    """Open a file by its path or url, decompressed if it is gzip or zstd by content; use it with `with`.

    A damaged archive gives what can be decompressed, and then raises `Unreadable("cut_archive")`.
    """
    is_local = isinstance(path, Path) or not is_url(path)
    opened: Any = Path(path).open("rb", buffering=0) if is_local else _open_url(str(path))  # noqa: SIM115  # given on
    file = io.BufferedReader(opened, CHUNK)
    head = file.peek(4)
    if head.startswith(GZIP):
        return io.BufferedReader(_Archive(gzip.GzipFile(fileobj=file), file), CHUNK)
    if head.startswith(ZSTD):
        return io.BufferedReader(_Archive(zstd.ZstdFile(file), file), CHUNK)
    return file


def _is_wanted(name: str) -> bool:
    """Whether a file below a directory, by its path from there, is looked at."""
    path = PurePosixPath(name)
    suffix = PurePosixPath(_ROTATED.sub("", path.name)).suffix
    return suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts)


def _local(pattern: str, base: Path) -> Iterator[Found]:
    if pattern.startswith("~/"):
        pattern = str(Path(pattern).expanduser())
    named = base / pattern
    if named.is_dir():
        paths = [path for path in _below(named) if _is_wanted(path.relative_to(named).as_posix())]
    elif named.exists():
        paths = [named]
    else:
        paths = [base / name for name in glob.glob(pattern, root_dir=base, recursive=True)]  # noqa: PTH207  # no hidden ones
    for path in paths:
        if path.is_file():
            name = (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()
            stat = path.stat()
            # A name that is no UTF-8 must still fit into a table.
            shown_as = name.encode("utf-8", "backslashreplace").decode()
            yield Found(path, shown_as, stat.st_size, stat.st_mtime)


def _below(directory: Path) -> Iterator[Path]:
    def stop(error: OSError) -> None:
        raise error

    for folder, _, names in os.walk(directory, onerror=stop):
        yield from (Path(folder, name) for name in names)


def _remote(url: str) -> Iterator[Found]:
    system, path = _system(url)
    try:
        entries = _reached(url, lambda: _entries(system, path))
    except FileNotFoundError:
        return
    # What stands before the path (host, user) is needed to open a file and is no part of its name.
    start = url.removesuffix(path) if url.endswith(path) else None
    for name, info in entries.items():
        place = url if name == path else system.unstrip_protocol(name) if start is None else start + name
        yield Found(place, shown(place), info.get("size"), _mtime(info))


def _entries(system: Any, path: str) -> dict[str, dict[str, Any]]:
    is_web = path.startswith(_WEB)
    if "*" in path or (glob.has_magic(path) and not is_web):
        found = system.glob(path, detail=True)
    elif not is_web and system.isdir(path):
        found = system.find(path, detail=True)
        found = {name: info for name, info in found.items() if _is_wanted(name.removeprefix(path).lstrip("/"))}
    else:
        return {path: system.info(path)}
    return {name: info for name, info in found.items() if info.get("type") != "directory"}


def _mtime(info: dict[str, Any]) -> float | None:
    """Find the time of a file's last change: each storage has a name of its own for it."""
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        match info.get(key):
            case datetime() as at:
                return at.timestamp()
            case float() | int() as seconds:
                return float(seconds)
    return None


def _system(url: str) -> tuple[Any, str]:
    protocol = url.partition("://")[0].lower()
    install = "pip install " + " ".join(["'toolsel[remote]'", *filter(None, [_PACKAGES.get(protocol)])])
    try:
        core: Any = importlib.import_module("fsspec.core")  # an optional extra
        system, path = _reached(url, lambda: core.url_to_fs(url))
    except ImportError as error:
        raise BadInput(shown(url), f"{protocol}:// needs a package that is not installed: {error}", install) from error
    except ValueError as error:
        raise BadInput(shown(url), str(error), "a path, or a url of a protocol that fsspec knows") from error
    return system, path


def _reached(url: str, reach: Callable[[], T]) -> T:
    """Reach storage; whatever its package raises becomes an OSError that shows no secret of the url."""
    try:
        return reach()
    except (ImportError, ValueError):
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{shown(url)} does not exist") from error
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}".replace(url, shown(url))) from error


def _open_url(url: str) -> Any:
    system, path = _system(url)
    return _reached(url, lambda: system.open(path, "rb"))


class _Compressed(Protocol):
    def read1(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class _Archive(io.RawIOBase):
    """The decompressed bytes of an archive; `read1`, since `read` loses what stands between its start and a damage."""

    def __init__(self, archive: _Compressed, file: io.BufferedReader) -> None:
        self._archive, self._file = archive, file
        self._problem: Unreadable | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        done = 0
        while done < len(buffer) and not self._problem:
            try:
                data = self._archive.read1(len(buffer) - done)
            except DAMAGED as error:
                self._problem = Unreadable("cut_archive", str(error))
                break
            if not data:
                break
            buffer[done : done + len(data)] = data
            done += len(data)
        if self._problem and not done:
            raise self._problem
        return done

    def close(self) -> None:
        if not self.closed:
            self._archive.close()
            self._file.close()
        super().close()
