"""Flat decisions go through DuckDB: what they mean is tested on whole files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.traces.ingest_of import books_close, ingest, model_calls
from toolsel_assets.traces import outcome
from toolsel_assets.traces.formats import decisions, detect

Write = Callable[..., Path]
USER = {"role": "user", "content": "hello"}


def line(step: int = 0, **more: Any) -> dict[str, Any]:
    return {"run_id": "r", "step_index": step, "messages": [USER], **more}


def one(tmp_path: Path, jsonl: Write, **more: Any) -> dict[str, Any]:
    found = ingest(tmp_path, jsonl(line(**more)))
    assert books_close(found) and len(found["decisions"]) == 1
    return dict(found["decisions"][0])


def test_a_line_is_a_decision_with_all_that_it_says(tmp_path: Path, jsonl: Write) -> None:
    more = {
        "calls": [{"tool": "b", "args": {"x": 1}}, {"tool": "a", "args": None}],
        "decided_at": "2026-11-30T13:00:00+01:00",
        "thread_id": "t",
        "client_id": "web",
        "model": "m",
        "model_served": "m-1",
        "input_tokens": 10,
        "output_tokens": 3,
        "latency_ms": 1.5,
        "tools": [{"name": "a", "description": "x"}],
        "anything": "else",
    }
    found = one(tmp_path, jsonl, **more)
    expected = {
        "decision_id": "src:r:0",
        "run_id": "src:r",
        "thread_id": "t",
        "client_id": "web",
        "action": "a|b",
        "n_calls": 2,
        "status": "called",
        "model_requested": "m",
        "model_served": "m-1",
        "input_tokens": 10,
        "output_tokens": 3,
        "latency_ms": 1.5,
        "catalogue_source": "in_trace",
        "last_message": "hello",
        "context_complete": True,
    }
    assert {name: found[name] for name in expected} == expected
    assert str(found["decided_at"]) == "2026-11-30 12:00:00"
    assert json.loads(found["calls"]) == more["calls"]


def test_steps_order_a_run_whatever_the_order_of_lines(tmp_path: Path, jsonl: Write) -> None:
    lines = [line(2, stop_reason="stop"), line(0, calls=[{"tool": "a"}]), line(1, calls=[{"tool": "b"}])]
    found = ingest(tmp_path, jsonl(*lines))["decisions"]
    assert [(d["step_index"], d["action"], d["prior_actions"]) for d in found] == [
        (0, "a", ""),
        (1, "b", "a"),
        (2, "(no tool)", "a|b"),
    ]


WORDS = {
    **dict.fromkeys(outcome.FINISHED, "stopped"),
    **dict.fromkeys(outcome.CUT, "truncated"),
    **dict.fromkeys(outcome.DECLINED, "refused"),
    **dict.fromkeys(outcome.FAILED, "api_error"),
    **dict.fromkeys(outcome.CALLING, "malformed"),
    "something else": "unknown",
}


def test_stop_reasons_mean_what_they_mean_everywhere(tmp_path: Path, jsonl: Write) -> None:
    words = sorted(WORDS)
    without = [line(at, stop_reason=word, calls=[]) for at, word in enumerate(words)]
    called = [line(at, stop_reason=word, calls=[{"tool": "a"}], decision_id=f"c{at}") for at, word in enumerate(words)]
    found = ingest(tmp_path, jsonl(*without, *called))
    assert books_close(found)
    status = {d["decision_id"]: d["status"] for d in found["decisions"]}
    for at, word in enumerate(words):
        assert status[f"src:r:{at}"] == outcome.status((), word, text=False)[0] == WORDS[word]
        assert status[f"src:c{at}"] == outcome.status((outcome.call("a", {}),), word, text=False)[0]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"calls": None}, "unknown"),
        ({}, "unknown"),
        ({"answer": "done"}, "stopped"),
        ({"answer": ""}, "unknown"),
        ({"status": "stopped"}, "stopped"),
        ({"status": "refused", "calls": []}, "refused"),
        ({"status": "stopped", "calls": [{"tool": "a"}]}, "unknown"),
        ({"status": "called"}, "unknown"),
        ({"status": "wonderful"}, "unknown"),
        ({"calls": "a"}, "malformed"),
        ({"calls": {"tool": "a"}}, "malformed"),
        ({"calls": [{"args": {}}]}, "malformed"),
        ({"calls": [{"tool": ""}]}, "malformed"),
        ({"calls": [{"tool": "a", "args": [1]}]}, "malformed"),
        ({"calls": [{"tool": "a", "args": "{}"}]}, "malformed"),
        ({"calls": ["a"]}, "malformed"),
    ],
)
def test_no_tool_needs_positive_evidence(tmp_path: Path, jsonl: Write, more: dict[str, Any], status: str) -> None:
    (found,) = model_calls(tmp_path, jsonl(line(**more)))
    assert found["status"] == status
    assert bool(found["tools_called"]) == (status == "called")


@pytest.mark.parametrize(
    ("messages", "problem"),
    [(None, "content_not_captured"), ([], "content_not_captured"), ("x", "broken_messages"), ({}, "broken_messages")],
)
def test_a_decision_without_messages_counts_and_cannot_be_replayed(
    tmp_path: Path, jsonl: Write, messages: Any, problem: str
) -> None:
    (found,) = model_calls(tmp_path, jsonl(line(messages=messages, status="stopped")))
    assert found["context_problem"] == problem


def test_lines_that_cannot_be_read_are_found_among_those_that_can(tmp_path: Path) -> None:
    good = [json.dumps(line(step, status="stopped")) for step in range(20)]
    bad = [json.dumps(line("x", status="stopped")), "{oops", json.dumps({"a": 1}), json.dumps(line(run_id=None)), "[1]"]
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join([*good[:9], *bad, *good[9:]]) + "\n")
    found = ingest(tmp_path, path)
    assert books_close(found) and len(found["decisions"]) == 20
    assert sorted((row["reason"], row["position"]) for row in found["ingest_rejects"] if row["reason"] != "no_id") == [
        ("not_a_record", 10),
        ("not_a_record", 12),
        ("not_a_record", 14),
        ("not_json", 11),
    ]
    assert [row["reason"] for row in found["ingest_rejects"]].count("no_id") == 1


def test_arrays_and_archives_are_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "array.json"
    path.write_text(json.dumps([line(step, status="stopped") for step in range(3)], indent=2))
    found = ingest(tmp_path, path)
    assert len(found["decisions"]) == 3 and books_close(found)


def test_secrets_are_replaced_before_anything_is_written(tmp_path: Path, jsonl: Write) -> None:
    secret = "sk-abcdefghijklmnop1234"
    messages = [{"role": "user", "content": f"my key is {secret}, mail me at ann@example.com"}]
    path = jsonl(line(messages=messages, calls=[{"tool": "a", "args": {"password": "hunter2"}}]))
    found = ingest(tmp_path, path, rules=["secrets", "bearer", "email"])
    (decision,) = found["decisions"]
    assert "[redacted:secrets]" in decision["last_message"] and "[redacted:email]" in decision["last_message"]
    assert json.loads(decision["calls"]) == [{"tool": "a", "args": {"password": "[redacted:secrets]"}}]
    assert found["ingest_files"][0]["n_redacted"] >= 3
    for written in (tmp_path / "read").rglob("*"):
        data = written.read_bytes() if written.is_file() else b""
        assert not any(text in data for text in (secret.encode(), b"ann@example.com", b"hunter2"))


def test_a_reject_quotes_neither_secrets_nor_the_place_of_a_temporary_file(tmp_path: Path, jsonl: Write) -> None:
    path = jsonl(line(status="stopped"), line("ann@example.com", status="stopped"))
    (reject,) = ingest(tmp_path, path, rules=["email"])["ingest_rejects"]
    assert "Failed to cast" in reject["detail"] and "[redacted:email]" in reject["detail"]
    assert "/" not in reject["detail"]


def test_the_format_is_recognised_by_its_three_keys() -> None:
    assert detect(line()) == "decisions" and decisions.units(line()) == 1
    assert not decisions.recognises({"run_id": "r", "messages": []})
