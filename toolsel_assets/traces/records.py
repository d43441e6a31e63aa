"""Read the JSON records of a file one at a time: a JSON array, JSON lines, or one object.

What belongs here: bytes to JSON values, with the position of each and with every failure as a value, so that a file
that is cut in the middle still gives what stands before the cut. Memory holds one record at a time. What does not:
what a record means (formats/).
"""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from toolsel_assets.traces.run import Reason, Unreadable

CHUNK = 1 << 20


@dataclass(frozen=True)
class Record:
    """One JSON value and its position in the file: the line in JSON lines, else the how-manieth record (from 1)."""

    position: int
    value: Any


@dataclass(frozen=True)
class Failure:
    """A position that could not be read, and why."""

    position: int
    problem: Unreadable


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _parse(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def records(path: Path) -> Iterator[Record | Failure]:
    """Yield every record of a file, and a `Failure` for every place that is none."""
    with path.open("rb") as file:
        first = _first_line(file)
        if not first.strip():
            yield Failure(1, Unreadable("empty_file", "the file holds no text"))
            return
        file.seek(0)
        yield from _lines(file) if _is_a_whole_object(first) else _stream(file)


def _first_line(file: BinaryIO) -> bytes:
    for line in file:
        if line.strip():
            return line
    return b""


def _is_a_whole_object(line: bytes) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(_parse(line.decode()), dict)
    except ValueError:
        # A cut or broken first line: line by line as well when it does not look like the head of a longer object.
        return line.strip() not in (b"{",) and not line.rstrip().endswith((b"{", b"[", b","))


def _lines(file: BinaryIO) -> Iterator[Record | Failure]:
    for position, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            yield Record(position, _parse(line.decode()))
        except UnicodeDecodeError as error:
            yield Failure(position, Unreadable("not_utf8", f"byte {error.start} of the line: {error.reason}"))
        except ValueError as error:
            yield Failure(position, Unreadable(_reason(error), str(error)))


def _reason(error: ValueError) -> Reason:
    """Tell text that ends in the middle of a value from text that is no JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return "not_json"
    ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith(("Unterminated string", "Invalid \\u"))
    return "cut_json" if ends and error.doc.strip() else "not_json"


def _stream(file: BinaryIO) -> Iterator[Record | Failure]:
    """Walk through an array, or through objects that follow each other, decoding one value at a time."""
    text = _Text(file)
    position, in_array = 0, False
    while True:
        try:
            if not position and not in_array and text.peek() == "[":
                in_array = True
                text.skip(1)
            if text.peek() in ("", "]"):
                break
            if in_array and position and text.peek() == ",":
                text.skip(1)
            value = text.next_value()
        except UnicodeDecodeError as error:
            yield Failure(position + 1, Unreadable("not_utf8", error.reason))
            return
        except ValueError as error:
            detail = f"{error}; what follows this record cannot be read"
            yield Failure(position + 1, Unreadable(_reason(error), detail))
            return
        position += 1
        yield Record(position, value)
    if in_array and text.peek() != "]":
        yield Failure(position + 1, Unreadable("cut_json", "the array is not closed"))
    elif position == 0:
        yield Failure(1, Unreadable("empty_file", "the array is empty"))


class _Text:
    """A file as a window of text that grows until a JSON value fits in it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._size = CHUNK
        self.ended = False

    def _grow(self) -> bool:
        if self.ended:
            return False
        data = self._file.read(self._size)
        self._text = self._text[self._at :] + self._decoder.decode(data, final=not data)
        self._at = 0
        self.ended = not data
        return True

    def peek(self) -> str:
        """Give the next character that is no white space, without taking it; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n\ufeff":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def skip(self, count: int) -> None:
        """Take characters that `peek` has shown."""
        self._at += count

    def next_value(self) -> Any:
        """Decode the next value. The window doubles while it is too short, so a long value costs no square."""
        self.peek()
        self._size = CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise ValueError("nested too deeply") from error
            except json.JSONDecodeError:
                self._size = max(CHUNK, 2 * (len(self._text) - self._at))
                if not self._grow():
                    raise
                continue
            if end == len(self._text) and self._grow():
                continue  # a number could go on behind the window
            self._at = end
            return value
