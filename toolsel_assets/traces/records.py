"""Read the JSON records of a file one at a time: a JSON array, JSON lines, or one object; plain, gzip or zstd.

What belongs here: bytes to JSON values, with the position of each and with every failure as a value, so that a file
that is cut in the middle still gives what stands before the cut. Memory holds one record at a time. What does not:
what a record means (formats/), which files there are, how they are compressed (sources.py).
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsel_assets.traces.model_call import Reason, Unreadable
from toolsel_assets.traces.sources import CHUNK
from toolsel_assets.traces.sources import open_binary as open_binary  # the readers' way to open a file

WHITE = b" \t\r\n"
BOM, UTF16 = codecs.BOM_UTF8, (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: Deeper nesting is refused, so that no reader that walks through a value runs out of stack.
MAX_DEPTH = 100

#: Half a surrogate pair: a high half that no low one follows, or a low half that follows no high one.
_HALF_A_PAIR = re.compile(r"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|[c-fC-F]..(?<!\\u[dD][89abAB]..\\u[dD][c-fC-F]..))")
_BAD_BYTE = re.compile("[\udc80-\udcff]")  # what errors="surrogateescape" makes of a byte that is no UTF-8
_PROSE = re.compile(rb'[^{\[]|\[\s*[^\s{\["\]]')  # how lines of a log begin, between which there may be JSON
_WHITE = re.compile(r"[ \t\r\n\ufeff]*")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value and its position in the file: the line in JSON lines, else the how-manieth record (from 1)."""

    position: int
    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A position that could not be read, and why."""

    position: int
    problem: Unreadable


def records(path: Path | str) -> Iterator[Record | Failure]:
    """Yield every record of a file, given by its path or url, and a `Failure` for every place that is none."""
    position = 0
    try:
        with open_binary(path) as file:
            for found in _values(file):
                position = found.position
                yield found
    except Unreadable as problem:
        yield Failure(position + 1, problem)
    except OSError as error:
        yield Failure(position + 1, Unreadable("unreadable_file", error.strerror or str(error)))


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


def _scan(text: str, at: int) -> tuple[Any, int]:
    """Decode the value that begins at a place; give it and the place where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse(text: str) -> Any:
    """Decode a text that is one JSON value, strictly: no NaN, nothing infinite; ValueError for everything else."""
    value, end = _scan(text, 0)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def _usable(value: Any, text: str, at: int, end: int) -> Any:
    """Give a decoded value, mended where it could not be written again, or raise `Unreadable`."""
    if text.count("{", at, end) + text.count("[", at, end) > MAX_DEPTH and _is_deep(value):
        raise Unreadable("not_json", "nested too deeply")
    if text.find("\\u", at, end) >= 0 and _HALF_A_PAIR.search(text, at, end):
        # Logs that cut their strings leave half pairs, which no file can hold: "?" takes their place.
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth < MAX_DEPTH:
        children = (c for parent in level for c in (parent.values() if isinstance(parent, dict) else parent))
        level, depth = [child for child in children if isinstance(child, dict | list)], depth + 1
    return bool(level)


def _reason(error: ValueError) -> Reason:
    """Tell text that ends in the middle of a value from text that is no JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return "not_json"
    if _BAD_BYTE.match(error.doc, error.pos):
        return "not_utf8"
    ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith(("Unterminated string", "Invalid \\u"))
    return "cut_json" if ends and error.doc.strip() else "not_json"


def _values(file: io.BufferedReader) -> Iterator[Record | Failure]:
    if file.peek(4).startswith(UTF16):
        yield Failure(1, Unreadable("not_utf8", "this is UTF-16; save it as UTF-8"))
        return
    file.read(len(BOM) if file.peek(4).startswith(BOM) else 0)
    line = _skip_white(file)
    first = file.peek(1)[:1]
    if not first:
        yield Failure(1, Unreadable("empty_file", "the file holds no text"))
        return
    is_log = b"\n{" in file.peek(1) and _PROSE.match(file.peek(1)) is not None
    if first != b"{" and not is_log:
        yield from _Stream(_Window(file)).values()
        return
    begun = file.readline()
    found = _of_line(line, begun)
    if is_log or _are_lines(begun, found):
        yield found
        yield from _lines(file, line + 1)
    else:
        yield from _Stream(_Window(file, begun)).values()


def _skip_white(file: io.BufferedReader) -> int:
    """Go to the first character that is no white space, and say in which line it is."""
    line, rest = 1, b""
    while not rest and (head := file.peek(1)):
        rest = head.lstrip(WHITE)
        line += file.read(len(head) - len(rest)).count(b"\n")
    return line


def _are_lines(line: bytes, found: Record | Failure) -> bool:
    """Whether the first line is an object, or a broken or cut one that does not look like the head of a longer one."""
    return isinstance(found, Record) or (line.strip() != b"{" and not line.rstrip().endswith((b"{", b"[", b",")))


def _lines(file: io.BufferedReader, first: int) -> Iterator[Record | Failure]:
    for position, line in enumerate(file, start=first):
        if not line.isspace():
            yield _of_line(position, line)


def _of_line(position: int, line: bytes) -> Record | Failure:
    try:
        text = line.removeprefix(BOM).strip(WHITE).decode()
        return Record(position, _usable(parse(text), text, 0, len(text)))
    except Unreadable as problem:
        return Failure(position, problem)
    except UnicodeDecodeError as error:
        return Failure(position, Unreadable("not_utf8", f"byte {error.start} of the line: {error.reason}"))
    except ValueError as error:
        return Failure(position, Unreadable(_reason(error), str(error)))


class _Window:
    """A file as a window of text that grows until a JSON value fits in it."""

    def __init__(self, file: io.BufferedReader, begun: bytes = b"") -> None:
        self._file = file
        # A byte that is no UTF-8 costs the value it stands in, not the window.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
        self._has_bad_bytes = self._ended = False
        self._text = self._decoded(begun)
        self._at = 0
        self._white = "\n"  # what stands before `_at`, from the line break on
        self._is_ambiguous: bool | None = None  # whether values hold lines that begin as the values do

    def _grow(self, size: int = CHUNK) -> bool:
        if self._ended:
            return False
        data = self._file.read1(size)
        self._ended = not data
        self._text = self._text[self._at :] + self._decoded(data)
        self._at = 0
        return True

    def _decoded(self, data: bytes) -> str:
        text = self._decoder.decode(data, final=self._ended)
        try:
            text.encode()
        except UnicodeEncodeError:
            self._has_bad_bytes = True
        return text

    def peek(self) -> str:
        """Give the next character that is no white space, without taking it; empty at the end."""
        while True:
            end = _WHITE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches anywhere
            if end > self._at:
                white = self._white + self._text[self._at : end]
                self._white, self._at = white[max(0, white.rfind("\n")) :], end
            if end < len(self._text):
                return self._text[end]
            if not self._grow():
                return ""

    def skip(self) -> None:
        """Take the character that `peek` has shown."""
        self._at += 1
        self._white = ""

    def next_value(self) -> Any:
        """Decode the value that `peek` has shown the start of; `Unreadable` takes it, another ValueError does not.

        The window grows by twice its length while the value does not fit in it, so a long value costs no square.
        """
        while True:
            try:
                value, end = _scan(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - 16
                if not cut or not self._grow(max(CHUNK, 2 * (len(self._text) - self._at))):
                    raise
                continue
            if end == len(self._text) and self._text[end - 1] not in '}]"' and self._grow():
                continue  # a number could go on behind the window
            break
        start, self._at = self._at, end
        if self._is_ambiguous is None and self._white.startswith("\n"):
            self._is_ambiguous = self._text.find(self._white + self._text[start], start, end) >= 0
        self._white = ""
        return self._checked(value, start, end)

    def _checked(self, value: Any, start: int, end: int) -> Any:
        if self._has_bad_bytes and (bad := _BAD_BYTE.search(self._text, start, end)):
            raise Unreadable("not_utf8", f"a byte that is no UTF-8 at character {bad.start() - start} of the record")
        return _usable(value, self._text, start, end)

    def to_next_line_like_this(self) -> bool:
        """Go on to the next line that begins as the line of a broken value does, or that closes the array."""
        if not self._white.startswith("\n") or self._is_ambiguous or self._text[self._at] != "{":
            return False
        begins = re.compile(rf"{self._white}(?=\{{)|\n(?=])")
        while True:
            if found := begins.search(self._text, self._at):
                self._at = found.end()
                return True
            self._at = max(self._at, len(self._text) - len(self._white))
            if not self._grow():
                return False


class _Stream:
    """An array, arrays, or objects that follow each other over several lines, decoded one value at a time."""

    def __init__(self, text: _Window) -> None:
        self._text = text
        self._position = 0
        self._is_lost = False

    def values(self) -> Iterator[Record | Failure]:
        """Yield the elements of arrays, and the values that stand in none. Commas are not insisted on."""
        arrays, in_array = self._text.peek() == "[", False
        while not self._is_lost and (sign := self._text.peek()):
            if sign == "," and (in_array or self._position):
                self._text.skip()
            elif arrays and sign == ("]" if in_array else "["):
                in_array = not in_array
                self._text.skip()
            else:
                self._position += 1
                yield self._next()
        if in_array and not self._is_lost:
            yield Failure(self._position + 1, Unreadable("cut_json", "the array is not closed"))
        elif self._position == 0:
            yield Failure(1, Unreadable("empty_file", "the array is empty"))

    def _next(self) -> Record | Failure:
        try:
            return Record(self._position, self._text.next_value())
        except Unreadable as problem:
            if problem.reason == "cut_archive":
                raise
            return Failure(self._position, problem)
        except ValueError as error:
            self._is_lost = not self._text.to_next_line_like_this()
            detail = f"{error}; what follows this record cannot be read" if self._is_lost else str(error)
            return Failure(self._position, Unreadable(_reason(error), detail))
