"""What reading OTLP/JSON costs: the ingest's own SELECT beside a plain flattening in SQL and a decode in Python.

What belongs here: a file of synthetic runs, the yardsticks, and one process per measurement, in turns. What does not:
the SELECT (imported), absolute limits. The machine's speed drifts: the ratio within one round is the result.

A line is one run of four to seven calls of the model, each with its whole history as JSON text, with execute_tool spans
between them and an agent's span around them: about 2.7 kB per call. The same number gives the same bytes.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

TARGETS = {"plain": "at most 1.3", "tuned": "none", "python": "at most 0.5"}
SIDES = ("plain", "tuned", "ours", "python")
RULES = ("secrets", "bearer", "email")

Json = dict[str, Any]

# --- the file -----------------------------------------------------------------------------------------------------

WORDS = [
    "order",
    "refund",
    "parcel",
    "label",
    "ship",
    "cancel",
    "account",
    "invoice",
    "reply",
    "thread",
    "status",
    "address",
    "change",
    "please",
    "customer",
    "delivery",
    "late",
    "broken",
    "item",
    "size",
    "colour",
    "payment",
    "card",
    "check",
    "update",
    "note",
    "reason",
    "agent",
    "today",
    "tomorrow",
]
TOOLS = [f"{verb}_{noun}" for verb in ("get", "list", "update", "cancel") for noun in ("order", "refund", "invoice")]
MODEL = "claude-sonnet-4-6"


def pairs(values: Json) -> list[Json]:
    """Give attributes as OTLP has them."""

    def any_value(value: Any) -> Json:
        if isinstance(value, list):
            return {"arrayValue": {"values": [{"stringValue": one} for one in value]}}
        return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}

    return [{"key": name, "value": any_value(value)} for name, value in values.items()]


class Run:
    """One run: a trace with its spans in the order in which they were exported."""

    def __init__(self, rng: random.Random, number: int, with_conversation: bool) -> None:
        """Make the spans; ids come from `rng`."""
        self.rng, self.spans = rng, list[Json]()
        self.trace, self.root = self.hexadecimal(32), self.hexadecimal(16)
        self.now = 1_796_000_000_000_000_000 + number * 1_000_000_000
        self.conversation = {"gen_ai.conversation.id": f"conv-{self.trace[:12]}"} if with_conversation else {}
        self.history: list[Json] = [{"role": "user", "parts": [{"type": "text", "content": self.text(14)}]}]
        self.calls = rng.randint(4, 7)
        for step in range(self.calls):
            self.step(step)
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}
        self.span("invoke_agent support", agent, self.root, "")

    def hexadecimal(self, digits: int) -> str:
        return f"{self.rng.getrandbits(4 * digits):0{digits}x}"

    def text(self, words: int) -> str:
        return " ".join(self.rng.choices(WORDS, k=words))

    def span(self, name: str, attributes: Json, span_id: str, parent: str) -> None:
        began, self.now = self.now, self.now + 800_000_000
        ids = {"traceId": self.trace, "spanId": span_id, "parentSpanId": parent, "flags": 256, "name": name, "kind": 3}
        times = {"startTimeUnixNano": str(began), "endTimeUnixNano": str(self.now)}
        self.spans.append({**ids, **times, "attributes": pairs(attributes), "status": {}})

    def step(self, step: int) -> None:
        is_last, call_id, tool = step == self.calls - 1, f"call_{self.hexadecimal(12)}", self.rng.choice(TOOLS)
        call = {"type": "tool_call", "id": call_id, "name": tool, "arguments": {"id": self.hexadecimal(8)}}
        parts = [{"type": "text", "content": self.text(20)} if is_last else call]
        finish = "stop" if is_last else "tool_call"
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": MODEL,
            "server.address": "api.example.com",
            **self.conversation,
            "gen_ai.response.id": f"msg_{self.hexadecimal(20)}",
            "gen_ai.response.model": MODEL,
            "gen_ai.response.finish_reasons": [finish],
            "gen_ai.usage.input_tokens": 200 + 100 * step,
            "gen_ai.usage.output_tokens": 40,
            "gen_ai.usage.cache_read.input_tokens": 100 * step,
            "gen_ai.input.messages": json.dumps(self.history),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": finish}]),
        }
        self.span(f"chat {MODEL}", attributes, self.hexadecimal(16), self.root)
        if not is_last:
            executed = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": call_id,
            }
            self.span(f"execute_tool {tool}", executed, self.hexadecimal(16), self.root)
            result = {"type": "tool_call_response", "id": call_id, "response": self.text(6)}
            self.history += [{"role": "assistant", "parts": parts}, {"role": "tool", "parts": [result]}]


def make(path: Path, states: int, with_conversation: bool) -> None:
    """Write runs with at least so many calls of the model."""
    rng, made, number = random.Random(20261201), 0, 0
    resource_of = {"attributes": pairs({"service.name": "shop"})}
    with path.open("w", encoding="utf-8") as file:
        while made < states:
            run = Run(rng, number, with_conversation)
            scope = {"scope": {"name": "bench"}, "spans": run.spans}
            export = {"resourceSpans": [{"resource": resource_of, "scopeSpans": [scope]}]}
            file.write(json.dumps(export, separators=(",", ":")) + "\n")
            made, number = made + run.calls, number + 1


# --- the three sides ----------------------------------------------------------------------------------------------


_SPAN = """STRUCT(traceId VARCHAR, spanId VARCHAR, parentSpanId VARCHAR, startTimeUnixNano VARCHAR, attributes STRUCT(
    key VARCHAR, value STRUCT(stringValue VARCHAR, intValue VARCHAR, arrayValue VARCHAR))[])"""
_RESOURCES = f"{{resourceSpans: 'STRUCT(scopeSpans STRUCT(spans {_SPAN}[])[])[]'}}"


def plain(path: Path, target: Path, redact: bool, records: str = "'auto'") -> None:
    """Flatten in SQL: ids, five attributes, the first tool called and the messages, of the spans that are calls."""

    def attribute(name: str, kind: str) -> str:
        return f"list_filter(span.attributes, lambda a: a.key = 'gen_ai.{name}')[1].value.{kind}"

    with duckdb.connect() as con:
        con.execute(f"""copy (
            select trace_id, span_id, parent_id, started, model, conversation, finish,
                   input_tokens::bigint as input_tokens, output_tokens::bigint as output_tokens,
                   json_extract_string(output, '$[0].parts[0].name') as tool, messages
            from (
                select span.traceId as trace_id, span.spanId as span_id, span.parentSpanId as parent_id,
                       span.startTimeUnixNano as started,
                       {attribute("operation.name", "stringValue")} as operation,
                       {attribute("request.model", "stringValue")} as model,
                       {attribute("conversation.id", "stringValue")} as conversation,
                       {attribute("response.finish_reasons", "arrayValue")} as finish,
                       {attribute("usage.input_tokens", "intValue")} as input_tokens,
                       {attribute("usage.output_tokens", "intValue")} as output_tokens,
                       {attribute("output.messages", "stringValue")} as output,
                       {attribute("input.messages", "stringValue")} as messages
                from (select unnest(scope.spans) as span
                      from (select unnest(resource.scopeSpans) as scope
                            from (select unnest(resourceSpans) as resource
                                  from read_json('{path}', format = 'newline_delimited', records = {records},
                                                 columns = {_RESOURCES}))))
            ) where operation = 'chat') to '{target}' (format parquet, compression zstd)""")


def tuned(path: Path, target: Path, redact: bool) -> None:
    """Flatten in the same way, but tell DuckDB that lines are records: it does not parse the first 20,480 twice."""
    plain(path, target, redact, "true")


def ours(path: Path, target: Path, redact: bool) -> None:
    """Read as the ingest does: the SELECT, its functions, the books."""
    from toolsel_assets.traces.books import Books
    from toolsel_assets.traces.formats import otlp_json
    from toolsel_assets.traces.reading import by_query
    from toolsel_assets.traces.redact import Redactor

    books = Books("0" * 64, path.stat().st_size)
    by_query(otlp_json, path, iter(()), "bench", books, target, Redactor(RULES if redact else ()))
    assert not books.rejects, books.rejects[:3]


def python(path: Path, target: Path, redact: bool) -> None:
    """Decode line by line with the standard library: what `ours` finds, as lines, which DuckDB turns into Parquet."""
    lines = target.with_suffix(".ndjson")
    with path.open(encoding="utf-8") as source, lines.open("w", encoding="utf-8") as rows:
        for line in source:
            for resource_spans in json.loads(line)["resourceSpans"]:
                for scope in resource_spans["scopeSpans"]:
                    for span in scope["spans"]:
                        rows.write(json.dumps(row_of(span), ensure_ascii=False) + "\n")
    with duckdb.connect() as con:
        source_of = f"read_json('{lines}', format = 'newline_delimited')"
        con.execute(f"copy (select * from {source_of}) to '{target}' (format parquet, compression zstd)")
    lines.unlink()


def row_of(span: Json) -> Json:
    """Give the row of a span, for a call of the model with what has to be decoded for it."""
    values = {pair["key"].removeprefix("gen_ai."): next(iter(pair["value"].values())) for pair in span["attributes"]}
    row: Json = {
        "kind": {"chat": "model", "execute_tool": "tool"}.get(values["operation.name"], "agent"),
        "call_id": f"{span['traceId']}:{span['spanId']}",
        **{name: span[name] for name in ("traceId", "spanId", "parentSpanId")},
        "started_at": datetime.fromtimestamp(int(span["startTimeUnixNano"]) / 1e9, UTC).isoformat(),
        "ended_at": datetime.fromtimestamp(int(span["endTimeUnixNano"]) / 1e9, UTC).isoformat(),
        "latency_ms": (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e6,
        "agent": values.get("agent.name"),
        "conversation_id": values.get("conversation.id"),
    }
    if row["kind"] != "model":
        return row
    text, messages, answer = values["input.messages"], json.loads(values["input.messages"]), values["output.messages"]
    parts = json.loads(answer)[0]["parts"]
    calls = [{"tool": p["name"], "args": p["arguments"]} for p in parts if p["type"] == "tool_call"]
    last = messages[-1]["parts"][0]
    lineage = md5(json.dumps(messages[0]).encode(), usedforsecurity=False).hexdigest()
    return {
        **row,
        "status": "called" if calls else "stopped",
        "stop_reason": values["response.finish_reasons"]["values"][0]["stringValue"],
        "tools_called": [call["tool"] for call in calls],
        "calls": json.dumps(calls),
        "model_requested": values["request.model"],
        "model_served": values["response.model"],
        "response_id": values["response.id"],
        "input_tokens": int(values["usage.input_tokens"]),
        "output_tokens": int(values["usage.output_tokens"]),
        "cache_read_tokens": int(values["usage.cache_read.input_tokens"]),
        "n_messages": len(messages),
        "last_message": last.get("content", last.get("response"))[:500],
        "lineage": lineage,
        "length": len(text),
        "input_hash": md5(f"{lineage}{len(text)}{last}".encode(), usedforsecurity=False).hexdigest(),
        "output_hash": md5(answer.encode(), usedforsecurity=False).hexdigest(),
        "messages": text,
    }


# --- measuring ----------------------------------------------------------------------------------------------------


def measure(side: Callable[[Path, Path, bool], None], path: Path, redact: bool) -> Json:
    """Read the file in this process; starting and importing are counted for all alike."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        target, began = Path(folder) / "calls.parquet", time.perf_counter()
        side(path, target, redact)
        wall, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
        is_call = "where kind = 'model'" if side in (ours, python) else ""
        rows = duckdb.sql(f"select count(*) from '{target}' {is_call}").fetchall()[0][0]
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss // 1024, "rows": rows}


def in_a_process(*arguments: str) -> Json:
    """Run this file in a process of its own and give what it found."""
    command = [sys.executable, __file__, *arguments]
    found: Json = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def bench(options: argparse.Namespace) -> None:
    """Measure the sides in turns, the order reversed every second round."""
    with tempfile.TemporaryDirectory(dir=options.folder) as top:
        path = Path(top) / "spans.jsonl"
        make(path, options.states, not options.no_conversation)
        megabytes = path.stat().st_size / 1e6
        print(
            f"{options.states:,} states, {megabytes:,.0f} MB\nside        wall     cpu  peak MB      rows  load",
            flush=True,
        )
        more = [name for name in ("--redact",) if options.redact]
        found: dict[str, list[Json]] = {side: [] for side in options.sides}
        for number in range(options.repeats):
            for side in options.sides if number % 2 else options.sides[::-1]:
                one = in_a_process("--side", side, "--file", str(path), *more)
                found[side].append(one)
                figures = f"{one['wall']:8.2f}{one['cpu']:8.2f}{one['mb']:9}{one['rows']:10,}"
                print(f"{side:<8}{figures}  {os.getloadavg()[0]:.2f}", flush=True)
    print("\nmedians; ratios over rounds (least to most)")
    for side, all_of in found.items():
        print(f"{side:<8}{median(one['wall'] for one in all_of):8.2f}{median(one['cpu'] for one in all_of):8.2f}"
              f"{max(one['mb'] for one in all_of):9}")  # fmt: skip
    for side, target in TARGETS.items():
        if side in found and "ours" in found:
            ratios = [a["cpu"] / b["cpu"] for a, b in zip(found["ours"], found[side], strict=True)]
            spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"CPU of ours / {side}: {median(ratios):.2f} {spread}, target {target}")


def main() -> None:
    """Run the bench, or one measurement in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("states", type=int, nargs="?", default=200_000, help="calls of the model (default: 200,000)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES), help="what to measure (default: all)")
    parser.add_argument("--redact", action="store_true", help="with the built-in rules of redaction")
    parser.add_argument("--no-conversation", action="store_true", help="without ids: hashes of all prefixes are needed")
    parser.add_argument("--folder", type=Path, help="where the file is made (default: the system's temporary folder)")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        sides = {"plain": plain, "tuned": tuned, "ours": ours, "python": python}
        print(json.dumps(measure(sides[options.side], options.file, options.redact)))
    else:
        bench(options)


if __name__ == "__main__":
    main()
