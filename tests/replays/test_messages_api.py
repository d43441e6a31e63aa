import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.replays.agents import CannotAsk, Question, Request
from toolsel_assets.replays.messages_api import (
    NOTHING_SAID,
    OPENING,
    choice,
    conversation,
    system_text,
    tool_definitions,
    usage,
)
from toolsel_assets.replays.wire_names import ACCEPTED, wire_name, wire_names
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool

Json = dict[str, Any]


def said(role: str, text: str | None) -> Json:
    return {"role": role, "content": text}


def called(*calls: tuple[str, str, str], text: str | None = None) -> Json:
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(call_id: str, text: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def roles(turns: list[Json]) -> list[str]:
    return [turn["role"] for turn in turns]


def test_calls_at_once_get_their_results_in_one_message() -> None:
    found = conversation(
        [
            said("system", "policy"),
            said("user", "book"),
            called(("a", "find.user", '{"id": 1}'), ("b", "find_flight", "{}"), text="looking"),
            result("b", "a flight"),
            result("a", "a user"),
            said("user", "and?"),
        ]
    )
    assert roles(found) == ["user", "assistant", "user"]
    uses = [block for block in found[1]["content"] if block["type"] == "tool_use"]
    assert [(use["name"], use["input"]) for use in uses] == [("find_user", {"id": 1}), ("find_flight", {})]
    results = {block["tool_use_id"]: block["content"] for block in found[2]["content"][:2]}
    assert results == {uses[0]["id"]: "a user", uses[1]["id"]: "a flight"}
    assert found[2]["content"][2] == {"type": "text", "text": "and?"}


def test_identifiers_that_the_log_repeats_or_lacks_are_numbered_anew() -> None:
    steps = [called(("", "t", "{}")), result("", "1"), called(("", "t", "{}")), result("", "2")]
    found = conversation([said("user", "x"), *steps])
    ids = [block["id"] for turn in found for block in turn["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == 2
    assert [b["tool_use_id"] for turn in found for b in turn["content"] if b["type"] == "tool_result"] == ids


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "no message"),
        ([said("system", "only")], "no message"),
        ([said("user", "x"), said("assistant", "done")], "ends with the assistant's own message"),
        ([said("user", "x"), called(("a", "t", "{}"))], "without a result"),
        ([said("user", "x"), called(("a", "t", "{}")), said("user", "y")], "without a result"),
        ([said("user", "x"), result("a", "y")], "a result of a without its call"),
        ([said("user", "x"), called(("a", "t", "{")), result("a", "y")], "not JSON"),
        ([said("user", "x"), called(("a", "t", "[1]")), result("a", "y")], "no JSON object"),
        ([said("user", "x"), called(("a", "", "{}")), result("a", "y")], "without a tool's name"),
        ([said("narrator", "x")], "role 'narrator'"),
    ],
)
def test_a_state_that_is_no_conversation_is_not_asked_and_says_why(messages: list[Json], why: str) -> None:
    with pytest.raises(CannotAsk, match=why):
        conversation(messages)


def test_an_opening_by_the_assistant_and_a_message_that_says_nothing_are_shown_as_such() -> None:
    found = conversation([said("assistant", "Hello!"), said("user", " ")])
    assert roles(found) == ["user", "assistant", "user"]
    assert found[0]["content"][0]["text"] == OPENING and found[2]["content"][0]["text"] == NOTHING_SAID


def test_a_prompt_takes_the_place_of_the_states_own() -> None:
    messages = [said("system", "a"), said("developer", "b"), said("user", "x")]
    assert system_text(messages, None) == "a\n\nb"
    assert system_text(messages, "brief") == "brief" and system_text(messages, "") == ""


MESSAGES = st.lists(
    st.one_of(
        st.builds(said, st.sampled_from(["user", "assistant", "system"]), st.one_of(st.none(), st.text(max_size=5))),
        st.builds(lambda i, n: called((i, n, "{}")), st.text("ab", max_size=1), st.sampled_from(["t", "x.y"])),
        st.builds(result, st.text("ab", max_size=1), st.text(max_size=5)),
    ),
    max_size=8,
)


@given(MESSAGES)
def test_whatever_is_asked_alternates_begins_with_the_user_and_answers_every_call(messages: list[Json]) -> None:
    try:
        found = conversation(messages)
    except CannotAsk:
        return
    assert roles(found) == [("user", "assistant")[i % 2] for i in range(len(found))] and len(found) % 2 == 1
    for before, after in zip(found[1::2], found[2::2], strict=True):
        uses = {block["id"] for block in before["content"] if block["type"] == "tool_use"}
        assert uses == {block["tool_use_id"] for block in after["content"] if block["type"] == "tool_result"}
    for turn in found:
        assert turn["content"] and all(block.get("text", "x").strip() for block in turn["content"])


# --- answers ------------------------------------------------------------------------------------------------------

TOOLS = (Tool("calendar.create", "c"), Tool("b", "b"))


WORDS = ["type", "content", "stop_reason", "name", "input", "tool_use", "text", "end_turn"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
)


@given(JSON)
def test_no_answer_of_whatever_shape_is_raised_over_or_taken_for_no_tool(body: Any) -> None:
    found = choice(json.dumps(body), Question(Request("r", "existing", ()), TOOLS), {})
    finished = isinstance(body, dict) and body.get("stop_reason") in ("end_turn", "stop_sequence")
    assert found.status not in (Status.STOPPED, Status.CALLED) or finished


def test_tokens_include_the_cache_and_an_odd_count_is_none() -> None:
    raw = {"input_tokens": 10, "cache_read_input_tokens": 3, "cache_creation_input_tokens": None, "output_tokens": "7"}
    tokens, model = usage(json.dumps({"usage": raw, "model": "m"}))
    assert (tokens.input_tokens, tokens.cache_read_tokens, tokens.output_tokens, model) == (13, 3, None, "m")
    assert usage("not json")[0].input_tokens is None


def test_tools_keep_their_order_and_have_an_object_for_a_schema() -> None:
    found = tool_definitions(TOOLS)
    assert [tool["name"] for tool in found] == ["calendar_create", "b"]
    assert all(tool["input_schema"]["type"] == "object" for tool in found)


@given(st.text(min_size=1, max_size=300))
def test_every_name_travels_as_one_that_providers_accept_and_depends_on_itself_alone(name: str) -> None:
    assert ACCEPTED.fullmatch(wire_name(name)) and wire_name(wire_name(name)) == wire_name(name)


@given(st.lists(st.text("ab._", min_size=1, max_size=3), unique=True, max_size=6))
def test_names_come_back_or_are_refused_together(names: list[str]) -> None:
    wires = [wire_name(name) for name in names]
    if len(set(wires)) < len(wires):
        with pytest.raises(BadInput, match="would both be shown"):
            wire_names(names, "here")
    else:
        assert {wire_names(names, "here")[wire_name(name)] for name in names} == set(names)


def test_long_names_that_begin_alike_stay_apart() -> None:
    assert len({wire_name("x" * 130 + end) for end in "abc"}) == 3


def test_two_lists_of_the_same_names_keep_their_own_descriptions() -> None:
    from toolsel_assets.replays.agents.anthropic import Anthropic, Params, Settings

    agent = Anthropic(Params(), Settings(), "claude-opus-4-6")
    asked = ({"role": "user", "content": "x"},)
    bodies = [
        agent.body(Question(Request("r", "existing", asked), (Tool("t", description),))) for description in ("a", "b")
    ]
    assert [body["tools"][0]["description"] for body in bodies] == ["a", "b"]
