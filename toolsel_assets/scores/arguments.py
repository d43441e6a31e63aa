"""Compare the arguments of a call with those of a label, field by field.

Iterates over the label's fields and the call's: an omitted and an extra argument are both seen. A field has one
rule from catalogues/rules.yaml; a field without one is compared raw, as `exact` does. What does not belong here:
which call is compared with which action (match.py).
"""

from collections.abc import Mapping
from typing import Any

Rules = Mapping[str, str]

MISSING = object()


def mismatches(label: Mapping[str, Any], called: Mapping[str, Any], rules: Rules) -> list[str]:
    """Say what differs, one sentence a field; empty when the arguments are acceptable."""
    found = []
    for field in dict.fromkeys((*label, *called)):
        if rules.get(field, "exact") == "ignored":
            continue
        want, have = label.get(field, MISSING), called.get(field, MISSING)
        if want is MISSING:
            found.append(f"{field} was given and is not in the label")
        elif have is MISSING:
            found.append(f"{field} is missing")
        elif not equal(want, have):
            found.append(f"{field} is {_short(have)} instead of {_short(want)}")
    return found


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
