"""Label Studio, out and in. The fixtures are a real server's exports (data/README.md)."""

import json
import re
import xml.etree.ElementTree as ET
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.labels.answer_files import read_answers
from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.label_studio import CHOICES, TEXTS, State, export_tasks, labelling_config, typed_args
from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.problem import BadInput

DATA = Path(__file__).parent / "data" / "label_studio"
EXPORT = json.loads((DATA / "export.json").read_text(encoding="utf-8"))
USERS = json.loads((DATA / "users.json").read_text(encoding="utf-8"))
BEN = next(user for user, name in USERS.items() if name == "ben")
STATES = {
    task["data"]["decision_id"]: frozenset(choice["value"] for choice in task["data"]["tools"]) for task in EXPORT
}


def read(document: list[Any], tmp_path: Path, **options: Any) -> dict[tuple[str, str], Answer]:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    answers = read_answers(path, STATES, **{"users": USERS, **options})
    return {(answer.labeller, answer.id): answer for answer in answers}


def task(document: list[Any], decision_id: str) -> dict[str, Any]:
    return next(task for task in document if task["data"]["decision_id"] == decision_id)


def annotation(document: list[Any], decision_id: str, user: str) -> dict[str, Any]:
    return next(one for one in task(document, decision_id)["annotations"] if str(one["completed_by"]) == user)


@pytest.fixture
def document() -> list[Any]:
    return deepcopy(EXPORT)


@pytest.fixture
def answers(document: list[Any], tmp_path: Path) -> dict[tuple[str, str], Answer]:
    return read(document, tmp_path)


def refused(document: list[Any], tmp_path: Path, **options: Any) -> str:
    with pytest.raises(BadInput) as error:
        read(document, tmp_path, **options)
    return str(error.value)


# --- in: the real export ------------------------------------------------------------------------------------------


def test_two_people_s_answers_to_five_states_come_back_under_their_names(
    answers: dict[tuple[str, str], Answer],
) -> None:
    assert sorted(answers) == sorted((name, state) for name in ("ada", "ben") for state in STATES)


def test_a_set_of_one_action_stays_a_set(answers: dict[tuple[str, str], Answer]) -> None:
    (action,) = answers["ada", "airline:0:2"].valid_actions
    assert (action.tool, action.reply, action.reason) == (None, "clarify", "no user id yet")


def test_each_reply_is_an_entry_of_its_own(answers: dict[tuple[str, str], Answer]) -> None:
    found = [(action.tool, action.reply) for action in answers["ben", "airline:0:2"].valid_actions]
    assert found == [(None, "clarify"), (None, "answer"), ("get_user_details", None)]


def test_what_was_filled_in_on_the_page_in_a_browser_comes_back_whole(answers: dict[tuple[str, str], Answer]) -> None:
    answer = answers["ben", "airline:1:4"]
    assert [action.model_dump(exclude_defaults=True) for action in answer.valid_actions] == [
        {
            "tool": "transfer_to_human_agents",
            "args": {"summary": "no reservation id"},
            "reason": "no id to go on with",
        },
        {"tool": None, "reason": "the user id would do", "reply": "clarify"},
    ]
    assert answer.forbidden_actions == ("book_reservation",)
    assert answer.seconds is not None and answer.seconds > 0


def test_the_preferred_action_comes_first_since_the_order_of_clicks_is_lost(
    answers: dict[tuple[str, str], Answer],
) -> None:
    # In the browser transfer_to_human_agents was clicked before (no tool).
    (clicked,) = (
        one["value"]["choices"]
        for one in annotation(EXPORT, "airline:1:4", BEN)["result"]
        if one["from_name"] == "valid"
    )
    assert clicked == [NO_TOOL, "transfer_to_human_agents"]
    assert [action.tool for action in answers["ada", "airline:0:6"].valid_actions] == ["think", "get_user_details"]


def test_a_skip_is_no_empty_set_and_its_result_is_ignored(answers: dict[tuple[str, str], Answer]) -> None:
    assert annotation(EXPORT, "airline:1:4", "1")["result"]
    answer = answers["ada", "airline:1:4"]
    assert answer.skipped and not answer.valid_actions


def test_an_answer_takes_the_place_of_an_earlier_skip_of_the_same_person(
    answers: dict[tuple[str, str], Answer],
) -> None:
    of_ben = [one["was_cancelled"] for one in task(EXPORT, "airline:0:6")["annotations"] if one["completed_by"] != 1]
    assert sorted(of_ben) == [False, True]
    assert answers["ben", "airline:0:6"].actions == {"get_user_details"}


def test_the_same_answer_twice_by_one_person_is_one_answer(answers: dict[tuple[str, str], Answer]) -> None:
    of_ada = [one for one in task(EXPORT, "airline:2:6")["annotations"] if one["completed_by"] == 1]
    assert len(of_ada) == 2
    assert answers["ada", "airline:2:6"].labelled_at is not None
    assert answers["ada", "airline:2:6"].model_dump(mode="json")["labelled_at"] == max(a["updated_at"] for a in of_ada)


def test_drafts_and_predictions_are_no_answers(answers: dict[tuple[str, str], Answer]) -> None:
    first = task(json.loads((DATA / "snapshot.json").read_text(encoding="utf-8")), "airline:0:2")
    assert first["drafts"][0]["result"] and first["predictions"][0]["result"]
    assert answers["ada", "airline:0:2"].actions == {None}


def test_users_may_be_named_by_email_in_exports_that_hold_it(answers: dict[tuple[str, str], Answer]) -> None:
    by_email = {"ada@example.com": "ada", "Ben@Example.com": "ben"}
    assert read_answers(DATA / "snapshot.json", STATES, users=by_email) == list(answers.values())
    assert read_answers(DATA / "snapshot.json", STATES, users=USERS) == list(answers.values())


# --- in: refusals -------------------------------------------------------------------------------------------------


def test_json_min_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput, match=r"JSON-MIN .* a set of one action into bare text .* exported as JSON"):
        read_answers(DATA / "export.json_min.json", STATES, users=USERS)


def test_label_studio_s_csv_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput, match=r"line 1: a CSV export of Label Studio, which leaves skips out"):
        read_answers(DATA / "export.csv", STATES, users=USERS)


def test_what_the_server_took_without_a_look_is_refused_and_all_of_it_is_told() -> None:
    with pytest.raises(BadInput) as error:
        read_answers(DATA / "refused.json", STATES, users=USERS)
    told = str(error.value)
    assert "3 problems" in told
    assert "an empty set of acceptable actions ((no tool) for calling nothing, Skip for no answer)" in told
    assert "ben answered airline:2:6 2 times, not the same each time" in told
    assert re.search(r"task \d+, annotation \d+: valid_actions: 'null', valid_actions: 'thinks': .*mean think\?", told)


def test_a_skip_after_an_answer_in_a_second_annotation_is_a_contradiction(document: list[Any], tmp_path: Path) -> None:
    for one in task(document, "airline:0:6")["annotations"]:
        one["updated_at"] = "2027-01-01T00:00:00Z" if one["was_cancelled"] else one["updated_at"]
    assert "ben answered airline:0:6 2 times" in refused(document, tmp_path)


def test_one_decision_in_two_tasks_is_one_state(document: list[Any], tmp_path: Path) -> None:
    again = deepcopy(task(document, "airline:3:8")) | {"id": 900}
    assert len(read([*document, again], tmp_path)) == 10
    again["annotations"][0]["result"][0]["value"]["choices"] = ["think"]
    again["annotations"][0]["result"] = again["annotations"][0]["result"][:1]
    assert re.search(
        r"airline:3:8 2 times.*task \d+ annotation \d+, task 900 annotation", refused([*document, again], tmp_path)
    )


def test_users_without_a_name_are_listed_with_what_to_write(document: list[Any], tmp_path: Path) -> None:
    told = refused(document, tmp_path, users={})
    assert f"no name for the users 1, {BEN}" in told
    assert json.dumps({"1": "NAME", BEN: "NAME"}) in told


def test_two_accounts_of_one_person_are_not_two_labellers(document: list[Any], tmp_path: Path) -> None:
    assert "ada answered airline:0:2 2 times" in refused(document, tmp_path, users={"1": "ada", BEN: "ada"})


def test_the_labeller_s_name_is_taken_for_the_only_user(document: list[Any], tmp_path: Path) -> None:
    for one in document:
        one["annotations"] = [a for a in one["annotations"] if a["completed_by"] == 1]
    assert {name for name, _ in read(document, tmp_path, users=None, labeller="ada.l")} == {"ada.l"}
    assert "labelled_by is ada (5 answers) (ada.l, as --labeller)" in refused(document, tmp_path, labeller="ada.l")


def test_the_labeller_s_name_is_not_given_to_several_users(document: list[Any], tmp_path: Path) -> None:
    assert f"no name for the users 1, {BEN}" in refused(document, tmp_path, users=None, labeller="ada")


@pytest.mark.parametrize("result", [None, "x", ["x"], {"valid": ["think"]}])
def test_a_result_of_another_shape_is_refused(document: list[Any], tmp_path: Path, result: Any) -> None:
    annotation(document, "airline:3:8", BEN)["result"] = result
    assert "its result is no list of objects" in refused(document, tmp_path)


@pytest.mark.parametrize("version", [None, "v1"])
def test_a_task_of_another_version_is_refused(document: list[Any], tmp_path: Path, version: str | None) -> None:
    task(document, "airline:2:6")["data"]["label_set_version"] = "v2"
    assert re.search(
        r"task \d+: a task of label set version v2 \(tasks of v1\)", refused(document, tmp_path, version=version)
    )


def test_a_whole_export_of_another_version_is_refused(document: list[Any], tmp_path: Path) -> None:
    assert "5 problems" in refused(document, tmp_path, version="v2")


def test_answers_are_keyed_by_the_decision_and_not_by_the_task(document: list[Any], tmp_path: Path) -> None:
    before = read(document, tmp_path)
    for number, one in enumerate(document):
        one["id"] = 1000 - number
    assert read(document, tmp_path) == before
    task(document, "airline:2:6")["data"]["decision_id"] = "airline:9:9"
    assert "1 id of 5 are no states of this label set version: airline:9:9" in refused(document, tmp_path)


def test_a_half_finished_project_says_who_lacks_what(document: list[Any], tmp_path: Path) -> None:
    last = task(document, "airline:3:8")
    last["annotations"] = [one for one in last["annotations"] if one["completed_by"] == 1]
    assert "half-finished: ben has no answer to 1 of 5 states: airline:3:8 (--partial" in refused(document, tmp_path)
    assert len(read(document, tmp_path, partial=True)) == 9


@pytest.mark.parametrize(
    ("question", "value", "told"),
    [
        ("preferred", {"choices": ["think"]}, "preferred: think is not among the acceptable actions"),
        ("forbidden", {"choices": ["book_reservations"]}, "did you mean book_reservation?"),
        ("forbidden", {"choices": [NO_TOOL]}, "calling nothing cannot be forbidden"),
        ("forbidden", {"choices": ["get_user_details"]}, "both acceptable and forbidden: get_user_details"),
        ("validity", {"choices": ["x"]}, "an answer to 'validity'"),
        ("note", {"choices": ["x"]}, "note: no list of texts"),
        ("args", {"text": ['think: {"thought": "x"}']}, "args: think is not among the acceptable tools"),
        ("args", {"text": ["get_user_details: {user_id: 1}"]}, "args of get_user_details: not JSON"),
        ("args", {"text": ["the user's id"]}, 'args: "the user\'s id" (tool: {'),
        ("args", {"text": ["get_user_details: [1]"]}, "is no JSON object"),
    ],
)
def test_a_wrong_answer_is_named_by_task_and_annotation(
    document: list[Any], tmp_path: Path, question: str, value: dict[str, Any], told: str
) -> None:
    one = next(a for a in task(document, "airline:0:6")["annotations"] if a["completed_by"] != 1 and a["result"])
    one["result"].append({"from_name": question, "to_name": "dialogue", "type": "x", "value": value})
    found = refused(document, tmp_path)
    assert told in found
    assert f"task {task(document, 'airline:0:6')['id']}, annotation {one['id']}: " in found


def test_a_reply_left_over_from_a_no_tool_that_was_taken_back_is_no_answer(document: list[Any], tmp_path: Path) -> None:
    result = annotation(document, "airline:3:8", BEN)["result"]
    assert [one["from_name"] for one in result] == ["valid", "reply"]
    result[0]["value"]["choices"] = ["think"]
    (action,) = read(document, tmp_path)["ben", "airline:3:8"].valid_actions
    assert (action.tool, action.reply) == ("think", None)


def test_a_reply_that_is_none_is_refused(document: list[Any], tmp_path: Path) -> None:
    annotation(document, "airline:3:8", BEN)["result"][1]["value"]["choices"] = ["answers"]
    assert "reply: 'answers' (did you mean answer?" in refused(document, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([1, 2], "items are no objects"),
        ([{"id": "a", "valid_actions": []}], "answers as a JSON list"),
        ([{"id": 1, "text": "x"}], "items have no data"),
        ([{"id": 1, "data": {}, "annotations": []}], "no decision_id or no label_set_version"),
        ([], "no answer to any of the 5 states"),
    ],
)
def test_other_lists_are_refused(tmp_path: Path, wrong: list[Any], told: str) -> None:
    assert told in refused(wrong, tmp_path)


def test_the_file_of_tasks_is_not_taken_for_an_export(tmp_path: Path) -> None:
    tasks = export_tasks([State("airline:0:2", [{"role": "user", "content": "hi"}], ("a",))], "v1")
    assert "tasks without annotations: what Label Studio imports" in refused(tasks, tmp_path)


# --- what people type ---------------------------------------------------------------------------------------------


def test_arguments_may_take_several_lines_and_a_tool_several_calls() -> None:
    text = 'a: {"x": 1,\n  "y": [2]}\n a : {"x": 2}\n\nserver:b: {}'
    assert typed_args(text, ("a", NO_TOOL, "server:b", "server"), "here") == {
        "a": [{"x": 1, "y": [2]}, {"x": 2}],
        "server:b": [{}],
    }


def test_no_arguments_are_no_restriction() -> None:
    assert typed_args(" \n", ("a",), "here") == {}


# --- out ----------------------------------------------------------------------------------------------------------

MESSAGES = (
    {"role": "user", "content": "refund <b>me</b>"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 1}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "no such order"},
)


def test_a_task_holds_the_state_and_its_own_catalogue_and_nothing_else() -> None:
    first, second = export_tasks([State("r:2", MESSAGES, ("find", "refund")), State("r:3", MESSAGES[:1], ())], "v1")
    assert first == {
        "data": {
            "decision_id": "r:2",
            "label_set_version": "v1",
            "messages": [
                {"role": "user", "content": "refund <b>me</b>"},
                {"role": "assistant", "content": '[calls find {"id": 1}]'},
                {"role": "tool find", "content": "no such order"},
            ],
            "actions": [{"value": "(no tool)"}, {"value": "find"}, {"value": "refund"}],
            "tools": [{"value": "find"}, {"value": "refund"}],
        }
    }
    assert second["data"]["actions"] == [{"value": "(no tool)"}]


def test_the_config_asks_what_the_reader_reads() -> None:
    config = ET.fromstring(labelling_config('v"1<&'))
    asked = {one.get("name"): one for one in config.iter() if one.tag in ("Choices", "TextArea")}
    assert set(asked) == {*CHOICES, *TEXTS}
    assert {one.get("toName") for one in asked.values()} == {"dialogue"}
    valid = asked["valid"]
    assert (valid.get("value"), valid.get("choice"), valid.get("required")) == ("$actions", "multiple", "true")
    assert asked["forbidden"].get("value") == "$tools"
    assert config.find("Header").get("value") == 'Label set v"1<&: state $decision_id'  # type: ignore[union-attr]


def test_the_config_uses_fields_that_tasks_have() -> None:
    fields = {name for _, name in re.findall(r'(")?\$(\w+)', labelling_config("v1"))}
    (task,) = export_tasks([State("r:2", MESSAGES, ("find",))], "v1")
    assert fields and fields <= set(task["data"])
