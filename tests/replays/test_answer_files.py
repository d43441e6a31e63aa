"""The agent `recorded` with files of answers, and rungs whose requests bring their own tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.replays.agents import Question, Request
from toolsel_assets.replays.agents.recorded import MEASURED
from toolsel_assets.replays.refusals import check_ladder
from toolsel_assets.replays.run import RungPlan, make_agent, slots
from toolsel_assets.study import load_study
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import Ladder
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Catalogue, Tool

A, B, C = (Tool(name, name) for name in "abc")


def ladder(agent: dict[str, Any], **more: Any) -> Ladder:
    rungs = [{"name": name, "catalogue": "from_request", "model": name} for name in ("m1", "m2")]
    given = {"name": "l", "label_set": "v1", "criteria": "c", "agent": agent, "rungs": rungs, **more}
    return Ladder.model_validate(given)


def recorded(answers: str | None) -> Ladder:
    return ladder({"name": "recorded", "params": {"answers": answers} if answers else {}})


def request(name: str, tools: tuple[Tool, ...] | None, valid: str | None = None) -> tuple[Request, LabelRow]:
    row = {"id": name, "valid_actions": [{"tool": valid}], "labelled_by": ["x"]}
    return Request(name, "existing", (), None, tools), LabelRow.model_validate(row)


def plan(found: Ladder, *requests: tuple[Request, LabelRow], folder: Path = Path()) -> RungPlan:
    return RungPlan("s", found, found.rungs[0], Catalogue("from_request", ()), None, "v1@x", requests, folder)


def write(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")


def test_each_rung_answers_with_the_file_of_its_model(tmp_path: Path) -> None:
    write(tmp_path / "answers" / "m1.jsonl", {"id": "r", "answer": "[a(x=1)]", "latency_ms": 7.5, "input_tokens": True})
    write(tmp_path / "answers" / "m2.jsonl", {"id": "r", "answer": []})
    found = recorded("answers")
    first, second = (make_agent(found, rung, tmp_path) for rung in found.rungs)
    chosen = [agent.choose(Question(Request("r", "existing", ()), ())) for agent in (first, second)]  # type: ignore[union-attr]
    assert [(choice.status, choice.model_served) for choice in chosen] == [
        (Status.CALLED, "m1"),
        (Status.STOPPED, "m2"),
    ]
    assert chosen[0].measures == {"latency_ms": 7.5} and set(chosen[0].measures) <= set(MEASURED)


@pytest.mark.parametrize("answers", ["answers/m1", "answers/m1.jsonl", "answers"])
def test_a_request_without_an_answer_is_unknown_and_never_a_stop(tmp_path: Path, answers: str) -> None:
    write(tmp_path / "answers" / "m1.jsonl", {"id": "r", "answer": []})
    found = recorded(answers)
    agent = make_agent(found, found.rungs[0], tmp_path)
    missing = agent.choose(Question(Request("other", "existing", ()), ()))  # type: ignore[union-attr]
    assert (missing.status, missing.detail) == (Status.UNKNOWN, "m1.jsonl holds no answer of this id")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: not JSON"),
        ('{"id": "r"}', "no object with id and answer"),
        ('{"id": 1, "answer": []}', "no object with id and answer"),
        ("[]", "no object with id and answer"),
        ('{"id": "r", "answer": []}\n\n{"id": "r", "answer": []}', "line 3: id r for the second time"),
        ("[" * 100_000, "not JSON"),
        (b"\xff", "byte 0 is no UTF-8 text"),
    ],
)
def test_a_mistake_in_a_file_of_answers_names_its_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    (tmp_path / "m1.jsonl").write_bytes(text.encode() if isinstance(text, str) else text)
    found = recorded("m1")
    with pytest.raises(BadInput, match=said):
        make_agent(found, found.rungs[0], tmp_path)


def test_a_file_of_answers_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = recorded("answers")
    with pytest.raises(BadInput, match=r"no file answers nor answers\.jsonl nor answers/m1\.jsonl"):
        make_agent(found, found.rungs[0], tmp_path)


@pytest.mark.parametrize("answers", ["/answers", "../answers", "a/../../b"])
def test_answers_outside_the_study_are_refused(tmp_path: Path, answers: str) -> None:
    found = recorded(answers)
    with pytest.raises(BadInput, match="is outside the study"):
        make_agent(found, found.rungs[0], tmp_path)


def test_an_edited_answer_is_another_input_and_its_rung_is_read_again(tmp_path: Path) -> None:
    hashes = []
    for answer in ("[a()]", "[b()]", "[a()]"):
        write(tmp_path / "m1.jsonl", {"id": "r", "answer": answer})
        hashes.append(plan(recorded("m1"), request("r", (A,)), folder=tmp_path).inputs_hash)
    assert hashes[0] == hashes[2] != hashes[1]


def test_every_request_is_shown_its_own_tools_in_the_orders_of_the_seeds() -> None:
    found = ladder({"name": "bm25", "params": {"threshold": 0.5}}, order_seeds=[1, 2, 3])
    work = plan(found, request("r1", (A, B, C), "a"), request("r2", (C,), "a"), request("r3", ()))
    shown = list(slots(work))
    assert len(shown) == 9
    names = {(slot.question.request.request_id, slot.seed): [t.name for t in slot.question.tools] for slot in shown}
    assert all(sorted(names["r1", seed]) == ["a", "b", "c"] and names["r2", seed] == ["c"] for seed in (1, 2, 3))
    assert names["r3", 1] == []
    assert {slot.question.request.request_id: slot.served for slot in shown} == {"r1": True, "r2": False, "r3": True}
    # The one order of one tool is given three times: three draws of it. Those of three tools are what they are.
    draws = {name: [s.question.draw for s in shown if s.question.request.request_id == name] for name in ("r1", "r2")}
    assert draws["r2"] == [0, 1, 2] and draws["r1"][0] == 0
    assert {slot.order_hash for slot in shown if slot.question.request.request_id == "r1"} != {shown[1].order_hash}


def test_the_tools_of_a_request_are_part_of_the_inputs() -> None:
    found = ladder({"name": "bm25", "params": {"threshold": 0.5}}, order_seeds=[1, 2, 3])
    described = Tool("a", "another description")
    assert plan(found, request("r", (A,))).inputs_hash != plan(found, request("r", (described,))).inputs_hash


def test_a_rung_of_own_lists_is_refused_where_a_request_brings_none(starter: Path) -> None:
    file = starter / "ladders" / "growth.yaml"
    text = file.read_text(encoding="utf-8")
    assert "catalogue: base}" in text
    file.write_text(text.replace("catalogue: base}", "catalogue: from_request}", 1), encoding="utf-8")
    study = load_study(starter)
    with pytest.raises(BadInput, match="1 of 2 requests bring no tools, r2 the first"):
        check_ladder(study, study.ladders[0], [request("r1", ()), request("r2", None)], released=True)


def test_a_label_brings_its_tools_and_keeps_its_hash_without_any() -> None:
    row = {"id": "r", "valid_actions": [{"tool": None}], "labelled_by": ["x"]}
    assert "tools" not in LabelRow.model_validate(row).model_dump_json()
    own = LabelRow.model_validate(
        {**row, "tools": [{"name": "a", "description": "A", "inputSchema": {"type": "object"}}]}
    )
    assert own.own_tools == (Tool("a", "A", {"type": "object"}),)
    assert LabelRow.model_validate_json(own.model_dump_json()) == own
    with pytest.raises(ValueError, match="more than once"):
        LabelRow.model_validate({**row, "tools": [{"name": "a"}, {"name": "a"}]})


def test_own_lists_stand_alone_in_a_rung() -> None:
    with pytest.raises(ValueError, match="from_request stands alone"):
        ladder({"name": "recorded"}, rungs=[{"name": "m1", "catalogue": ["from_request", "base"]}])
