import json
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.labels.adjudication import Adjudication
from toolsel_assets.labels.versions import LabelSet, Record, read_label_set, version_names, write_record
from toolsel_assets.vocabulary.label import LabelRow, RowClass
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.sampling import SampleSpec

TOOLS = frozenset({"read_thread", "mail.reply"})


def row(name: str, *tools: str | None, **more: Any) -> dict[str, Any]:
    return {"id": name, "valid_actions": [{"tool": tool} for tool in tools], "labelled_by": ["a"], **more}


def write(folder: Path, *lines: Any) -> Path:
    folder.mkdir(exist_ok=True)
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "labels.jsonl").write_text("\n".join(text) + "\n", encoding="utf-8")
    return folder


def test_a_version_is_its_content_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    a, b = row("a", None), row("b", "read_thread")
    one, other = (read_label_set(write(tmp_path / "v1", *rows), TOOLS) for rows in ((a, b), (b, a)))
    assert one.version == other.version and one.version.startswith("v1@")
    edited = read_label_set(write(tmp_path / "v1", a, row("b", "mail.reply")), TOOLS)
    assert edited.version != one.version


def test_classes_are_counted(tmp_path: Path) -> None:
    rows = [row("a", None), row("b", None, "mail.reply"), row("c", "mail.reply", "read_thread"), row("d", "mail.reply")]
    counts = read_label_set(write(tmp_path / "v1", *rows), TOOLS).class_counts()
    assert counts == {RowClass.NONE: 2, RowClass.SEVERAL: 1, RowClass.SINGLE: 1}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [row("a", "mail.replly")],
            r"labels.jsonl, line 1: tool 'mail.replly' is in no catalogue .*did you mean mail.reply",
        ),
        ([row("a", None, forbidden_actions=["gone"])], r"line 1: tool 'gone' is in no catalogue"),
        ([row("a", None), row("b", None), row("a", "mail.reply")], r"line 3: id a for the second time"),
        ([row("a", None), '{"id": "b"'], r"line 2: not JSON"),
        ([row("a")], r"line 1: valid_actions: .*at least 1"),
        ([row("a", "mail.reply", forbidden_actions=["mail.reply"])], r"line 1: row: both acceptable and forbidden"),
        ([{**row("a", None), "expected_tool": "x"}], r"line 1: expected_tool: Extra inputs"),
        ([row("a", None, slice="new:rooms")], r"line 1: a new:rooms row that names no tool"),
        (['{"id": "a", "valid_actions": [{"tool": null}], "id": "b"}'], r"line 1: not JSON: key 'id' stands twice"),
        ([], r"the file holds no row"),
    ],
)
def test_the_lint_names_file_line_and_what_is_accepted(tmp_path: Path, lines: list[Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_label_set(write(tmp_path / "v1", *lines), TOOLS)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"labels\.jsonl: there is no such file"):
        read_label_set(tmp_path / "v2", TOOLS)


def test_texts_with_line_separators_of_unicode_are_one_line(tmp_path: Path) -> None:
    state = {"last_message": "one\u2028two\u0085three"}
    folder = write(tmp_path / "v1", json.dumps(row("a", None, state=state), ensure_ascii=False))
    (found,) = read_label_set(folder, TOOLS).rows
    assert found.state is not None and found.state.last_message == state["last_message"]


def test_versions_whose_names_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    for name in ("v1", "V1"):
        write(tmp_path / name, row("a", None))
    with pytest.raises(BadInput, match="same name but for case"):
        version_names(tmp_path)


def test_an_edited_release_names_both_hashes(tmp_path: Path) -> None:
    folder = write(tmp_path / "v1", row("a", None))
    released = read_label_set(folder, TOOLS).content_hash
    write_record(folder, Record(content_hash=released))
    assert read_label_set(folder, TOOLS).is_released
    write(folder, row("a", "mail.reply"))
    edited = LabelSet("v1", read_label_set_rows(folder)).content_hash
    with pytest.raises(BadInput, match=f"released as {released}, and is now {edited}"):
        read_label_set(folder, TOOLS)


def read_label_set_rows(folder: Path) -> tuple[LabelRow, ...]:
    lines = (folder / "labels.jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(LabelRow.model_validate_json(line) for line in lines if line)


def test_the_hash_covers_rows_sample_and_adjudications() -> None:
    rows = (LabelRow.model_validate(row("a", None)),)
    sampled = Record(sample=SampleSpec(seed=1, quota={"first": 1}))
    decided = Adjudication.model_validate(
        {"id": "a", "resolution": "leave_out", "reason": "r", "decided_by": "d", "date": "2026-12-01"}
    )
    found = {
        LabelSet("v1", rows).content_hash,
        LabelSet("v1", rows, sampled).content_hash,
        LabelSet("v1", rows, sampled, (decided,)).content_hash,
        LabelSet("v1", (), sampled, (decided,)).content_hash,
    }
    assert len(found) == 4
