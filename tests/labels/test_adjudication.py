from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from toolsel_assets.labels.adjudication import (
    Adjudication,
    Subject,
    both_defensible,
    differences,
    settle,
    to_decide,
    union,
)
from toolsel_assets.labels.answers import Answer

HERE = Subject("s1")
TURNED = {"j": 2, "i": 1}


def answer(by: str, *actions: Any, forbidden: tuple[str, ...] = (), **more: Any) -> Answer:
    valid = [action if isinstance(action, dict) else {"tool": action} for action in actions]
    values = {"id": "s1", "valid_actions": valid, "forbidden_actions": forbidden, "labelled_by": [by], **more}
    return Answer.model_validate(values)


def decision(resolution: str, **more: Any) -> Adjudication:
    values = {"id": "s1", "resolution": resolution, "reason": "why", "decided_by": "dora", "date": date(2026, 12, 1)}
    return Adjudication.model_validate({**values, **more})


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (answer("a", None, "get"), answer("b", "get", None), ()),
        (answer("a", {"tool": None, "reason": "x"}), answer("b", {"tool": None, "reason": "y"}), ()),
        (answer("a", None), answer("b", "get"), ("valid",)),
        (answer("a", {"tool": "get", "args": {"id": 1}}), answer("b", {"tool": "get", "args": {"id": 2}}), ("args",)),
        (answer("a", {"tool": "g", "args": {"i": 1, "j": 2}}), answer("b", {"tool": "g", "args": TURNED}), ()),
        (answer("a", {"tool": "get", "required": True}), answer("b", "get"), ("flags",)),
        (answer("a", {"tool": None, "reply": "stop"}), answer("b", {"tool": None, "reply": "clarify"}), ("reply",)),
        (answer("a", None, forbidden=("drop",)), answer("b", None), ("forbidden",)),
        (answer("a", None, {"tool": "get", "args": {"id": 1}}), answer("b", None), ("valid",)),
    ],
)  # fmt: skip
def test_answers_differ_in_what_a_score_can_see(a: Answer, b: Answer, found: tuple[str, ...]) -> None:
    assert differences((a, b)) == differences((b, a)) == found


def test_both_are_defensible_when_every_two_sets_share_an_action() -> None:
    a, b, c = answer("a", None, "get"), answer("b", "get", "put"), answer("c", "put")
    assert both_defensible((a, b)) and both_defensible((b, c)) and not both_defensible((a, b, c))


TOOLS = st.sampled_from([None, "get", "put", "drop"])


@st.composite
def two_answers(draw: st.DrawFn) -> tuple[Answer, Answer]:
    def one(by: str) -> Answer:
        valid = draw(st.lists(TOOLS, min_size=1, unique=True))
        forbidden = tuple(tool for tool in ("get", "put", "drop") if tool not in valid and draw(st.booleans()))
        return answer(by, *valid, forbidden=forbidden)

    return one("a"), one("b")


@given(two_answers())
def test_a_union_accepts_what_either_accepts_and_forbids_none_of_it(both: tuple[Answer, Answer]) -> None:
    valid, forbidden = union(both)
    names = {action.tool for action in valid}
    assert names == both[0].actions | both[1].actions and not names & set(forbidden)


@given(two_answers())
def test_nothing_is_settled_silently(both: tuple[Answer, Answer]) -> None:
    row = settle(HERE, both, None)
    assert (row is None) == bool(differences(both)) == bool(to_decide({"s1": both}, ()))
    if row is not None:
        assert row.valid_actions == both[0].valid_actions and row.labelled_by == ("a", "b")


def test_a_skip_is_an_abstention() -> None:
    given_, skip = answer("a", "get"), answer("b", skipped=True)
    row = settle(HERE, (given_, skip), None)
    assert row is not None and row.labelled_by == ("a",)
    assert settle(HERE, (skip,), None) is None
    assert to_decide({"s1": [given_, skip]}, ()) == []


def test_a_decision_says_whose_answer_stands_or_what_does() -> None:
    both = (answer("a", "get"), answer("b", "put"))
    chosen = settle(HERE, both, decision("b"))
    assert chosen is not None and chosen.valid_tools == ("put",) and chosen.labelled_by == ("a", "b")
    other = settle(HERE, both, decision("other", valid_actions=[{"tool": None}]))
    assert other is not None and other.allows_no_tool
    assert settle(HERE, both, decision("leave_out")) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"resolution": "other"}, "other needs valid_actions"),
        ({"resolution": "ana", "valid_actions": [{"tool": "get"}]}, "takes no actions of its own"),
        ({"resolution": "relabel", "valid_actions": [{"tool": "get"}]}, "relabel needs it"),
        ({"resolution": "leave_out", "capability": "new:x"}, "belongs to relabel"),
        ({"resolution": "other", "valid_actions": [{"tool": "get"}], "forbidden_actions": ["get"]}, "both acceptable"),
        ({"resolution": "ana", "reason": ""}, "reason"),
    ],
)
def test_a_decision_that_does_not_say_what_stands_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        decision(values.pop("resolution"), **values)
