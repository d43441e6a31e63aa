"""The whole stage on files: every delivery of the same traces gives the same decisions, and the books close."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.traces.formats.test_openai_messages import USER, called
from tests.traces.ingest_of import REAL, books_close, ingest, read
from toolsel_assets.traces import formats
from toolsel_assets.traces.records import Record, records

ANSWER = {"role": "assistant", "content": "done"}
RESULT = {"role": "tool", "content": "x"}
Write = Callable[..., Path]


def run(name: str, *messages: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "messages": [USER, *messages]}


def whole(found: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    """What is said of decisions, whatever the files that they came in."""
    names = ("decision_id", "run_id", "step_index", "n_steps", "action", "status", "prior_actions", "last_message")
    return sorted(tuple(row[name] for name in names) for row in found["decisions"])


def test_a_decision_carries_its_place_and_what_came_before(tmp_path: Path, jsonl: Write) -> None:
    found = ingest(tmp_path, jsonl(run("r", called("a"), RESULT, called("b"), RESULT, ANSWER)))
    assert [(d["decision_id"], d["action"], d["prior_actions"], d["n_messages"]) for d in found["decisions"]] == [
        ("src:r:0", "a", "", 1),
        ("src:r:1", "b", "a", 3),
        ("src:r:2", "(no tool)", "a|b", 5),
    ]


def test_the_order_in_which_files_arrive_changes_nothing(tmp_path: Path, jsonl: Write) -> None:
    long, short = run("x", called("a"), RESULT, ANSWER), run("x", called("a"))
    one, two = jsonl(short, run("y", ANSWER), name="1.jsonl"), jsonl(run("z", ANSWER), long, name="2.jsonl")
    together = ingest(tmp_path / "a", one, two)
    later = tmp_path / "b"
    ingest(later, two)
    assert whole(ingest(later, two, one)) == whole(together) == whole(ingest(tmp_path / "c", one, two))
    assert len(together["decisions"]) == 4


def test_a_file_that_was_read_is_not_opened_again(
    tmp_path: Path, jsonl: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = jsonl(run("x", ANSWER))
    first = read(tmp_path, [path])
    monkeypatch.setattr("toolsel_assets.traces.ingest._hashed", lambda *_: pytest.fail("a file was opened"))
    monkeypatch.setattr("toolsel_assets.traces.ingest.read_file", lambda *_: pytest.fail("a file was read"))
    assert [kept.parquet for kept in read(tmp_path, [path])] == [kept.parquet for kept in first]


def test_only_new_files_are_read(tmp_path: Path, jsonl: Write, caplog: pytest.LogCaptureFixture) -> None:
    one, two = jsonl(run("x", ANSWER), name="1.jsonl"), jsonl(run("y", ANSWER), name="2.jsonl")
    read(tmp_path, [one])
    caplog.clear()
    with caplog.at_level("INFO", "toolsel.traces"):
        read(tmp_path, [one, two])
    assert [record.message.split(":")[0] for record in caplog.records] == ["2.jsonl"]


def test_other_redaction_rules_read_a_file_again(tmp_path: Path, jsonl: Write) -> None:
    path = jsonl(run("x", {"role": "user", "content": "I am ann@example.com"}, ANSWER))
    assert ingest(tmp_path, path)["decisions"][0]["last_message"] == "I am ann@example.com"
    found = ingest(tmp_path, path, rules=["email"])
    assert found["decisions"][0]["last_message"] == "I am [redacted:email]"
    assert found["ingest_files"][0]["n_redacted"] == 1
    kept = read(tmp_path, [path], rules=["email"])[0]
    assert b"ann@example.com" not in kept.parquet.read_bytes()


def test_the_same_file_delivered_twice_counts_once(tmp_path: Path, jsonl: Write) -> None:
    one = jsonl(run("x", called("a"), RESULT, ANSWER), [1], name="1.jsonl")
    two = tmp_path / "2.jsonl"
    two.write_bytes(one.read_bytes())
    found = ingest(tmp_path, one, two)
    assert len(found["decisions"]) == 2 and books_close(found)
    assert [(f["n_records"], f["n_merged"], f["n_rejects"]) for f in found["ingest_files"]] == [(5, 2, 1), (5, 5, 0)]
    assert {"source_file": "2.jsonl", "reason": "same_file", "n_units": 5}.items() <= found["ingest_merged"][-1].items()


def test_a_file_that_grew_gives_what_it_holds_now(tmp_path: Path, jsonl: Write) -> None:
    ingest(tmp_path, jsonl(run("x", called("a"))))
    found = ingest(tmp_path, jsonl(run("x", called("a"), RESULT, ANSWER)))
    assert [d["action"] for d in found["decisions"]] == ["a", "(no tool)"] and books_close(found)
    assert len(list((tmp_path / "read").rglob("*.parquet"))) == 1, "what was read of the shorter file is not kept"


def test_a_run_in_two_files_is_one_run(tmp_path: Path, jsonl: Write) -> None:
    short = jsonl(run("x", called("a"), RESULT, called("b")), name="1.jsonl")
    found = ingest(tmp_path, short, jsonl(run("x", called("a"), RESULT, called("b"), RESULT, ANSWER), name="2.jsonl"))
    assert [(d["step_index"], d["n_steps"], d["action"]) for d in found["decisions"]] == [
        (0, 3, "a"),
        (1, 3, "b"),
        (2, 3, "(no tool)"),
    ]
    assert books_close(found)
    assert not any(d["run_truncated"] for d in found["decisions"])


def test_what_a_call_saw_orders_a_conversation_when_the_clocks_disagree(tmp_path: Path, jsonl: Write) -> None:
    def logged(number: int, second: int, *messages: dict[str, Any]) -> dict[str, Any]:
        answer = {"id": f"resp_{number}", "model": "m", "choices": [{"message": ANSWER, "finish_reason": "stop"}]}
        request = {"model": "m", "messages": [{"role": "user", "content": "hi"}, *messages]}
        time = f"2026-01-01T10:00:{second:02d}Z"
        return {"request": request, "response": answer, "metadata": {"session_id": "c"}, "timestamp": time}

    more = {"role": "user", "content": "and then?"}
    path = jsonl(logged(2, 5, ANSWER, more), logged(1, 9), logged(3, 7, ANSWER, more, ANSWER, more))
    found = ingest(tmp_path, path)["decisions"]
    assert {d["decision_id"]: (d["step_index"], d["run_id"]) for d in found} == {
        "src:resp_1": (0, "src:c"),
        "src:resp_2": (1, "src:c"),
        "src:resp_3": (2, "src:c"),
    }


def test_a_run_that_ends_on_a_call_is_truncated_and_gets_no_stop(tmp_path: Path, jsonl: Write) -> None:
    (decision,) = ingest(tmp_path, jsonl(run("x", called("a"), RESULT)))["decisions"]
    assert (decision["action"], decision["run_truncated"]) == ("a", True)


def test_a_compressed_file_gives_the_same_decisions(tmp_path: Path, jsonl: Write) -> None:
    plain = jsonl(run("x", called("a"), RESULT, ANSWER))
    packed = tmp_path / "traces.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert whole(ingest(tmp_path / "a", packed)) == whole(ingest(tmp_path / "b", plain))


def test_a_catalogue_in_the_trace_is_told_apart_from_names_alone(tmp_path: Path, jsonl: Write) -> None:
    full = [{"type": "function", "function": {"name": "a", "description": "does a", "parameters": {}}}]
    path = jsonl({**run("x", ANSWER), "tools": full}, {**run("y", ANSWER), "tools": ["a", "b"]}, run("z", ANSWER))
    found = ingest(tmp_path, path)
    assert [d["catalogue_source"] for d in found["decisions"]] == ["in_trace", "names_only", "unknown"]
    assert sorted(row["tools"] for row in found["trace_catalogues"]) == ["a", "a|b"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty_file"),
        ("hello", "not_json"),
        ('{"a": 1}\n', "unknown_format"),
        ('{"id": "r", "messages": [{"role": "user"', "cut_json"),
    ],
)
def test_a_file_that_gives_nothing_says_why(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    found = ingest(tmp_path, path)
    assert [row["reason"] for row in found["ingest_rejects"]] == [reason]
    assert not found["decisions"] and books_close(found)


def test_a_prescribed_format_rejects_what_is_not_of_it(tmp_path: Path, jsonl: Write) -> None:
    found = ingest(tmp_path, jsonl(run("x", ANSWER)), format_name="claude_code")
    assert not found["decisions"] and books_close(found)


def test_a_reader_that_fails_costs_the_record_and_not_the_file(
    tmp_path: Path, jsonl: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = formats.load("openai_messages")
    real = module._run  # type: ignore[attr-defined]

    def fails(record: Any) -> Any:
        if record["id"] == "bad":
            raise TypeError("a defect")
        return real(record)

    monkeypatch.setattr(module, "_run", fails)
    found = ingest(tmp_path, jsonl(run("x", ANSWER), run("bad", ANSWER), run("y", ANSWER)))
    assert [d["run_id"] for d in found["decisions"]] == ["src:x", "src:y"] and books_close(found)
    assert "a defect" in found["ingest_rejects"][0]["detail"]


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_real_record_is_of_one_format(path: Path) -> None:
    whose = {
        tuple(name for name in formats.names() if formats.load(name).recognises(found.value))
        for found in records(path)
        if isinstance(found, Record)
    } - {()}
    assert len(whose) == 1 and len(next(iter(whose))) == 1
