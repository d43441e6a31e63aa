"""A small server that speaks Anthropic's Messages API over real sockets: for tests, kills and benches.

It answers as a function of the question alone, keeps a prompt cache with the real one's rules, bills by its own
accounting, and can go wrong in every way in FAULTS. In a test: `with MessagesServer() as server: server.url`. As a
process of its own: `python tests/replays/messages_server.py --log FILE`, which prints its url.
"""

import argparse
import asyncio
import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

Json = dict[str, Any]

CHARS_PER_TOKEN = 4
LEAST_CACHED = 1024

#: What bodies of proper shape can say that is no choice, and what can be wrong with a 200.
WRONG_BODIES: dict[str, Any] = {
    "html": "<html><body>Bad gateway</body></html>",
    "broken_json": '{"type": "message", "content": [{"type": "te',
    "content_null": {"type": "message", "content": None, "stop_reason": "end_turn"},
    "content_text": {"type": "message", "content": "hello", "stop_reason": "end_turn"},
    "no_content": {"type": "message", "stop_reason": "end_turn"},
    "error_as_200": {"type": "error", "error": {"type": "api_error", "message": "oops"}},
    "a_list": [1, 2, 3],
    "empty_body": "",
}

#: What a message can hold or end with.
ODD_MESSAGES: dict[str, Json] = {
    "unknown_stop_reason": {"content": [], "stop_reason": "future_reason"},
    "no_stop_reason": {"content": [{"type": "text", "text": "hm"}], "stop_reason": None},
    "tool_use_without_block": {"content": [{"type": "text", "text": "hm"}], "stop_reason": "tool_use"},
    "refusal": {"content": [], "stop_reason": "refusal"},
    "max_tokens": {"content": [{"type": "text", "text": "I would"}], "stop_reason": "max_tokens"},
    "max_tokens_in_call": {
        "content": [{"type": "tool_use", "id": "t", "name": "tool_a", "input": {}}],
        "stop_reason": "max_tokens",
    },
    "context_exceeded": {"content": [], "stop_reason": "model_context_window_exceeded"},
    "pause_turn": {"content": [], "stop_reason": "pause_turn"},
    "input_not_object": {
        "content": [{"type": "tool_use", "id": "t", "name": "tool_a", "input": "x"}],
        "stop_reason": "tool_use",
    },
    "call_without_name": {"content": [{"type": "tool_use", "id": "t", "input": {}}], "stop_reason": "tool_use"},
    "parallel_calls": {
        "content": [
            {"type": "text", "text": "both"},
            {"type": "tool_use", "id": "t1", "name": "tool_a", "input": {"x": 1}},
            {"type": "tool_use", "id": "t2", "name": "tool_b", "input": {}},
        ],
        "stop_reason": "tool_use",
    },
    "hallucinated_name": {
        "content": [{"type": "tool_use", "id": "t", "name": "no_such_tool", "input": {}}],
        "stop_reason": "tool_use",
    },
    "other_model": {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "model": "other-model-2"},
    "empty_stop": {"content": [], "stop_reason": "end_turn"},
    "unknown_block": {"content": [{"type": "future_block", "data": 1}], "stop_reason": "end_turn"},
}

#: Errors with a status: (status, body's type, message, headers, details).
ERRORS: dict[str, tuple[int, str, str, Json, Json]] = {
    "429": (429, "rate_limit_error", "slow down", {}, {}),
    "429_after_1s": (429, "rate_limit_error", "slow down", {"retry-after": "1"}, {}),
    "429_after_50ms": (429, "rate_limit_error", "slow down", {"retry-after-ms": "50"}, {}),
    "429_after_a_day": (429, "rate_limit_error", "slow down", {"retry-after": "100000"}, {}),
    "429_spend_limit": (
        429,
        "rate_limit_error",
        "limit reached",
        {},
        {"error_code": "enforced_spend_limit_reached"},
    ),
    "529": (529, "overloaded_error", "overloaded", {}, {}),
    "500": (500, "api_error", "internal", {}, {}),
    "500_do_not_retry": (500, "api_error", "internal", {"x-should-retry": "false"}, {}),
    "400": (400, "invalid_request_error", "tools.3: no", {}, {}),
    "401": (401, "authentication_error", "invalid x-api-key {key}", {}, {}),
    "402": (402, "billing_error", "no credit", {}, {}),
    "403": (403, "permission_error", "not yours", {}, {}),
    "404": (404, "not_found_error", "model: nope", {}, {}),
    "413": (413, "request_too_large", "too large", {}, {}),
}

#: Faults of the connection itself.
BROKEN = ("never_answers", "dropped", "dropped_in_body", "slow_body")

FAULTS = (*WRONG_BODIES, *ODD_MESSAGES, *ERRORS, *BROKEN)


class Drop(Exception):
    """Close the connection."""


class MessagesServer:
    """The server. `script` holds the faults of the next calls (None: a proper answer); `fault_of` decides after it."""

    def __init__(
        self, *, latency_s: float = 0.0, port: int = 0, idempotent: bool = True, log: Path | None = None
    ) -> None:
        self.latency_s, self.port, self.idempotent = latency_s, port, idempotent
        self.script: deque[str | None] = deque()
        self.fault_of: Callable[[Json, int], str | None] = lambda body, n: None
        self.received: list[Json] = []  # a row per call of /v1/messages
        self.bodies: list[Json] = []
        self.keep_bodies = False
        self.billed: Counter[str] = Counter()  # input, cache_write, cache_read, output tokens
        self.uncached_input = 0
        self.under_way = self.most_under_way = 0
        self.batches: dict[str, Json] = {}
        self.batch_result_of: Callable[[str], str] = lambda custom_id: "succeeded"
        self.batch_polls = 0
        self._cache: set[str] = set()
        self._given: dict[str, tuple[bytes, Json]] = {}
        self._log = log.open("a", encoding="utf-8") if log else None
        self._sizes: dict[int, int] = {}

    # --- running --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self, ready: threading.Event | None = None) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, limit=1 << 24, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        if ready:
            ready.set()
        else:
            print(self.url, flush=True)
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ", 2)
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                await self._route(method, path, headers, raw, writer)
        except (asyncio.IncompleteReadError, ConnectionError, Drop, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _route(self, method: str, path: str, headers: Json, raw: bytes, writer: asyncio.StreamWriter) -> None:
        place = path.partition("?")[0]
        if (method, place) == ("POST", "/v1/messages"):
            await self._message(headers, raw, writer)
        elif (method, place) == ("POST", "/v1/messages/count_tokens"):
            await self._send(writer, {"input_tokens": len(raw) // CHARS_PER_TOKEN})
        elif place.startswith("/v1/messages/batches"):
            await self._batch(method, place, raw, writer)
        elif place == "/_accounting":
            await self._send(writer, self.accounting())
        else:
            await self._send(writer, {"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)

    async def _send(
        self, writer: asyncio.StreamWriter, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        kind = "text/html" if data[:1] == b"<" else "application/json"
        more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n{more}\r\n"
        writer.write(head.encode() + data)
        await writer.drain()

    # --- messages -------------------------------------------------------------------------------------------------

    async def _message(self, headers: Json, raw: bytes, writer: asyncio.StreamWriter) -> None:
        body = json.loads(raw)
        key = headers.get("idempotency-key", "")
        fault = self.script.popleft() if self.script else self.fault_of(body, len(self.received))
        again = key in self._given
        row: Json = {"n": len(self.received), "key": key, "fault": fault, "answered": False, "again": again}
        row |= {"came": time.monotonic(), "came_at": datetime.now(UTC).replace(tzinfo=None).isoformat(sep=" ")}
        self.received.append(row)
        if self.keep_bodies:
            self.bodies.append({**body, "_headers": headers})
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self._answer(body, key, fault, headers, row, writer)
        finally:
            self.under_way -= 1
            row["went"] = time.monotonic()
            self._write_log(row)

    def _write_log(self, row: Json) -> None:
        if self._log:
            self._log.write(json.dumps(row) + "\n")
            self._log.flush()

    async def _answer(
        self, body: Json, key: str, fault: str | None, headers: Json, row: Json, writer: asyncio.StreamWriter
    ) -> None:
        if fault in ERRORS:
            status, kind, message, more, details = ERRORS[fault]
            said = message.replace("{key}", headers.get("authorization", ""))
            error: Json = {"type": kind, "message": said, **({"details": details} if details else {})}
            return await self._send(writer, {"type": "error", "error": error}, status, {"request-id": "req_1", **more})
        if fault == "never_answers":
            await asyncio.sleep(3600)
        if fault == "dropped":
            raise Drop
        if fault in WRONG_BODIES:
            row["answered"] = True
            return await self._send(writer, WRONG_BODIES[fault])
        if self.idempotent and key in self._given:
            data, usage = self._given[key]
            await asyncio.sleep(self.latency_s)
        else:
            writes = self._look_up(body)
            await asyncio.sleep(self.latency_s)
            data, usage = self._made(body, fault, writes)
            if key and fault is None:
                self._given[key] = data, usage
            self._bill(usage)
        if fault in ("dropped_in_body", "slow_body"):
            await self._in_pieces(writer, data, drop=fault == "dropped_in_body")
        else:
            await self._send(writer, data, headers={"request-id": f"req_{row['n']}"})
        row["answered"] = not writer.is_closing()

    async def _in_pieces(self, writer: asyncio.StreamWriter, data: bytes, *, drop: bool) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data[:20])
        await writer.drain()
        if drop:
            raise Drop
        for start in range(20, len(data), 40):
            await asyncio.sleep(0.2)
            writer.write(data[start : start + 40])
            await writer.drain()

    def _bill(self, usage: Json) -> None:
        for name, kind in (
            ("input_tokens", "input"),
            ("cache_creation_input_tokens", "cache_write"),
            ("cache_read_input_tokens", "cache_read"),
            ("output_tokens", "output"),
        ):
            self.billed[kind] += usage[name]
        self.uncached_input += sum(usage[name] for name in usage if name != "output_tokens")

    def _look_up(self, body: Json) -> tuple[str | None, int, bool]:
        """Find the marked beginning: its key, its tokens, whether the cache has it as the call comes in."""
        parts: list[str] = []
        marked: tuple[str, int] | None = None
        size = 0
        for block in prefix_blocks(body):
            text = json.dumps({k: v for k, v in block.items() if k != "cache_control"}, sort_keys=True)
            size += len(text)
            parts.append(text)
            if "cache_control" in block:
                marked = sha256((body["model"] + "".join(parts)).encode()).hexdigest(), size // CHARS_PER_TOKEN
        if marked is None or marked[1] < LEAST_CACHED:
            return None, 0, False
        return marked[0], marked[1], marked[0] in self._cache

    def _made(self, body: Json, fault: str | None, found: tuple[str | None, int, bool]) -> tuple[bytes, Json]:
        prefix, tokens, hit = found
        if prefix:
            self._cache.add(prefix)  # written when the answer begins: calls that came before it pay the write too
        total = len(json.dumps({k: body.get(k) for k in ("tools", "system", "messages")})) // CHARS_PER_TOKEN
        message = answer_to(body) if fault not in ODD_MESSAGES else ODD_MESSAGES[fault]
        usage = {
            "input_tokens": max(total - tokens, 1),
            "cache_creation_input_tokens": 0 if hit else tokens,
            "cache_read_input_tokens": tokens if hit else 0,
            "output_tokens": 20 + len(json.dumps(message["content"])) // CHARS_PER_TOKEN,
        }
        full = {"id": f"msg_{random.getrandbits(60):x}", "type": "message", "role": "assistant", "model": body["model"]}
        return json.dumps({**full, "stop_sequence": None, "usage": usage, **message}).encode(), usage

    def accounting(self) -> Json:
        billed = self.billed
        return {
            "received": len(self.received),
            "answered": sum(row["answered"] for row in self.received),
            "distinct_keys_billed": len(self._given),
            "billed": dict(billed),
            "input_units": billed["input"] + 1.25 * billed["cache_write"] + 0.1 * billed["cache_read"],
            "uncached_input_units": self.uncached_input,
            "most_under_way": self.most_under_way,
        }

    # --- batches --------------------------------------------------------------------------------------------------

    async def _batch(self, method: str, place: str, raw: bytes, writer: asyncio.StreamWriter) -> None:
        parts = place.removeprefix("/v1/messages/batches").strip("/").split("/")
        if method == "POST" and parts == [""]:
            name = f"msgbatch_{len(self.batches) + 1}"
            self.batches[name] = {"requests": json.loads(raw)["requests"], "polls": 0}
            return await self._send(writer, self._batch_state(name))
        if method == "GET" and parts == [""]:
            data = [self._batch_state(name) for name in reversed(self.batches)]
            return await self._send(writer, {"data": data, "has_more": False, "first_id": None, "last_id": None})
        if method == "GET" and parts[1:] == ["results"]:
            lines = [self._batch_result(request) for request in reversed(self.batches[parts[0]]["requests"])]
            return await self._send(writer, "".join(json.dumps(line) + "\n" for line in lines))
        self.batches[parts[0]]["polls"] += 1
        await self._send(writer, self._batch_state(parts[0]))

    def _batch_state(self, name: str) -> Json:
        batch = self.batches[name]
        ended, n = batch["polls"] > self.batch_polls, len(batch["requests"])
        counts = dict.fromkeys(("errored", "canceled", "expired"), 0)
        counts |= {"processing": 0 if ended else n, "succeeded": n if ended else 0}
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": batch.setdefault("created_at", _now()),
            "expires_at": _now(),
            "ended_at": _now() if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{name}/results" if ended else None,
        }

    def _batch_result(self, request: Json) -> Json:
        kind = self.batch_result_of(request["custom_id"])
        result: Json = {"type": kind}
        if kind == "succeeded":
            data, usage = self._made(request["params"], None, (None, 0, False))
            self._bill(usage)
            result["message"] = json.loads(data)
        elif kind == "errored":
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}, "request_id": None}
            result["error"] = error
        return {"custom_id": request["custom_id"], "result": result}


def prefix_blocks(body: Json) -> Iterator[Json]:
    """Give the blocks of a body in the order in which the cache sees them."""
    yield from body.get("tools") or []
    system = body.get("system") or []
    yield from [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in body["messages"]:
        content = message["content"]
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def answer_to(body: Json) -> Json:
    """Answer as a function of the question: no tool, one, or two at once; whatever marks for the cache stand in it."""
    names = sorted(tool["name"] for tool in body.get("tools") or [])
    said = json.dumps([body["model"], names, body["messages"]], sort_keys=True)
    pick = int(sha256(said.encode()).hexdigest()[:8], 16)
    if not names or pick % 10 < 4:
        return {"content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"}
    chosen = [names[pick % len(names)]] if pick % 10 < 9 else [names[pick % len(names)], names[pick // 7 % len(names)]]
    args = {"x": pick % 5}
    blocks = [{"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": args} for i, name in enumerate(chosen)]
    return {"content": blocks, "stop_reason": "tool_use"}


def _now() -> str:
    return datetime.now(UTC).isoformat()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--ignore-idempotency", action="store_true")
    options = parser.parse_args()
    latency, honours = options.latency_ms / 1000, not options.ignore_idempotency
    server = MessagesServer(latency_s=latency, port=options.port, idempotent=honours, log=options.log)
    asyncio.run(server._serve())


if __name__ == "__main__":
    main()
