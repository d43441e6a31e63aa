from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.scores.match import assign, unmatched
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.label import ValidAction


def test_an_assignment_that_greedy_matching_misses_is_found() -> None:
    fits = {("x", "either"), ("y", "either"), ("x", "only x")}
    assert unmatched(["x", "y"], ["either", "only x"], lambda a, b: (a, b) in fits) == []


EDGES = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)))


@given(EDGES)
def test_the_matching_is_as_large_as_the_best_of_all_assignments(edges: set[tuple[int, int]]) -> None:
    best = max(sum((i, j) in edges for i, j in enumerate(order)) for order in permutations(range(4)))
    assert 4 - len(unmatched(range(4), range(4), lambda i, j: (i, j) in edges)) == best


def test_required_and_repeated_actions_are_both_honoured() -> None:
    actions = [ValidAction(tool="a", repeat=True), ValidAction(tool="b", required=True)]
    fits = lambda call, action: call.tool == action.tool  # noqa: E731
    assert assign([Call("a"), Call("a"), Call("b")], actions, fits) == ([], [])
    left_over, missing = assign([Call("a"), Call("c")], actions, fits)
    assert [call.tool for call in left_over] == ["c"] and [action.tool for action in missing] == ["b"]
