"""What changed between two versions is every difference, each once, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.catalogues.changes import Change, changes
from toolsel_assets.catalogues.versions import state_of
from toolsel_assets.vocabulary.tool import Catalogue, Tool
from toolsel_assets.vocabulary.tool_lists import read_tool_list

GITHUB = Path(__file__).parent / "github"

A, B, C = (Tool(name, f"does {name}", {"type": "object"}, "read") for name in "abc")


def kinds(found: list[Change]) -> list[tuple[str, str]]:
    return [(change.tool, change.change) for change in found]


def test_added_and_removed_carry_the_definition() -> None:
    added, removed = changes([A, B], [A, C], {})
    assert (added.tool, added.change, added.before) == ("c", "added", "")
    assert json.loads(added.after) == {"description": "does c", "inputSchema": {"type": "object"}, "effect": "read"}
    assert (removed.tool, removed.change, removed.after) == ("b", "removed", "")
    assert json.loads(removed.before)["description"] == "does b"


def test_each_respect_in_which_a_tool_changed_is_one_change() -> None:
    new = Tool("a", "does more", {"type": "object", "properties": {}}, "destructive")
    found = changes([A, B], [new, B], {})
    assert kinds(found) == [("a", "description_changed"), ("a", "schema_changed"), ("a", "effect_changed")]
    assert [(change.before, change.after) for change in found] == [
        ("does a", "does more"),
        ('{"type": "object"}', '{"properties": {}, "type": "object"}'),
        ("read", "destructive"),
    ]


def test_true_one_and_one_point_nought_are_three_schemas() -> None:
    schemas = [{"default": value} for value in (True, 1, 1.0)]
    for before in schemas:
        for after in schemas:
            found = kinds(changes([replace(A, input_schema=before)], [replace(A, input_schema=after)], {}))
            assert found == ([] if before is after else [("a", "schema_changed")])


def test_a_rename_is_what_retired_says_and_is_compared_with_what_it_was() -> None:
    new = replace(B, name="d", description="does d")
    assert kinds(changes([A, B], [A, new], {})) == [("d", "added"), ("b", "removed")]
    renamed, described = changes([A, B], [A, new], {"b": "d"})
    assert renamed == Change("b", "renamed", "b", "d")
    assert described == Change("d", "description_changed", "does b", "does d")


def test_a_tool_whose_callers_are_led_to_one_that_was_there_is_replaced() -> None:
    assert changes([A, B], [A], {"b": "a"}) == [Change("b", "replaced", "b", "a")]
    assert kinds(changes([A, B], [A], {"b": "gone"})) == [("b", "removed")]


def test_two_tools_may_become_one() -> None:
    assert kinds(changes([A, B], [C], {"a": "c", "b": "c"}))[:2] == [("a", "renamed"), ("b", "renamed")]


def test_the_order_is_that_of_the_tools_of_both() -> None:
    assert changes([A, B], [B, A], {}) == [Change("", "order_changed", "a, b", "b, a")]
    assert kinds(changes([A, B], [A, C, B], {})) == [("c", "added")]


def test_a_real_release_of_githubs_server_is_told_in_four_changes() -> None:
    old, new = (
        read_tool_list(json.loads((GITHUB / f"{version}.json").read_text(encoding="utf-8")), version).tools
        for version in ("v0.7.0", "v0.9.0")
    )
    before, after = "add_pull_request_review_comment_to_pending_review", "add_comment_to_pending_review"
    assert kinds(changes(old, new, {before: after})) == [
        ("add_sub_issue", "added"),
        (before, "renamed"),
        (after, "description_changed"),
    ]


TOOLS = st.lists(
    st.builds(
        Tool,
        st.sampled_from("abcde"),
        st.sampled_from(["", "x", "y"]),
        st.sampled_from([{}, {"a": 1}, {"a": True}]),
        st.sampled_from(["read", "write", "unknown"]),
    ),
    max_size=5,
    unique_by=lambda tool: tool.name,
)
RETIRED = st.dictionaries(st.sampled_from("abcde"), st.sampled_from("abcde"), max_size=3)


@given(TOOLS, TOOLS, RETIRED)
def test_a_new_version_has_a_change_and_the_same_has_none(before: list[Tool], after: list[Tool], retired: dict[str, str]) -> None:  # fmt: skip # noqa: E501
    same = state_of(Catalogue("c", tuple(before))) == state_of(Catalogue("c", tuple(after)))
    assert (changes(before, after, retired) == []) == same


@given(TOOLS, TOOLS, RETIRED)
def test_the_changes_lead_from_the_names_before_to_those_after(before: list[Tool], after: list[Tool], retired: dict[str, str]) -> None:  # fmt: skip # noqa: E501
    names, found = {tool.name for tool in before}, changes(before, after, retired)
    assert len(set(found)) == len(found)
    gone = [change.tool for change in found if change.change in ("removed", "renamed", "replaced")]
    new = {change.tool for change in found if change.change == "added"}
    new |= {change.after for change in found if change.change == "renamed"}
    assert set(gone) <= names and len(set(gone)) == len(gone) and not new & names
    assert (names - set(gone)) | new == {tool.name for tool in after}
