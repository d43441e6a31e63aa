from datetime import datetime, timedelta
from pathlib import Path

from toolsel_assets.verdict.commitment import current, read_register, register, why_inadmissible

NOON = datetime(2026, 3, 1, 12)


def test_criteria_are_registered_once_while_they_stay_the_same(tmp_path: Path) -> None:
    path = tmp_path / "register.jsonl"
    register(path, {"a": "1", "b": "1"}, NOON)
    found = register(path, {"a": "1", "b": "2"}, NOON + timedelta(hours=1))
    assert [(r.criteria, r.criteria_hash) for r in found] == [("a", "1"), ("b", "1"), ("b", "2")]
    assert read_register(path) == found
    now = current(found, "a")
    assert now is not None and now.registered_at == NOON


def test_a_change_and_a_change_back_are_two_changes(tmp_path: Path) -> None:
    path = tmp_path / "register.jsonl"
    for hour, content in enumerate(("1", "2", "1")):
        found = register(path, {"a": content}, NOON + timedelta(hours=hour))
    now = current(found, "a")
    assert now is not None and now.registered_at == NOON + timedelta(hours=2)


def test_criteria_that_came_after_the_first_choice_are_inadmissible_and_it_says_since_when() -> None:
    assert why_inadmissible(NOON, NOON + timedelta(seconds=1)) is None
    assert why_inadmissible(NOON, None) is None
    why = why_inadmissible(NOON + timedelta(seconds=1), NOON)
    assert why is not None and "2026-03-01 12:00:01" in why and "--fresh" in why
    assert why_inadmissible(None, NOON) == "the criteria are not registered"


def test_an_absent_register_is_empty(tmp_path: Path) -> None:
    assert read_register(tmp_path / "none") == [] and current([], "a") is None
