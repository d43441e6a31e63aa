# ruff: noqa: E501 - a table of mistakes reads better unwrapped
"""The command line as a newcomer meets it: what it prints, how it leaves, and what it says of mistakes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import EXAMPLES, Run, toolsel

Edit = Callable[[Path, str, str], None]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A study as `toolsel init` writes it, run once."""
    study, data = tmp_path_factory.mktemp("cli") / "mine", tmp_path_factory.mktemp("data")
    written = toolsel("init", study)
    assert written.code == 0 and "toolsel run --study" in written.out
    assert toolsel("run", "--study", study, "--data", data).code == 0
    return study, data


@pytest.fixture
def copy(ran: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Copies of both, to be spoilt."""
    study, data = (shutil.copytree(path, tmp_path / name) for path, name in zip(ran, ("study", "data"), strict=True))
    return Path(study), Path(data)


def test_the_summary_names_classes_averages_worst_tools_pairs_verdict_and_places(airline: Run) -> None:
    out = airline.printed.out
    for text in ("single", "several", "none", "micro-average", "macro-average", "worst tool", "worst pair", "REJECT:",
                 "report.html", "bi.duckdb", "(no tool): 294 of 504 on the first rung, 75 now (-43.5 points)"):  # fmt: skip
        assert text in out, text
    assert "1093 model calls" in airline.printed.err and "Traceback" not in airline.printed.err


def test_a_ladder_can_be_run_alone(tmp_path: Path) -> None:
    found = toolsel("run", "--data", tmp_path, "--ladder", "logged")
    assert found.code == 0 and "growth" not in found.out
    verdict = toolsel("verdict", "--data", tmp_path, "--ladder", "logged", "--json")
    assert verdict.code == 1 and {row["ladder"] for row in json.loads(verdict.out)["verdicts"]} == {"logged"}


def test_the_verdict_of_one_ladder_holds_its_findings_alone(airline: Run) -> None:
    found = json.loads(toolsel("verdict", "--data", airline.data, "--ladder", "logged", "--json").out)
    assert {row["ladder"] for rows in found.values() for row in rows} == {"logged"}


def test_the_verdict_as_json_and_junit(ran: tuple[Path, Path], tmp_path: Path) -> None:
    study, data = ran
    junit = tmp_path / "junit.xml"
    found = toolsel("verdict", "--study", study, "--data", data, "--json", "--junit", junit)
    document = json.loads(found.out)
    assert found.code == 1 and document["verdicts"][0]["state"] == "reject"
    suite = ElementTree.parse(junit).getroot()[0]
    states = [row["state"] for row in document["findings"] if row["rung"] == "+rooms"]
    assert int(suite.get("failures", 0)) == states.count("reject") + 1
    assert int(suite.get("tests", 0)) == len(states) + 1


@pytest.mark.parametrize(("allowed", "code"), [("max_forbidden: 0", 1), ("max_forbidden: 1", 3)])
def test_exit_codes_say_reject_and_not_decided(
    starter: Path, tmp_path: Path, edit: Edit, allowed: str, code: int
) -> None:
    edit(starter / "criteria" / "growth.yaml", "max_forbidden: 0", allowed)
    assert toolsel("run", "--study", starter, "--data", tmp_path / "d").code == 0
    assert toolsel("verdict", "--study", starter, "--data", tmp_path / "d").code == code


def test_exit_code_of_an_accepted_change(starter: Path, tmp_path: Path) -> None:
    (starter / "criteria" / "growth.yaml").write_text("max_forbidden: 1\n")
    assert toolsel("run", "--study", starter, "--data", tmp_path / "d").code == 0
    assert toolsel("verdict", "--study", starter, "--data", tmp_path / "d").code == 0


def test_criteria_edited_after_the_run_are_inadmissible_and_what_was_published_stands(
    copy: tuple[Path, Path], edit: Edit
) -> None:
    study, data = copy
    edit(study / "criteria" / "growth.yaml", "max_forbidden: 0", "max_forbidden: 9")
    before = (data / "published" / "bi.duckdb").read_bytes()
    found = toolsel("run", "--study", study, "--data", data)
    assert found.code == 3
    assert "criteria_predate_the_run is not so" in found.err and "--fresh" in found.err
    assert (data / "published" / "bi.duckdb").read_bytes() == before
    verdict = toolsel("verdict", "--study", study, "--data", data)
    assert verdict.code == 3 and "INADMISSIBLE" in verdict.out
    assert toolsel("run", "--study", study, "--data", data, "--fresh").code == 0
    assert toolsel("verdict", "--study", study, "--data", data).code == 3  # not enough data, and admissible again


def test_an_edited_tool_is_asked_again_and_the_rest_is_kept(copy: tuple[Path, Path], edit: Edit) -> None:
    study, data = copy
    edit(study / "catalogues" / "rooms.json", "Book a meeting room", "Reserve a meeting room")
    found = toolsel("run", "--study", study, "--data", data)
    assert "growth.base: 57 choices (kept" in found.err and "growth.+rooms: 57 choices\n" in found.err


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("labels/v1/labels.jsonl", '"tool": "mail.reply"', '"tool": "mail.replly"', "line 4: tool 'mail.replly' is in no"),
        ("labels/v1/labels.jsonl", '"calendar:th-1:1"', '"calendar:th-1:0"', "id calendar:th-1:0 for the second time"),
        ("labels/v1/labels.jsonl", '"calendar:th-1:1"', '"nowhere:1"', "row nowhere:1 has no messages and is no decision"),
        ("ladders/growth.yaml", "[11, 12, 13]", "[11, 12]", "order_seeds: found 2 (at least 3"),
        ("ladders/growth.yaml", "name: bm25", "name: gpt", "no agent 'gpt'"),
        ("ladders/growth.yaml", "{threshold: 0.5}", "{treshold: 0.5}", "unknown parameter 'treshold'"),
        ("ladders/growth.yaml", "label_set: v1 ", "label_set: v2 ", "there is no such file"),
        ("ladders/growth.yaml", "[base, rooms]}", "[base, rooms], params: {threshold: 1}}", "differs in 2"),
        ("criteria/growth.yaml", "max_forbidden", "max_forbiden", "unknown key max_forbiden: did you mean max_forbidden"),
        ("study.yaml", "traces/*.jsonl", "trace/*.jsonl", "no file matches 'trace/*.jsonl'"),
        ("study.yaml", "    collected", "    format: openai\n    collected", "unknown format 'openai' ("),
    ],
)  # fmt: skip
def test_a_mistake_ends_with_2_and_one_line(
    starter: Path, tmp_path: Path, edit: Edit, file: str, old: str, new: str, said: str
) -> None:
    edit(starter / file, old, new)
    found = toolsel("run", "--study", starter, "--data", tmp_path / "d")
    assert (found.code, found.out) == (2, "")
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("toolsel: ") and said in last
    assert "Traceback" not in found.err


def test_unreadable_records_are_counted_and_the_run_goes_on(starter: Path, tmp_path: Path) -> None:
    traces = starter / "traces"
    (traces / "empty.jsonl").write_text("")
    (traces / "other.jsonl").write_text('{"spans": []}\n')
    (traces / "none.jsonl").write_text('{"id": "x", "messages": []}\n')
    lines = (traces / "runs.jsonl").read_text().splitlines()
    (traces / "cut.jsonl").write_text(lines[0].replace('"th-1"', '"th-9"') + "\n" + lines[1][:300])
    bad_call = {"id": "th-8", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [
        {"function": {"name": "a", "arguments": "{"}}]}]}  # fmt: skip
    (traces / "call.jsonl").write_text(json.dumps(bad_call) + "\n")
    assert toolsel("run", "--study", starter, "--data", tmp_path / "d").code == 0
    run = Run(tmp_path / "d", toolsel("--version"))
    found = {row["source_file"]: row["reason"] for row in run.rows("select * from ingest_rejects")}
    assert found == {
        "traces/cut.jsonl": "cut_json",
        "traces/empty.jsonl": "empty_file",
        "traces/none.jsonl": "no_messages",
        "traces/other.jsonl": "unknown_format",
    }
    assert run.one("select count(*) from decisions where status = 'malformed'") == 1
    assert run.one("select sum(n_records - n_decisions - n_merged - n_rejects) from ingest_files") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--study", "nowhere"), "no such study"),
        (("run", "--study", "airlin"), "did you mean airline"),
        (("run", "--ladder", "grwth"), "no ladder grwth (did you mean growth"),
        (("verdict", "--data", "DATA"), "no warehouse yet (toolsel run makes it)"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    found = toolsel(*[str(tmp_path / "d") if a == "DATA" else a for a in arguments])
    assert found.code == 2 and said in found.err and "Traceback" not in found.err


def test_init_does_not_write_over_anything(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    found = toolsel("init", tmp_path)
    assert found.code == 2 and "not empty" in found.err and (tmp_path / "file").read_text() == "mine"


def test_every_command_has_help() -> None:
    listed = toolsel("--help").out
    for command in ("run", "verdict", "dev", "init"):
        assert command in listed
        shown = toolsel(command, "--help")
        assert shown.code == 0 and len(shown.out.splitlines()) > 5


def test_inspect_says_what_is_in_a_file(tmp_path: Path) -> None:
    traces = EXAMPLES / "airline" / "traces" / "gpt-4o-airline.json"
    found = json.loads(toolsel("traces", "inspect", traces, "--json").out)
    numbers = {name: found[name] for name in ("format", "runs", "decisions", "by_status", "no_tool", "rejects")}
    assert numbers == {
        "format": "openai_messages",
        "runs": 80,
        "decisions": 1093,
        "by_status": {"stopped": 574, "called": 519},
        "no_tool": 574,
        "rejects": 0,
    }
    # Every message is a unit: the decisions, and the messages of users and tools that they saw.
    messages = sum(len(run["traj"]) for run in json.loads(traces.read_text()))
    assert found["records"] == found["decisions"] + found["merged"] == messages


def test_inspect_says_what_is_missing_and_what_that_costs() -> None:
    said = toolsel("traces", "inspect", EXAMPLES / "starter" / "traces")
    assert said.code == 0
    for text in ("format     openai_messages", "no tool", "missing    the tools that the model was shown", "times:"):
        assert text in said.out


def test_inspect_explains_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text('{"id": "x", "messages": []}\n{oops\n')
    found = toolsel("traces", "inspect", tmp_path / "broken.jsonl")
    assert found.code == 0 and "no_messages 1, not_json 1" in found.out and "broken.jsonl, 2: not_json" in found.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "toolsel: nowhere: no such file"),
        ([str(EXAMPLES / "starter" / "traces"), "--format", "openai"], "unknown format 'openai'"),
    ],
)
def test_inspect_names_a_mistake(arguments: list[str], said: str) -> None:
    found = toolsel("traces", "inspect", *arguments)
    assert found.code == 2 and said in found.err


def test_a_retired_name_in_the_traces_is_resolved_and_its_callers_counted(starter: Path, tmp_path: Path) -> None:
    lines = (starter / "traces" / "runs.jsonl").read_text()
    (starter / "traces" / "runs.jsonl").write_text(lines.replace('"mail.reply"', '"mail.send"'))
    (starter / "catalogues" / "retired.yaml").write_text("mail.send: mail.reply\n")
    assert toolsel("run", "--study", starter, "--data", tmp_path / "d").code == 0
    run = Run(tmp_path / "d", toolsel("--version"))
    found = run.rows("select retired_tool, resolved_to, sum(n_calls) as n from retired_calls group by all")
    assert found == [
        {"retired_tool": "mail.send", "resolved_to": "mail.reply", "n": lines.count('{"name": "mail.reply"')}
    ]
    assert run.one("select count(*) from decisions where action = 'mail.send'") == 0
