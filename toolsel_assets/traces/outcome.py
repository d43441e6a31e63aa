"""How a call of the model ended, from what the trace says of it: the one place that knows every provider's words.

What belongs here: stop reasons, the reading of tool calls' arguments. What does not: where a format keeps them.
"""

from collections.abc import Mapping
from typing import Any

from toolsel_assets.traces.records import parse
from toolsel_assets.vocabulary.action import Action, Call
from toolsel_assets.vocabulary.decision import Status

#: Stop reasons of OpenAI, Anthropic, Gemini, Bedrock, Vercel and OpenTelemetry, in lower case with `_` for `-`.
FINISHED = frozenset(
    {"stop", "end_turn", "stop_sequence", "completed", "complete", "finished", "eos", "done", "success"}
)
CALLING = frozenset({"tool_calls", "tool_use", "tool_call", "function_call"})
CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"}
    | {"model_context_window_exceeded", "context_length_exceeded"}
)
DECLINED = frozenset(
    {"refusal", "content_filter", "content_filtered", "safety", "recitation", "guardrail_intervened"}
    | {"prohibited_content", "blocklist", "spii"}
)
FAILED = frozenset({"error", "failed", "cancelled", "aborted"})


class Malformed(ValueError):
    """A call of a tool that cannot be read; the text says why."""


def status(
    action: Action, stop_reason: str | None, *, text: bool, must_finish: bool = False
) -> tuple[Status, str | None]:
    """Conclude how a call ended, and why when that is not plain.

    *No tool* needs positive evidence: a stop reason that says so, or, where the log has no stop reasons, a complete
    message with text. `must_finish`: the log has stop reasons, and this call has none (a stream that broke off).
    """
    reason = (stop_reason or "").strip().lower().replace("-", "_")
    if reason in CUT:
        return Status.TRUNCATED, None
    if reason in DECLINED:
        return Status.REFUSED, None
    if reason in FAILED:
        return Status.API_ERROR, None
    if action:
        return Status.CALLED, None
    if reason in CALLING:
        return Status.MALFORMED, f"it ended with {stop_reason}, and no call is there"
    if reason in FINISHED:
        return Status.STOPPED, None
    if reason:
        return Status.UNKNOWN, f"unknown stop reason {stop_reason}"
    if text and not must_finish:
        return Status.STOPPED, None
    return Status.UNKNOWN, "there is no stop reason" if text else "there is neither a stop reason nor an answer"


def call(name: Any, arguments: Any) -> Call:
    """Read one call of a tool. Arguments are an object, or JSON text of one; `Malformed` says what is wrong."""
    if not isinstance(name, str) or not name.strip():
        raise Malformed("a call without a tool's name")
    try:
        args = parse(arguments) if isinstance(arguments, str) else arguments
    except ValueError as error:
        raise Malformed(f"the arguments of {name} are not JSON: {error}") from error
    if not isinstance(args, Mapping):
        raise Malformed(f"the arguments of {name} are not a JSON object")
    return Call(name, args)
