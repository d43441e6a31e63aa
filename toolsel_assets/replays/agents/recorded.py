"""The agent `recorded`: answers with what was logged at the time. Nothing is asked, so there is nothing to permute."""

from toolsel_assets.replays.agents import AgentSetup, Choice, NoSettings, Question
from toolsel_assets.vocabulary.decision import Status

ASKED = False
Params = NoSettings
Settings = NoSettings


class Recorded:
    """Looks the choice up."""

    def choose(self, question: Question) -> Choice:
        """Give the logged choice; a request without one is `unknown`, never "no tool"."""
        logged = question.request.logged
        return logged or Choice((), Status.UNKNOWN, detail="the traces hold no decision of this id")


def make(setup: AgentSetup) -> Recorded:
    """Make the agent; it takes nothing."""
    return Recorded()
