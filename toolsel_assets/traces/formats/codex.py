"""Rollouts of Codex: JSON lines `{timestamp, type, payload}`, one line per item of a response and per event.

A unit is a line. A decision is one response of the model: the items that it made up to where the response ended. The
end is a `token_count` with new usage, for the client writes one per response (after its items; old versions before
them); in a log without usage it is the first result, or the turn's end. Calls of one response are parallel calls.

A response of text alone is a stop when the log shows that it was complete: its usage, `task_complete`, or a next turn.
At the end of the file or at `turn_aborted` it is `unknown`. An `error` event where an answer was due is an `api_error`.

A file is a run, sub-agents are files of their own. A fork's file repeats its parent's items under the same ids.
`compacted` begins a new context; `thread_rolled_back` one that `Extends` the old one's beginning. What the model saw
is unknown where a compaction does not say what replaced the history, or the provider keeps it (encrypted).

The catalogue is not in these files: `dynamic_tools` is a part of it only, and taken for the whole it would mislead.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Extends, Item, Merged, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes import codex_items
from toolsel_assets.traces.shapes.codex_items import Response
from toolsel_assets.traces.shapes.values import count_at, text_at
from toolsel_assets.traces.times import utc
from toolsel_assets.vocabulary.chat import Chat
from toolsel_assets.vocabulary.decision import Status

LINES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
#: Events that end a response, in words of outcome.py.
ENDS = {"task_complete": "completed", "turn_complete": "completed", "error": "failed"}
#: Messages and errors that the client writes and that are no prompt and no failure of the model.
ABORTED = "<turn_aborted>"
OTHER_ERRORS = ("sandbox_error", "thread_rollback_failed")


def recognises(record: Any) -> bool:
    """A line of a rollout; the events of `codex exec --json` are another format."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("type"), str)
        and record["type"] in LINES
        and isinstance(record.get("payload"), dict)
        and isinstance(record.get("timestamp"), str)
    )


def units(record: Any) -> int:
    """Count the lines."""
    return 1


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read the lines of one rollout."""
    reader = _Reader()
    for record in records:
        yield from reader.line(record.position, record.value)
    yield from reader.close()


class _Reader:
    """What has to be remembered between lines: the run, the context's length, the response that is not whole yet."""

    def __init__(self) -> None:
        self._run_id: str | None = None
        self._parent: str | None = None
        self._model: str | None = None
        self._turn: str | None = None
        self._n_unnamed = 0  # decisions of the turn that have no id of their own
        self._seen: set[str] = set()
        self._n_contexts = 1
        self._context = "1"
        self._n = 0
        self._problem: ContextProblem | None = "broken_messages"  # until session_meta shows that the file is whole
        self._system: list[Chat] = []
        self._prompts: list[int] = []  # where the turns of the context begin
        self._last_prompt: int | None = None
        self._response: Response | None = None
        self._usage_leads: bool | None = None  # an old version, which writes usage before the items
        self._usage: Mapping[str, Any] | None = None
        self._total: Any = None

    def line(self, position: int, line: Any) -> Iterator[Item]:
        """Read one line."""
        kind = line.get("type") if isinstance(line, dict) else None
        payload = line.get("payload") if isinstance(line, dict) else None
        if not isinstance(kind, str) or not isinstance(payload, dict):
            yield Rejected(position, "not_a_record", "expected an object with a type and a payload")
            return
        try:
            items = [codex_items.read(item) for item in codex_items.items(kind, payload)]
        except (ValueError, RecursionError) as problem:
            self._problem = "broken_messages"
            yield Rejected(position, "broken_message", str(problem))
            return
        if kind == "response_item":
            yield from self._item(items[0], line)
            return
        if kind == "event_msg":
            yield from self._event(payload, line)
            return
        yield Merged("bookkeeping")
        if kind == "session_meta":
            yield from self._session(payload)
        elif kind == "turn_context":
            self._model = text_at(payload, "model") or self._model
            self._start_turn(text_at(payload, "turn_id"))
        elif kind == "compacted":
            yield from self._compacted(payload, [item.chat() for item in items if item])

    def close(self, event: str | None = None, *, complete: bool = False, cut: str | None = None) -> Iterator[Item]:
        """Give out the response that is not given out yet: `event` ended it, or it is complete, or why it is not."""
        response, self._response = self._response, None
        if response is None:
            return
        response.complete |= complete
        action, ended, detail = response.conclude(ENDS.get(event or ""))
        if ended not in (Status.CALLED, Status.STOPPED, Status.MALFORMED):
            detail = cut or detail
        usage = response.usage or {}
        call_id = response.call_id or response.item_id or self._unnamed(response.first_seen)
        if call_id in self._seen and not response.call_id:
            yield Merged("same_call")
        else:
            yield ModelCall(
                call_id=call_id,
                status=ended,
                action=action,
                **{**self._where(), "context_problem": response.context_problem},
                started_at=utc(response.first_seen),
                ended_at=utc(response.last_seen),
                stop_reason=event,
                detail=detail,
                server_tools=tuple(response.server_tools),
                input_tokens=count_at(usage, "input_tokens"),
                cache_read_tokens=count_at(usage, "cached_input_tokens"),
                output_tokens=count_at(usage, "output_tokens"),
            )
        self._seen.add(call_id)
        yield from self._say(response.messages())

    def _session(self, payload: Mapping[str, Any]) -> Iterator[Item]:
        """Read who the run is; a second such line is the history of the run that this one was forked from."""
        if self._run_id is not None:
            return
        self._run_id = text_at(payload, "id")
        self._parent, self._system = codex_items.parent_of(payload), codex_items.system_of(payload)
        if self._n == 0 and self._response is None:
            self._problem = None
            yield from self._say(self._system)

    def _item(self, item: codex_items.Item | None, line: Mapping[str, Any]) -> Iterator[Item]:
        if item is None:
            yield Merged("bookkeeping")
        elif item.said is not None:
            yield from self._input(item, item.said)
        else:
            yield from self._made(item, line.get("timestamp"))

    def _input(self, item: codex_items.Item, said: Chat) -> Iterator[Item]:
        """Take what the model is told: results wait for the end of the response, a prompt shows that it has ended."""
        if said["role"] == "tool" and self._is_repeated(f"result of {item.call_id}", item.call_id):
            yield Merged("bookkeeping")
            return
        yield Merged("context")
        if said["role"] != "user":
            if self._response:
                self._response.after.append(said)
            else:
                yield from self._say([said])
            return
        aborted = str(said["content"]).startswith(ABORTED)
        yield from self.close(complete=not aborted, cut="the turn was aborted" if aborted else None)
        self._last_prompt = self._n
        yield from self._say([said])

    def _made(self, item: codex_items.Item, seen: Any) -> Iterator[Item]:
        if item.call and self._is_repeated(item.call_id, item.call_id):
            yield Merged("same_call")
            return
        response = self._response
        if response and ((response.complete and not self._usage_leads) or (response.after and not response.complete)):
            yield from self.close()
        if self._response is None:
            self._response = Response(seen, self._problem)
            if self._usage_leads and self._usage:
                self._response.usage, self._response.complete, self._usage = self._usage, True, None
        else:
            yield Merged("content_block")
        self._response.add(item, seen)

    def _is_repeated(self, key: str | None, call_id: str | None) -> bool:
        if call_id is None or key is None:
            return False
        repeated = key in self._seen
        self._seen.add(key)
        return repeated

    def _event(self, payload: Mapping[str, Any], line: Mapping[str, Any]) -> Iterator[Item]:
        kind = payload.get("type")
        if kind == "error" and not str(payload.get("codex_error_info")).startswith(OTHER_ERRORS):
            yield from self._error(str(payload.get("message"))[:500], line.get("timestamp"))
            return
        yield Merged("bookkeeping")
        if kind == "token_count":
            yield from self._counted(payload.get("info"))
        elif kind in ("task_complete", "turn_complete"):
            yield from self.close(str(kind), complete=True)
        elif kind in ("task_started", "turn_started"):
            yield from self.close(complete=True)
            self._start_turn(text_at(payload, "turn_id"))
        elif kind == "turn_aborted":
            yield from self.close(cut="the turn was aborted")
        elif kind == "user_message" and self._last_prompt is not None and self._last_prompt not in self._prompts[-1:]:
            self._prompts.append(self._last_prompt)
        elif kind == "thread_rolled_back":
            yield from self._rolled_back(payload.get("num_turns"))

    def _counted(self, info: Any) -> Iterator[Item]:
        """Take the usage of a response. One that repeats the last total is only shown again, when a turn begins."""
        usage = info.get("last_token_usage") if isinstance(info, dict) else None
        sums = info.get("total_token_usage") if isinstance(info, dict) else None
        total = sums.get("total_tokens") if isinstance(sums, dict) else None
        if not isinstance(usage, dict) or (total is not None and total == self._total):
            return
        self._total = total
        if self._usage_leads is None:
            self._usage_leads = self._response is None and not self._seen and self._run_id is not None
        if self._usage_leads:
            yield from self.close()
            self._usage = usage
        elif self._response and not self._response.complete:
            self._response.usage, self._response.complete = usage, True

    def _error(self, text: str, seen: Any) -> Iterator[Item]:
        """Read an error: of the answer that has begun, else of the one that was due."""
        response = self._response
        if response and not response.complete and not response.calls:
            yield Merged("bookkeeping")
            yield from self.close("error", cut=text)
            return
        yield from self.close()
        call_id = self._unnamed(seen)
        yield ModelCall(call_id=call_id, status=Status.API_ERROR, detail=text, started_at=utc(seen), **self._where())

    def _compacted(self, payload: Mapping[str, Any], history: list[Chat]) -> Iterator[Item]:
        yield from self.close()
        kept = payload.get("replacement_history")
        if not isinstance(kept, list):
            history = [{"role": "user", "content": str(payload.get("message") or "")}]
            self._new_context("broken_messages")
        else:
            encrypted = any(isinstance(item, dict) and "compaction" in str(item.get("type")) for item in kept)
            self._new_context("kept_by_provider" if encrypted else None)
        yield from self._say([*self._system, *history])

    def _rolled_back(self, n_turns: Any) -> Iterator[Item]:
        yield from self.close()
        if not isinstance(n_turns, int) or n_turns < 1:
            return
        if n_turns > len(self._prompts):  # to before a compaction: what is left of that is not known
            self._new_context("broken_messages")
            yield from self._say(self._system)
            return
        old, kept, n = self._context, self._prompts[:-n_turns], self._prompts[-n_turns]
        self._new_context(self._problem)
        self._prompts, self._n = kept, n
        yield Extends(self._context, old, n)

    def _new_context(self, problem: ContextProblem | None) -> None:
        self._n_contexts += 1
        self._context, self._n, self._problem = str(self._n_contexts), 0, problem
        self._prompts, self._last_prompt = [], None

    def _start_turn(self, turn: str | None) -> None:
        if turn and turn != self._turn:
            self._turn, self._n_unnamed = turn, 0

    def _unnamed(self, seen: Any) -> str:
        """Name a decision by its turn. Old versions number turns from 0, so that the run has to be named as well."""
        self._n_unnamed += 1
        turn = self._turn if self._turn and len(self._turn) > 30 else f"{self._run_id or seen}:{self._turn or ''}"
        return f"{turn}:{self._n_unnamed}"

    def _where(self) -> dict[str, Any]:
        return {
            "context": self._context,
            "n_messages": self._n,
            "context_problem": self._problem,
            "run_id": self._run_id,
            "parent_run_id": self._parent,
            "conversation_id": self._run_id,
            "model_requested": self._model,
        }

    def _say(self, messages: list[Chat]) -> Iterator[Item]:
        for message in messages:
            self._n += 1
            yield Message(self._context, message)
