"""Spoilt copies of every real file: no traceback, no lost record, and no stop that nobody made.

500 mutants: files cut, with lines dropped, doubled and swapped, and with corrupt bytes. They are read in batches, since
the tables are made once per batch; a copy that is spoilt in its middle still repeats the calls of another, so that
merging over files is tried as well. The same seed gives the same mutants.
"""

import random
from pathlib import Path

import pytest

from tests.traces.ingest_of import REAL, books_close, ingest
from toolsel_assets.vocabulary.decision import Status

#: Spoiling is about structure, and small files have all of it; of OTLP, one file of each way to write it.
OTLP = ("anthropic_native", "anthropic_genai_details_event", "openai_openinference", "openai_openllmetry_indexed")
SMALL = [
    path
    for path in REAL
    if path.stat().st_size < 150_000 and (path.parent.name != "otlp" or path.stem in (*OTLP, "openai_v2_events"))
]
BATCHES, PER_BATCH = 10, 50


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Spoil a file in one to three ways."""
    for _ in range(chance.randint(1, 3)):
        lines = data.splitlines(keepends=True) or [b""]
        at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        how = chance.choice(["cut", "drop", "double", "swap", "bytes", "bytes", "shift", "gap"])
        if how == "cut":
            data = data[: chance.randrange(len(data) + 1)]
        elif how == "drop":
            data = b"".join(lines[:at] + lines[at + 1 :])
        elif how == "double":
            data = b"".join([*lines[:to], lines[at], *lines[to:]])
        elif how == "swap":
            lines[at], lines[to] = lines[to], lines[at]
            data = b"".join(lines)
        elif how == "gap":
            start = chance.randrange(len(data) + 1)
            data = data[:start] + data[start + chance.randint(1, 400) :]
        else:
            spoil = bytearray(data)
            for _ in range(chance.randint(1, 8) if spoil else 0):
                spoil[chance.randrange(len(spoil))] = chance.choice(b'\x00\xff"{}[]:,0an\\\n')
            data = bytes(spoil)
    return data


@pytest.mark.parametrize("batch", range(BATCHES))
def test_spoilt_files_are_read_as_far_as_they_can_be(tmp_path: Path, batch: int) -> None:
    chance = random.Random(batch)
    paths = []
    for number in range(PER_BATCH):
        original = SMALL[(batch * PER_BATCH + number) % len(SMALL)]
        path = tmp_path / f"{number:02d}-{original.name}"
        path.write_bytes(spoilt(original.read_bytes(), chance))
        paths.append(path)
    found = ingest(tmp_path, *paths)
    assert len(found["ingest_files"]) == PER_BATCH
    open_books = [
        f for f in found["ingest_files"] if f["n_records"] != f["n_decisions"] + f["n_merged"] + f["n_rejects"]
    ]
    assert open_books == []
    assert books_close(found)
    assert not any("the reader failed" in row["detail"] for row in found["ingest_rejects"])
    assert {row["status"] for row in found["decisions"]} <= set(Status)
    assert all((row["action"] == "(no tool)") == (row["status"] == "stopped") for row in found["decisions"])
