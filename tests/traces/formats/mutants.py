"""Damaged traces: real records cut, dropped, duplicated, reordered, and with any JSON in any place."""

import copy
from typing import Any

from hypothesis import strategies as st

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=8),
    st.sampled_from(["user", "assistant", "a"]),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def mutants(draw: st.DrawFn, lines: list[Any]) -> list[Any]:
    """Draw a window of the lines and damage it."""
    start = draw(st.integers(0, len(lines) - 1))
    found = copy.deepcopy(lines[start : start + draw(st.integers(1, 40))])
    for _ in range(draw(st.integers(0, 6))):
        at, to = draw(st.integers(0, len(found) - 1)), draw(st.integers(0, len(found) - 1))
        match draw(st.sampled_from(["drop", "duplicate", "swap", "replace", "replace", "replace"])):
            case "drop" if len(found) > 1:
                del found[at]
            case "duplicate":
                found.insert(to, copy.deepcopy(found[at]))
            case "swap":
                found[at], found[to] = found[to], found[at]
            case "replace":
                _replace(draw, found, at)
    return found


def _replace(draw: st.DrawFn, holder: Any, key: Any) -> None:
    """Put other JSON somewhere below a value, or take it out."""
    while True:
        value = holder[key]
        deeper = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        if not deeper or draw(st.integers(0, 4)) == 0:
            break
        holder, key = value, draw(st.sampled_from(deeper))
    if isinstance(holder, dict) and draw(st.booleans()):
        del holder[key]
    else:
        holder[key] = draw(JSON)
