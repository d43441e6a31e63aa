"""The agent `bm25`: ranks tool definitions by the words of the user's last message. A baseline that needs no key.

It is deterministic and sees no order: tools are indexed by name and ties go to the first name, so that its seed spread
must be exactly 0. It chooses no tool when nothing scores at least `threshold`. It gives no arguments. It is no model of
an LLM: use it to see a study work end to end, and as the floor that a real agent must clear.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolsel_assets.replays.agents import AgentSetup, Choice, NoSettings, Question
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.tool import Tool

ASKED = True
Settings = NoSettings


class Params(BaseModel):
    """What can change an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    threshold: float = Field(gt=0, strict=True, description="a number above 0: below it no tool is chosen")


#: Words that stand in every conversation and tell no tool from another.
_COMMON = """
a an and are as at be been by can could do does for from get have help how i if in is it its just like me my need no not
of on or please so thank thanks that the their them then there this to up want was we what which will with would yes you
your
"""
COMMON = frozenset(_COMMON.split())


def words(text: str) -> list[str]:
    """Split text and snake_case or camelCase names into lower-case words; common ones go, plurals lose their s."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    found = re.findall(r"[a-z0-9]+", spaced)
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in COMMON]


class Bm25:
    """Scores each tool's name and description against the last message of the user."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._indexes: dict[tuple[str, ...], tuple[tuple[str, ...], Any]] = {}

    def _index(self, tools: Sequence[Tool]) -> tuple[tuple[str, ...], Any]:
        import bm25s  # imported here: half a second that no other agent should pay

        ordered = sorted(tools, key=lambda tool: tool.name)
        names = tuple(tool.name for tool in ordered)
        if names not in self._indexes:
            index = bm25s.BM25()
            index.index([words(f"{tool.name} {tool.description}") for tool in ordered], show_progress=False)
            self._indexes[names] = names, index
        return self._indexes[names]

    def choose(self, question: Question) -> Choice:
        """Choose the best-scoring tool, or none below the threshold."""
        names, index = self._index(question.tools)
        vocabulary = index.vocab_dict
        query = sorted({word for word in words(last_user_text(question.request.messages)) if word in vocabulary})
        scores = index.get_scores(query) if query else [0.0] * len(names)
        # max keeps the first of equals, and the names ascend.
        best, name = max(zip(scores, names, strict=True), key=lambda pair: round(float(pair[0]), 6))
        if best < self.threshold:
            return Choice((), Status.STOPPED, gives_args=False)
        return Choice((Call(name),), Status.CALLED, gives_args=False)


def last_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Give the text of the user's last message."""
    found = [message.get("content") for message in messages if message.get("role") == "user"]
    return found[-1] if found and isinstance(found[-1], str) else ""


def make(setup: AgentSetup) -> Bm25:
    """Make the agent of a rung."""
    return Bm25(setup.params.threshold)
