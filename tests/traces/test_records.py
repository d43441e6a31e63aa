import json
from pathlib import Path

import pytest

from toolsel_assets.traces.records import Failure, Record, records

RUNS = [{"id": i, "text": "ü" * 10} for i in range(3)]


def read(tmp_path: Path, data: bytes) -> list[tuple[str, int, object]]:
    path = tmp_path / "file"
    path.write_bytes(data)
    return [
        ("record" if isinstance(found, Record) else found.problem.reason, found.position, getattr(found, "value", ""))
        for found in records(path)
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RUNS),
        json.dumps(RUNS, indent=2),
        "".join(json.dumps(run) + "\n" for run in RUNS),
        "\n\n".join(json.dumps(run) for run in RUNS),
        "\n".join(json.dumps(run, indent=2) for run in RUNS),
    ],
    ids=["array", "indented array", "lines", "lines with gaps", "indented objects"],
)
def test_all_shapes_of_json_give_the_same_records(tmp_path: Path, text: str) -> None:
    assert [value for kind, _, value in read(tmp_path, text.encode()) if kind == "record"] == RUNS


def test_a_file_cut_in_the_middle_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    whole = json.dumps(RUNS).encode()
    found = read(tmp_path, whole[: len(whole) - 20])
    assert [kind for kind, _, _ in found] == ["record", "record", "cut_json"]


def test_an_array_that_is_not_closed_is_said_to_be_cut(tmp_path: Path) -> None:
    assert [x[0] for x in read(tmp_path, json.dumps(RUNS).encode()[:-1])] == ["record"] * 3 + ["cut_json"]


def test_a_broken_line_costs_that_line_only(tmp_path: Path) -> None:
    lines = [json.dumps(run) for run in RUNS]
    lines[1] = lines[1].replace(":", "=")
    found = read(tmp_path, ("\n".join(lines) + "\n").encode())
    assert [x[:2] for x in found] == [("record", 1), ("not_json", 2), ("record", 3)]


def test_a_last_line_without_an_end_is_said_to_be_cut(tmp_path: Path) -> None:
    found = read(tmp_path, (json.dumps(RUNS[0]) + "\n" + json.dumps(RUNS[1])[:-5]).encode())
    assert [x[0] for x in found] == ["record", "cut_json"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty_file"),
        (b" \n\t\n", "empty_file"),
        (b"[]", "empty_file"),
        (b"hello", "not_json"),
        (b"\xff\xfe\x00", "not_utf8"),
        (b'{"a": NaN}\n', "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"a": "\xff"}\n', "not_utf8"),
    ],
)
def test_what_is_no_json_is_a_counted_failure_and_no_exception(tmp_path: Path, data: bytes, reason: str) -> None:
    assert [x[0] for x in read(tmp_path, data)] == [reason]


def test_a_record_longer_than_the_window_is_read(tmp_path: Path) -> None:
    long = {"text": "x" * 3_000_000}
    assert [x[2] for x in read(tmp_path, json.dumps([long, long], indent=1).encode())] == [long, long]


def test_failures_have_a_place(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("[1, 2, x]")
    found = list(records(tmp_path / "f"))
    assert isinstance(found[-1], Failure) and found[-1].position == 3
