import json
from typing import Any

import pytest

from toolsel_assets.traces.shapes import loose

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}
ARGS = {"q": "x"}
PYDANTIC = {"part_kind": "tool-call", "tool_name": "find", "args": ARGS, "tool_call_id": "c1"}
VERCEL = {"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": ARGS}
MADE = {"name": "find", "args": ARGS, "id": "c1"}
ASKED = {"role": "user", "content": "hello"}
CHAT = [
    ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
]


def plain(messages: Any) -> list[tuple[Any, ...]]:
    """Reduce messages to role, text, calls as (id, name, arguments), and the id of the call that is answered."""
    return [
        (
            each["role"],
            each.get("content") or "",
            [
                (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
                for c in each.get("tool_calls", ())
            ],
            each.get("tool_call_id"),
        )
        for each in messages
    ]


#: One conversation as each provider and framework has it.
SHAPES: dict[str, list[Any]] = {
    "openai": CHAT,
    "anthropic": [
        ASKED,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"q": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}]},
    ],
    "responses": [
        ASKED,
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": '{"q": "x"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
    ],
    "genai": [
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"q": "x"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "found"}]},
    ],
    "langchain": [
        {"type": "human", "content": "hello", "additional_kwargs": {}},
        {
            "type": "ai",
            "content": "",
            "additional_kwargs": {"tool_calls": [CALL]},
            "tool_calls": [{"name": "find", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}],
        },
        {"type": "tool", "content": "found", "tool_call_id": "c1"},
    ],
    "langchain_dumps": [
        {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "hello"}},
        {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "", "tool_calls": [MADE]}},
        {"lc": 1, "id": ["x", "ToolMessage"], "kwargs": {"content": "found", "tool_call_id": "c1"}},
    ],
    "pydantic_ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello"}]},
        {"kind": "response", "parts": [PYDANTIC]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "content": "found", "tool_call_id": "c1"}]},
    ],
    "vercel": [
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "assistant", "content": [VERCEL]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "found"}}],
        },
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "hello"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "find", "input": {"q": "x"}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "found"}]}}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("as_text", [False, True])
def test_one_conversation_reads_the_same_in_every_shape(shape: str, as_text: bool) -> None:
    value = json.dumps(SHAPES[shape]) if as_text else SHAPES[shape]
    assert plain(loose.request(value).messages) == plain(CHAT)


def test_googles_calls_have_no_ids_and_are_tied_to_their_results_by_name() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "hello"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"q": "x"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": "found"}}]},
    ]
    found = loose.request(
        {"contents": contents, "config": {"system_instruction": "be kind", "tools": [{"name": "find"}]}}
    )
    assert plain(found.messages) == [
        ("system", "be kind", [], None),
        ("user", "hello", [], None),
        ("assistant", "", [("find", "find", {"q": "x"})], None),
        ("tool", "found", [], "find"),
    ]
    assert found.tools == [{"name": "find"}]


@pytest.mark.parametrize(
    ("value", "roles"),
    [
        ({"messages": CHAT, "tools": []}, ["user", "assistant", "tool"]),
        ({"system": [{"type": "text", "text": "be kind"}], "messages": [ASKED]}, ["system", "user"]),
        ({"instructions": "be kind", "input": "hello"}, ["system", "user"]),
        ({"prompt": "hello", "system": "be kind"}, ["system", "user"]),
        ({"args": [], "kwargs": {"messages": [ASKED]}}, ["user"]),
        (ASKED, ["user"]),
        ([[ASKED]], ["user"]),
        ("hello", ["user"]),
        ("[not JSON] but text", ["user"]),
    ],
)
def test_what_stands_around_messages_is_taken_off(value: Any, roles: list[str]) -> None:
    assert [message["role"] for message in loose.request(value).messages or ()] == roles


@pytest.mark.parametrize(
    "value", [None, "", [], {}, 7, {"content": "role"}, {"x": 1}, [ASKED, 7], [ASKED, {"content": "x"}]]
)
def test_a_request_of_no_known_shape_has_no_messages(value: Any) -> None:
    assert loose.request(value).messages is None


@pytest.mark.parametrize("text", ['[{"role": "user", "content": "hel', '{"messages": [', '{"a": NaN}', "[[1, 2"])
def test_json_text_that_was_cut_is_told_from_other_text(text: str) -> None:
    with pytest.raises(loose.Cut):
        loose.request(text)
    with pytest.raises(loose.Cut):
        loose.answer(text)


def test_definitions_among_the_messages_are_the_catalogue() -> None:
    tool = {"type": "function", "function": {"name": "find"}}
    found = loose.request([ASKED, {"role": "tool", "content": tool}])
    assert (found.messages, found.tools) == ([ASKED], [tool])


CALLS = (("find", '{"q": "x"}'),)


@pytest.mark.parametrize(
    "value",
    [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
        [CALL],
        {"choices": [{"message": {"role": "assistant", "tool_calls": [CALL]}, "finish_reason": "tool_calls"}]},
        {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": '{"q": "x"}'}},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "tool_use", "name": "find", "input": {"q": "x"}}],
        },
        [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "find", "input": {"q": "x"}}],
        {"object": "response", "output": [{"type": "function_call", "name": "find", "arguments": '{"q": "x"}'}]},
        {"content": {"role": "model", "parts": [{"function_call": {"name": "find", "args": {"q": "x"}}}]}},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "find", "args": {"q": "x"}}}]}}]},
        [{"role": "assistant", "parts": [{"type": "tool_call", "name": "find", "arguments": {"q": "x"}}]}],
        [{"toolCallId": "c", "toolName": "find", "input": '{"q": "x"}'}],
        {
            "text": "",
            "toolCalls": [{"toolCallId": "c", "toolName": "find", "args": {"q": "x"}}],
            "finishReason": "tool-calls",
        },
        {"generations": [[{"text": "", "message": SHAPES["langchain_dumps"][1]}]]},
        {"output": {"message": SHAPES["bedrock"][1]}, "stopReason": "tool_use"},
        [*CHAT, {"role": "assistant", "tool_calls": [CALL]}],
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_call_is_found_in_every_shape_of_answer(value: Any, as_text: bool) -> None:
    said = loose.answer(json.dumps(value) if as_text else value)
    assert said is not None
    assert (said.calls, said.oddity) == (CALLS, None)


def test_items_of_one_answer_are_one_set_of_parallel_calls_with_its_text() -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "wait"}]}
    call = {"type": "function_call", "name": "find", "arguments": "{}"}
    hosted = {"type": "web_search_call", "id": "w"}
    said = loose.answer({"object": "response", "status": "completed", "output": [message, hosted, call, call]})
    assert said is not None
    assert (said.text.split("\n")[0], len(said.calls), said.server_tools) == ("wait", 2, ("web_search",))


def test_of_several_choices_the_first_is_the_answer() -> None:
    said = loose.answer([{"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}])
    assert said is not None
    assert said.text == "one"


@pytest.mark.parametrize(
    "value",
    [
        {"city": "Berlin"},
        7,
        ASKED,
        [ASKED],
        {"role": "assistant", "content": [{"type": "new_kind_of_call", "name": "find"}]},
        {"role": "assistant", "content": 7},
        [{"type": ["x"]}],
    ],
)
def test_an_answer_that_cannot_be_read_says_so_since_it_may_be_a_call(value: Any) -> None:
    said = loose.answer(value)
    assert said is not None
    assert said.oddity and not said.calls


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "length"}]}, "length"),
        ({"role": "assistant", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}, "end_turn"),
        ({"object": "response", "status": "completed", "output": [{"type": "reasoning"}]}, "completed"),
        ({"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_tokens"}}, "max_tokens"),
        ({"type": "ai", "content": "x", "response_metadata": {"finish_reason": "stop"}}, "stop"),
        ({"content": {"parts": [{"text": "x"}]}, "finish_reason": "STOP"}, "STOP"),
        ([{"role": "assistant", "parts": [], "finish_reason": "stop"}], "stop"),
        ({"text": "x", "finishReason": "stop"}, "stop"),
        ("x", None),
    ],
)  # fmt: skip
def test_the_stop_reason_is_found_wherever_it_stands(value: Any, reason: str | None) -> None:
    said = loose.answer(value)
    assert said is not None
    assert said.stop_reason == reason


@pytest.mark.parametrize("value", [None, "", [], {}, "null", "[]"])
def test_no_answer_is_none(value: Any) -> None:
    assert loose.answer(value) is None


def test_a_refusal_is_seen() -> None:
    said = loose.answer({"role": "assistant", "content": None, "refusal": "no"})
    assert said is not None
    assert said.refused
