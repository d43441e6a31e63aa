"""Match the calls of one decision with the acceptable actions of its label.

What belongs here: the assignment. What does not: what makes a call fit an action (classify.py decides and passes it
in).

A greedy assignment mis-scores sets: with acceptable {q in x or y} and {q = x}, the calls x, y fit only if the first
call does not take the first action.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.label import ValidAction

Left = TypeVar("Left")
Right = TypeVar("Right")


def unmatched(left: Sequence[Left], right: Sequence[Right], fits: Callable[[Left, Right], bool]) -> list[int]:
    """Give the indexes of `left` that a maximum bipartite matching leaves without a partner (Kuhn's algorithm)."""
    partner: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j, candidate in enumerate(right):
            if j not in tried and fits(left[i], candidate):
                tried.add(j)
                if j not in partner or place(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return [i for i in range(len(left)) if not place(i, set())]


def assign(
    calls: Sequence[Call], actions: Sequence[ValidAction], fits: Callable[[Call, ValidAction], bool]
) -> tuple[list[Call], list[ValidAction]]:
    """Give the calls that no acceptable action takes, and the required actions that no call fulfils.

    Each action takes one call, or any number if it says `repeat`. Both lists empty means that one assignment satisfies
    both sides: where a matching covers all calls and another covers all required actions, one covers both
    (Mendelsohn and Dulmage 1958).
    """
    places = [action for action in actions for _ in range(len(calls) if action.repeat else 1)]
    required = [action for action in actions if action.required]
    left_over = [calls[i] for i in unmatched(calls, places, fits)]
    missing = [required[i] for i in unmatched(required, calls, lambda action, call: fits(call, action))]
    return left_over, missing
