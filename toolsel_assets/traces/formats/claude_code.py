"""Transcripts of Claude Code: JSON lines, one line per content block, linked by `uuid` and `parentUuid`.

A unit is a line. Lines that share `message.id` are one answer of the model, hence one decision: its calls are the union
of the `tool_use` blocks, its usage is the last line's, and tool results may stand between its lines, since tools start
while the answer still streams. It is given out when its conversation goes on, so at most one answer per conversation
with the results to it is held.

A context is a chain of lines. A line whose parent is not the end of a chain is a fork (an edited prompt) and begins a
context that `Extends` the old one; a compaction, or a sub-agent, begins a new one. Sub-agents (`isSidechain`,
`agentId`) are runs of their own, in the same file or in one of theirs; the copies of their messages in `progress` lines
are incomplete and stay bookkeeping.

The system prompt and the catalogue are never in these files; a context counts as complete all the same, unless a line
of it is lost, or a partial compaction kept or cleared what the lines do not show in its place.

Most versions write no stop reason. A message of text alone is then a stop only when the log shows that the turn ended
there: a prompt of the user, a stop hook or the turn's duration comes next. At the end of the file, after an
interruption or before an API error it is `unknown`.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Extends, Item, Merged, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes.claude_answer import LOST, ROOT, Answer, Context, Place
from toolsel_assets.traces.shapes.values import text_at
from toolsel_assets.traces.times import utc
from toolsel_assets.vocabulary import chat
from toolsel_assets.vocabulary.chat import Chat
from toolsel_assets.vocabulary.decision import Status

#: Lines that are linked to each other, and lines of the log's own that name their session.
LINKED = frozenset({"user", "assistant", "system", "progress", "attachment"})
LOOSE = frozenset(
    {"queue-operation", "permission-mode", "last-prompt", "custom-title", "ai-title", "agent-name", "agent-setting"}
    | {"agent-color", "mode", "tag", "pr-link", "worktree-state", "attribution-snapshot", "content-replacement"}
)
#: What shows that a turn has ended: subtypes of system lines, events of hooks.
TURN_ENDS = frozenset({"stop_hook_summary", "turn_duration"})
STOP_HOOKS = frozenset({"Stop", "SubagentStop"})
INTERRUPTED = "[Request interrupted by user"
#: How many conversations of a file may be in the middle of an answer at once; the one that rested longest is closed.
MOST_OPEN = 64


def recognises(record: Any) -> bool:
    """A line with Claude Code's own ids; the SDK's stream (`session_id`, no `parentUuid`) is another format."""
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return False
    kind = record["type"]
    if kind == "summary":
        return "summary" in record and "leafUuid" in record
    if kind == "file-history-snapshot":
        return "messageId" in record and "snapshot" in record
    if not isinstance(record.get("sessionId"), str):
        return False
    return kind in LOOSE or (kind in LINKED and isinstance(record.get("uuid"), str) and "parentUuid" in record)


def units(record: Any) -> int:
    """Count the lines."""
    return 1


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read the lines of one transcript."""
    reader = _Reader()
    for record in records:
        yield from reader.line(record.position, record.value)
    yield from reader.end()


class _Reader:
    """What has to be remembered between lines: where each uuid stands, which answers are open, which are given out."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._open: dict[str, Answer] = {}
        self._closed: set[str] = set()
        self._n_contexts = 0

    def line(self, position: int, line: Any) -> Iterator[Item]:
        """Read one line."""
        kind = line.get("type") if isinstance(line, dict) else None
        if not isinstance(kind, str):
            yield Rejected(position, "not_a_record", "expected an object with a type")
            return
        uuid = text_at(line, "uuid")
        if uuid in self._places:  # the history of a resumed session, written again
            yield Merged("same_call" if kind == "assistant" else "bookkeeping")
            return
        place = self._parent(line)
        if kind not in ("user", "assistant") and not _is_queued_prompt(line):
            place = self._log(line, place)
            yield Merged("bookkeeping")
        else:
            try:
                message = _message(line)
                chats = chat.from_anthropic(message)
            except (ValueError, RecursionError) as problem:
                yield Rejected(position, "broken_message", str(problem))
                place = LOST
            else:
                if kind != "assistant":
                    place = yield from self._user(line, place, chats)
                elif text_at(message, "id") or uuid:
                    place = yield from self._assistant(line, place, message, chats)
                else:
                    yield Rejected(position, "no_id", "an answer with neither message.id nor uuid")
                    place = LOST
        if uuid:
            self._places[uuid] = place

    def end(self) -> Iterator[Item]:
        """Give out the answers that the file ends with."""
        for answer in list(self._open.values()):
            yield from self._close(answer)

    def _parent(self, line: Mapping[str, Any]) -> Place:
        parent = line.get("parentUuid")
        if parent is None:
            return ROOT
        place = self._places.get(parent, LOST) if isinstance(parent, str) else LOST
        if place.context is None:
            return place
        # A sub-agent's first line may hang on the call that started it; the sub-agent does not see what is above.
        agent, above = text_at(line, "agentId"), place.context.agent
        is_agent = agent is not None or line.get("isSidechain") is True
        if is_agent == (above is not None) and agent in (None, above):
            return place
        return ROOT if is_agent else LOST

    def _log(self, line: Mapping[str, Any], place: Place) -> Place:
        """Read a line of the log's own: it keeps the chain together, and may show that a turn or a context ends."""
        subtype = line.get("subtype") if line["type"] == "system" else None
        if subtype == "compact_boundary":
            kept = line.get("compactMetadata")
            is_partial = isinstance(kept, dict) and any(key.startswith("preserved") and kept[key] for key in kept)
            return LOST if is_partial else ROOT
        if place.context is None:
            return place
        if subtype == "microcompact_boundary":  # old results are cleared in what the model sees, not in the file
            place.context.problem = "broken_messages"
        data = line.get("data")
        hook = data.get("hookEvent") if isinstance(data, dict) else None
        answer = place.context.answer
        if answer and answer.place is place and _is_one_of(subtype, TURN_ENDS, hook, STOP_HOOKS):
            answer.turn_ended = True
        return place

    def _user(self, line: Mapping[str, Any], place: Place, chats: list[Chat]) -> Generator[Item, None, Place]:
        yield Merged("context")
        answer = place.context.answer if place.context else None
        is_prompt = chats[0]["role"] != "tool" and line.get("isMeta") is not True and line["type"] == "user"
        if line.get("isCompactSummary") is True:
            place = place if place.context is None else ROOT
        elif answer and answer.place is place:
            if not is_prompt:
                answer.after += chats
                return place
            answer.interrupted = not answer.turn_ended and str(chats[0]["content"]).startswith(INTERRUPTED)
            answer.turn_ended = not answer.interrupted
        context = yield from self._at(place, line)
        yield from _say(context, chats)
        return Place(context, context.n)

    def _assistant(
        self, line: Mapping[str, Any], place: Place, message: Mapping[str, Any], chats: list[Chat]
    ) -> Generator[Item, None, Place]:
        call_id = text_at(message, "id") or line["uuid"]
        if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage") is True:
            return (yield from self._synthetic(line, place, call_id, chats))
        answer = self._open.pop(call_id, None)
        if answer is None:
            context = yield from self._at(place, line)
            answer = Answer(
                call_id,
                Place(context),
                context,
                repeated=call_id in self._closed,
                problem=context.problem,
                conversation_id=text_at(line, "sessionId"),
                first_seen=line.get("timestamp"),
            )
            context.answer = answer
        else:
            yield Merged("same_call" if answer.repeated else "content_block")
        answer.add(line, message, chats)
        self._open[call_id] = answer
        if len(self._open) > MOST_OPEN:
            yield from self._close(next(iter(self._open.values())))
        return answer.place

    def _synthetic(
        self, line: Mapping[str, Any], place: Place, call_id: str, chats: list[Chat]
    ) -> Generator[Item, None, Place]:
        """Read what the client wrote in the model's name: an API error, or a stand-in for an answer."""
        context = yield from self._at(place, line)
        text = chat.text_of(chats[-1]["content"])
        if line.get("isApiErrorMessage") is not True and not text.startswith("API Error"):
            yield Merged("context")
            yield from _say(context, chats)
        elif call_id in self._closed:
            yield Merged("same_call")
        else:
            self._closed.add(call_id)
            yield ModelCall(
                call_id=call_id,
                status=Status.API_ERROR,
                context=context.name,
                n_messages=context.n,
                context_problem=context.problem,
                run_id=context.run_id,
                parent_run_id=context.parent_run_id,
                conversation_id=text_at(line, "sessionId"),
                started_at=utc(line.get("timestamp")),
                ended_at=utc(line.get("timestamp")),
                detail=text[:500] or None,
            )
        return Place(context, context.n)

    def _at(self, place: Place, line: Mapping[str, Any]) -> Generator[Item, None, Context]:
        """Give the context that ends at a place: the one there is, a new one, or a fork."""
        context = place.context
        if context is None:
            return self._context(line, "broken_messages" if place is LOST else None)
        if context.answer and context.answer.place is place:
            yield from self._close(context.answer)
        elif context.answer or place.n != context.n:
            fork = self._context(line, context.problem)
            fork.run_id, fork.parent_run_id, fork.agent = context.run_id, context.parent_run_id, context.agent
            fork.n = place.n
            yield Extends(fork.name, context.name, place.n)
            return fork
        return context

    def _context(self, line: Mapping[str, Any], problem: ContextProblem | None) -> Context:
        session, agent = text_at(line, "sessionId"), text_at(line, "agentId")
        if agent is None and line.get("isSidechain") is True:
            agent = text_at(line, "uuid")
        self._n_contexts += 1
        run_id = f"{session}:{agent}" if session and agent else session
        name = f"{run_id}/{self._n_contexts}"
        return Context(name, run_id, session if agent else None, agent, problem)

    def _close(self, answer: Answer) -> Iterator[Item]:
        del self._open[answer.call_id]
        self._closed.add(answer.call_id)
        answer.context.answer = None
        yield Merged("same_call") if answer.repeated else answer.model_call()
        yield from _say(answer.context, answer.messages())
        answer.place.n = answer.context.n


def _say(context: Context, messages: list[Chat]) -> Iterator[Item]:
    for message in messages:
        context.n += 1
        yield Message(context.name, message)


def _message(line: Mapping[str, Any]) -> dict[str, Any]:
    """Give the message of a line with the role that the line has, whatever the message says."""
    if line["type"] == "attachment":  # a prompt that was typed while the model worked
        return {"role": "user", "content": line["attachment"].get("prompt")}
    message = line.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
        raise ValueError("a line without a message, or a message without content")
    return {**message, "role": line["type"]}


def _is_queued_prompt(line: Mapping[str, Any]) -> bool:
    attached = line.get("attachment") if line["type"] == "attachment" else None
    return isinstance(attached, dict) and attached.get("type") == "queued_command"


def _is_one_of(subtype: Any, subtypes: frozenset[str], hook: Any, hooks: frozenset[str]) -> bool:
    return (isinstance(subtype, str) and subtype in subtypes) or (isinstance(hook, str) and hook in hooks)
