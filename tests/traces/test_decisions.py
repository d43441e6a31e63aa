from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.traces.test_openai_messages import USER, called
from toolsel_assets.traces.decisions import Ingest, Joined, TraceFile

ANSWER = {"role": "assistant", "content": "done"}


def ingest(*paths: Path, format_name: str | None = None) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("decisions", "messages", "ingest_files", "ingest_rejects")
    }
    files = [TraceFile("src", path, path.name, format_name) for path in paths]
    Ingest(lambda table, row: tables[table].append(row), Joined("s", "hash", 1)).read(files)
    return tables


def run(name: str, *messages: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "messages": [USER, *messages]}


def test_a_decision_carries_its_place_and_what_came_before(jsonl: Callable[..., Path]) -> None:
    found = ingest(jsonl(run("r", called("a"), {"role": "tool", "content": "x"}, called("b"), ANSWER)))["decisions"]
    assert [(d["decision_id"], d["step_index"], d["n_steps"], d["action"], d["prior_actions"]) for d in found] == [
        ("src:r:0", 0, 3, "a", ""),
        ("src:r:1", 1, 3, "b", "a"),
        ("src:r:2", 2, 3, "(no tool)", "a|b"),
    ]


def test_ids_do_not_depend_on_files_or_positions(jsonl: Callable[..., Path]) -> None:
    one = jsonl(run("x", ANSWER), run("y", ANSWER), name="one.jsonl")
    two, three = jsonl(run("y", ANSWER), name="two.jsonl"), jsonl(run("x", ANSWER), name="three.jsonl")
    ids = [sorted(d["decision_id"] for d in ingest(*paths)["decisions"]) for paths in ([one], [two, three])]
    assert ids[0] == ids[1]


def test_the_order_in_which_files_arrive_changes_nothing(jsonl: Callable[..., Path]) -> None:
    files = [jsonl(run("x", ANSWER), name="b.jsonl"), jsonl(run("x", called("a")), run("z", ANSWER), name="a.jsonl")]
    assert ingest(*files) == ingest(*reversed(files))


def test_a_run_delivered_twice_is_kept_once_and_counted(jsonl: Callable[..., Path]) -> None:
    tables = ingest(jsonl(run("x", ANSWER), name="a.jsonl"), jsonl(run("x", ANSWER), run("y", ANSWER), name="b.jsonl"))
    assert len(tables["decisions"]) == 2
    assert [(r["source_file"], r["reason"]) for r in tables["ingest_rejects"]] == [("b.jsonl", "duplicate_run")]


def test_the_books_close_whatever_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    good = '{"id": "a", "messages": [{"role": "assistant", "content": "x"}]}'
    path.write_text(good + '\n{"id": "b"\n[1]\n{"messages": []}\n\n')
    tables = ingest(path, format_name="openai_messages")
    (file,) = tables["ingest_files"]
    assert (file["n_records"], file["n_runs"], file["n_rejects"]) == (4, 1, 3)
    reasons = Counter(r["reason"] for r in tables["ingest_rejects"])
    assert reasons == {"cut_json": 1, "not_a_record": 1, "no_messages": 1}


def test_a_file_of_another_format_is_rejected_by_name(jsonl: Callable[..., Path]) -> None:
    tables = ingest(jsonl({"resourceSpans": []}))
    assert [r["reason"] for r in tables["ingest_rejects"]] == ["unknown_format"]
    assert "openai_messages" in tables["ingest_rejects"][0]["detail"]
    assert tables["ingest_files"][0]["source_format"] == "unknown"


def test_a_malformed_call_is_a_decision_that_is_counted_and_is_no_stop(jsonl: Callable[..., Path]) -> None:
    tables = ingest(jsonl(run("x", called("a", arguments="{oops"))))
    (decision,) = tables["decisions"]
    assert (decision["status"], decision["action"]) == ("malformed", "(malformed)")
    (file,) = tables["ingest_files"]
    assert (file["n_decisions"], file["n_no_tool"], file["n_unscorable"]) == (1, 0, 1)


def test_messages_are_kept_once_per_run(jsonl: Callable[..., Path]) -> None:
    tables = ingest(jsonl(run("r", called("a"), {"role": "tool", "content": "x"}, ANSWER)))
    assert [m["position"] for m in tables["messages"]] == [0, 1, 2, 3]
    assert [d["n_messages"] for d in tables["decisions"]] == [1, 3]


REAL = (EXAMPLES / "starter" / "traces" / "runs.jsonl").read_bytes()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cut=st.integers(0, len(REAL)),
    noise=st.lists(st.tuples(st.integers(0, len(REAL) - 1), st.binary(max_size=3)), max_size=4),
    as_array=st.booleans(),
)
def test_no_spoilt_file_raises_or_loses_a_record(
    tmp_path: Path, cut: int, noise: list[tuple[int, bytes]], as_array: bool
) -> None:
    data = bytearray(b"[" + REAL.replace(b"\n", b",\n").rstrip(b",\n") + b"]" if as_array else REAL)
    for place, replacement in noise:
        data[place : place + len(replacement)] = replacement
    path = tmp_path / "spoilt"
    path.write_bytes(data[: cut + 1])
    tables = ingest(path)
    (file,) = tables["ingest_files"]
    assert file["n_records"] == file["n_runs"] + file["n_rejects"]
    assert file["n_rejects"] == len(tables["ingest_rejects"])
    assert file["n_decisions"] == len(tables["decisions"]) == len({d["decision_id"] for d in tables["decisions"]})
    assert all(d["status"] == "stopped" for d in tables["decisions"] if d["action"] == "(no tool)")
