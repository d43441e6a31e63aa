"""Every case of DESIGN section 9 that concerns this stage, and the essay's own."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.scores.classify import score_action
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.kind import Kind
from toolsel_assets.vocabulary.label import LabelRow


def label(*valid: Any, forbidden: tuple[str, ...] = ()) -> LabelRow:
    actions = [action if isinstance(action, dict) else {"tool": action} for action in valid]
    return LabelRow.model_validate(
        {"id": "r", "valid_actions": actions, "forbidden_actions": forbidden, "labelled_by": ["x"]}
    )


def calls(*found: Any) -> tuple[Call, ...]:
    return tuple(Call(*c) if isinstance(c, tuple) else Call(c, {}) for c in found)


def kind(predicted: tuple[Call, ...], row: LabelRow, rules: dict[str, dict[str, str]] | None = None) -> str:
    return str(score_action(predicted, row, rules).kind)


ESSAY = label(
    None,
    {"tool": "mail.reply", "args": {"thread_id": "th-8831", "kind": "ack"}},
    forbidden=("list_availability", "calendar.create_event"),
)


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        (calls(), "ok_no_tool"),
        (calls(("mail.reply", {"thread_id": "th-8831", "kind": "ack"})), "ok"),
        (calls(("mail.reply", {"thread_id": "other", "kind": "ack"})), "right_tool_wrong_args"),
        (calls("list_availability"), "forbidden"),  # the essay's code says tool_when_none_needed, its figures do not
        (calls("read_thread"), "tool_when_none_needed"),
        (calls("mail.reply", "calendar.create_event"), "forbidden"),
    ],
)
def test_the_essays_row(predicted: tuple[Call, ...], expected: str) -> None:
    assert kind(predicted, ESSAY) == expected


@pytest.mark.parametrize(
    ("predicted", "row", "expected"),
    [
        (calls("a"), label(None), "tool_when_none_needed"),
        (calls(), label(None), "ok_no_tool"),
        (calls(), label("a", None), "ok_no_tool"),
        (calls("a"), label("a", None), "ok"),
        (calls("b"), label("a", None), "tool_when_none_needed"),
        (calls(), label("a"), "none_when_tool_needed"),
        (calls("b"), label("a"), "wrong_tool"),
        (calls("no_such_tool"), label("a"), "wrong_tool"),
        (calls("a", "a"), label("a"), "wrong_tool"),
        (calls("a", "a"), label("a", "a"), "ok"),
        (calls("a", "a"), label({"tool": "a", "repeat": True}), "ok"),
        (calls("a", "b", "b"), label("a", "a", "b"), "wrong_tool"),
        (calls("b", "a"), label("a", "b"), "ok"),
        (calls("a"), label("a", {"tool": "b", "required": True}), "wrong_tool"),
        (calls("a", "b"), label("a", {"tool": "b", "required": True}), "ok"),
        (calls("a", "x"), label("a", forbidden=("x",)), "forbidden"),
        (calls("a", "b"), label("a"), "wrong_tool"),
    ],
)
def test_sets_of_calls(predicted: tuple[Call, ...], row: LabelRow, expected: str) -> None:
    assert kind(predicted, row) == expected


def spec(**args: Any) -> dict[str, Any]:
    return {"tool": "a", "args": args}


@pytest.mark.parametrize(
    ("predicted", "row", "expected"),
    [
        ({"x": 1}, label(spec(x=1)), "ok"),
        ({}, label(spec(x=1)), "right_tool_wrong_args"),
        ({"x": 1, "y": 2}, label(spec(x=1)), "right_tool_wrong_args"),
        ({"x": "-5.0"}, label(spec(x="50")), "right_tool_wrong_args"),
        ({"x": "150"}, label(spec(x="5")), "right_tool_wrong_args"),
        ({"x": 5.0}, label(spec(x=5)), "ok"),
        ({"x": True}, label(spec(x=1)), "right_tool_wrong_args"),
        ({"x": "1"}, label(spec(x=1)), "right_tool_wrong_args"),
        ({"x": 2}, label(spec(x=1), spec(x=2)), "ok"),  # any specification, not the first
        ({"x": [1, {"y": None}]}, label(spec(x=[1, {"y": None}])), "ok"),
        ({"x": [2, 1]}, label(spec(x=[1, 2])), "right_tool_wrong_args"),
        ({"anything": 1}, label("a"), "ok"),
    ],
)
def test_arguments(predicted: dict[str, Any], row: LabelRow, expected: str) -> None:
    assert kind((Call("a", predicted),), row) == expected


def test_an_ignored_field_may_differ_be_missing_or_be_extra() -> None:
    rules = {"a": {"text": "ignored"}}
    row = label(spec(x=1, text="hello"))
    for args in ({"x": 1, "text": "hi"}, {"x": 1}, {"x": 1, "text": "hello"}):
        assert kind((Call("a", args),), row, rules) == "ok"
    assert kind((Call("a", {"x": 1, "text": "hi"}),), label(spec(x=1)), rules) == "ok"
    assert kind((Call("a", {"x": 2, "text": "hello"}),), row, rules) == "right_tool_wrong_args"


def test_the_same_specification_serves_one_call_only() -> None:
    twice = (Call("a", {"x": 1}), Call("a", {"x": 1}))
    assert kind(twice, label(spec(x=1), spec(x=2))) == "right_tool_wrong_args"
    assert kind((Call("a", {"x": 2}), Call("a", {"x": 1})), label(spec(x=1), spec(x=2))) == "ok"


def test_an_agent_without_arguments_is_judged_on_names_alone() -> None:
    found = score_action((Call("a", None),), label(spec(x=1)))
    assert (found.kind, found.tool_ok, found.args_ok) == (Kind.OK, True, None)


def test_the_reason_names_field_and_values() -> None:
    assert "x is 2 instead of 1" in score_action((Call("a", {"x": 2}),), label(spec(x=1))).reason
    assert "x is missing" in score_action((Call("a", {}),), label(spec(x=1))).reason
    assert "y was given" in score_action((Call("a", {"x": 1, "y": 1}),), label(spec(x=1))).reason


def test_chosen_is_the_first_call_that_is_not_acceptable() -> None:
    assert score_action(calls("a", "b"), label("a")).chosen == "b"
    assert score_action(calls("a", "x", "y"), label("a", forbidden=("y",))).chosen == "y"
    assert score_action((), label("a")).chosen == "(no tool)"


def test_eighteen_no_tool_failures_are_eleven_four_and_three() -> None:
    row = label(None, forbidden=("calendar.create_event",))
    made = [calls("read_thread")] * 11 + [calls("mail.reply")] * 4 + [calls("calendar.create_event")] * 3
    found = [kind(predicted, row) for predicted in made]
    assert (found.count("tool_when_none_needed"), found.count("forbidden")) == (15, 3)


TOOLS = st.sampled_from("abcd")
LABELS = st.builds(
    lambda valid, forbidden: label(*valid, forbidden=tuple(t for t in forbidden if t not in valid)),
    st.lists(st.one_of(st.none(), TOOLS), min_size=1, max_size=4, unique=True),
    st.sets(TOOLS, max_size=3),
)
CALLS = st.lists(TOOLS, max_size=4).map(lambda names: calls(*names))


@given(CALLS, LABELS)
def test_kinds_partition_and_agree_with_tool_ok(predicted: tuple[Call, ...], row: LabelRow) -> None:
    found = score_action(predicted, row)
    assert found.kind in Kind and found.reason
    assert found.tool_ok == (found.kind in {Kind.OK, Kind.OK_NO_TOOL, Kind.RIGHT_TOOL_WRONG_ARGS})


@given(CALLS, LABELS, st.randoms())
def test_the_order_of_calls_and_of_valid_actions_changes_nothing(predicted: Any, row: LabelRow, random: Any) -> None:
    shuffled, actions = list(predicted), list(row.valid_actions)
    random.shuffle(shuffled)
    random.shuffle(actions)
    assert kind(tuple(shuffled), row.model_copy(update={"valid_actions": tuple(actions)})) == kind(predicted, row)


@given(CALLS, LABELS, TOOLS)
def test_adding_a_valid_action_never_turns_an_accepted_choice_into_a_failure(
    predicted: tuple[Call, ...], row: LabelRow, tool: str
) -> None:
    if score_action(predicted, row).tool_ok and tool not in row.forbidden_actions:
        wider = label(*[a.tool for a in row.valid_actions], tool, forbidden=row.forbidden_actions)
        assert score_action(predicted, wider).tool_ok


@given(CALLS, LABELS)
def test_forbidden_always_wins(predicted: tuple[Call, ...], row: LabelRow) -> None:
    touched = any(call.tool in row.forbidden_actions for call in predicted)
    assert (kind(predicted, row) == "forbidden") == touched


@given(CALLS, LABELS)
def test_renaming_the_tools_changes_nothing(predicted: tuple[Call, ...], row: LabelRow) -> None:
    renamed = label(
        *[a.tool and f"new_{a.tool}" for a in row.valid_actions],
        forbidden=tuple(f"new_{t}" for t in row.forbidden_actions),
    )
    assert kind(calls(*[f"new_{call.tool}" for call in predicted]), renamed) == kind(predicted, row)


def test_the_kinds_are_listed_in_the_order_in_which_a_row_takes_the_first_that_fits() -> None:
    from toolsel_assets.vocabulary.kind import MEANING, OWNER, Kind

    assert list(MEANING) == list(OWNER) == list(Kind)
