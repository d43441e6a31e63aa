"""The form in which a team's own agent is asked and answers: one JSON object each way (agents/command.py, python.py).

Asked with `request_id`, `messages` (OpenAI chat form), `tools` (name, description, inputSchema, in the order shown),
`prompt`, `model`, `params` and `draw`. Answers `{"calls": [{"tool": ..., "args": {...}}]}`; `"calls": []` is the choice
of no tool and has to be said. Optional beside it: `model`, `usage` (input_tokens, cache_read_tokens,
cache_write_tokens, output_tokens), or in place of it `status` (refused, truncated, unknown) with `detail`.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolsel_assets.replays.agents import Choice, Question, Usage
from toolsel_assets.replays.messages_api import parsed
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

_WITHOUT_A_CHOICE = {status.value: status for status in (Status.REFUSED, Status.TRUNCATED, Status.UNKNOWN)}
_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")


class Told(BaseModel):
    """What can change an answer of a team's own agent, beside what it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = Field("", description="a text that you change when the agent changes in a way its files do not show")
    tell: dict[str, Any] = Field(default_factory=dict, description="handed over as `params`")
    max_output_tokens: int = Field(0, ge=0, description="the longest answer, for a budget in dollars")


class Settings(BaseModel):
    """How a team's own agent is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    in_flight: int = Field(4, ge=1, le=256, description="questions at once")
    timeout_s: float = Field(120, gt=0, description="seconds for one attempt")
    deadline_s: float = Field(300, gt=0, description="seconds for a question with all its attempts")
    requests_per_minute: float | None = Field(None, gt=0)


def asked(question: Question, params: Mapping[str, Any]) -> dict[str, Any]:
    """Give what the agent is asked."""
    return {
        "request_id": question.request.request_id,
        "messages": [dict(message) for message in question.request.messages],
        "tools": [tool.definition() for tool in question.tools],
        "prompt": question.prompt,
        "model": question.model,
        "params": dict(params),
        "draw": question.draw,
    }


def choice(text: str) -> Choice:
    """Conclude what an answer chose. Anything but the form above is `malformed`, never "no tool"."""
    found = parsed(text)
    if found is None:
        return Choice((), Status.MALFORMED, detail=f"no JSON object: {text[:80]!r}")
    model = found.get("model") if isinstance(found.get("model"), str) else None
    if (status := found.get("status")) is not None:
        detail = str(found.get("detail") or "")[:200] or None
        if status in _WITHOUT_A_CHOICE:
            return Choice((), _WITHOUT_A_CHOICE[status], model_served=model, detail=detail)
        return Choice((), Status.MALFORMED, model_served=model, detail=f"status {status!r}")
    calls = found.get("calls")
    if not isinstance(calls, list):
        return Choice((), Status.MALFORMED, model_served=model, detail="there is no list `calls`")
    action = []
    for call in calls:
        tool = call.get("tool") if isinstance(call, dict) else None
        args = call.get("args") if isinstance(call, dict) else None
        if not isinstance(tool, str) or not tool or not isinstance(args, dict | None):
            return Choice((), Status.MALFORMED, model_served=model, detail=f"a call of no known shape: {call!r}"[:120])
        action.append(Call(tool, args))
    gives_args = all(call.args is not None for call in action)
    return Choice(tuple(action), Status.CALLED if action else Status.STOPPED, gives_args, model)


def usage(text: str) -> tuple[Usage, str | None]:
    """Give the tokens and the model that an answer names."""
    found = parsed(text) or {}
    raw = found.get("usage")
    counts = raw if isinstance(raw, dict) else {}
    values = [counts.get(name) for name in _TOKENS]
    model = found.get("model")
    tokens = Usage(*(v if isinstance(v, int) and not isinstance(v, bool) and v >= 0 else None for v in values))
    return tokens, model if isinstance(model, str) else None
