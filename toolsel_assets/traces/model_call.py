"""What a trace format is read as: calls of the model, the messages they saw, and what was merged or rejected.

What belongs here: the nouns between a format reader and the tables. A reader yields them in the order of its file, one
`ModelCall`, `Link`, `Merged` or `Rejected` per unit of the file, so that the books close; `Message` and `Extends` come
beside them. What does not: how a format spells them (formats/), which calls are one decision and in which run
(sql/traces/).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.decision import Status

#: Why a unit of a file, or a whole file, could not be read. A closed list: a new reason is added here first.
Reason = Literal[
    "empty_file",  # nothing in it but white space
    "not_utf8",  # bytes that are no text
    "not_json",  # text that is no JSON
    "cut_json",  # JSON that ends in the middle of a value
    "cut_archive",  # a compressed file that ends early or is damaged
    "unreadable_file",  # the file cannot be opened, or its storage cannot be reached
    "unknown_format",  # JSON that no format recognises
    "not_a_record",  # not an object where the format has objects, or one of another shape
    "no_messages",  # a run without a list of messages
    "no_decisions",  # messages, but the model never answered
    "broken_message",  # a message that is no object or has no role
    "no_run_id",  # nothing that identifies the run
    "no_id",  # a span without a trace or span id
]

#: Why a unit of a file is no decision of its own, though nothing is wrong with it. A closed list.
MergeReason = Literal[
    "context",  # a message that a decision saw: of a user, a system, a tool
    "bookkeeping",  # a line of the log's own: a summary, a snapshot, a setting
    "content_block",  # a further block of an answer that is counted already
    "other_span",  # a span that is no call of the model: an agent, a tool, a request
    "same_file",  # the same file, delivered again
    "same_call",  # the same call, delivered or exported again
    "instrumented_twice",  # the same call, seen by a framework's instrumentation and by an SDK's
    "retry",  # an attempt that failed and was made again
]

#: Why the messages of a call are not what the model saw. Such a decision counts, and is never sampled. A closed list.
ContextProblem = Literal[
    "content_not_captured",  # the instrumentation kept no messages
    "attributes_dropped",  # a limit on the number of attributes cut some of them
    "value_truncated",  # a limit on the length of a value cut the messages
    "kept_by_provider",  # previous_response_id or conversation: earlier messages are on the provider's side
    "broken_messages",  # the messages are there and cannot be read
]


class Unreadable(Exception):
    """Something that cannot be read: its reason from the closed list, and the detail a person needs."""

    def __init__(self, reason: Reason, detail: str) -> None:
        """Keep the reason and the detail."""
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of the model as a trace has it.

    It saw either `messages`, a list of its own (request logs, spans), or the first `n_messages` messages that the
    reader yielded for `context` (transcripts, where one list grows). Messages are in OpenAI chat form.
    """

    call_id: str  # stable identity within the source: a span's, a response's, a message's; never a place in a file
    status: Status
    action: Action = ()  # calls that the loop has to carry out; empty unless status is `called`
    messages: Sequence[Mapping[str, Any]] | None = None
    context: str | None = None
    n_messages: int | None = None
    context_problem: ContextProblem | None = None
    run_id: str | None = None  # only where the format says which run it is; spans leave it to sql/traces/
    parent_run_id: str | None = None
    conversation_id: str | None = None
    client_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    response_id: str | None = None
    started_at: str | None = None  # as times.utc gives it
    ended_at: str | None = None
    latency_ms: float | None = None
    stop_reason: str | None = None  # as the trace spells it
    detail: str | None = None  # why it is malformed or unknown, when it is
    server_tools: tuple[str, ...] = ()  # tools that the provider itself ran: no choice that the loop sees
    args_complete: bool = True  # false when the log may have lost arguments (streaming)
    tools_seen: Sequence[Any] | None = None  # the catalogue: definitions of any provider's shape, or bare names
    model_requested: str | None = None
    model_served: str | None = None
    input_tokens: int | None = None  # cache included
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A span that is no call of the model and says where calls belong: an agent's, a tool's. A unit of the books."""

    kind: Literal["agent", "tool", "other"]
    span_id: str
    trace_id: str | None = None
    parent_span_id: str | None = None
    conversation_id: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """The next message of a shared context. It is no unit of the books: yield `Merged("context")` for its unit."""

    context: str
    message: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Extends:
    """A context that begins with the first `n_messages` of another: after a fork. Before its own messages."""

    context: str
    of: str
    n_messages: int


@dataclass(frozen=True, slots=True)
class Merged:
    """Units of the file that are no decisions of their own."""

    reason: MergeReason
    n: int = 1


@dataclass(frozen=True, slots=True)
class Rejected:
    """A unit that could not be read. `position` is its line, or the how-manieth record it is (from 1)."""

    position: int
    reason: Reason
    detail: str


Item = ModelCall | Link | Message | Extends | Merged | Rejected
