"""An answer of the model as Claude Code writes it: over several lines, with the place it has in its conversation.

What belongs here: contexts and places in them, and the adding up of an answer's lines. What does not: which line
belongs where (formats/claude_code.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsel_assets.traces import outcome
from toolsel_assets.traces.model_call import ContextProblem, ModelCall
from toolsel_assets.traces.shapes.values import count_at, text_at
from toolsel_assets.traces.times import utc
from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.chat import Chat
from toolsel_assets.vocabulary.decision import Status


@dataclass(slots=True, eq=False)
class Place:
    """A point in a context, after its first `n` messages. The lines of an answer share one, set at its end."""

    context: "Context | None"
    n: int = 0


@dataclass(slots=True, eq=False)
class Context:
    """A list of messages that grows, of one run."""

    name: str
    run_id: str | None
    parent_run_id: str | None
    agent: str | None
    problem: ContextProblem | None
    n: int = 0
    answer: "Answer | None" = None


#: Where a chain begins; and where one goes on of which something is missing, so that its context is not what was seen.
ROOT = Place(None)
LOST = Place(None)


@dataclass(slots=True, eq=False)
class Answer:
    """What the lines of one `message.id` add up to, and the messages after it that do not end it."""

    call_id: str
    place: Place
    context: Context
    repeated: bool
    problem: ContextProblem | None
    conversation_id: str | None
    first_seen: Any
    last_seen: Any = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    calls: dict[str, tuple[Mapping[str, Any], Chat]] = field(default_factory=dict)
    server_tools: list[str] = field(default_factory=list)
    turn_ended: bool = False
    interrupted: bool = False
    after: list[Chat] = field(default_factory=list)

    def add(self, line: Mapping[str, Any], message: Mapping[str, Any], chats: list[Chat]) -> None:
        """Take one more line of it."""
        self.last_seen = line.get("timestamp")
        self.model = text_at(message, "model") or self.model
        self.stop_reason = text_at(message, "stop_reason") or self.stop_reason
        if isinstance(message.get("usage"), dict):
            self.usage = message["usage"]
        made = [call for part in chats for call in part.get("tool_calls", ())]
        blocks = [block for block in _blocks(message) if block.get("type") == "tool_use"]
        for block, call in zip(blocks, made, strict=True):
            key = text_at(block, "id") or f"call {len(self.calls)}"
            if key not in self.calls or block.get("input"):
                self.calls[key] = (block, call)
        self.server_tools += [str(b.get("name")) for b in _blocks(message) if b.get("type") == "server_tool_use"]
        for part in chats:
            text = part["content"] if part["role"] == "assistant" else None
            if text and text not in self.texts:
                self.texts.append(text)

    def messages(self) -> list[Chat]:
        """Give the answer as one message, and those after it."""
        calls, text = [call for _, call in self.calls.values()], "\n".join(self.texts)
        if calls:
            return [{"role": "assistant", "content": text or None, "tool_calls": calls}, *self.after]
        return [{"role": "assistant", "content": text}, *self.after] if text else self.after

    def model_call(self) -> ModelCall:
        """Conclude what the model did."""
        action: Action = ()
        try:
            direct = (block for block, _ in self.calls.values() if _is_direct(block))
            action = tuple(outcome.call(block.get("name"), block.get("input")) for block in direct)
            text, open_end = bool(self.texts), self.interrupted or not self.turn_ended
            ended, detail = outcome.status(action, self.stop_reason, text=text, must_finish=open_end)
            if ended == Status.UNKNOWN and self.interrupted:
                detail = "the user interrupted it"
        except outcome.Malformed as problem:
            ended, detail = Status.MALFORMED, str(problem)
        fresh, read, written = (
            count_at(self.usage, key)
            for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        return ModelCall(
            call_id=self.call_id,
            status=ended,
            action=action if ended == Status.CALLED else (),
            context=self.context.name,
            n_messages=self.context.n,
            context_problem=self.problem,
            run_id=self.context.run_id,
            parent_run_id=self.context.parent_run_id,
            conversation_id=self.conversation_id,
            response_id=self.call_id,
            started_at=utc(self.first_seen),
            ended_at=utc(self.last_seen),
            stop_reason=self.stop_reason,
            detail=detail,
            server_tools=tuple(self.server_tools),
            model_served=self.model,
            input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=count_at(self.usage, "output_tokens"),
        )


def _is_direct(block: Mapping[str, Any]) -> bool:
    """Tell a call by the model from one that code made which the provider ran."""
    caller = block.get("caller")
    return not isinstance(caller, dict) or caller.get("type") in (None, "direct")


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
