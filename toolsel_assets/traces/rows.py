"""A reader's items as rows of `MODEL_CALLS`.

What belongs here: ids that hold outside their file, hashes of messages, redaction. What does not: the meaning of a
record (formats/), and everything that needs more than one row (sql/traces/).
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import md5
from typing import Any

from toolsel_assets.traces.model_call import Extends, Link, Message, ModelCall
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.vocabulary.chat import text_of

Row = dict[str, Any]

#: json.dumps makes an encoder at every call.
as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode

#: Fields of a call that are columns of the same name.
SAME = (
    "call_id",
    "run_id",
    "parent_run_id",
    "conversation_id",
    "client_id",
    "trace_id",
    "span_id",
    "parent_span_id",
    "response_id",
    "started_at",
    "ended_at",
    "latency_ms",
    "stop_reason",
    "args_complete",
    "model_requested",
    "model_served",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "context_problem",
)

#: Texts of a context that are remembered, and contexts: a reader may give a call some messages after it was made.
REMEMBERED, CONTEXTS = 256, 64

#: Characters of a message that say which lineage it is of.
BEGINNING = 500


class Rows:
    """Writes the rows of one file."""

    def __init__(self, write: Callable[[Row], None], file_id: str, source: str, redactor: Redactor) -> None:
        """Take where rows go, the file's id and source, and what redacts."""
        self._write, self._redactor = write, redactor
        self._file = {"file_id": file_id, "source": source}
        self._ordinal = 0
        self._lengths: dict[str, int] = {}
        self._texts: dict[str, deque[tuple[int, str]]] = {}
        self._catalogues: set[str] = set()

    def write(self, item: ModelCall | Link | Message | Extends) -> None:
        """Write one item."""
        if isinstance(item, ModelCall):
            self._call(item)
        elif isinstance(item, Link):
            call_id = f"{item.trace_id or ''}:{item.span_id}"
            self._row(**asdict(item), call_id=call_id)
        elif isinstance(item, Message):
            self._message(item)
        else:
            self._lengths[item.context] = item.n_messages
            extended = {"context_id": self._context(item.of), "n": item.n_messages}
            self._row("extends", context_id=self._context(item.context), n_messages=0, messages=as_json(extended))

    def _row(self, kind: str, **columns: Any) -> None:
        self._write({**self._file, "kind": kind, "ordinal": self._ordinal, **columns})
        self._ordinal += 1

    def _context(self, name: str) -> str:
        return f"{self._file['file_id']}:{name}"

    def _message(self, item: Message) -> None:
        place = self._lengths.get(item.context, 0)
        self._lengths[item.context] = place + 1
        text, message = self._redacted(item.message)
        texts = self._texts.get(item.context)
        if texts is None:
            if len(self._texts) == CONTEXTS:
                del self._texts[next(iter(self._texts))]
            texts = self._texts[item.context] = deque(maxlen=REMEMBERED)
        texts.append((place + 1, text_of(message.get("content"))[:500]))
        self._row("message", context_id=self._context(item.context), n_messages=place, form="openai", messages=text)

    def _redacted(self, value: Any) -> tuple[str, Any]:
        """Give a value as JSON text and as it is, both redacted. Most have nothing to redact: one dump, no walk."""
        text = as_json(value)
        redacted = self._redactor.json_text(text)
        return redacted, value if redacted is text else json.loads(redacted)

    def _call(self, call: ModelCall) -> None:
        calls, _ = self._redacted([{"tool": one.tool, "args": one.args} for one in call.action])
        seen = self._shared_messages(call) if call.messages is None else self._own_messages(call, call.messages)
        self._row(
            "model",
            **{name: getattr(call, name) for name in SAME},
            status=call.status.value,
            status_detail=self._redactor.text(call.detail) if call.detail else None,
            tools_called=[one.tool for one in call.action],
            calls=calls,
            server_tools="|".join(call.server_tools) or None,
            **self._tools(call.tools_seen),
            **seen,
        )

    def _tools(self, tools: Sequence[Any] | None) -> Row:
        if tools is None:
            return {}
        text = as_json(tools)
        key = md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
        is_new = key not in self._catalogues
        self._catalogues.add(key)
        return {"catalogue_key": key, "tools_seen": self._redactor.json_text(text) if is_new else None}

    def _shared_messages(self, call: ModelCall) -> Row:
        if call.context is None:
            return {}
        n_messages = call.n_messages or 0
        texts = self._texts.get(call.context, ())
        return {
            "context_id": self._context(call.context),
            "n_messages": n_messages,
            "last_message": next((text for place, text in reversed(texts) if place == n_messages), ""),
            "lineage": call.context,
            "length": n_messages,
            "input_hash": _hash(f"{call.context}:{n_messages}"),
        }

    def _own_messages(self, call: ModelCall, messages: Sequence[Mapping[str, Any]]) -> Row:
        redacted = [self._redacted(message) for message in messages]
        texts = [text for text, _ in redacted]
        whole = f"[{', '.join(texts)}]"
        chain, prefixes = md5(usedforsecurity=False), []
        for text in texts:
            chain.update(text.encode("utf-8", "replace"))
            prefixes.append(int.from_bytes(chain.digest()[:8], "big"))
        placed = call.run_id is not None or call.conversation_id is not None
        return {
            "context_id": self._context(str(self._ordinal)),
            "n_messages": len(texts),
            "last_message": text_of(redacted[-1][1].get("content"))[:500] if redacted else "",
            "lineage": str(_hash(_beginning(messages, texts))),
            "length": len(whole),
            "input_hash": prefixes[-1] if prefixes else None,
            "prefix_hashes": None if placed else prefixes,
            "form": "openai",
            "messages": whole,
        }


def _hash(text: str) -> int:
    return int.from_bytes(md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()[:8], "big")


def _beginning(messages: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> str:
    """Give what all calls of a lineage begin with: the instructions and the first message that is none."""
    n_first = next((at for at, message in enumerate(messages, 1) if message.get("role") != "system"), len(messages))
    return "".join(text[:BEGINNING] for text in texts[:n_first])
