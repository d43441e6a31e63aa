"""A schema that providers would refuse is named, a valid one of any draft is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES
from toolsel_assets.catalogues.problems import LONGEST, problems, schema_mistake
from toolsel_assets.study import load_study
from toolsel_assets.vocabulary.tool import Catalogue, Tool
from toolsel_assets.vocabulary.tool_lists import read_tool_list

GITHUB = Path(__file__).parent / "github"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "dict"}, "type: 'dict' is not valid"),
        ({"type": "object", "properties": {"a": {"type": "float"}}}, "properties.a.type: 'float' is not valid"),
        ({"type": "object", "properties": []}, "properties: [] is not of type 'object'"),
        ({"type": "object", "required": "id"}, "required: 'id' is not of type 'array'"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "properties.a.pattern: '(' is not a 'regex'"),
        ({"$schema": 7, "type": "object"}, "$schema: no text"),
        ({"minimum": 1, "exclusiveMinimum": True}, "exclusiveMinimum: True is not of type 'number'"),
    ],
)
def test_an_invalid_schema_is_named_with_its_place(schema: dict[str, Any], said: str) -> None:
    assert (schema_mistake(schema) or "").startswith(said)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": ["string", "null"]}}},
        {"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True},
        {"$schema": "https://example.com/own", "type": "object"},
    ],
)
def test_a_valid_schema_of_any_draft_has_no_problem(schema: dict[str, Any]) -> None:
    assert schema_mistake(schema) is None


def test_a_long_message_is_cut() -> None:
    found = schema_mistake({"type": "object", "required": "x" * 5000})
    assert found is not None and len(found) < LONGEST + 50


@pytest.mark.parametrize(("name", "refused"), [("mail_reply-2", False), ("mail.reply", True), ("a" * 128, False), ("a" * 129, True)])  # fmt: skip # noqa: E501
def test_a_name_that_providers_refuse_is_information(name: str, refused: bool) -> None:
    found = problems(Catalogue("c", (Tool(name, "d", {"type": "object"}),)), ())
    assert [(one.problem, one.severity) for one in found] == [("name_refused_by_providers", "information")] * refused


@pytest.mark.parametrize("version", ["v0.7.0", "v0.9.0"])
def test_real_releases_of_githubs_server_have_none(version: str) -> None:
    found = read_tool_list(json.loads((GITHUB / f"{version}.json").read_text(encoding="utf-8")), version)
    assert problems(Catalogue("github", found.tools), found.problems) == []


def test_the_shipped_studies_have_none_that_counts() -> None:
    for name in ("airline", "starter"):
        study = load_study(EXAMPLES / name)
        for catalogue, said in study.catalogue_problems.items():
            found = problems(study.catalogues[catalogue], said)
            assert all(problem.severity == "information" for problem in found), (name, catalogue)
