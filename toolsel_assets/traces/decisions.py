"""Runs to decisions: one row per point at which the loop asked the model, and the books that account for every record.

What belongs here: ids, positions, prior actions, the accounting of files and rejects. What does not: formats
(formats/), tables (assets.py), position buckets and the sample (samples/).
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import md5, sha256
from pathlib import Path
from typing import Any, Protocol

from toolsel_assets.traces import formats
from toolsel_assets.traces.records import Failure, Record, records
from toolsel_assets.traces.run import Run, Turn, Unreadable
from toolsel_assets.vocabulary.action import NO_TOOL, action_text, calls_to_json
from toolsel_assets.vocabulary.decision import SCORABLE, Status

Row = dict[str, Any]

PROGRESS = logging.getLogger("toolsel.traces")


@dataclass(frozen=True)
class TraceFile:
    """A file to read: the source it belongs to, its path, the name to show, and the format when one is prescribed."""

    source: str
    path: Path
    shown_as: str
    format: str | None = None
    decided_at: str | None = None  # ISO 8601, UTC: when the traces were collected, for formats without times


@dataclass(frozen=True)
class Joined:
    """What the study adds to every decision: its name, the catalogue where a trace has none, the sampling seed."""

    study: str
    catalogue_hash: str
    sample_seed: int


class Sink(Protocol):
    """Where rows go, table by table."""

    def __call__(self, table: str, row: Row) -> None:
        """Take one row."""


@dataclass
class Ingest:
    """One pass over trace files. `write(table, row)` receives the rows of the stage's four tables.

    Files are read in the order of their shown names, so that the result does not depend on the order of arrival. Rows
    reconcile: the records of a file are its runs plus its rejects.
    """

    write: Sink
    joined: Joined
    _seen: set[str] = field(default_factory=set)

    def read(self, files: Iterable[TraceFile]) -> None:
        """Read files one after the other."""
        for file in sorted(files, key=lambda f: (f.source, f.shown_as)):
            counts = self._read_file(file)
            self.write("ingest_files", counts)
            PROGRESS.info("%s: %d decisions, %d rejects", file.shown_as, counts["n_decisions"], counts["n_rejects"])

    def _read_file(self, file: TraceFile) -> Row:
        counts: Counter[str] = Counter()
        format_name = file.format or ""
        for record in records(file.path):
            counts["n_records"] += 1
            try:
                run, format_name = self._run(record, file, format_name)
            except Unreadable as problem:
                counts["n_rejects"] += 1
                self.write(
                    "ingest_rejects",
                    {
                        "study": self.joined.study,
                        "source": file.source,
                        "source_file": file.shown_as,
                        "position": record.position,
                        "reason": problem.reason,
                        "detail": problem.detail[:500],
                    },
                )
                continue
            counts["n_runs"] += 1
            for row in decision_rows(run, file, format_name, self.joined):
                counts["n_decisions"] += 1
                counts["n_no_tool"] += row["action"] == NO_TOOL and row["status"] == Status.STOPPED
                counts["n_unscorable"] += row["status"] not in SCORABLE
                self.write("decisions", row)
            for position, message in enumerate(run.messages):
                self.write("messages", message_row(f"{file.source}:{run.run_id}", position, message))
        names = ("n_records", "n_runs", "n_rejects", "n_decisions", "n_no_tool", "n_unscorable")
        return {
            "study": self.joined.study,
            "source": file.source,
            "source_file": file.shown_as,
            "source_format": format_name or "unknown",
            "content_hash": _file_hash(file.path),
            "n_bytes": file.path.stat().st_size,
            **{name: counts[name] for name in names},
        }

    def _run(self, record: Record | Failure, file: TraceFile, format_name: str) -> tuple[Run, str]:
        if isinstance(record, Failure):
            raise record.problem
        found = formats.load(format_name) if format_name else formats.detect(record.value)
        if found is None:
            raise Unreadable("unknown_format", f"no format recognises it; known: {', '.join(formats.names())}")
        run = found.read_run(record.value)
        if f"{file.source}:{run.run_id}" in self._seen:
            raise Unreadable("duplicate_run", f"run {run.run_id} was read before; the first one is kept")
        self._seen.add(f"{file.source}:{run.run_id}")
        return run, found.__name__.rpartition(".")[2]


def _file_hash(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def sample_key(seed: int, decision_id: str) -> str:
    """Give the key that orders decisions within a bucket: md5, since a database's own hash may change."""
    return md5(f"{seed}:{decision_id}".encode(), usedforsecurity=False).hexdigest()


def decision_rows(run: Run, file: TraceFile, format_name: str, joined: Joined) -> Iterator[Row]:
    """Yield one row per turn. `decision_id` is `<source>:<run>:<step>`: from source ids, never from file positions."""
    prior: list[str] = []
    for step, turn in enumerate(run.turns):
        decision_id = f"{file.source}:{run.run_id}:{step}"
        yield {
            "study": joined.study,
            "decision_id": decision_id,
            "source": file.source,
            "run_id": f"{file.source}:{run.run_id}",
            "parent_run_id": run.parent_run_id,
            "thread_id": run.thread_id or run.run_id,
            "client_id": run.client_id,
            "step_index": step,
            "n_steps": len(run.turns),
            "decided_at": file.decided_at,
            "n_messages": turn.n_messages,
            "last_message": _last_text(run.messages[: turn.n_messages]),
            "prior_actions": "|".join(prior),
            "catalogue_hash": joined.catalogue_hash,
            "catalogue_source": "joined",
            "model_requested": turn.model_requested,
            "model_served": turn.model_served,
            "action": _action(turn),
            "n_calls": len(turn.action),
            "calls": calls_to_json(turn.action),
            "status": str(turn.status),
            "status_detail": turn.detail,
            "stop_reason": turn.stop_reason,
            "input_tokens": turn.input_tokens,
            "cache_read_tokens": turn.cache_read_tokens,
            "cache_write_tokens": turn.cache_write_tokens,
            "output_tokens": turn.output_tokens,
            "latency_ms": turn.latency_ms,
            "context_complete": True,
            "source_format": format_name,
            "source_file": file.shown_as,
            "sample_key": sample_key(joined.sample_seed, decision_id),
        }
        prior.extend(call.tool for call in turn.action)


def _action(turn: Turn) -> str:
    """Name what the turn did; a turn that cannot be scored did neither a call nor *no tool*."""
    return action_text(turn.action) if turn.status in SCORABLE else f"({turn.status})"


def _last_text(messages: Sequence[dict[str, Any]]) -> str:
    content = messages[-1].get("content") if messages else None
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text[:500]


def message_row(run_id: str, position: int, message: dict[str, Any]) -> Row:
    """Give the row of one message. A run's messages are kept once; a decision saw the first `n_messages` of them."""
    return {
        "run_id": run_id,
        "position": position,
        "role": message["role"],
        "message": json.dumps(message, ensure_ascii=False),
    }
