"""Labellers' files by hand: JSON lines and CSV, read whole or not at all."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.labels.answer_files import read_answers
from toolsel_assets.labels.answers import Answer
from toolsel_assets.labels.csv_form import COLUMNS, SHOWN, write_csv
from toolsel_assets.labels.label_studio import State
from toolsel_assets.vocabulary.problem import BadInput

STATES = {"r:0": frozenset({"find", "refund"}), "r:1": frozenset({"find"}), "r:2": frozenset({"find", "refund"})}
HEADER = "id,valid_actions,reply,forbidden_actions,reason,note,skipped,unsure,labelled_by"


def line(state: str, *tools: str | None, by: str | None = "ana", **more: Any) -> dict[str, Any]:
    found = {"id": state, "valid_actions": [{"tool": tool} for tool in tools], **more}
    return {**found, "labelled_by": [by]} if by else found


WHOLE = [line("r:0", "find"), line("r:1", None), line("r:2", "refund", "find")]


class File:
    """A labeller's file that is written and read."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ana.jsonl"

    def read(self, content: bytes | str, **options: Any) -> list[Answer]:
        self.path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_answers(self.path, STATES, **options)

    def refused(self, content: bytes | str, **options: Any) -> str:
        with pytest.raises(BadInput) as error:
            self.read(content, **options)
        return str(error.value).replace(str(self.path), "FILE")


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


def jsonl(*lines: Any) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)


# --- JSON lines ---------------------------------------------------------------------------------------------------


def test_json_lines_come_back_as_they_are(file: File) -> None:
    answers = file.read(jsonl(*WHOLE))
    assert [(answer.id, [action.tool for action in answer.valid_actions]) for answer in answers] == [
        ("r:0", ["find"]),
        ("r:1", [None]),
        ("r:2", ["refund", "find"]),
    ]


def test_a_bom_blank_lines_and_windows_line_ends_are_no_mistakes(file: File) -> None:
    text = "\ufeff\r\n" + jsonl(*WHOLE).replace("\n", "\r\n\r\n")
    assert file.read(text) == file.read(jsonl(*WHOLE))


def test_a_line_separator_within_a_text_is_no_end_of_line(file: File) -> None:
    noted = line("r:0", "find", note="one\u2028two\x85three")
    assert file.read(jsonl(noted, *WHOLE[1:]))[0].note == "one\u2028two\x85three"


def test_a_time_without_a_zone_is_utc_and_one_with_a_zone_stays(file: File) -> None:
    first, second, _ = file.read(
        jsonl(
            line("r:0", "find", labelled_at="2026-01-02T03:04:05"),
            line("r:1", "find", labelled_at="2026-01-02T03:04:05+02:00"),
            WHOLE[2],
        )
    )
    assert first.labelled_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert second.labelled_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) - timedelta(hours=2)


def test_a_file_for_another_sample_says_that_it_answers_other_states(file: File) -> None:
    others = [line(f"q:{n}", "look_up") for n in range(5)]
    assert file.refused(jsonl(*others)).startswith(
        "FILE: this file answers other states: none of its 5 ids is one of this label set version: q:0, q:1, q:2, ... "
        "(the 3 states of the version: r:0, r:1, r:2)"
    )


def test_ids_that_are_no_states_are_counted_once_for_the_file(file: File) -> None:
    told = file.refused(jsonl(*WHOLE, line("q:1", "find"), line("q:2", "find")))
    assert told.startswith("FILE: 2 ids of 5 are no states of this label set version: q:1, q:2 (")


def test_an_action_that_the_catalogue_of_the_state_lacks_is_refused_with_the_nearest(file: File) -> None:
    told = file.refused(jsonl(WHOLE[0], line("r:1", "fnd"), WHOLE[2]))
    assert told == (
        "FILE, line 2: valid_actions: 'fnd': no such tool in the catalogue of this state "
        "(did you mean find? known: (no tool), find)"
    )


def test_the_catalogue_is_that_of_the_state_and_not_of_the_study(file: File) -> None:
    assert "line 2: valid_actions: 'refund'" in file.refused(jsonl(WHOLE[0], line("r:1", "refund"), WHOLE[2]))


def test_a_forbidden_tool_that_the_catalogue_lacks_is_refused(file: File) -> None:
    wrong = line("r:0", "find", forbidden_actions=["refunds"])
    assert "forbidden_actions: 'refunds': no such tool" in file.refused(jsonl(wrong, *WHOLE[1:]))


@pytest.mark.parametrize("forbidden", [None, "(no tool)"])
def test_calling_nothing_cannot_be_forbidden(file: File, forbidden: str | None) -> None:
    wrong = line("r:0", "find", forbidden_actions=[forbidden])
    assert "calling nothing cannot be forbidden" in file.refused(jsonl(wrong, *WHOLE[1:]))


def test_the_tables_name_of_no_tool_is_not_that_of_json(file: File) -> None:
    assert 'no tool is {"tool": null} in JSON' in file.refused(jsonl(line("r:0", "(no tool)"), *WHOLE[1:]))


@pytest.mark.parametrize("tool", [{"name": "find"}, ["find"], 5, True])
def test_a_tool_that_is_no_text_is_refused(file: File, tool: Any) -> None:
    assert "line 1: valid_actions.0.tool" in file.refused(jsonl(line("r:0", tool), *WHOLE[1:]))


def test_an_empty_set_is_refused(file: File) -> None:
    assert "line 1: row: no acceptable action" in file.refused(jsonl(line("r:0"), *WHOLE[1:]))


def test_a_file_that_was_cut_says_so_and_nothing_is_taken(file: File) -> None:
    text = jsonl(*WHOLE)
    assert file.refused(text[:-20], partial=True).startswith("FILE, line 3: the file is cut: its last line is not all")


def test_a_line_in_the_middle_that_is_no_json_is_not_called_a_cut(file: File) -> None:
    told = file.refused(jsonl(WHOLE[0]) + "{oops}\n" + jsonl(*WHOLE[1:]))
    assert told.startswith("FILE, line 2: not JSON")


def test_a_half_finished_file_is_taken_only_when_asked_for(file: File) -> None:
    assert file.refused(jsonl(WHOLE[1])) == (
        "FILE: half-finished: ana has no answer to 2 of 3 states: r:0, r:2 (--partial takes what is there)"
    )
    assert len(file.read(jsonl(WHOLE[1]), partial=True)) == 1


def test_a_skip_is_an_answer_to_the_state(file: File) -> None:
    skipped = {"id": "r:0", "skipped": True, "note": "cannot say", "labelled_by": ["ana"]}
    assert file.read(jsonl(skipped, *WHOLE[1:]))[0].skipped


def test_one_state_twice_names_both_lines(file: File) -> None:
    told = file.refused(jsonl(*WHOLE, line("r:1", "find")))
    assert told == "FILE, line 4: r:1 for the second time, the first is line 2 (one answer to a state)"


def test_a_missing_name_is_told_once_and_filled_in_when_given(file: File) -> None:
    nameless = jsonl(*({**one, "labelled_by": []} for one in WHOLE))
    assert file.refused(nameless) == (
        "FILE, line 1: no labeller's name in labelled_by (3 answers) (labelled_by, or --labeller NAME)"
    )
    assert {answer.labeller for answer in file.read(nameless, labeller="ben")} == {"ben"}
    without = jsonl(line("r:0", "find", by=None), *WHOLE[1:])
    assert {answer.labeller for answer in file.read(without, labeller="ana")} == {"ana"}


def test_another_name_than_the_labeller_s_is_refused_once(file: File) -> None:
    assert file.refused(jsonl(*WHOLE), labeller="ben") == (
        "FILE, line 1: labelled_by is ana (3 answers) (ben, as --labeller)"
    )


def test_several_labellers_in_one_file_are_refused(file: File) -> None:
    told = file.refused(jsonl(*WHOLE[:2], line("r:2", "find", by="ben")))
    assert told == "FILE: 2 labellers in one file: ana (2), ben (1) (one file a labeller)"


def test_a_name_that_cannot_be_a_file_s_name_is_refused(file: File) -> None:
    assert "labelled_by.0" in file.refused(jsonl(*(one | {"labelled_by": ["../ana"]} for one in WHOLE)))


def test_ten_problems_are_listed_and_the_further_ones_are_counted(file: File) -> None:
    told = file.refused("".join('{"id": "r:0"\n' for _ in range(13)) + jsonl(*WHOLE))
    assert told.startswith("FILE: 13 problems, so that nothing was taken from it:\n  line 1: not JSON")
    assert told.count("not JSON") == 10
    assert told.endswith("and 3 further problems")


def test_problems_of_several_kinds_are_told_together(file: File) -> None:
    told = file.refused(jsonl(line("q:0", "find"), line("r:1", "fnd"), line("r:2", "find", by="ben")))
    for part in ("q:0", "'fnd'", "2 labellers in one file", "3 problems"):
        assert part in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "FILE: the file is empty"),
        (b"\xef\xbb\xbf \r\n", "FILE: the file is empty"),
        (b"PK\x03\x04rest", "FILE: a zip file, as spreadsheets are (xlsx, ods) (save it as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "FILE: an Excel file (xls) (save it as CSV"),
        (HEADER.encode("utf-16"), "FILE: UTF-16 text (save it as CSV"),
        (HEADER.encode("utf-16-le"), "zero bytes, as UTF-16 does"),
        ("id,valid_actions,note\nr:0,find,Ärger\n".encode("latin-1"), "FILE, line 2: byte 0xc4 is no UTF-8"),
        ('[{"id": 1,\n "data": {"decis', "FILE, line 2: the file is cut"),
        ("[{'id': 1}]", "FILE, line 1: not JSON"),
        ("[1, NaN]", "items are no objects"),
        ("[" * 100_000, "FILE"),
        ('{"a": ' * 100_000, "FILE, line 1"),
        ("# a remark\n", "FILE, line 1: neither JSON nor a header of CSV: '# a remark' (JSON lines, one answer"),
        ('{"id": "r:0", "valid_actions": [{"tool": "find", "args": {"x": NaN}}], "labelled_by": ["a"]}\n', "NaN"),
        ('{"id": "r:0", "valid_actions": [{"tool": "find"}], "labelled_by": ["a"], "note": "\\ud800"}\n', "surrogate"),
    ],
)  # fmt: skip
def test_files_of_other_forms_are_refused(file: File, content: bytes | str, told: str) -> None:
    assert told in file.refused(content)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_answers(tmp_path / "none.jsonl", STATES)


# --- CSV ----------------------------------------------------------------------------------------------------------

SHEET = f"""{HEADER}
r:0,refund|find,,,the order is there,,,x,ana
r:1,(no tool)|find,clarify|answer,,,which order?,,,ana
r:2,,,,,cannot say,yes,,ana
"""


def test_a_sheet_gives_what_json_lines_would(file: File) -> None:
    found = file.read(SHEET)
    assert found == file.read(
        jsonl(
            {
                "id": "r:0",
                "valid_actions": [
                    {"tool": "refund", "reason": "the order is there"},
                    {"tool": "find", "reason": "the order is there"},
                ],
                "unsure": True,
                "labelled_by": ["ana"],
            },
            {
                "id": "r:1",
                "valid_actions": [
                    {"tool": None, "reply": "clarify"},
                    {"tool": None, "reply": "answer"},
                    {"tool": "find"},
                ],
                "note": "which order?",
                "labelled_by": ["ana"],
            },
            {"id": "r:2", "skipped": True, "note": "cannot say", "labelled_by": ["ana"]},
        )
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_delimiter_line_ends_and_bom_do_not_matter(file: File, delimiter: str, ends: str, bom: str) -> None:
    target = io.StringIO()
    csv.writer(target, delimiter=delimiter, lineterminator=ends).writerows(csv.reader(io.StringIO(SHEET)))
    assert file.read(bom + target.getvalue()) == file.read(SHEET)


def test_two_columns_are_enough_and_their_order_and_case_do_not_matter(file: File) -> None:
    answers = file.read('Valid_Actions ;"ID"\nfind;r:0\n(no tool);r:1\nfind;r:2\n', labeller="ana")
    assert [answer.id for answer in answers] == ["r:0", "r:1", "r:2"]


def test_a_json_list_of_actions_gives_arguments(file: File) -> None:
    cell = '"[{""tool"": ""find"", ""args"": {""id"": 1}}, {""tool"": null, ""reply"": ""stop""}]"'
    answers = file.read(f"id,valid_actions,reason\nr:0,{cell},why\nr:1,find,\nr:2,find,\n", labeller="ana")
    found = [action.model_dump(exclude_defaults=True) for action in answers[0].valid_actions]
    assert found == [
        {"tool": "find", "args": {"id": 1}, "reason": "why"},
        {"tool": None, "reply": "stop", "reason": "why"},
    ]


def test_a_cell_may_hold_line_breaks_and_later_lines_keep_their_numbers(file: File) -> None:
    text = 'id,valid_actions,note\nr:0,find,"one\ntwo"\n\nr:1,fnd,\nr:2,find,\n'
    assert "FILE, line 5: valid_actions: 'fnd'" in file.refused(text, labeller="ana")


def test_a_line_without_an_answer_is_a_state_without_an_answer(file: File) -> None:
    text = f"{HEADER}\nr:0,find,,,,,,,ana\nr:1,,,,,,no,,ana\nr:2,,,,,,,,\n"
    assert "half-finished: ana has no answer to 2 of 3 states: r:1, r:2" in file.refused(text)
    assert len(file.read(text, partial=True)) == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("r:0,,,refund,,,,,ana", "an empty set of acceptable actions ((no tool) for calling nothing"),
        ("r:0,,,,,hm,,,ana", "an empty set of acceptable actions"),
        ("r:0,[],,,,,,,ana", "an empty set of acceptable actions"),
        ("r:0,find,clarify,,,,,,ana", "reply: clarify, but (no tool) is not acceptable"),
        ("r:0,(no tool),clarfy,,,,,,ana", "reply: 'clarfy' (did you mean clarify?"),
        ("r:0,no tool,,,,,,,ana", "'no tool': no such tool in the catalogue of this state (did you mean (no tool)?"),
        ("r:0,find,,find,,,,,ana", "both acceptable and forbidden: find"),
        ("r:0,find,,,,,yes,,ana", "skipped, and yet with actions"),
        ("r:0,find,,,,,perhaps,,ana", "skipped: 'perhaps' (yes, true, x, 1"),
        ("r:0,[find],,,,,,,ana", "valid_actions: not JSON"),
        ('r:0,"[""find""]",,,,,,,ana', "a JSON list whose items are no objects"),
        ('r:0,"[{""tool"": null}]",stop,,,,,,ana', "reply beside a JSON list of actions"),
        (",find,,,,,,,ana", "no id"),
        (",,,,,,,,ana", "no id"),
        ("r:0,find,,,,,ana", "7 cells, the header has 9"),
        ("r:0,find,,,,,,,ana,more", "10 cells, the header has 9"),
        ('r:0,"find"s,,,,,,,ana', "quotes that do not pair"),
        ('r:0,"find,,,,,,,ana', "quotes that do not pair"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(file: File, row: str, told: str) -> None:
    found = file.refused(f"{HEADER}\nr:1,find,,,,,,,ana\n{row}\n")
    assert "line 3: " in found and told in found


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("id,valid_action", "column 'valid_action' (did you mean valid_actions?"),
        ("id,note", "no column valid_actions"),
        ("note,valid_actions", "no column id"),
        ("id,valid_actions,id", "column id for the second time"),
        ("id,,valid_actions", "a column without a name"),
        ("name,action", "neither JSON nor a header of CSV: 'name, action'"),
    ],
)
def test_a_wrong_header_is_refused(file: File, header: str, told: str) -> None:
    assert f"FILE, line 1: {told}" in file.refused(f"{header}\nr:0,find\n")


def test_empty_columns_at_the_end_as_spreadsheets_leave_them_are_no_mistake(file: File) -> None:
    text = "id,valid_actions,,\nr:0,find,,\nr:1,find,,\nr:2,find\n"
    assert len(file.read(text, labeller="ana")) == 3


# --- the sheet to fill in -----------------------------------------------------------------------------------------


def state(state_id: str, said: Any, *tools: str) -> State:
    return State(state_id, [{"role": "user", "content": said}], tools or ("find",))


def rows_of(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def test_a_sheet_shows_the_last_message_and_the_tools_and_leaves_the_rest_empty() -> None:
    (row,) = rows_of(write_csv([state("r:0", "where is\n\nit? " + "x" * 300, "find", "refund")]))
    assert list(row) == ["id", *SHOWN, *COLUMNS[1:]]
    assert row["last_message"] == "where is it? " + "x" * 187
    assert row["tools"] == "(no tool)|find|refund"
    assert not any(row[name] for name in COLUMNS[1:])


@pytest.mark.parametrize("said", ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_takes_no_message_for_a_formula(said: str) -> None:
    (row,) = rows_of(write_csv([state("r:0", said)]))
    assert row["last_message"] == f"'{said.strip()}"


def test_a_filled_in_sheet_is_read_whatever_it_shows(file: File) -> None:
    sheet = write_csv([state("r:0", '=a;b,"c"'), state("r:1", None), State("r:2", [], ("find",))])
    rows = rows_of(sheet)
    target = io.StringIO()
    writer = csv.DictWriter(target, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(row | {"valid_actions": "find"} for row in rows)
    assert [answer.id for answer in file.read(target.getvalue(), labeller="ana")] == ["r:0", "r:1", "r:2"]


def test_an_id_that_would_be_a_formula_stays_what_it_is(tmp_path: Path) -> None:
    sheet = write_csv([state("=r:0", "hi", "-find")])
    assert "\n'=r:0," in sheet
    path = tmp_path / "sheet.csv"
    path.write_text(sheet.replace(",,,,,,,,", ",'-find,,,,,,,ana"), encoding="utf-8")
    (answer,) = read_answers(path, {"=r:0": frozenset({"-find"})})
    assert (answer.id, answer.valid_actions[0].tool) == ("=r:0", "-find")


def test_an_untouched_sheet_is_no_answer(file: File) -> None:
    assert "no answer to any of the 3 states" in file.refused(write_csv([state("r:0", "hi")]), partial=True)
