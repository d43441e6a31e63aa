from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.replays.agents import RemoteAgent, Request
from toolsel_assets.replays.run import RungPlan, at_once, choices, make_agent, order_seeds
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import Ladder
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Catalogue, Tool

CATALOGUE = Catalogue("c", tuple(Tool(f"tool_{i}", f"does thing{i}") for i in range(6)))


def ladder(**more: Any) -> Ladder:
    fixed = {"name": "l", "label_set": "v1", "criteria": "c", "rungs": [{"name": "base", "catalogue": "c"}]}
    agent = {"name": "bm25", "params": {"threshold": 0.1}}
    return Ladder.model_validate({**fixed, "agent": agent, "order_seeds": [11, 12, 13], **more})


def request(name: str, *valid: str | None, slice_name: str = "existing") -> tuple[Request, LabelRow]:
    row = {"id": name, "valid_actions": [{"tool": t} for t in valid], "labelled_by": ["x"], "slice": slice_name}
    return Request(name, slice_name, ({"role": "user", "content": "thing1"},)), LabelRow.model_validate(row)


def plan(found: Ladder, *requests: tuple[Request, LabelRow]) -> RungPlan:
    return RungPlan("s", found, found.rungs[0], CATALOGUE, None, "v1@x", requests)


def run(found: Ladder, *requests: tuple[Request, LabelRow]) -> list[dict[str, Any]]:
    agent, work = make_agent(found, found.rungs[0], Path()), plan(found, *requests)
    assert not isinstance(agent, RemoteAgent)
    return list(choices(work, at_once(work, agent), datetime(2026, 1, 1)))


def test_a_rung_is_the_product_of_seeds_draws_and_requests() -> None:
    rows = run(ladder(draws=2), request("a", None), request("b", "tool_1"))
    assert len({(row["seed"], row["draw"], row["request_id"]) for row in rows}) == 3 * 2 * 2 == len(rows)
    assert len({row["order_hash"] for row in rows}) == 3


def test_a_request_that_the_catalogue_cannot_serve_is_marked_and_not_asked() -> None:
    (row, *_) = run(ladder(), request("a", "elsewhere", slice_name="new:x"))
    assert (row["status"], row["chosen_action"]) == ("not_served", "(not_served)")


def test_fewer_than_three_orders_of_an_asked_agent_are_refused() -> None:
    with pytest.raises(BadInput, match="at least 3: the spread over orders"):
        order_seeds(ladder(order_seeds=[11, 12]))


def test_an_agent_that_is_not_asked_has_one_order_and_no_seeds() -> None:
    recorded = {"name": "recorded"}
    assert order_seeds(ladder(agent=recorded, order_seeds=[])) == (0,)
    with pytest.raises(BadInput, match="is not asked anything"):
        order_seeds(ladder(agent=recorded))


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ({"name": "bm26"}, "no agent 'bm26' .*did you mean bm25"),
        ({"name": "bm25", "params": {"treshold": 1}}, "unknown parameter 'treshold' .*did you mean threshold"),
    ],
)
def test_an_unknown_agent_or_parameter_is_named(agent: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        found = ladder(agent=agent)
        make_agent(found, found.rungs[0], Path())


def test_the_inputs_hash_changes_with_everything_that_can_change_an_answer_and_with_nothing_else() -> None:
    base = plan(ladder(), request("a", "tool_1"))
    described = Catalogue("c", (*CATALOGUE.tools[:5], Tool("tool_5", "does something else")))
    others = [
        replace(base, catalogue=described),
        replace(base, prompt="be brief"),
        replace(base, requests=(request("b", "tool_1"),)),
        plan(ladder(order_seeds=[11, 12, 14]), request("a", "tool_1")),
        plan(ladder(draws=2), request("a", "tool_1")),
        plan(ladder(agent={"name": "bm25", "params": {"threshold": 0.2}}), request("a", "tool_1")),
    ]
    hashes = [found.inputs_hash for found in (base, *others)]
    assert len(set(hashes)) == len(hashes)
    assert replace(base, label_set_version="v2@y").inputs_hash == base.inputs_hash
    assert plan(ladder(), request("a", "tool_2")).inputs_hash == base.inputs_hash
