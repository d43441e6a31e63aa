import gzip
import hashlib
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


# --- compression ---


def zstandard(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


LONG = [{"id": i, "text": hashlib.sha256(str(i).encode()).hexdigest() * 8} for i in range(4000)]
LINES = "".join(json.dumps(run) + "\n" for run in LONG).encode()
COMPRESSED = {"gzip": gzip.compress(LINES), "zstd": zstandard(LINES)}


@pytest.mark.parametrize("compress", [gzip.compress, zstandard])
@pytest.mark.parametrize("shape", [LINES, json.dumps(LONG).encode(), json.dumps(LONG, indent=1).encode()])
def test_compression_is_recognised_by_content(tmp_path: Path, compress: Callable[[bytes], bytes], shape: bytes) -> None:
    assert [x[2] for x in read(tmp_path, compress(shape))] == LONG


@pytest.mark.parametrize("compress", [gzip.compress, zstandard])
def test_archives_that_were_appended_to_are_read_to_the_end(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert [x[2] for x in read(tmp_path, compress(LINES) + compress(LINES))] == LONG + LONG


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_cut_archive_gives_what_can_be_read_and_one_failure(tmp_path: Path, kind: str, share: float) -> None:
    data = COMPRESSED[kind]
    *good, last = read(tmp_path, data[: int(len(data) * share)])
    assert last[:2] == ("cut_archive", len(good) + 1)
    assert [x[2] for x in good] == LONG[: len(good)]
    assert len(good) >= (share - 0.1) * len(LONG)


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_damaged_archive_gives_what_stands_before_the_damage_and_ends_in_a_failure(tmp_path: Path, kind: str) -> None:
    data = COMPRESSED[kind]
    at = len(data) // 2
    found = read(tmp_path, data[:at] + b"\xff" * 200 + data[at + 200 :])
    assert [x[0] for x in found].count("cut_archive") == 1 and found[-1][0] == "cut_archive"
    whole = [x[2] for x in found if x[0] == "record"]
    assert whole[:1200] == LONG[:1200]  # what the damage garbles before it is noticed is up to the archive


def test_an_empty_archive_is_an_empty_file_and_a_stub_of_one_a_cut_archive(tmp_path: Path) -> None:
    assert [x[0] for x in read(tmp_path, gzip.compress(b""))] == ["empty_file"]
    assert [x[0] for x in read(tmp_path, gzip.compress(b"x")[:5])] == ["cut_archive"]


def test_a_file_that_cannot_be_opened_is_a_failure(tmp_path: Path) -> None:
    (found,) = records(tmp_path / "nothing here")
    assert isinstance(found, Failure) and found.problem.reason == "unreadable_file"


# --- bytes that are no plain UTF-8 with \n ---


@pytest.mark.parametrize("text", [json.dumps(RUNS), "".join(json.dumps(run) + "\n" for run in RUNS)])
def test_a_byte_order_mark_and_line_ends_of_windows_are_no_content(tmp_path: Path, text: str) -> None:
    data = text.replace("\n", "\r\n").encode("utf-8-sig")
    assert [x[2] for x in read(tmp_path, data)] == RUNS


def test_utf_16_is_named_once(tmp_path: Path) -> None:
    data = "".join(json.dumps(run) + "\n" for run in RUNS).encode("utf-16")
    assert [x[0] for x in read(tmp_path, data)] == ["not_utf8"]


def test_nul_bytes_cost_their_line_only(tmp_path: Path) -> None:
    data = b'{"a": 1}\n' + b"\0" * 5000 + b'\n{"a": "x\0y"}\n{"a": 2}\n'
    assert [x[:2] for x in read(tmp_path, data)] == [("record", 1), ("not_json", 2), ("not_json", 3), ("record", 4)]


def test_a_bad_byte_in_an_array_costs_its_record_only(tmp_path: Path) -> None:
    data = json.dumps(RUNS, ensure_ascii=False).encode()
    cut = data.index("ü".encode(), data.index(b'"id": 1')) + 1
    found = read(tmp_path, data[:cut] + data[cut + 1 :])
    assert [x[:2] for x in found] == [("record", 1), ("not_utf8", 2), ("record", 3)]


def test_half_of_a_surrogate_pair_is_replaced_so_that_the_text_can_be_written(tmp_path: Path) -> None:
    data = rb'{"a": "cut \ud83d", "b": "whole \ud83d\ude00", "c": "\ude00 low", "d": "\\ud83d"}'
    ((_, _, value),) = read(tmp_path, data + b"\n")
    assert value == {"a": "cut ?", "b": "whole 😀", "c": "? low", "d": "\\ud83d"}


# --- places that are no JSON ---


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "9" * 5000])
def test_numbers_that_cannot_be_written_again_are_no_json(tmp_path: Path, number: str) -> None:
    found = read(tmp_path, f'{{"a": {number}}}\n{{"a": 1}}\n'.encode())
    assert [x[0] for x in found] == ["not_json", "record"]


@pytest.mark.parametrize("text", ['[{"a": 1}, DEEP, {"a": 2}]', '{"a": 1}\nDEEP\n{"a": 2}\n'])
def test_nesting_that_no_reader_could_walk_through_is_refused(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text.replace("DEEP", '{"a": ' * 150 + "1" + "}" * 150).encode())
    assert [x[0] for x in found] == ["record", "not_json", "record"]


@pytest.mark.parametrize("indent", [1, 4])
def test_a_broken_element_of_an_indented_array_costs_that_element_only(tmp_path: Path, indent: int) -> None:
    runs = [{"id": i, "list": [{"a": 1}, {"b": [2]}]} for i in range(5)]
    text = json.dumps(runs, indent=indent).replace('"id": 1', '"id"= 1').replace('"id": 4', '"id": 4 4')
    found = read(tmp_path, text.encode())
    assert [x[:2] for x in found] == [
        *(("record", 1), ("not_json", 2), ("record", 3), ("record", 4)),
        ("not_json", 5),
    ]


def test_a_broken_element_of_an_array_with_a_line_for_each_costs_that_element_only(tmp_path: Path) -> None:
    lines = [json.dumps(run) for run in RUNS]
    lines[1] = lines[1][:-4]
    found = read(tmp_path, ("[" + ",\n".join(lines) + "]\n").encode())
    assert [x[:2] for x in found] == [("record", 1), ("cut_json", 2), ("record", 3)]


def test_reading_does_not_go_on_where_a_line_may_begin_anything(tmp_path: Path) -> None:
    runs = [{"list": [{"a": 1}, {"b": 2}]} for _ in range(4)]
    text = json.dumps(runs, indent=0)
    at = text.index('"a"', text.index('"a"') + 1)
    found = read(tmp_path, (text[:at] + "x" + text[at:]).encode())
    assert [x[0] for x in found] == ["record", "not_json"]


def test_arrays_that_follow_each_other_are_all_read(tmp_path: Path) -> None:
    assert [x[2] for x in read(tmp_path, (json.dumps(RUNS) + "\n" + json.dumps(RUNS)).encode())] == RUNS + RUNS


def test_the_json_lines_of_a_log_are_read_between_its_other_lines(tmp_path: Path) -> None:
    for prose in ("INFO starting", "[2026-01-01] start"):
        found = read(tmp_path, f'{prose}\n{{"a": 1}}\n{prose}\n{{"a": 2}}\n'.encode())
        assert [x[:2] for x in found] == [("not_json", 1), ("record", 2), ("not_json", 3), ("record", 4)]


def test_a_text_without_json_is_one_failure(tmp_path: Path) -> None:
    assert [x[0] for x in read(tmp_path, b"some text\nsome more\n" * 100)] == ["not_json"]


# --- memory, and everything at once ---


@pytest.mark.parametrize(("before", "between", "after"), [("", "\n", "\n"), ("[", ", ", "]"), ("[\n", ",\n", "\n]")])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, before: str, between: str, after: str) -> None:
    path = tmp_path / "file"
    one = json.dumps({"text": "x" * 100_000})
    with path.open("w") as file:
        file.write(before + one)
        for _ in range(400):
            file.write(between + one)
        file.write(after)
    tracemalloc.start()
    n_records = sum(isinstance(found, Record) for found in records(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_records == 401 and path.stat().st_size > 40_000_000 and peak < 12_000_000


SHAPES = [
    json.dumps(LONG[:20]).encode(),
    json.dumps(LONG[:20], indent=2).encode(),
    b"".join(json.dumps(run).encode() + b"\n" for run in LONG[:20]),
    gzip.compress(json.dumps(LONG[:20]).encode()),
    zstandard(json.dumps(LONG[:20]).encode()),
]


@given(st.sampled_from(SHAPES), st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_raise_and_positions_rise(tmp_path: Path, data: bytes, draw: st.DataObject) -> None:
    mutant = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(mutant)))
        n = draw.draw(st.integers(0, 60))
        mutant[at : at + n] = draw.draw(st.one_of(st.binary(max_size=8), st.sampled_from([b"", b"[", b"\n{", b"}\n"])))
    found = read(tmp_path, bytes(mutant))
    positions = [position for _, position, _ in found]
    assert found and positions == sorted(set(positions))
