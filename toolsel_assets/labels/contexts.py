"""The messages that a traced decision saw, put together from where the traces keep them.

What belongs here: a decision's own list, or the first part of a context that grew with its run and of those that it
extends. What does not: where the rows come from (assets.py), the form of a message (vocabulary/chat.py).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsel_assets.vocabulary.chat import Chat, from_genai

Row = Mapping[str, Any]


@dataclass
class Contexts:
    """Contexts by id, filled from rows of traces.model_calls."""

    own: dict[str, list[Chat]] = field(default_factory=dict)
    grown: dict[str, dict[int, Chat]] = field(default_factory=dict)
    extends: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows with kind, context_id, n_messages, form and messages."""
        for row in rows:
            value, context = json.loads(row["messages"]), row["context_id"]
            if row["kind"] == "extends":
                self.extends[context] = (value["context_id"], value["n"])
            elif row["kind"] == "message":
                self.grown.setdefault(context, {})[row["n_messages"]] = value
            else:
                self.own[context] = _chat(value, row["form"])

    def missing(self) -> set[str]:
        """Name the contexts that others extend and that are not here yet."""
        return {context for context, _ in self.extends.values()} - self.grown.keys() - self.extends.keys()

    def seen(self, context: str, n_messages: int) -> list[Chat] | None:
        """Give the first messages of a context; None when one of them is not there."""
        if context in self.own:
            return self.own[context]
        begins = self.extends.get(context)
        first: list[Chat] | None = []
        if begins:
            first = self.seen(begins[0], min(begins[1], n_messages))
        own = self.grown.get(context, {})
        n_first = len(first) if first is not None else 0
        if first is None or any(place not in own for place in range(n_first, n_messages)):
            return None
        return first + [own[place] for place in range(n_first, n_messages)]


def _chat(messages: Any, form: str | None) -> list[Chat]:
    if form != "genai":
        return list(messages)
    return [chat for message in messages for chat in from_genai(message)]
