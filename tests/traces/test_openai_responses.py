from typing import Any

import pytest

from tests.traces.formats.openai_bodies import ASK, USER, function_call, response, responses, said
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (response(said()), Status.STOPPED),
        (response({"type": "reasoning", "summary": []}, said()), Status.STOPPED),
        (response({"type": "web_search_call"}, said()), Status.STOPPED),
        (response(function_call()), Status.CALLED),
        (response(function_call(arguments="{")), Status.MALFORMED),
        (response({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}), Status.REFUSED),
        (response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), Status.TRUNCATED),
        (response(function_call(), status="incomplete"), Status.TRUNCATED),
        (response(said(), status="incomplete", incomplete_details={"reason": "content_filter"}), Status.REFUSED),
        (response(status="failed", error={"code": "server_error"}), Status.API_ERROR),
        (response(status="failed"), Status.API_ERROR),
        (response(status="cancelled"), Status.API_ERROR),
        (response(status="in_progress"), Status.UNKNOWN),
        (response(said(), status=None), Status.UNKNOWN),
        ({**response(), "output": 3}, Status.MALFORMED),
    ],
)
def test_an_answer_of_the_responses_api_ends_as_its_status_and_items_say(answer: Any, status: Status) -> None:
    found = responses(answer)
    assert found.status == status
    assert bool(found.action) == (status == Status.CALLED)


def test_a_namespace_is_part_of_a_tools_identity() -> None:
    tools = [{"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find"}]}]
    found = responses(response(function_call("find", namespace="crm"), tools=tools))
    assert found.action == (Call("crm.find", {}),)
    assert found.tools_seen == [{"type": "function", "name": "crm.find"}]


def test_what_the_provider_ran_is_no_call_of_the_loop() -> None:
    output = [
        {"type": "web_search_call"},
        {"type": "mcp_call", "server_label": "docs", "name": "read", "arguments": "{}"},
        {"type": "mcp_list_tools", "tools": []},
        {"type": "shell_call", "call_id": "1", "action": {}, "environment": {"type": "container_reference"}},
        {"type": "shell_call", "call_id": "2", "action": {}},
        {"type": "shell_call_output", "call_id": "2"},
        function_call("inner", caller={"type": "program", "caller_id": "p"}),
    ]
    found = responses(response(*output, said()))
    assert (found.status, found.action) == (Status.STOPPED, ())
    assert found.server_tools == ("web_search", "docs.read", "shell", "shell", "inner")


@pytest.mark.parametrize(
    ("item", "call"),
    [
        ({"type": "custom_tool_call", "name": "sql", "input": "select 1"}, Call("sql", {"input": "select 1"})),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, Call("local_shell", {"command": ["ls"]})),
        ({"type": "shell_call", "action": {"commands": ["ls"]}}, Call("shell", {"commands": ["ls"]})),
        ({"type": "apply_patch_call", "operation": {"path": "x"}}, Call("apply_patch", {"path": "x"})),
        ({"type": "computer_call", "actions": [{"type": "click"}]}, Call("computer", {"actions": [{"type": "click"}]})),
        (
            {"type": "mcp_approval_request", "server_label": "s", "name": "n", "arguments": '{"x": 1}'},
            Call("s.n", {"x": 1}),
        ),
        (function_call(caller={"type": "direct"}), Call("a", {})),
    ],
)
def test_tools_that_the_loop_runs_are_calls_whatever_their_kind(item: Any, call: Call) -> None:
    assert responses(response(item)).action == (call,)


@pytest.mark.parametrize(
    "more",
    [
        {"previous_response_id": "resp_0"},
        {"conversation": "conv_1"},
        {"conversation": {"id": "conv_1"}},
        {"input": [{"type": "item_reference", "id": "x"}]},
        {"input": [USER, {"type": "compaction", "encrypted_content": "x"}]},
        {"prompt": {"id": "pmpt_1"}},
    ],
)
def test_what_the_provider_kept_makes_the_context_partial(more: Any) -> None:
    assert responses(response(said()), {**ASK, **more}).context_problem == "kept_by_provider"


def test_a_conversation_of_the_provider_names_the_conversation() -> None:
    assert responses(response(said()), {**ASK, "conversation": {"id": "conv_1"}}).conversation_id == "conv_1"


def test_items_become_chat_messages_with_parallel_calls_in_one() -> None:
    items = [
        USER,
        {"type": "reasoning", "encrypted_content": "x"},
        said("let me see"),
        function_call("a", call_id="1"),
        function_call("b", call_id="2", arguments='{"y": 2}', namespace="n"),
        {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "one"}]},
        {"type": "function_call_output", "call_id": "2", "output": "two"},
        {"type": "web_search_call", "id": "w"},
        {"role": "user", "content": [{"type": "input_image", "image_url": "u"}, {"type": "input_text", "text": "t"}]},
    ]
    found = responses(response(said()), {**ASK, "input": items})
    calls = [
        {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
        {"id": "2", "type": "function", "function": {"name": "n.b", "arguments": '{"y": 2}'}},
    ]
    assert found.messages == [
        {"role": "system", "content": "be brief"},
        USER,
        {"role": "assistant", "content": "let me see", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {"role": "assistant", "content": "[web_search_call]"},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "t"}],
        },
    ]


def test_tools_that_a_search_brought_in_join_the_catalogue_and_deferred_ones_do_not() -> None:
    tools = [{"type": "function", "name": "a"}, {"type": "function", "name": "b", "defer_loading": True}]
    items = [USER, {"type": "tool_search_output", "tools": [{"type": "function", "name": "c"}]}]
    found = responses(response(said()), {**ASK, "input": items, "tools": tools})
    assert [tool["name"] for tool in found.tools_seen or ()] == ["a", "c"]
