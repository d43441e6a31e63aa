"""A ladder that cannot be climbed honestly is refused before anything is asked."""

from pathlib import Path
from typing import Any

import pytest

from tests.replays.paid import MODEL, PRICES, change_study, copy_of_starter, write_ladder
from toolsel_assets.replays.agents import Request
from toolsel_assets.replays.pins import check_pinned
from toolsel_assets.replays.refusals import check_ladder
from toolsel_assets.replays.run import order_seeds
from toolsel_assets.study import load_study
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.problem import BadInput

ROW = LabelRow.model_validate({"id": "r", "valid_actions": [{"tool": None}], "labelled_by": ["x"]})
URL = "http://127.0.0.1:1"


def check(study: Path, *, released: bool = True) -> None:
    found = load_study(study)
    (ladder,) = found.ladders
    order_seeds(ladder)
    check_ladder(found, ladder, [(Request("r", "existing", ()), ROW)], released=released)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    study = copy_of_starter(tmp_path / "study")
    write_ladder(study, URL)
    return study


def base(**more: Any) -> dict[str, Any]:
    return {"name": "base", "catalogue": "base", "model": MODEL, **more}


def agent(**more: Any) -> dict[str, Any]:
    return {"name": "anthropic", "params": {"base_url": URL}, **more}


def test_the_ladder_of_these_tests_is_climbed_when_nothing_is_wrong_with_it(study: Path) -> None:
    check(study)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rungs": [base(model="claude-sonnet-4-5")]}, "rungs.0.model: .* is an alias"),
        ({"rungs": [base(model=None)]}, "no model"),
        ({"order_seeds": [1, 2]}, "at least 3"),
        ({"order_seeds": [0, 1, 2]}, "stands for agents that are not asked"),
        ({"agent": agent(params={"base_url": URL, "tool_choice": "any"})}, "no tool is acceptable on 1 of 1"),
        ({"agent": agent(params={"base_url": URL, "tool_choice": "none"})}, "could never call a tool"),
        ({"agent": agent(params={"api_key": "x"})}, "unknown parameter 'api_key'"),
        ({"agent": agent(params={"max_tokens": 0})}, "max_tokens: .*greater than or equal to 1"),
        ({"agent": agent(settings={"in_flihgt": 3})}, "unknown setting 'in_flihgt' .*did you mean in_flight"),
        ({"agent": {"name": "python"}}, "known: .*python:<module>:<function>"),
        ({"agent": {"name": "anthropic:x"}}, "no agent 'anthropic:x'"),
    ],
)
def test_what_a_ladder_says_wrongly_is_named(study: Path, changes: dict[str, Any], said: str) -> None:
    write_ladder(study, URL, **changes)
    with pytest.raises(BadInput, match=said):
        check(study)


def test_labels_that_are_not_released_are_no_measure_to_pay_for(study: Path) -> None:
    with pytest.raises(BadInput, match="toolsel label release v1"):
        check(study, released=False)


def test_two_files_with_the_same_tools_are_no_change(study: Path) -> None:
    (study / "catalogues" / "copy.json").write_text((study / "catalogues" / "base.json").read_text())
    write_ladder(study, URL, rungs=[base(), base(name="same", catalogue="copy")])
    with pytest.raises(BadInput, match=r"same is the same as base: catalogue: .*names another file"):
        check(study)


def test_two_names_that_would_travel_as_one_are_named(study: Path) -> None:
    (study / "catalogues" / "more.json").write_text('{"tools": [{"name": "a.b"}, {"name": "a_b"}]}')
    write_ladder(study, URL, rungs=[base(), base(name="more", catalogue=["base", "more"])])
    with pytest.raises(BadInput, match=r"a\.b and a_b would both be shown to the model as a_b"):
        check(study)


def test_a_budget_in_dollars_needs_a_price(study: Path) -> None:
    change_study(study, budget={"max_usd": 1})
    with pytest.raises(BadInput, match=f"without a price for {MODEL}"):
        check(study)
    change_study(study, budget={"max_usd": 1}, prices=PRICES)
    check(study)


def test_the_key_or_a_server_of_ones_own_is_needed(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    write_ladder(study, URL, agent={"name": "anthropic"})
    with pytest.raises(BadInput, match="ANTHROPIC_API_KEY is not set"):
        check(study)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    check(study)


@pytest.mark.parametrize(
    "model",
    ["claude-sonnet-4-5-20250929", "claude-opus-4-6", "claude-haiku-5", "claude-opus-5-5", "claude-opus-4@20250514",
     "anthropic.claude-sonnet-4-5-20250929-v1:0", "gpt-5-20260101"],
)  # fmt: skip
def test_identifiers_of_one_version_are_pinned(model: str) -> None:
    check_pinned(model, said_so=False, where="here")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("claude-sonnet-4-5", "alias"),
        ("claude-opus-4", "alias"),
        ("claude-3-5-sonnet", "alias"),
        ("claude-sonnet", "alias"),
        ("claude-3-5-haiku-latest", "moves with every release"),
        ("gpt-latest", "moves with every release"),
        ("llama-3", "agent.pinned: true"),
        ("gpt-4o", "agent.pinned: true"),
        ("", "no model"),
        (None, "no model"),
    ],
)
def test_identifiers_that_move_are_refused(model: str | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_pinned(model, said_so=False, where="here")


def test_a_user_may_say_that_a_name_is_pinned_but_not_of_the_latest() -> None:
    check_pinned("llama-3", said_so=True, where="here")
    with pytest.raises(BadInput, match="moves"):
        check_pinned("llama-latest", said_so=True, where="here")
