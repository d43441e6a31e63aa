"""A ladder of 4 rungs x 540 requests x 3 orders against a server of its own: speed, the cache's bill, and kills.

What belongs here: the study that is asked, `throughput` (beside the bare SDK at the same concurrency) and `kills` (kill
-9 at random moments, then the server's books beside the ledger's, and the tables beside those of an undisturbed run).
What does not: limits that a test suite would assert; these depend on the machine.

The server is a process of its own (tests/replays/messages_server.py) that keeps its books while clients die.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
SERVER = ROOT / "tests" / "replays" / "messages_server.py"
MODEL = "claude-opus-4-6"
SIZES = {"base": 18, "more": 22, "wide": 26, "widest": 30}
TOOL_CHARS, SYSTEM_CHARS, MESSAGE_CHARS = 560, 1200, 1600

#: Two draws of a table may differ in these: when, how long, and what the provider called it.
PASSING = ("chosen_at", "latency_ms", "n_tries", "run_date", "first_chosen_at", "median_latency_ms", "seconds")


# --- the study ----------------------------------------------------------------------------------------------------


def make_study(folder: Path, url: str, *, n_requests: int, in_flight: int, draws: int) -> Path:
    """Write a study whose four rungs grow from 18 tools to 30, with written requests."""
    shutil.copytree(ROOT / "toolsel_assets" / "examples" / "starter", folder)
    for path in (*folder.glob("catalogues/*"), *folder.glob("ladders/*"), *folder.glob("labels/v1/*")):
        path.unlink()
    names = [f"tool_{i:02}" for i in range(max(SIZES.values()))]
    for rung, n in SIZES.items():
        tools = [{"name": name, "description": padded(f"{name} does its thing", TOOL_CHARS)} for name in names[:n]]
        (folder / "catalogues" / f"{rung}.json").write_text(json.dumps({"tools": tools}))
    (folder / "prompts").mkdir(exist_ok=True)
    (folder / "prompts" / "agent.md").write_text(padded("You are an agent.", SYSTEM_CHARS))
    rows = [
        {
            "id": f"request-{i:03}",
            "messages": [{"role": "user", "content": padded(f"request {i}", MESSAGE_CHARS)}],
            "valid_actions": [{"tool": None}] if i % 3 == 0 else [{"tool": names[i % SIZES["base"]]}],
            "labelled_by": ["bench"],
        }
        for i in range(n_requests)
    ]
    (folder / "labels" / "v1" / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = yaml.safe_load((folder / "study.yaml").read_text())
    prices = {MODEL: {"input": 5.0, "output": 25.0}}
    (folder / "study.yaml").write_text(yaml.safe_dump({**study, "catalogue": "base", "prices": prices}))
    ladder = {
        "label_set": "v1",
        "criteria": "growth",
        "order_seeds": [11, 12, 13],
        "draws": draws,
        "agent": {"name": "anthropic", "params": {"base_url": url}, "settings": {"in_flight": in_flight}},
        "rungs": [{"name": n, "catalogue": n, "prompt": "agent", "model": MODEL} for n in SIZES],
    }
    (folder / "ladders" / "paid.yaml").write_text(yaml.safe_dump(ladder))
    toolsel("label", "release", "v1", "--study", str(folder))
    return folder


def padded(text: str, n: int) -> str:
    return (text + " and so on" * n)[:n]


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("toolsel")), *arguments]


def toolsel(*arguments: str) -> None:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def environment() -> dict[str, str]:
    return {**os.environ, "ANTHROPIC_API_KEY": "bench", "DAGSTER_HOME": ""}


@contextmanager
def server(log: Path, latency_ms: float, *more: str) -> Iterator[str]:
    started = [sys.executable, str(SERVER), "--log", str(log), "--latency-ms", str(latency_ms), *more]
    process = subprocess.Popen(
        started, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()


def books(url: str) -> Json:
    with urllib.request.urlopen(f"{url}/_accounting") as answer:
        return json.load(answer)  # type: ignore[no-any-return]


# --- throughput ---------------------------------------------------------------------------------------------------


def throughput(folder: Path, options: argparse.Namespace) -> None:
    """Run the ladder, then ask the same bodies with the bare SDK at the same concurrency, alternately."""
    n_calls = len(SIZES) * options.requests * 3
    for turn in range(options.rounds):
        with server(folder / f"ours{turn}.log", options.latency_ms) as url:
            study = make_study(
                folder / f"study{turn}", url, n_requests=options.requests, in_flight=options.in_flight, draws=1
            )
            began, cpu = time.monotonic(), children_cpu()
            toolsel("run", "--study", str(study), "--data", str(folder / f"data{turn}"))
            wall, cpu = time.monotonic() - began, children_cpu() - cpu
            account = books(url)
            ours = rates(folder / f"ours{turn}.log")
        assert account["received"] == account["answered"] == n_calls, account
        with server(folder / f"bare{turn}.log", options.latency_ms) as url:
            bare_wall = asyncio.run(bare(folder / f"study{turn}", url, options.in_flight))
        whole = n_calls / wall
        print(f"round {turn}: {n_calls} calls, {options.in_flight} in flight, answers after {options.latency_ms:g} ms")
        share = ours * bare_wall / n_calls
        print(f"  asking, rung by rung       {ours:8.1f} calls a second ({share:.1%} of the bare SDK)")
        print(f"  toolsel run, start to end  {whole:8.1f} calls a second, {wall:.1f} s wall")
        print(f"  bare SDK                   {n_calls / bare_wall:8.1f} calls a second")
        billed, plain = account["input_units"], account["uncached_input_units"]
        print(f"  billed input units {billed:,.0f} of {plain:,.0f} uncached: {billed / plain:.3f}", flush=True)


def children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def rates(log: Path) -> float:
    """Give calls a second while calls were under way: between two rungs Dagster has its own work."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    began, ended, per_rung = rows[0]["came"], rows[0]["went"], []
    for row in sorted(rows, key=lambda row: row["came"]):
        if row["came"] > ended + 0.5:  # the pause between two rungs
            per_rung.append(ended - began)
            began = row["came"]
        ended = max(ended, row["went"])
    per_rung.append(ended - began)
    return len(rows) / sum(per_rung)


async def bare(study: Path, url: str, in_flight: int) -> float:
    """Ask the ladder's questions with the SDK as its documentation does it, and nothing else."""
    from anthropic import AsyncAnthropic

    rows = [json.loads(line) for line in (study / "labels" / "v1" / "labels.jsonl").read_text().splitlines()]
    system = (study / "prompts" / "agent.md").read_text()
    client, places = AsyncAnthropic(api_key="bench", base_url=url), asyncio.Semaphore(in_flight)

    async def one(tools: list[Json], messages: list[Json]) -> None:
        async with places:
            await client.messages.create(
                model=MODEL,
                max_tokens=4096,
                system=system,
                tools=tools,
                messages=messages,
                tool_choice={"type": "auto"},  # type: ignore[arg-type]
            )

    began = time.monotonic()
    for rung in SIZES:
        found = json.loads((study / "catalogues" / f"{rung}.json").read_text())["tools"]
        tools = [{**tool, "input_schema": {"type": "object"}} for tool in found]
        await asyncio.gather(*(one(tools, row["messages"]) for _ in range(3) for row in rows))
    return time.monotonic() - began


# --- kills --------------------------------------------------------------------------------------------------------


def kills(folder: Path, options: argparse.Namespace) -> None:
    """Kill `toolsel run` at random moments, let the last one finish, and compare books and tables."""
    rng = random.Random(options.seed)
    log, more = folder / "server.log", ["--ignore-idempotency"] if options.ignore_idempotency else []
    with server(log, options.latency_ms, *more) as url:
        make = {"n_requests": options.requests, "in_flight": options.in_flight, "draws": options.draws}
        study, data = make_study(folder / "study", url, **make), folder / "data"
        known, at = 0, Counter[str]()
        for kill in range(options.kills):
            process = subprocess.Popen(
                command("run", "--study", str(study), "--data", str(data)),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True,
            )  # fmt: skip
            time.sleep(rng.uniform(options.earliest, options.latest))
            at["finished before" if process.poll() is not None else "killed"] += 1
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            n = len(ledger_keys(data))
            at["while asking" if n > known else "before or after asking"] += 1
            known = n
            print(f"kill {kill + 1}: {n} answers in the ledger", flush=True)
        toolsel("run", "--study", str(study), "--data", str(data))
        account = books(url)
    with server(folder / "calm.log", options.latency_ms) as url:
        calm = make_study(folder / "calm", url, **make)
        toolsel("run", "--study", str(calm), "--data", str(folder / "calm_data"))
    report_kills(folder, log, data, account, at)


def ledger_keys(data: Path) -> list[str]:
    path = data / "ledger" / "ledger.sqlite"
    if not path.exists():
        return []
    with sqlite3.connect(path) as con:
        try:
            return [row[0] for row in con.execute("select key from answers")]
        except sqlite3.OperationalError:
            return []


def report_kills(folder: Path, log: Path, data: Path, account: Json, at: Counter[str]) -> None:
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    keys, asked = ledger_keys(data), Counter(row["key"] for row in rows)
    twice = sum(n - 1 for n in asked.values())
    print(f"{dict(at)}")
    print(f"ledger: {len(keys)} answers, {len(set(keys))} different questions")
    print(f"server: {len(rows)} calls of {len(asked)} different questions; {twice} were asked again after a kill")
    print(f"server: billed {account['distinct_keys_billed']} different questions")
    print(f"every question of the server is in the ledger once: {sorted(keys) == sorted(asked)}")
    with sqlite3.connect(data / "ledger" / "ledger.sqlite") as con:
        written = dict(con.execute("select key, answered_at from answers"))
    late = [row for row in rows if row["key"] in written and row["came_at"] > written[row["key"]]]
    print(f"calls for a question that the ledger already had: {len(late)}")
    print(
        f"tables that differ from those of an undisturbed run: {different_tables(data, folder / 'calm_data') or 'none'}"
    )


def different_tables(one: Path, other: Path) -> list[str]:
    """Name the published tables that differ in more than times and the server's address."""
    import duckdb

    found = []
    con = duckdb.connect()
    for path in sorted((one / "published").glob("*.parquet")):
        columns = [row[0] for row in con.execute(f"describe from '{path}'").fetchall()]
        address = ("call_key", "inputs_hash", "params", "agent_params")  # the two servers have two ports
        kept = ", ".join(f'"{c}"' for c in columns if c not in PASSING + address and not c.endswith("_at"))
        counts = [
            con.execute(
                f"select count(*) from (select {kept} from '{a}' except all select {kept} from '{b}')"
            ).fetchall()[0][0]
            for a, b in ((path, other / "published" / path.name), (other / "published" / path.name, path))
        ]
        if any(counts):
            found.append(f"{path.stem} {counts}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["throughput", "kills"])
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder for studies, data and logs")
    parser.add_argument("--requests", type=int, default=540)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--latency-ms", type=float, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--earliest", type=float, default=3, help="seconds after the start of a run")
    parser.add_argument("--latest", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ignore-idempotency", action="store_true", help="a server that does not know such keys")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    {"throughput": throughput, "kills": kills}[options.what](options.folder, options)


if __name__ == "__main__":
    main()
