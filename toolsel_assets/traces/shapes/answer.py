"""An answer of the model, whichever API gave it, and what it amounts to as a decision.

What belongs here: the conclusion from calls, text and stop reason, for formats that log whole answers. What does not:
where an API keeps them (formats/), the words of stop reasons (outcome.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolsel_assets.traces import outcome
from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.decision import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an answer says, before it is judged. Calls are pairs of a name and arguments, of any type."""

    calls: Sequence[tuple[Any, Any]] = ()
    text: bool = False
    stop_reason: str | None = None
    must_finish: bool = False  # the log has stop reasons; without one the answer is not known to be whole
    refused: bool = False
    server_tools: tuple[str, ...] = ()
    malformed: str | None = None  # why the answer has no known shape, when it has none
    note: str | None = None


def concluded(answer: Answer, *, broken_off: bool = False, args_complete: bool = True) -> dict[str, Any]:
    """Give the fields of a `ModelCall` that an answer decides.

    `broken_off`: it came as a stream that ended before its stop reason, so that calls may be missing or cut.
    """
    action, ended, detail = _ended(answer)
    if broken_off:
        ended, detail = Status.TRUNCATED, "the stream broke off before a stop reason"
    return {
        "status": ended,
        "action": action if ended == Status.CALLED else (),
        "detail": "; ".join(part for part in (detail, answer.note) if part) or None,
        "stop_reason": answer.stop_reason,
        "server_tools": answer.server_tools,
        "args_complete": args_complete and not broken_off,
    }


def _ended(answer: Answer) -> tuple[Action, Status, str | None]:
    action: Action = ()
    problem = answer.malformed
    try:
        action = tuple(outcome.call(name, arguments) for name, arguments in answer.calls)
    except outcome.Malformed as error:
        problem = str(error)
    ended, detail = outcome.status(action, answer.stop_reason, text=answer.text, must_finish=answer.must_finish)
    if problem and ended not in (Status.TRUNCATED, Status.REFUSED, Status.API_ERROR):
        return (), Status.MALFORMED, problem
    if answer.refused and not action and ended in (Status.STOPPED, Status.UNKNOWN):
        return (), Status.REFUSED, None
    return action, ended, detail


def direct(caller: Any) -> bool:
    """Say whether the model itself made a call, and not code that the provider ran for it."""
    return caller is None or (isinstance(caller, Mapping) and caller.get("type") == "direct")


def tokens(value: Any) -> int | None:
    """Give a count of tokens, None when it is none."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**63 else None
