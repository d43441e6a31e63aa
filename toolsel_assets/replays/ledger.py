"""The ledger: every answer that was paid for, as it came, one file per data directory. Nothing in it is ever changed.

What belongs here: keys, durable appending, looking up. What does not: asking (asking.py), what an answer means
(agents/).

An answer is on the disk before anything else is done with it, so that a run that is killed goes on where it was. SQLite
does the writing: what is committed survives a kill and a power cut. One process asks at a time (`exclusive`), since two
that ask the same question at once would pay twice. A question that was under way when a process died may have been
answered without our knowing: it is asked again, with the same idempotency key.
"""

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from filelock import FileLock, Timeout

from toolsel_assets.replays.agents import Answer, Usage

_TABLES = """
create table if not exists answers (
    key text primary key,           -- hash of everything that can change the answer
    answered_at text not null,      -- UTC
    asked_for text not null,        -- <ladder>.<rung> that asked first
    request_id text not null,
    agent text not null,
    model_requested text,
    model_served text,
    provider_id text,               -- the provider's own identifier of the answer or request
    input_tokens integer,           -- cache included
    cache_read_tokens integer,
    cache_write_tokens integer,
    output_tokens integer,
    latency_ms real,
    n_tries integer not null,
    batched integer not null,       -- whether it came out of a batch, at the batch's price
    body text not null              -- the answer as it came
) without rowid;
create table if not exists failures (
    key text not null, failed_at text not null, asked_for text not null, request_id text not null, detail text not null
);
create table if not exists batch_events (
    intent text not null,           -- names the batch from before it was submitted
    at text not null, event text not null, -- intended, submitted, ended
    batch_id text, n_questions integer, endpoint text
);
create trigger if not exists answers_stay before update on answers begin select raise(abort, 'append only'); end;
create trigger if not exists answers_are_kept before delete on answers begin select raise(abort, 'append only'); end;
"""

#: Keys per lookup: SQLite takes at most 32,766 variables.
_AT_ONCE = 500


@dataclass(frozen=True)
class Entry:
    """An answer with what is known of it."""

    key: str
    answer: Answer
    answered_at: datetime  # UTC, without a zone
    asked_for: str
    request_id: str
    agent: str
    model_requested: str | None
    latency_ms: float | None
    n_tries: int = 1
    batched: bool = False


class Keys:
    """Hashes questions. A part that follows itself (the tools of one order, the prompt) is hashed once."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._last: dict[str, tuple[object, str, int]] = {}

    def key(self, body: Mapping[str, Any], draw: int) -> tuple[str, int]:
        """Give the key of a question, 64 hexadecimal digits, the same wherever it is asked; and its characters."""
        parts, n_chars = [self._agent, str(draw)], 0
        for name in sorted(body):
            digest, size = self._digest(name, body[name])
            parts.append(f"{name}:{digest}")
            n_chars += size
        return sha256("\n".join(parts).encode()).hexdigest(), n_chars

    def _digest(self, name: str, part: object) -> tuple[str, int]:
        known = self._last.get(name)
        if known is None or known[0] is not part:
            text = json.dumps(part, sort_keys=True, ensure_ascii=False)
            known = self._last[name] = part, sha256(text.encode()).hexdigest(), len(text)
        return known[1:]


class Ledger:
    """The answers of a data directory. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open the ledger, or begin one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # Answers are written by a thread of their own and failures by the asking one, over one connection: without a
        # lock the one could commit, or roll back, what the other has half written.
        self._writing = Lock()
        self._con = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self._con.execute("pragma journal_mode = wal")
        self._con.execute("pragma synchronous = full")
        self._con.executescript(_TABLES)

    def __enter__(self) -> "Ledger":
        """Enter."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._con.close()

    def known(self, keys: Iterable[str]) -> set[str]:
        """Say which questions have an answer."""
        return {row[0] for some in _chunks(list(keys)) for row in self._select("key", some)}

    def entries(self, keys: Sequence[str]) -> dict[str, Entry]:
        """Give the answers to some questions."""
        found = {}
        for some in _chunks(keys):
            for row in self._select(", ".join(_COLUMNS), some):
                entry = _entry(row)
                found[entry.key] = entry
        return found

    def _select(self, what: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
        marks = ", ".join("?" * len(keys))
        return self._con.execute(f"select {what} from answers where key in ({marks})", keys).fetchall()

    def append(self, entries: Sequence[Entry]) -> None:
        """Write answers, durably. An answer that is there already stays: the first one is what was paid for."""
        marks = ", ".join("?" * len(_COLUMNS))
        with self._writing, self._con:
            self._con.executemany(
                f"insert or ignore into answers ({', '.join(_COLUMNS)}) values ({marks})", [_row(e) for e in entries]
            )

    def failed(self, key: str, asked_for: str, request_id: str, detail: str) -> None:
        """Note a question that got no answer. It costs nothing, and the next run asks it again."""
        with self._writing, self._con:
            self._con.execute(
                "insert into failures values (?, ?, ?, ?, ?)", (key, _now(), asked_for, request_id, detail)
            )

    def spent(self, since: datetime | None = None) -> list[dict[str, Any]]:
        """Sum up what was answered, by model and way: calls and tokens."""
        query = """
            select model_requested, batched, count(*) as calls, coalesce(sum(input_tokens), 0) as input_tokens,
                   coalesce(sum(cache_read_tokens), 0) as cache_read_tokens,
                   coalesce(sum(cache_write_tokens), 0) as cache_write_tokens,
                   coalesce(sum(output_tokens), 0) as output_tokens, avg(latency_ms) as latency_ms
            from answers where answered_at >= ? group by model_requested, batched"""
        cursor = self._con.execute(query, (since.isoformat(sep=" ") if since else "",))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    # --- batches --------------------------------------------------------------------------------------------------

    def batch_event(
        self, intent: str, event: str, *, batch_id: str | None = None, n: int | None = None, endpoint: str = ""
    ) -> None:
        """Note that a batch is about to be submitted, was submitted, or has ended and been read."""
        with self._writing, self._con:
            self._con.execute(
                "insert into batch_events values (?, ?, ?, ?, ?, ?)", (intent, _now(), event, batch_id, n, endpoint)
            )

    def open_batches(self, endpoint: str) -> list[dict[str, Any]]:
        """Give the batches that were begun and not read to their end: intent, when, batch_id (or none), n."""
        query = """
            select intent, min(at) as at, max(batch_id) as batch_id, max(n_questions) as n from batch_events
            where endpoint = ? group by intent having sum(event = 'ended') = 0 order by at"""
        cursor = self._con.execute(query, (endpoint,))
        return [dict(zip(("intent", "at", "batch_id", "n"), row, strict=True)) for row in cursor.fetchall()]


class GroupCommit:
    """Appends from many tasks: whatever waits when the disk is free is written together, and waits no longer."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: list[tuple[Entry, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")

    async def append(self, entry: Entry) -> None:
        """Return once the answer is on the disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await done

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            try:
                await loop.run_in_executor(self._thread, self._ledger.append, [entry for entry, _ in waiting])
            except Exception as error:
                for _, done in waiting:
                    done.set_exception(error)
                continue
            for _, done in waiting:
                done.set_result(None)

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown()


@contextmanager
def exclusive(path: Path, waiting: Any) -> Iterator[None]:
    """Be the one process that asks, waiting for another with a word about it. A killed process holds nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting("another run is asking with this ledger; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_KEYS = ("key", "answered_at", "asked_for", "request_id", "agent", "model_requested", "model_served", "provider_id")
_COLUMNS = (*_KEYS, *_TOKENS, "latency_ms", "n_tries", "batched", "body")


def _row(entry: Entry) -> tuple[Any, ...]:
    answer, usage = entry.answer, entry.answer.usage
    return (
        entry.key,
        entry.answered_at.isoformat(sep=" ", timespec="microseconds"),
        entry.asked_for,
        entry.request_id,
        entry.agent,
        entry.model_requested,
        answer.model_served,
        answer.provider_id,
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        entry.latency_ms,
        entry.n_tries,
        int(entry.batched),
        answer.body,
    )


def _entry(row: Sequence[Any]) -> Entry:
    found = dict(zip(_COLUMNS, row, strict=True))
    usage = Usage(*(found[name] for name in _TOKENS))
    return Entry(
        key=found["key"],
        answer=Answer(found["body"], usage, found["model_served"], found["provider_id"]),
        answered_at=datetime.fromisoformat(found["answered_at"]),
        asked_for=found["asked_for"],
        request_id=found["request_id"],
        agent=found["agent"],
        model_requested=found["model_requested"],
        latency_ms=found["latency_ms"],
        n_tries=found["n_tries"],
        batched=bool(found["batched"]),
    )


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]


def _now() -> str:
    return now().isoformat(sep=" ", timespec="microseconds")


def now() -> datetime:
    """Give the time, UTC, as tables keep it: without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)
