"""A list of tools is the same tools in every form, and what is odd about it is said."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool
from toolsel_assets.vocabulary.tool_lists import ANNOTATIONS, SEVERITY, Duplicates, read_tool_list, tool_list

GITHUB = Path(__file__).parent / "github"
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}
FIELDS = {"name": "get_order", "description": "Look an order up."}
TOOL = Tool("get_order", "Look an order up.", SCHEMA)

MCP = {**FIELDS, "inputSchema": SCHEMA}
ANTHROPIC = {**FIELDS, "input_schema": SCHEMA}
CHAT = {"type": "function", "function": {**FIELDS, "parameters": SCHEMA}}
RESPONSES = {"type": "function", **FIELDS, "parameters": SCHEMA, "strict": True}


@pytest.mark.parametrize("entry", [MCP, ANTHROPIC, {**ANTHROPIC, "type": "custom"}, CHAT, RESPONSES])
def test_every_form_is_the_same_tool(entry: dict[str, Any]) -> None:
    for document in ([entry], {"tools": [entry]}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": [entry]}}):
        found = read_tool_list(document, "x.json")
        assert found.tools == (TOOL,) and found.problems == ()


def test_forms_may_stand_beside_each_other_in_the_order_of_the_list() -> None:
    entries = [{**CHAT, "function": {**CHAT["function"], "name": "b"}}, MCP, {**ANTHROPIC, "name": "a"}]  # type: ignore[dict-item]
    assert [tool.name for tool in read_tool_list(entries, "x").tools] == ["b", "get_order", "a"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"tool": []}, "x: there is no list of tools"),
        ("tools", "x: there is no list of tools"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}, "x: there is no list of tools"),
        ([7], "x, tools.0: a tool without a name"),
        ([MCP, {"name": ""}], "x, tools.1: a tool without a name"),
        ([{"type": "function", "function": {"description": "d"}}], "x, tools.0: a tool without a name"),
        ([{"name": "a b"}], "x, tools.0: tool name 'a b'"),
        ([{"name": "a\ud800"}], "x, tools.0: tool name"),
        ([{"name": "a", "inputSchema": [1]}], "x, tools.0.inputSchema: found list"),
        ([{"name": "a", "parameters": "p"}], "x, tools.0.parameters: found str"),
        ([{"name": "a", "annotations": ["readOnlyHint"]}], "x, tools.0.annotations: found list"),
        ([{"type": "namespace", "name": "crm", "tools": [MCP]}], "x, tools.0: a list of tools inside the list"),
        ([MCP, RESPONSES], r"x, tools: get_order more than once \(each name once, or `duplicate_tools:"),
    ],
)
def test_what_is_no_list_of_tools_is_refused_with_its_place(document: Any, said: str) -> None:
    with pytest.raises(BadInput, match=f"^{said}"):
        read_tool_list(document, "x")


@pytest.mark.parametrize(
    ("entry", "tool", "problem"),
    [
        ({**MCP, "description": " "}, "get_order", "no_description"),
        ({**MCP, "description": None}, "get_order", "no_description"),
        ({**FIELDS}, "get_order", "no_schema"),
        ({**FIELDS, "inputSchema": {"properties": {}}}, "get_order", "schema_without_type"),
        ({**FIELDS, "inputSchema": {"type": "string"}}, "get_order", "schema_is_no_object"),
        ({**FIELDS, "inputSchema": {"type": ["object", "null"]}}, "get_order", "schema_is_no_object"),
        ({**MCP, "annotations": {"readOnlyHint": "false"}}, "get_order", "annotation_is_no_boolean"),
        ({"type": "web_search_20250305", "name": "web_search"}, "web_search", "run_by_provider"),
        ({"type": "file_search"}, "file_search", "run_by_provider"),
    ],
)
def test_what_is_odd_is_said_and_the_others_are_read(entry: dict[str, Any], tool: str, problem: str) -> None:
    found = read_tool_list([{**MCP, "name": "other"}, entry], "x")
    assert [(said.tool, said.problem) for said in found.problems] == [(tool, problem)]
    assert problem in SEVERITY
    left_out = {tool} if problem == "run_by_provider" else set()
    assert {one.name for one in found.tools} == {"other", tool} - left_out


def test_a_text_for_a_boolean_declares_no_effect() -> None:
    (tool,) = read_tool_list([{**MCP, "annotations": {"readOnlyHint": "false"}}], "x").tools
    assert tool.effect == "unknown"


def test_one_page_of_several_is_an_error_that_is_said() -> None:
    (said,) = read_tool_list({"tools": [MCP], "nextCursor": "2"}, "x").problems
    assert (said.problem, said.severity) == ("list_is_incomplete", "error")


@pytest.mark.parametrize("rule", ["first", "last"])
def test_real_duplicates_are_resolved_by_the_rule_and_said(rule: Duplicates) -> None:
    document = json.loads((GITHUB / "v1.6.0.json").read_text(encoding="utf-8"))
    given_issues = [entry for entry in document["tools"] if entry["name"] == "list_issues"]
    assert len(given_issues) == 2 and given_issues[0] != given_issues[1]
    found = read_tool_list(document, "github", rule)
    assert [said.tool for said in found.problems] == ["list_issues", "list_releases"]
    assert all(f"2 different definitions; the {rule} is kept" == said.detail for said in found.problems)
    chosen = given_issues[0 if rule == "first" else 1]
    assert next(tool for tool in found.tools if tool.name == "list_issues").input_schema == chosen["inputSchema"]
    with pytest.raises(BadInput, match="list_issues, list_releases more than once"):
        read_tool_list(document, "github")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TOOLS = st.builds(
    Tool,
    st.text("abcde_.-", min_size=1, max_size=3),
    st.text(max_size=5),
    st.dictionaries(st.text(max_size=4), JSON, max_size=3),
    st.sampled_from([*ANNOTATIONS, "unknown"]),
)


@given(st.lists(TOOLS, max_size=8, unique_by=lambda tool: tool.name))
def test_what_is_written_is_read_back(tools: list[Tool]) -> None:
    written = json.loads(json.dumps(tool_list(tools)))
    assert list(read_tool_list(written, "x").tools) == tools


@given(st.lists(TOOLS, max_size=10), st.sampled_from([rule for rule in get_args(Duplicates) if rule != "error"]))
def test_of_each_name_one_given_definition_stays_at_its_place(tools: list[Tool], rule: Duplicates) -> None:
    found = read_tool_list(tool_list(tools), "x", rule)
    names = [tool.name for tool in tools]
    if rule == "first":
        places = [names.index(tool.name) for tool in found.tools]
    else:
        places = [len(names) - 1 - names[::-1].index(tool.name) for tool in found.tools]
    assert [tools[place] for place in places] == list(found.tools)
    assert places == sorted(places) and {tool.name for tool in found.tools} == set(names)
    assert len(found.tools) == len(set(names))
    said = {one.tool for one in found.problems if one.problem == "duplicate_name"}
    assert said == {name for name in names if names.count(name) > 1}


@given(JSON)
def test_any_json_is_read_or_refused(document: Any) -> None:
    for one in (document, {"tools": document}, [document], {"result": document, "jsonrpc": "2.0"}):
        try:
            read_tool_list(one, "x", "first")
        except BadInput as problem:
            assert str(problem).startswith("x")
