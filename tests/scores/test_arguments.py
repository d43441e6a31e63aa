"""Arguments, field by field."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.scores.arguments import compare, mismatches, shift_minutes
from toolsel_assets.scores.classify import field_checks, score_action
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.label import LabelRow

ARGS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2) | st.sampled_from(["x", "y"]), max_size=3)


@given(ARGS, ARGS)
def test_every_field_of_either_side_is_compared_once(label: dict[str, Any], called: dict[str, Any]) -> None:
    checks = compare(label, called, {"a": "ignored", "b": "exact"})
    assert sorted(check.field for check in checks) == sorted(label.keys() | called.keys())
    for check in checks:
        assert check.is_declared == (check.field in "ab")
        same = check.field == "a" or (check.field in label and label.get(check.field) == called.get(check.field))
        assert check.ok == same and check.ok == (check.reason == "")
    assert len(mismatches(label, called, {"a": "ignored"})) == sum(not check.ok for check in checks)


@pytest.mark.parametrize(
    ("want", "have", "minutes"),
    [
        ("2026-03-01T14:00:00+01:00", "2026-03-01T14:00:00Z", 60),
        ("2026-03-01T14:00:00Z", "2026-03-01T15:00:00+01:00", None),  # the same instant
        ("2026-07-01T14:00", "2026-07-01T12:00", -120),
        ("2026-07-01T14:00:00+05:30", "2026-07-01T14:00:00Z", 330),
        ("2026-07-01T14:00:00Z", "2026-07-01T14:10:00Z", None),  # no zone is ten minutes from UTC
        ("2026-07-01T14:00:00Z", "2026-07-02T14:00:00Z", None),  # a day is no zone
        ("2026-07-01", "2026-07-02", None),
        ("2026-07-01T14:00:00Z", "soon", None),
        (14, 12, None),
        ("2026-07-01T14:00:00+02:00", "2026-07-01T12:00:00", -120),  # by its clock: the zone was lost on the way
    ],
)
def test_a_time_that_is_off_by_what_zones_differ_from_utc_is_recognised(
    want: Any, have: Any, minutes: int | None
) -> None:
    assert shift_minutes(want, have) == minutes


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(-56, 56))
def test_a_shift_is_the_offset_and_its_own_opposite_the_other_way(time: datetime, quarters: int) -> None:
    want, have = time.isoformat(), (time + timedelta(minutes=15 * quarters)).isoformat()
    assert shift_minutes(want, have) == (15 * quarters or None)
    assert shift_minutes(have, want) == (-15 * quarters or None)


def row(*valid: dict[str, Any]) -> LabelRow:
    return LabelRow.model_validate({"id": "r", "valid_actions": valid, "labelled_by": ["x"]})


def test_a_call_is_compared_with_the_action_that_it_is_nearest_to() -> None:
    label = row({"tool": "t", "args": {"a": 1, "b": 1}}, {"tool": "t", "args": {"a": 2, "b": 2}}, {"tool": "u"})
    (checks, anything, unknown) = field_checks(
        (Call("t", {"a": 2, "b": 3}), Call("u", {"z": 1}), Call("v", {})), label, {}
    )
    assert [(check.field, check.ok, check.want) for check in checks] == [("a", True, 2), ("b", False, 2)]
    assert anything == unknown == []


@given(st.lists(ARGS, min_size=1, max_size=3), ARGS)
def test_a_single_call_is_right_exactly_when_every_one_of_its_fields_is(
    specs: list[dict[str, Any]], called: dict[str, Any]
) -> None:
    label = row(*({"tool": "t", "args": spec} for spec in specs))
    (checks,) = field_checks((Call("t", called),), label, {})
    assert score_action((Call("t", called),), label).args_ok == all(check.ok for check in checks)


@pytest.mark.parametrize("depth", [300, 3000])
def test_arguments_that_are_nested_deep_are_a_mismatch_and_no_traceback(depth: int) -> None:
    from toolsel_assets.scores.assets import as_json

    want: Any = 1
    for _ in range(depth):
        want = {"a": want}
    (check,) = compare({"field": want}, {"field": {"a": want}}, {})
    assert check.problem == "differs" and check.reason.startswith("field is ")
    assert len(as_json(want) or "") <= 500
