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


def test_the_second_version_relabels_for_the_new_capability_and_both_readings_are_there(airline: Run) -> None:
    (change,) = airline.rows("select * from label_changes")
    assert (change["request_id"], change["change"], change["capability"]) == (
        "airline:task32.trial1:2", "relabelled", "new:retail",
    )  # fmt: skip
    assert change["reason"] and change["decided_by"] == "adjudicator" and change["decided_on"]
    readings = airline.rows("select rung, n, n_correct, n_correct_other from bridge where slice = 'existing'")
    by_rung = {row.pop("rung"): tuple(row.values()) for row in readings}
    assert by_rung["base"][0] == 597  # without the lookup v2 does not apply to the relabelled request
    assert by_rung["+retail_lookup"][2] - by_rung["+retail_lookup"][1] == 3


def test_a_row_can_be_followed_to_who_said_what(airline: Run) -> None:
    version = airline.one("select label_set_version from label_sets where name = 'v1'")
    request = "airline:task0.trial0:13"
    where = f"where request_id = '{request}' and label_set_version = '{version}'"
    said = airline.rows(
        f"select labeller, valid_tools, forbidden_tools from labeller_answers {where} order by labeller"
    )
    assert [row["labeller"] for row in said] == ["reader_a", "reader_b"]
    (differ,) = airline.rows(f"select differs_in, resolution, decided_by, reason from disagreements {where}")
    assert "forbidden" in differ["differs_in"] and differ["decided_by"] == "adjudicator" and differ["reason"]
    (decided,) = airline.rows(f"select valid_tools, forbidden_tools from adjudications {where} and holds")
    (row,) = airline.rows(f"select valid_tools, forbidden_tools, labelled_by from label_rows {where}")
    assert (decided["valid_tools"], decided["forbidden_tools"]) == (row["valid_tools"], row["forbidden_tools"])
    assert row["labelled_by"] == "reader_a|reader_b"


def test_the_agreement_in_the_tables_is_that_of_the_readme(airline: Run, said: dict[str, int]) -> None:
    found = {row["measure"]: row for row in airline.rows("select * from agreement where labellers = 'all'")}
    assert found["exact"]["n"] == said["same set of acceptable tools"]
    assert found["exact_forbidden"]["n"] == said["same forbidden tools"]
    assert found["both_defensible"]["n"] == found["exact"]["n_states"] - found["exact"]["n"] == 22
