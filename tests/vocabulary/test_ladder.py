from typing import Any

import pytest
from pydantic import ValidationError

from toolsel_assets.vocabulary.ladder import Ladder


def ladder(*rungs: dict[str, Any], **more: Any) -> Ladder:
    fixed = {"name": "l", "label_set": "v1", "agent": {"name": "bm25"}, "criteria": "c"}
    return Ladder.model_validate({**fixed, "rungs": rungs, **more})


BASE = {"name": "base", "catalogue": "a"}


def test_neighbours_differ_in_exactly_one_respect() -> None:
    wider = {"name": "+b", "catalogue": ["a", "b"]}
    found = ladder(BASE, wider, {**wider, "name": "prompt", "prompt": "p"})
    assert found.baseline.name == "base" and found.candidate.name == "prompt"
    assert found.partition(found.rungs[1]) == "l.+b"


def test_a_rung_that_changes_two_things_is_refused_with_the_differences() -> None:
    with pytest.raises(ValidationError) as error:
        ladder(BASE, {"name": "x", "catalogue": "b", "prompt": "p"})
    said = str(error.value)
    assert "rung x must differ from base in exactly one of catalogue, prompt, model, params; it differs in 2" in said
    assert "catalogue: ('a',) -> ('b',)" in said and "prompt: None -> 'p'" in said


def test_a_rung_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="differs in 0"):
        ladder(BASE, {"name": "x", "catalogue": "a"})


@pytest.mark.parametrize("name", ["a|b", "a,b", "a/b", "x y", "", "Ünï", "a:b"])
def test_a_name_that_breaks_dagsters_partitions_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        ladder({"name": name, "catalogue": "a"})


def test_repeated_seeds_and_rung_names_are_refused() -> None:
    with pytest.raises(ValidationError, match="order_seeds must differ"):
        ladder(BASE, order_seeds=[11, 11, 12])
    with pytest.raises(ValidationError, match="rung names must differ"):
        ladder(BASE, {"name": "base", "catalogue": "b"})
