# ruff: noqa: E501 - a table of mistakes reads better unwrapped
"""A study's files: every mistake is named with file, line or key, what was found, and what is accepted."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES
from toolsel_assets.study import criteria_hash, load_study
from toolsel_assets.vocabulary.problem import BadInput

Edit = Callable[[Path, str, str], None]


@pytest.mark.parametrize("name", ["airline", "bfcl", "starter"])
def test_the_shipped_studies_are_valid(name: str) -> None:
    study = load_study(EXAMPLES / name)
    assert study.name == name and study.ladders


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("study.yaml", "catalogue: base", "catalogue: bass", r"study.yaml, catalogue: unknown name 'bass' \(did you mean base"),
        ("study.yaml", "sample:", "sampel:", r"line \d+: unknown key sampel: did you mean sample\?"),
        ("study.yaml", "first: 6", "frist: 6", r"sample.quota: unknown name 'frist' \(did you mean first"),
        ("study.yaml", "seed: 1", "seed: many", r"line \d+: sample.seed: .*integer.*found 'many'"),
        ("study.yaml", "first: 6", "first: -6", r"sample.quota.first: .*greater than or equal to 0"),
        ("study.yaml", "name: starter", "name: Star ter", r"line \d+: name: .*pattern"),
        ("study.yaml", "name: starter", "name: [", r"study.yaml: not YAML"),
        ("study.yaml", "max_age_days: 365", "max_age: 365", r"unknown key freshness.max_age: did you mean max_age_days"),
        ("ladders/growth.yaml", "criteria: growth", "criteria: grow", r"growth.yaml, criteria: unknown name 'grow'"),
        ("ladders/growth.yaml", "[base, rooms]", "[base, romms]", r"rungs.1.catalogue: unknown name 'romms'"),
        ("ladders/growth.yaml", "[base, rooms]", "[base, base]", r"list_availability.* in more than one of base, base"),
        ("ladders/growth.yaml", "[base, rooms]}", "[base, rooms], prompt: p}", r"differs in 2: catalogue: .*; prompt: None -> 'p'"),
        ("ladders/growth.yaml", "+rooms", "+ro/oms", r"rungs.1.name: .*pattern"),
        ("criteria/growth.yaml", "max_tool_drop_pp", "max_tool_drop", r"line \d+: unknown key max_tool_drop: did you mean max_tool"),
        ("criteria/growth.yaml", "max_tool_drop_pp: 5", "min_accuracy: 0.9", r"min_accuracy: an aggregate is no .*collapses"),
        ("criteria/growth.yaml", "max_pair_share: 0.5", "max_pair_share: 50", r"max_pair_share: .*less than or equal to 1.*found 50"),
        ("study.yaml", "catalogue: base", "catalogue: [{catalogue: base, form: 2026-01-01}]", r"line \d+: unknown key catalogue.*form"),
        ("study.yaml", "catalogue: base", "catalogue: [{catalogue: bas}]", r"catalogue: unknown name 'bas' \(did you mean base"),
        ("study.yaml", "redact: [secrets, bearer, email]", "redact: [secret]", r"redact.*secret"),
        ("study.yaml", "redact: [secrets, bearer, email]", "redact: [{name: x}]", r"redact.*regex"),
        ("catalogues/rules.yaml", "text: ignored", "text: fuzzy", r"mail.reply.text: unknown name 'fuzzy' \(known: exact, ignored"),
        ("catalogues/rules.yaml", "text: ignored", "txt: ignored", r"mail.reply, field: unknown name 'txt' \(did you mean text"),
        ("catalogues/rules.yaml", "mail.reply:", "mail.replay:", r"unknown name 'mail.replay' \(did you mean mail.reply"),
        ("catalogues/base.json", '"name": "read_thread"', '"name": "mail.reply"', r"base.json, tools: mail.reply more than once"),
        ("catalogues/base.json", '"name": "read_thread"', '"name": "read thread"', r"tools.0: tool name 'read thread'"),
        ("catalogues/base.json", '{\n  "tools"', '{\n  tools', r"base.json: not JSON"),
        ("catalogues/base.json", '"tools": [', '"tool": [', r"there is no list of tools"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(starter: Path, edit: Edit, file: str, old: str, new: str, said: str) -> None:
    edit(starter / file, old, new)
    with pytest.raises(BadInput, match=said):
        load_study(starter)


def test_a_line_number_points_at_the_key(starter: Path, edit: Edit) -> None:
    path = starter / "criteria" / "growth.yaml"
    edit(path, "max_forbidden: 0", "max_forbiden: 0")
    line = next(i for i, text in enumerate(path.read_text().splitlines(), start=1) if "max_forbiden" in text)
    with pytest.raises(BadInput, match=f"line {line}: unknown key max_forbiden"):
        load_study(starter)


def test_an_empty_directory_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no study\.yaml"):
        load_study(tmp_path)


def test_the_criteria_hash_is_about_content_and_not_about_comments(starter: Path, edit: Edit) -> None:
    path = starter / "criteria" / "growth.yaml"
    before = criteria_hash(load_study(starter).criteria["growth"])
    edit(path, "max_forbidden: 0", "# note\nmax_forbidden:   0")
    assert criteria_hash(load_study(starter).criteria["growth"]) == before
    edit(path, "max_pair_share: 0.5", "max_pair_share: 0.4")
    assert criteria_hash(load_study(starter).criteria["growth"]) != before


def test_effects_come_from_annotations_and_absent_is_unknown(starter: Path) -> None:
    path = starter / "catalogues" / "base.json"
    document = json.loads(path.read_text())
    notes = [{"readOnlyHint": True}, {"readOnlyHint": False}, {"readOnlyHint": False, "destructiveHint": True}, {}]
    for tool, annotations in zip(document["tools"], notes, strict=True):
        tool["annotations"] = annotations
    path.write_text(json.dumps(document))
    effects = [tool.effect for tool in load_study(starter).catalogues["base"].tools]
    assert effects == ["read", "write", "destructive", "unknown"]


def test_catalogues_are_joined_by_client_and_time(starter: Path, edit: Edit) -> None:
    rules = "[{catalogue: rooms, until: 2026-02-01}, {catalogue: base, from: 2026-02-01T12:00:00, client: web}]"
    edit(starter / "study.yaml", "catalogue: base", f"catalogue: {rules}")
    first, second = load_study(starter).spec.catalogue_rules
    assert (first.catalogue, str(first.until), first.client) == ("rooms", "2026-02-01", None)
    assert (second.catalogue, str(second.since), second.client) == ("base", "2026-02-01 12:00:00", "web")


def test_retired_names_lead_to_tools_of_the_catalogues(starter: Path) -> None:
    path = starter / "catalogues" / "retired.yaml"
    path.write_text("mail.send: mail.reply\nread_mail: {tool: mail.reply, args: {quote: true}}\n")
    found = load_study(starter).retired
    assert {name: (rule.tool, rule.args) for name, rule in found.items()} == {
        "mail.send": ("mail.reply", {}),
        "read_mail": ("mail.reply", {"quote": True}),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mail.send: mail.replay", r"mail.send.tool: unknown name 'mail.replay' \(did you mean mail.reply"),
        ("mail.send: {tol: mail.reply}", r"unknown key tol"),
        ("- mail.send", r"retired.yaml: found no mapping"),
    ],
)
def test_a_mistake_in_retired_names_is_named(starter: Path, text: str, said: str) -> None:
    (starter / "catalogues" / "retired.yaml").write_text(text)
    with pytest.raises(BadInput, match=said):
        load_study(starter)


def test_a_person_may_say_what_a_call_can_reach_and_absent_is_unknown(starter: Path) -> None:
    path = starter / "catalogues" / "effects.yaml"
    study = load_study(starter)
    tools = {tool.name: tool for tool in study.catalogues["base"].tools}
    declared = {name: study.effect_of(tool) for name, tool in tools.items()}
    assert all((effect == "unknown") == (source == "undeclared") for effect, source in declared.values())
    name = sorted(tools)[0]
    path.write_text(f"{name}: destructive\n")
    assert load_study(starter).effect_of(tools[name]) == ("destructive", "effects.yaml")
    for text, said in (
        ("nothing: read\n", "unknown name 'nothing'"),
        (f"{name}: harmless\n", "unknown name 'harmless' .*destructive, none, read, write"),
        ("[read]\n", "found no mapping"),
    ):
        path.write_text(text)
        with pytest.raises(BadInput, match=said):
            load_study(starter)
