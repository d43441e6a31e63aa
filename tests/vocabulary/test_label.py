import pytest
from pydantic import ValidationError

from toolsel_assets.vocabulary.label import LabelRow, RowClass


def row(valid: list[object], forbidden: tuple[str, ...] = (), slice_name: str = "existing") -> LabelRow:
    actions = [action if isinstance(action, dict) else {"tool": action} for action in valid]
    return LabelRow.model_validate(
        {"id": "r", "valid_actions": actions, "forbidden_actions": forbidden, "labelled_by": ["a"], "slice": slice_name}
    )


@pytest.mark.parametrize(
    ("valid", "expected"),
    [
        ([None], RowClass.NONE),
        ([None, "mail.reply"], RowClass.NONE),
        (["mail.reply", None], RowClass.NONE),
        (["a", "b"], RowClass.SEVERAL),
        (["a"], RowClass.SINGLE),
        ([{"tool": "a", "args": {"x": 1}}, {"tool": "a", "args": {"x": 2}}], RowClass.SINGLE),
    ],
)
def test_null_wins_over_several_so_that_the_classes_partition(valid: list[object], expected: RowClass) -> None:
    assert row(valid).row_class == expected


def test_the_essays_row_is_read_as_it_stands() -> None:
    found = LabelRow.model_validate_json(
        """{"id": "tsel-0142", "state": {"thread_id": "th-8831", "last_message": "thanks, that works for me",
        "prior_actions": ["read_thread", "list_availability", "calendar.create_event", "mail.reply"]},
        "valid_actions": [{"tool": null, "reason": "confirmation received; nothing left to do"},
        {"tool": "mail.reply", "args": {"thread_id": "th-8831", "kind": "ack"}, "reason": "acceptable, not required"}],
        "forbidden_actions": ["list_availability", "calendar.create_event"], "labelled_by": ["dh", "mk"]}"""
    )
    assert (found.row_class, found.expected) == (RowClass.NONE, "(no tool)")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"valid_actions": []}, "at least 1"),
        ({"valid_actions": [{"tool": "a"}], "forbidden_actions": ["a"]}, "both acceptable and forbidden: a"),
        ({"forbidden_actions": [None]}, "valid string"),
        ({"labelled_by": ["x", "x"]}, "twice"),
        ({"labelled_by": []}, "at least 1"),
        ({"valid_actions": [{"tool": None, "args": {"x": 1}}]}, "null is no call"),
        ({"valid_actions": [{"tool": "a", "reply": "stop"}]}, "reply belongs to null"),
        ({"valid_actions": [{"tool": None}, {"tool": "a", "required": True}]}, "contradict"),
        ({"valid_actions": [{"tool": None, "reply": "wave"}]}, "'clarify'"),
        ({"expected_tool": "a"}, "Extra inputs"),
        ({"valid_actions": [{}]}, "Field required"),
        ({"slice": "old"}, "new:"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(change: dict[str, object], said: str) -> None:
    good: dict[str, object] = {"id": "r", "valid_actions": [{"tool": None}], "labelled_by": ["x"]}
    LabelRow.model_validate(good)
    with pytest.raises(ValidationError, match=said):
        LabelRow.model_validate({**good, **change})


def test_an_existing_request_needs_one_acceptable_action_and_a_new_one_needs_its_new_tools() -> None:
    old, new = frozenset({"a"}), frozenset({"a", "b", "c"})
    assert row(["a", "b"]).can_be_served_by(old)
    assert row([None]).can_be_served_by(frozenset())
    assert not row(["b"]).can_be_served_by(old)
    assert not row(["b", "a"], slice_name="new:x").can_be_served_by(old)
    assert row(["b", "a"], slice_name="new:x").can_be_served_by(new)
    assert not row([None], ("b",), "new:x").can_be_served_by(old)
    assert row([None], ("b",), "new:x").can_be_served_by(new)
