"""From a drawn sample to a released version, by the commands; and what they refuse."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import toolsel
from toolsel_assets import store


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def begun(starter: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A version v2 of the starter study, begun: the study and its data."""
    data = tmp_path / "data"
    assert toolsel("sample", "--study", starter, "--data", data).code == 0
    made = toolsel("label", "new", "v2", "--study", starter, "--data", data)
    assert made.code == 0, made.err
    return starter, data


def answers(study: Path, labeller: str, **other: Any) -> list[dict[str, Any]]:
    """No tool everywhere, but for the states that `other` names by place."""
    found = []
    for place, state in enumerate(lines(study / "labels" / "v2" / "states.jsonl")):
        row = {"id": state["id"], "valid_actions": [{"tool": None, "reply": "answer"}], "labelled_by": [labeller]}
        found.append({**row, **other.get(f"at{place}", {})})
    return found


def test_a_version_goes_from_sample_to_release_and_into_a_run(begun: tuple[Path, Path], tmp_path: Path) -> None:
    study, data = begun
    version = study / "labels" / "v2"
    tool = {"valid_actions": [{"tool": "list_availability"}]}
    ana = write(tmp_path / "ana.jsonl", answers(study, "ana", at0=tool))
    ben = write(tmp_path / "ben.jsonl", answers(study, "ben", at1={"valid_actions": [], "skipped": True}))
    for file in (ana, ben):
        imported = toolsel("label", "import", "v2", file, "--study", study)
        assert imported.code == 0, imported.err
    assert "ana has answers in v2 already" in toolsel("label", "import", "v2", ana, "--study", study).err

    agreed = json.loads(toolsel("label", "agreement", "v2", "--study", study, "--json").out)
    exact = next(one for one in agreed if one["measure"] == "exact" and one["labellers"] == "all")
    assert exact["n"] == exact["n_states"] - 1 and exact["n_states"] == len(answers(study, "x")) - 1
    assert "to be adjudicated: 1 of" in toolsel("label", "agreement", "v2", "--study", study).out

    refused = toolsel("label", "release", "v2", "--study", study)
    assert refused.code == 2 and "labellers differ on 1 state" in refused.err
    assert not (version / "labels.jsonl").exists()

    assert toolsel("label", "adjudicate", "v2", "--study", study).code == 0
    (item,) = lines(version / "to_adjudicate.jsonl")
    assert item["differs_in"] == "valid" and set(item["answers"]) == {"ana", "ben"} and "union_offered" not in item
    bad = write(tmp_path / "bad.jsonl", [{**item, "resolution": "carl", "reason": "x", "decided_by": "dora"}])
    told = toolsel("label", "adjudicate", "v2", "--from", bad, "--study", study)
    assert told.code == 2 and "'carl' gave no answer" in told.err and not (version / "adjudications.jsonl").exists()
    good = write(tmp_path / "good.jsonl", [{**item, "resolution": "ana", "reason": "a slot is asked for"}])
    taken = toolsel("label", "adjudicate", "v2", "--from", good, "--decided-by", "dora", "--study", study)
    assert taken.code == 0, taken.err

    released = toolsel("label", "release", "v2", "--study", study)
    assert released.code == 0, released.err
    rows = {row["id"]: row for row in lines(version / "labels.jsonl")}
    assert rows[item["id"]]["valid_actions"] == [{"tool": "list_availability"}]
    assert rows[item["id"]]["labelled_by"] == ["ana", "ben"]
    assert "released" in toolsel("label", "list", "--study", study).out

    ladder = study / "ladders" / "growth.yaml"
    ladder.write_text(ladder.read_text(encoding="utf-8").replace("label_set: v1", "label_set: v2"), encoding="utf-8")
    run = toolsel("run", "--study", study, "--data", data)
    assert run.code == 0, run.err
    with store.connect(data / "warehouse.duckdb", read_only=True) as con:
        (differ,) = store.rows(con, "select * from labels.disagreements where label_set_version like 'v2@%'")
        used = store.rows(con, "select name, is_used, is_released from labels.label_sets order by name")
        skipped = store.rows(con, "select labeller from labels.labeller_answers where is_skipped")
    assert (differ["resolution"], differ["decided_by"]) == ("ana", "dora")
    assert used == [
        {"name": "v1", "is_used": False, "is_released": False},
        {"name": "v2", "is_used": True, "is_released": True},
    ]
    assert skipped == [{"labeller": "ben"}]

    edited = (version / "labels.jsonl").read_text(encoding="utf-8").replace('"answer"', '"stop"', 1)
    (version / "labels.jsonl").write_text(edited, encoding="utf-8")
    told = toolsel("label", "list", "--study", study)
    assert told.code == 2 and "a released version was edited" in told.err and told.err.count("released as") == 1


PROPOSES = """
def choose(asked):
    names = sorted(tool["name"] for tool in asked["tools"])
    calls = [{"tool": names[0]}] if asked["tools"][0]["name"] == names[0] else [{"tool": "no_such_tool"}]
    return {"calls": calls, "model": "machine_of_these_tests"}
"""


def suggested(study: Path, data: Path) -> list[dict[str, Any]]:
    """Have a function propose: the first tool by name when it is shown first, else one that nobody has."""
    (study / "proposes.py").write_text(PROPOSES)
    asked = ("--agent", "python:proposes:choose", "--model", "machine_of_these_tests", "--pinned")
    done = toolsel("label", "suggest", "v2", *asked, "--study", study, "--data", data)
    assert done.code == 0 and "count as nobody's answer" in done.out, done.err
    (path,) = (study / "labels" / "v2" / "proposals").iterdir()
    return lines(path)


def test_a_proposal_is_marked_counts_as_nobody_and_is_seen_after_everybodys_own_answer(
    begun: tuple[Path, Path], tmp_path: Path
) -> None:
    study, data = begun
    states = lines(study / "labels" / "v2" / "states.jsonl")
    proposals = suggested(study, data)
    assert [one["id"] for one in proposals] == sorted(state["id"] for state in states)
    assert {one["proposed_by"] for one in proposals} == {"model:machine_of_these_tests"}
    assert all(one["asked"] == 3 and sum(action["times"] for action in one["actions"]) <= 3 for one in proposals)
    assert "no_such_tool" not in json.dumps(proposals)

    ben = answers(study, "ben", at1={"valid_actions": [{"tool": "list_availability"}]})
    for name, rows in (("ana", answers(study, "ana")), ("ben", ben[:2])):
        file = write(tmp_path / f"{name}.jsonl", rows)
        assert toolsel("label", "import", "v2", file, "--partial", "--study", study).code == 0
    agreed = json.loads(toolsel("label", "agreement", "v2", "--study", study, "--json").out)
    assert agreed and "machine" not in json.dumps(agreed)

    work_list = study / "labels" / "v2" / "to_adjudicate.jsonl"
    assert toolsel("label", "adjudicate", "v2", "--second-look", "--study", study).code == 0
    seen = {item["id"] for item in lines(work_list) if "proposals" in item}
    assert seen <= {one["id"] for one in ben[:2]}, "ben has not answered the others"
    assert ben[1]["id"] in seen and lines(work_list)[0]["resolution"] is None

    file = write(tmp_path / "ben.jsonl", ben)
    assert toolsel("label", "import", "v2", file, "--replace", "--study", study).code == 0
    assert toolsel("label", "adjudicate", "v2", "--second-look", "--study", study).code == 0
    items = {item["id"]: item for item in lines(work_list)}
    calls = {one["id"] for one in proposals if one["actions"]}
    assert items.keys() == calls | {ben[1]["id"]}, "where everybody says no tool, a call is worth a second look"
    assert toolsel("label", "adjudicate", "v2", "--study", study).code == 0
    assert [item["id"] for item in lines(work_list)] == [ben[1]["id"]]

    agreed_row = items[next(iter(calls - {ben[1]["id"]}))]
    filled = write(tmp_path / "filled.jsonl", [{**agreed_row, "resolution": "ana", "reason": "looked again"}])
    taken = toolsel("label", "adjudicate", "v2", "--from", filled, "--decided-by", "dora", "--study", study)
    assert taken.code == 0, taken.err


def test_a_sheet_is_filled_in_and_a_file_of_another_sample_leaves_nothing(
    begun: tuple[Path, Path], tmp_path: Path
) -> None:
    study, data = begun
    sheet = tmp_path / "sheet.csv"
    assert toolsel("label", "export", "v2", "--to", "csv", "--out", sheet, "--study", study, "--data", data).code == 0
    rows = list(csv.DictReader(io.StringIO(sheet.read_text(encoding="utf-8-sig"))))
    for row in rows:
        row["valid_actions"], row["reply"] = "(no tool)", "answer"
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    taken = toolsel("label", "import", "v2", sheet, "--labeller", "ana", "--study", study)
    assert taken.code == 0, taken.err
    assert len(lines(study / "labels" / "v2" / "labellers" / "ana.jsonl")) == len(rows)

    other = write(tmp_path / "other.jsonl", [{"id": "elsewhere:1", "valid_actions": [{"tool": None}]}])
    told = toolsel("label", "import", "v2", other, "--labeller", "ben", "--study", study)
    assert told.code == 2 and "answers other states" in told.err
    assert [path.name for path in (study / "labels" / "v2" / "labellers").iterdir()] == ["ana.jsonl"]


def test_a_page_and_label_studio_tasks_never_show_what_the_agent_did(begun: tuple[Path, Path], tmp_path: Path) -> None:
    study, data = begun
    page, tasks = tmp_path / "v2.html", tmp_path / "tasks.json"
    where = ("--study", study, "--data", data)
    suggested(study, data)
    assert toolsel("label", "page", "v2", "--labeller", "ana", "--out", page, *where).code == 0
    assert toolsel("label", "export", "v2", "--to", "label-studio", "--out", tasks, *where).code == 0
    states = lines(study / "labels" / "v2" / "states.jsonl")
    assert len(json.loads(tasks.read_text(encoding="utf-8"))) == len(states)
    assert tasks.with_suffix(".config.xml").is_file()
    assert all("machine_of_these_tests" not in path.read_text(encoding="utf-8") for path in (page, tasks))
    with store.connect(data / "warehouse.duckdb", read_only=True) as con:
        last = store.rows(con, "select decision_id, n_messages from traces.decisions where step_index = n_steps - 1")
    shown = {one["id"]: one for one in json.loads(_data(page.read_text(encoding="utf-8")))["states"]}
    assert shown.keys() == {state["id"] for state in states}
    checked = [one for one in last if one["decision_id"] in shown]
    assert checked and all(len(shown[one["decision_id"]]["messages"]) == one["n_messages"] for one in checked)


def _data(text: str) -> str:
    return text.partition('id="data">')[2].partition("</script>")[0]


def test_written_requests_are_part_of_a_version(starter: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    toolsel("sample", "--study", starter, "--data", data)
    request = {"id": "written:1", "slice": "new:rooms", "messages": [{"role": "user", "content": "Book a room."}]}
    file = write(tmp_path / "requests.jsonl", [request])
    made = toolsel("label", "new", "v2", "--requests", file, "--study", starter, "--data", data)
    assert made.code == 0 and "1 written requests" in made.out
    assert lines(starter / "labels" / "v2" / "states.jsonl")[-1] == request
    again = toolsel("label", "new", "v2", "--study", starter, "--data", data)
    assert again.code == 2 and "there is a version of this name" in again.err


def test_without_a_sample_the_command_to_draw_one_is_named(starter: Path, tmp_path: Path) -> None:
    told = toolsel("label", "new", "v2", "--study", starter, "--data", tmp_path / "none")
    assert told.code == 2 and "toolsel sample" in told.err
