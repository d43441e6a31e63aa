from typing import Any

import pytest

from toolsel_assets.reports.production import production_rows, standing_for

STRATA = [
    {"bucket": "first", "part": "", "population": 90},
    {"bucket": "last", "part": "", "population": 10},
    {"bucket": "late", "part": "", "population": 100},
]


def judged(bucket: str, y: float, weight: float, rung: str = "base") -> dict[str, Any]:
    keys = dict.fromkeys(("study", "ladder", "label_set_version", "catalogue_hash", "model_served", "run_date"), "x")
    return {**keys, "rung": rung, "rung_order": 0, "bucket": bucket, "part": "", "weight": weight, "y": y}


def test_the_rate_of_the_traffic_is_not_that_of_the_sample() -> None:
    rows = [judged("first", 1, 45), judged("first", 1, 45), judged("last", 0, 5), judged("last", 0, 5)]
    (found,) = production_rows(rows, STRATA)
    assert found["rate_in_sample"] == 0.5
    assert found["rate"] == pytest.approx(0.9)
    assert found["covered"] == pytest.approx(0.5) and found["n_requests"] == 4


def test_every_rung_has_its_row() -> None:
    rows = [judged("first", 1, 90), judged("first", 0, 90, "next")]
    assert [(found["rung"], found["rate"]) for found in production_rows(rows, STRATA)] == [("base", 1), ("next", 0)]


def test_rows_that_are_left_stand_for_those_that_got_lost() -> None:
    weights = standing_for([judged("first", 1, 30), judged("last", 1, 5), judged("last", 1, 5)], {
        ("first", ""): 90, ("last", ""): 10,
    })  # fmt: skip
    assert weights == [90, 5, 5]


def test_no_scored_row_gives_no_rate() -> None:
    assert list(production_rows([], STRATA)) == []
