"""The second example, from recorded answers to its verdicts; and a second count of it that knows nothing of toolsel."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.bench.make_bfcl import MOST_SPECS, schema, specs
from tests.conftest import EXAMPLES, Run, toolsel

STUDY = EXAMPLES / "bfcl"
PUBLISHED = Path(__file__).parent / "replays" / "data" / "bfcl" / "answers.jsonl.gz"


@pytest.fixture(scope="module")
def bfcl(tmp_path_factory: pytest.TempPathFactory) -> Run:
    data = tmp_path_factory.mktemp("bfcl")
    printed = toolsel("run", "--study", "bfcl", "--data", data)
    assert printed.code == 0, printed.err
    return Run(data, printed)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def labels() -> dict[str, dict[str, Any]]:
    return {
        row["id"]: row for version in ("calls", "no_call") for row in lines(STUDY / "labels" / version / "labels.jsonl")
    }


def first_name(answer: Any) -> str | None:
    if isinstance(answer, list):
        return next(iter(answer[0])) if answer else None
    found = re.search(r"([A-Za-z_][\w.]*)\(", answer)
    return found.group(1) if found else None


def test_the_answers_are_the_published_ones_word_by_word() -> None:
    with gzip.open(PUBLISHED, "rt", encoding="utf-8") as file:
        published = {row["id"]: row["answers"] for row in map(json.loads, file)}
    for path in (STUDY / "answers").glob("*.jsonl"):
        rows = lines(path)
        assert {row["id"] for row in rows} <= labels().keys() and len(rows) >= 220
        assert all(row["answer"] == published[row["id"]][path.stem] for row in rows), path.stem


def test_every_rung_answers_with_its_own_models_answers(bfcl: Run) -> None:
    served = {(row["rung"], row["model_served"]) for row in bfcl.rows("select rung, model_served from choices")}
    assert served == {(name, name) for name in ("airev-agent-0.8b", "glyphh-ada-1.1", "gemma4-e4b")}
    for path in (STUDY / "answers").glob("*.jsonl"):
        wanted = {row["id"]: first_name(row["answer"]) for row in lines(path)}
        query = f"select request_id, calls from choices where rung = '{path.stem}' and status in ('called', 'stopped')"
        found = {row["request_id"]: json.loads(row["calls"]) for row in bfcl.rows(query)}
        assert {name: calls[0]["tool"] if calls else None for name, calls in found.items()} == {
            name: wanted[name] for name in found
        }


def names(answer: Any) -> list[str | None]:
    if isinstance(answer, list):
        return [next(iter(one)) for one in answer]
    return re.findall(r"(?:^|[\[,\n])\s*([A-Za-z_][\w.]*)\(", answer)


def test_a_second_count_of_right_names_agrees(bfcl: Run) -> None:
    rows = labels()
    query = "select rung, request_id from choices where status in ('called', 'stopped')"
    scorable = {(row["rung"], row["request_id"]) for row in bfcl.rows(query)}
    counted: Counter[tuple[str, str]] = Counter()
    for path in (STUDY / "answers").glob("*.jsonl"):
        for row in lines(path):
            # Right when the label has an action for each call: two calls of one tool need two of its actions.
            accepted = Counter(action["tool"] for action in rows[row["id"]]["valid_actions"])
            right = Counter(names(row["answer"]) or [None]) <= accepted
            ladder = "no_call" if None in accepted else "calls"
            counted[ladder, path.stem] += right and (path.stem, row["id"]) in scorable
    assert {(row["ladder"], row["rung"]): row["n_correct"] for row in bfcl.rows("select * from aggregate")} == counted


def test_the_readme_has_the_figures_of_the_run(bfcl: Run) -> None:
    text = (STUDY / "README.md").read_text(encoding="utf-8")
    for row in bfcl.rows("select * from aggregate"):
        assert f"{row['n_correct']} of {row['n']}" in text
        assert row["ladder"] == "no_call" or f"{row['n_args_correct']} of {row['n_args_scored']}" in text
    undecided = bfcl.rows(
        "select status, count(*) as n from choices where status not in ('called', 'stopped') group by status"
    )
    assert undecided == [{"status": "malformed", "n": 23}] and "(23 in all)" in text
    anything = bfcl.one("select count(*) from label_actions where action <> '(no tool)' and args = ''")
    assert f"({anything} actions)" in text


def test_a_question_without_tools_is_asked_and_silence_is_right(bfcl: Run) -> None:
    found = bfcl.rows("select rung, status from choices where request_id = 'live_irrelevance_123-9-3' order by rung")
    assert [row["status"] for row in found] == ["malformed", "stopped"]
    assert bfcl.one("select count(*) from choices where status = 'not_served'") == 0


def test_each_combination_of_acceptable_values_is_an_action() -> None:
    assert specs({"a": [1, 2], "b": ["", "x"]}, ["a"]) == [{"a": 1}, {"a": 1, "b": "x"}, {"a": 2}, {"a": 2, "b": "x"}]
    assert specs({"a": [""]}, ["a"]) == [{"a": ""}]
    assert specs({"where": [{"min": [1], "max": [2, 3]}]}, []) == [
        {"where": {"min": 1, "max": 2}},
        {"where": {"min": 1, "max": 3}},
    ]
    assert specs({"items": [[{"id": ["a", "b"]}]]}, []) == [{"items": [{"id": "a"}]}, {"items": [{"id": "b"}]}]
    assert specs({"a": list(range(MOST_SPECS + 1))}, []) is None


def test_the_schemas_are_json_schema() -> None:
    given = {
        "type": "dict",
        "properties": {"type": {"type": "tuple", "items": {"type": "float"}}, "x": {"type": "any"}},
    }
    assert schema(given) == {
        "type": "object",
        "properties": {"type": {"type": "array", "items": {"type": "number"}}, "x": {}},
    }
