"""What every trace format is turned into: a run and its turns.

What belongs here: the two nouns between a format reader and `decisions.py`. What does not: how a format spells them
(formats/), and what a decision row looks like (decisions.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.decision import Status

#: Why a record, or a whole file, gave no decision. A closed list: a new reason is added here first.
Reason = Literal[
    "empty_file",  # nothing in it but white space
    "not_utf8",  # bytes that are no text
    "not_json",  # text that is no JSON
    "cut_json",  # JSON that ends in the middle of a value
    "unknown_format",  # JSON that no format recognises
    "not_a_record",  # not an object where the format has objects
    "no_messages",  # a run without a list of messages
    "no_decisions",  # messages, but the model never answered
    "broken_message",  # a message that is no object or has no role
    "no_run_id",  # nothing that identifies the run
    "duplicate_run",  # the same run again; the first one is kept
]


class Unreadable(Exception):
    """A record that gives no run: its reason from the closed list, and the detail a person needs."""

    def __init__(self, reason: Reason, detail: str) -> None:
        """Keep the reason and the detail."""
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


@dataclass(frozen=True)
class Turn:
    """One answer of the model: how many of the run's messages it saw, and what it did."""

    n_messages: int
    action: Action
    status: Status
    stop_reason: str | None = None
    model_requested: str | None = None
    model_served: str | None = None
    input_tokens: int | None = None  # cache included
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: float | None = None
    detail: str | None = None  # why it is malformed, when it is


@dataclass(frozen=True)
class Run:
    """One run of an agent: its messages in OpenAI chat form, and its turns in order."""

    run_id: str
    messages: Sequence[dict[str, Any]]
    turns: Sequence[Turn]
    thread_id: str | None = None
    client_id: str | None = None
    parent_run_id: str | None = None
