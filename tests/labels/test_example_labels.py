"""What the example's README says of its labels is true."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES, Run

V1 = EXAMPLES / "airline" / "labels" / "v1"


def read(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


@pytest.fixture(scope="module")
def said() -> dict[str, int]:
    text = (V1 / "README.md").read_text(encoding="utf-8")
    return {m[1]: int(m[2]) for m in re.finditer(r"^\| (.+?) \| (\d+) \|$", text, re.MULTILINE)}


def tools(row: dict[str, Any]) -> set[str | None]:
    return {action["tool"] for action in row["valid_actions"]}


def test_the_agreement_of_the_readers_is_as_the_readme_says(said: dict[str, int]) -> None:
    a, b = read(V1 / "labellers/reader_a.jsonl"), read(V1 / "labellers/reader_b.jsonl")
    rows = [(a[i], b[i]) for i in read(V1 / "labels.jsonl")]
    assert len(rows) == 247
    found = {
        "same set of acceptable tools": sum(tools(x) == tools(y) for x, y in rows),
        "sets that share an action": sum(bool(tools(x) & tools(y)) for x, y in rows),
        "agree on whether calling nothing is acceptable": sum(
            (None in tools(x)) == (None in tools(y)) for x, y in rows
        ),
        "same forbidden tools": sum(set(x["forbidden_actions"]) == set(y["forbidden_actions"]) for x, y in rows),
    }
    assert {name: said[name] for name in found} == found


def test_every_disagreement_was_adjudicated_with_a_reason(said: dict[str, int]) -> None:
    adjudications = [json.loads(x) for x in (V1 / "adjudications.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(row["reason"] and row["date"] for row in adjudications)
    differed = {row["id"]: row for row in adjudications if not row["differs_in"].startswith("nothing")}
    a, b = read(V1 / "labellers/reader_a.jsonl"), read(V1 / "labellers/reader_b.jsonl")
    for i in a:
        if tools(a[i]) != tools(b[i]) or set(a[i]["forbidden_actions"]) != set(b[i]["forbidden_actions"]):
            assert i in differed, i
    assert said["adjudicated because the readers differed (arguments and kind of reply included)"] == len(differed)
    assert said["of these, both readings defensible"] == sum(row["both_defensible"] for row in differed.values())
    assert said["changed on review although the readers agreed"] == len(adjudications) - len(differed)


def test_where_the_readers_agreed_and_nobody_reviewed_their_label_stands() -> None:
    adjudicated = {json.loads(x)["id"] for x in (V1 / "adjudications.jsonl").read_text(encoding="utf-8").splitlines()}
    a, final = read(V1 / "labellers/reader_a.jsonl"), read(V1 / "labels.jsonl")
    for i in final.keys() - adjudicated:
        assert final[i]["valid_actions"] == a[i]["valid_actions"], i
        assert final[i]["forbidden_actions"] == a[i]["forbidden_actions"], i


def test_the_labelled_states_are_the_drawn_sample(airline: Run) -> None:
    existing = {i for i, row in read(V1 / "labels.jsonl").items() if row["slice"] == "existing"}
    from toolsel_assets import store

    with store.connect(airline.data / "warehouse.duckdb", read_only=True) as con:
        drawn = {row["decision_id"] for row in store.rows(con, "select decision_id from samples.sampled_states")}
    assert existing == drawn and len(drawn) == 200


def test_the_labels_are_no_copy_of_what_the_agent_did(airline: Run) -> None:
    kinds = Counter(row["kind"] for row in airline.rows("select kind from scored_rows where ladder = 'logged'"))
    assert kinds["ok_no_tool"] < 200 and kinds["forbidden"] and kinds["tool_when_none_needed"]
