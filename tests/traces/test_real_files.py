"""Every real file of every format, each as a source of its own: books close, and a second count finds as much.

The second count is a few lines over the JSON, here; the tests of the formats say which record is which decision.
data/README.md has the same counts of the whole files that these copies come from.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.traces.ingest_of import DATA, REAL, books_close, ingest, ingest_apart, looked_at, read, source_of, tables
from toolsel_assets import store

Found = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Found:
    return ingest_apart(tmp_path_factory.mktemp("real"), REAL)


def decisions_of(real: Found, path: Path) -> list[dict[str, Any]]:
    return [row for row in real["decisions"] if row["source"] == source_of(path)]


def test_every_real_file_gives_decisions_and_its_books_close(real: Found) -> None:
    assert books_close(real)
    assert len(real["ingest_files"]) == len(REAL) and all(f["n_decisions"] for f in real["ingest_files"])
    for decision in real["decisions"]:
        assert isinstance(json.loads(decision["calls"]), list)
        assert (decision["action"] == "(no tool)") == (decision["status"] == "stopped")


def test_the_only_real_rejects_are_explained(real: Found) -> None:
    found = Counter((row["source_file"], row["reason"]) for row in real["ingest_rejects"])
    assert found == {
        # OpenAI's POST /v1/conversations, logged among calls of the model, is none.
        ("responses.jsonl", "not_a_record"): 1,
        # This instrumentor's log records carry neither a trace id nor a span id.
        ("anthropic_openllmetry_events.jsonl", "no_id"): 42,
    }


def test_parquet_that_was_read_elsewhere_gives_the_same_decisions(tmp_path: Path) -> None:
    kept = read(tmp_path / "there", REAL)
    there = looked_at(tmp_path / "there", kept)
    assert books_close(there)
    here = ingest(tmp_path / "here", *(found.parquet for found in kept))
    said = ("decision_id", "run_id", "step_index", "n_steps", "action", "prior_actions", "n_messages", "last_message")

    def whole(found: Found) -> list[Any]:
        return sorted([tuple(str(row[name]) for name in said) for row in found["decisions"]])

    assert whole(here) == whole(there) and books_close(here) and not here["ingest_rejects"]


def test_a_parquet_file_of_something_else_is_rejected(tmp_path: Path) -> None:
    with store.scratch({}, {}, {}, "200MB") as con:
        store.copy(con, "select 1 as x", tmp_path / "other.parquet")
    found = ingest(tmp_path, tmp_path / "other.parquet")
    assert [row["reason"] for row in found["ingest_rejects"]] == ["not_a_record"] and books_close(found)


# --- what real instrumentation wrote, against what the server that it called has logged ---------------------------

#: Files from which not everything can be known, and why; see data/otlp/README.md.
LOSSY = {
    "anthropic_native_no_content": "no messages: which tool was called is not known, nor that an attempt was a retry",
    "anthropic_openllmetry_events": "events without ids belong to no span: nothing but tokens is known",
    "anthropic_openllmetry_indexed": "the failed request was never exported, the streamed answer not recorded",
    "openai_v2_no_content": "names of tools without arguments",
}
RECORDED = sorted((DATA / "otlp").glob("*.jsonl"))


def served(path: Path) -> list[tuple[str, list[Any], int]]:
    """What the server answered: how it ended, the calls, and the requests that it took."""
    found, failed = [], 0
    for request in json.loads(path.with_suffix(".expected.json").read_text())["requests"]:
        if request["ended"] == "error":
            failed += 1
            continue
        calls = [{"tool": call["tool"], "args": call["args"]} for call in request["calls"]]
        found.append((request["ended"], calls, 1 + failed))
        failed = 0
    return found


@pytest.mark.parametrize("path", [path for path in RECORDED if path.stem not in LOSSY], ids=lambda path: path.stem)
def test_decisions_are_the_calls_that_the_server_saw(real: Found, path: Path) -> None:
    found = decisions_of(real, path)
    rows = sorted(found, key=lambda row: (row["decided_at"], row["run_id"]))
    assert [(row["status"], json.loads(row["calls"]), row["n_attempts"]) for row in rows] == served(path)
    assert len({row["run_id"] for row in found}) == 2
    assert [(row["step_index"], row["n_steps"]) for row in rows] == [(0, 3), (1, 3), (2, 3)] * 2
    assert all(row["context_complete"] and row["n_messages"] for row in found)


@pytest.mark.parametrize("name", LOSSY)
def test_what_an_instrumentation_leaves_out_is_never_taken_for_a_stop(real: Found, name: str) -> None:
    found = decisions_of(real, DATA / "otlp" / f"{name}.jsonl")
    expected = Counter(ended for ended, _, _ in served(DATA / "otlp" / f"{name}.jsonl"))
    counted = Counter(row["status"] for row in found)
    assert len(found) >= 6 and counted["stopped"] <= expected["stopped"] and counted["called"] <= expected["called"]


def test_a_call_of_a_tool_without_content_keeps_its_names(real: Found) -> None:
    found = decisions_of(real, DATA / "otlp" / "openai_v2_no_content.jsonl")
    called = [row for row in found if row["status"] == "called"]
    assert sorted(row["action"] for row in called) == ["find_order", "find_order", "find_order|weather"]
    assert not any(row["context_complete"] or row["args_complete"] for row in called)


def test_catalogues_of_the_traces_are_told_apart(tmp_path: Path) -> None:
    with tables(tmp_path, read(tmp_path, [DATA / "otlp" / "anthropic_genai.jsonl"])) as con:
        rows = store.rows(con, "select catalogue_source, n_tools, tools from traces.trace_catalogues")
    assert rows == [{"catalogue_source": "in_trace", "n_tools": 2, "tools": "find_order|weather"}]


# --- the second count ---------------------------------------------------------------------------------------------


def of_claude_code(path: Path) -> int:
    lines = map(json.loads, path.read_text().splitlines())
    return len({line["message"]["id"] for line in lines if line.get("type") == "assistant"})


def of_codex(path: Path) -> int:
    """A response ends with a count of tokens whose total is new."""
    payloads = [json.loads(line).get("payload", {}) for line in path.read_text().splitlines()]
    counts = [one["info"] for one in payloads if one.get("type") == "token_count" and one.get("info")]
    return len({info["total_token_usage"]["total_tokens"] for info in counts})


def of_inspect_ai(path: Path) -> int:
    return path.read_text().replace(" ", "").count('"event":"model"')


def of_swe_agent(path: Path) -> int:
    history = json.loads(path.read_text())["history"]
    return sum(each["role"] == "assistant" and not each.get("is_demo") for each in history)


def of_langfuse(path: Path) -> int:
    """Generations, less those that are blocks of one answer (claude-agent) or a wrapper (vercel)."""
    observations = json.loads(path.read_text())["observations"]
    once = {"claude-agent-2025-12-22.trace": 2, "vercel-aisdk-2025-11-17.trace": 1}.get(path.stem, 0)
    return sum(each["type"] == "GENERATION" for each in observations) - once


def of_langsmith(path: Path) -> int:
    """Runs of the model; one failed and was made again."""
    return sum(json.loads(line)["run_type"] == "llm" for line in path.read_text().splitlines()) - 1


def of_vercel_ai_sdk(path: Path) -> int:
    found = json.loads(path.read_text())
    names = [span["name"] for span in (found if isinstance(found, list) else [found])]
    return sum(".do" in name and "doEmbed" not in name for name in names)


def of_openai_messages(path: Path) -> int:
    return sum(path.read_text().count(f'"role":{space}"assistant"') for space in ("", " "))


COUNTED = {
    "claude_code": of_claude_code,
    "codex": of_codex,
    "inspect_ai": of_inspect_ai,
    "swe_agent": of_swe_agent,
    "langfuse": of_langfuse,
    "langsmith": of_langsmith,
    "vercel_ai_sdk": of_vercel_ai_sdk,
    "traces": of_openai_messages,
}


@pytest.mark.parametrize(
    "path", [path for path in REAL if path.parent.name in COUNTED], ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_second_count_finds_as_many_decisions(real: Found, path: Path) -> None:
    assert len(decisions_of(real, path)) == COUNTED[path.parent.name](path)
