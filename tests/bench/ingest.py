"""Reading traces: flat decisions beside DuckDB's own read_json, and transcripts of every Python format.

    python tests/bench/ingest.py flat 1000000 10000000 --repeats 3
    python tests/bench/ingest.py transcripts --megabytes 100

Every measurement is a process of its own; CPU seconds are of that process, memory is its peak. `flat` writes decisions
of about 1.7 kB (up to 8 messages with text from a pool) and compares

    copy (select * from read_json(<file>, columns = <the format's>)) to <file> (format parquet, compression zstd)

with what ingest does of the same file: reading it into Parquet (once without and once with redaction), and making the
tables of sql/traces/ of that. `transcripts` repeats real lines under fresh ids and reads them through the whole of
`Ingest`, redaction included; run it with two sizes to see that memory does not grow with the file.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "traces" / "data"
POOL, BATCH = 3000, 1_000_000
WORKS = ("read_json", "read", "read, redacting", "tables")
TRANSCRIPTS = {
    "claude_code": DATA / "claude_code" / "agent-a2898e3.head60.jsonl",
    "codex": DATA / "codex" / "rollout.head54.jsonl",
    "openai_messages": ROOT / "toolsel_assets" / "examples" / "starter" / "traces" / "runs.jsonl",
    "openai_requests": DATA / "openai_requests" / "chat.jsonl",
    "anthropic_messages": DATA / "anthropic_messages" / "messages.jsonl",
    "langfuse": DATA / "langfuse" / "pydantic-ai-tools-2025-12-04.trace.json",
    "langsmith": DATA / "langsmith" / "runs.jsonl",
    "inspect_ai": DATA / "inspect_ai" / "log_images_tc.json",
    "swe_agent": DATA / "swe_agent" / "replay_marshmallow-1867.traj",
}


def write_flat(path: Path, n: int, seed: int) -> None:
    """Write n flat decisions as JSON lines."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5000)]
    pool = [" ".join(chance.choices(words, k=50)) for _ in range(POOL)]
    written, run = 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < n:
            steps = min(chance.randint(3, 9), n - written)
            messages = [{"role": "user", "content": chance.choice(pool)}]
            for step in range(steps):
                last = step == steps - 1
                calls = [] if last else [{"tool": chance.choice(words), "args": {"q": chance.choice(words)}}]
                line = {
                    "run_id": f"run{seed}-{run}",
                    "step_index": step,
                    "messages": messages[-8:],
                    "calls": calls,
                    "stop_reason": "stop" if last else "tool_calls",
                    "decided_at": f"2026-11-{1 + run % 28:02d}T12:{step:02d}:00Z",
                    "client_id": f"c{run % 50}",
                    "model": "m-1",
                    "input_tokens": chance.randint(100, 9000),
                    "output_tokens": chance.randint(1, 900),
                    "latency_ms": round(chance.random() * 5000, 1),
                }
                file.write(json.dumps(line) + "\n")
                call = {"id": f"c{step}", "type": "function", "function": {"name": "x", "arguments": "{}"}}
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
                messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": chance.choice(pool)})
            written, run = written + steps, run + 1


def write_transcript(path: Path, name: str, megabytes: int) -> None:
    """Repeat real records under fresh ids until the file is long enough."""
    original = TRANSCRIPTS[name]
    text = original.read_text(encoding="utf-8")
    lines = text.splitlines() if original.suffix == ".jsonl" else [json.dumps(json.loads(text))]
    with path.open("w", encoding="utf-8") as file:
        copy, size = 0, 0
        while size < megabytes * 1_000_000:
            for line in lines:
                size += file.write(_renamed(line, copy) + "\n")
            copy += 1


ID_KEYS = {
    "id", "uuid", "parentUuid", "sessionId", "messageId", "leafUuid", "call_id", "tool_use_id", "toolUseID",
    "run_id", "trace_id", "traceId", "parent_run_id", "parentObservationId", "observationId", "dotted_order",
    "session_id", "task_id", "eval_id", "turn_id", "requestId", "sourceToolAssistantUUID", "span_id",
}  # fmt: skip


def _renamed(line: str, copy: int) -> str:
    def walk(value: object) -> object:
        if isinstance(value, dict):
            return {k: f"{v}-{copy}" if k in ID_KEYS and isinstance(v, str) else walk(v) for k, v in value.items()}
        return [walk(child) for child in value] if isinstance(value, list) else value

    return json.dumps(walk(json.loads(line)), ensure_ascii=False)


# --- one measurement, in a process of its own ---------------------------------------------------------------------


def measure(work: str, files: list[str], folder: str) -> dict[str, float]:
    """Do one piece of work and give its CPU seconds, wall seconds and peak megabytes."""
    import duckdb

    from toolsel_assets import store
    from toolsel_assets.traces.formats.decisions import COLUMNS
    from toolsel_assets.traces.ingest import Ingest, TraceFile
    from toolsel_assets.traces.loading import Joined, build_tables, load_tables
    from toolsel_assets.traces.redact import Redactor

    started, cpu = time.perf_counter(), _cpu()
    before = 0.0
    extra: dict[str, float] = {}
    if work == "read_json":
        with duckdb.connect(config={"memory_limit": "700MB", "temp_directory": folder}) as con:
            read = f"read_json({files!r}, format = 'newline_delimited', columns = {COLUMNS!r})"
            con.execute(f"copy (select * from {read}) to '{folder}/x.parquet' (format parquet, compression zstd)")
    else:
        rules = ["secrets", "bearer", "email"] if "redacting" in work else []
        traces = [TraceFile("bench", Path(file), file) for file in files]
        kept = Ingest(Path(folder) / "read", lambda: Redactor(rules)).read(traces)
        extra = {
            "calls": sum(one.books.n_calls for one in kept),
            "rejects": sum(len(one.books.rejects) for one in kept),
        }
        if work == "tables":
            before, started = _cpu() - cpu, time.perf_counter()
            with store.connect(Path(folder) / "w.duckdb") as con:
                load_tables(con, Path(folder), kept, Joined())
                build_tables(con, Path(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": _cpu() - cpu - before, "wall": time.perf_counter() - started, "peak": peak, **extra}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_a_process(work: str, files: list[Path]) -> dict[str, float]:
    """Run `measure` in a new interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "measure", work, folder, *map(str, files)]
        return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def medians(work: str, files: list[Path], repeats: int) -> dict[str, float]:
    """Give the medians of several measurements."""
    found = [in_a_process(work, files) for _ in range(repeats)]
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def flat(sizes: list[int], repeats: int) -> Iterator[str]:
    """Compare the reading of flat decisions, size by size."""
    with tempfile.TemporaryDirectory() as folder:
        files: list[Path] = []
        for size in sorted(sizes):
            while len(files) * BATCH < size:
                path = Path(folder) / f"{len(files)}.jsonl"
                write_flat(path, min(BATCH, size), len(files))
                files.append(path)
            size_mb = sum(path.stat().st_size for path in files) / 1e6
            base = 0.0
            for work in WORKS:
                found = medians(work, files, repeats)
                base = base or found["cpu"]
                yield (
                    f"{size:>11,}  {size_mb:>7,.0f} MB  {work:<16} {found['cpu']:>7.1f} CPU s  {found['wall']:>7.1f} s "
                    f"{found['peak']:>6,.0f} MB  {found['cpu'] / base:>5.2f} x"
                )


def transcripts(megabytes: int, repeats: int) -> Iterator[str]:
    """Measure every Python format on its own repeated lines."""
    with tempfile.TemporaryDirectory() as folder:
        for name in TRANSCRIPTS:
            path = Path(folder) / "traces.jsonl"
            write_transcript(path, name, megabytes)
            size = path.stat().st_size / 1e6
            for work in ("read", "read, redacting"):
                found = medians(work, [path], repeats)
                yield (
                    f"{name:<18} {size:>6.0f} MB  {work:<16} {found['cpu']:>6.1f} CPU s  "
                    f"{size / found['cpu']:>5.1f} MB/CPU s  {found['peak']:>5.0f} MB  {found['calls']:,.0f} calls"
                )


def main() -> None:
    """Run what the command line says."""
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[4:], sys.argv[3])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["flat", "transcripts"])
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    lines = flat(args.sizes, args.repeats) if args.what == "flat" else transcripts(args.megabytes, args.repeats)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
