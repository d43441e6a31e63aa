"""Compare the arguments of a call with those of a label, field by field.

Iterates over the label's fields and the call's: an omitted and an extra argument are both seen. A field has one rule
from catalogues/rules.yaml; a field without one is compared raw, as `exact` does, and says that nobody has decided how.
What does not belong here: which call is compared with which action (match.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

Rules = Mapping[str, str]

MISSING = object()

#: How a field can break its rule. `utc_offset`: the two are times that lie apart by what a time zone can differ from
#: UTC, which is what becomes of a local time that is taken for UTC (seeds/no_tool_cases: more than half of the gap).
Problem = Literal["", "missing", "extra", "differs", "utc_offset"]

#: No time zone is further from UTC, and all are whole quarters of an hour.
_FURTHEST, _STEP = timedelta(hours=14), timedelta(minutes=15)


@dataclass(frozen=True)
class FieldCheck:
    """One field of one call beside the label: the rule, whether a person declared it, and what came of it."""

    field: str
    rule: str
    is_declared: bool
    want: Any  # MISSING where the label does not have the field
    have: Any  # MISSING where the call does not
    problem: Problem
    reason: str
    shift_minutes: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the field is acceptable."""
        return not self.problem


def compare(label: Mapping[str, Any], called: Mapping[str, Any], rules: Rules) -> list[FieldCheck]:
    """Compare every field that either side has, the label's first."""
    return [_check(field, label, called, rules) for field in dict.fromkeys((*label, *called))]


def mismatches(label: Mapping[str, Any], called: Mapping[str, Any], rules: Rules) -> list[str]:
    """Say what differs, one sentence a field; empty when the arguments are acceptable."""
    return [check.reason for check in compare(label, called, rules) if not check.ok]


def _check(field: str, label: Mapping[str, Any], called: Mapping[str, Any], rules: Rules) -> FieldCheck:
    rule, want, have = rules.get(field, "exact"), label.get(field, MISSING), called.get(field, MISSING)

    def found(problem: Problem, reason: str = "", shift: int | None = None) -> FieldCheck:
        return FieldCheck(field, rule, field in rules, want, have, problem, reason, shift)

    if rule == "ignored":
        return found("")
    if want is MISSING:
        return found("extra", f"{field} was given and is not in the label")
    if have is MISSING:
        return found("missing", f"{field} is missing")
    try:
        if equal(want, have):
            return found("")
        reason = f"{field} is {_short(have)} instead of {_short(want)}"
    except RecursionError:
        return found("differs", f"{field} is nested too deep to be compared")
    if (minutes := shift_minutes(want, have)) is not None:
        return found("utc_offset", f"{reason}, {minutes / 60:+g} h away as a time zone is from UTC", minutes)
    return found("differs", reason)


def shift_minutes(want: Any, have: Any) -> int | None:
    """Give by how many minutes a time is off when that is a whole UTC offset; None for anything else.

    Dates alone are no times. A time without a zone is compared with one that has one by its clock: that it was taken
    for UTC is what this looks for.
    """
    times = [_time(value) for value in (want, have)]
    if times[0] is None or times[1] is None:
        return None
    if (times[0].tzinfo is None) != (times[1].tzinfo is None):
        times = [time.replace(tzinfo=None) for time in times if time is not None]
    apart = times[1] - times[0]  # type: ignore[operator]
    if not apart or abs(apart) > _FURTHEST or apart % _STEP:
        return None
    return round(apart.total_seconds() / 60)


def _time(value: Any) -> datetime | None:
    if not isinstance(value, str) or not 13 <= len(value) <= 40 or ":" not in value:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def equal(want: Any, have: Any) -> bool:
    """Compare JSON values: 1 equals 1.0, but true is not 1 and "1" is not 1; the order of a list counts."""
    if isinstance(want, bool) or isinstance(have, bool):
        return want is have
    if isinstance(want, int | float) and isinstance(have, int | float):
        return want == have
    if isinstance(want, dict) and isinstance(have, dict):
        return want.keys() == have.keys() and all(equal(want[name], have[name]) for name in want)
    if isinstance(want, list) and isinstance(have, list):
        return len(want) == len(have) and all(equal(a, b) for a, b in zip(want, have, strict=True))
    return type(want) is type(have) and bool(want == have)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
