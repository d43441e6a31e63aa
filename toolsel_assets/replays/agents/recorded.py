"""The agent `recorded`: answers with what was logged at the time. Nothing is asked, so there is nothing to permute."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolsel_assets.replays.agents import Choice, Request
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.tool import Tool

ASKED = False
PARAMS: frozenset[str] = frozenset()


class Recorded:
    """Looks the choice up."""

    def choose(self, request: Request, tools: Sequence[Tool], prompt: str | None) -> Choice:
        """Give the logged choice; a request without one is `unknown`, never "no tool"."""
        return request.logged or Choice((), Status.UNKNOWN, detail="the traces hold no decision of this id")


def make(params: Mapping[str, Any]) -> Recorded:
    """Make the agent; it takes no parameters."""
    return Recorded()
