import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsel_assets.traces.conventions import (
    Event,
    Span,
    genai_events,
    genai_indexed,
    model_span,
    openinference,
    vercel,
)
from toolsel_assets.traces.conventions.aliases import ALIASES, renamed
from toolsel_assets.traces.conventions.indexed import flat
from toolsel_assets.traces.formats import openinference as openinference_format
from toolsel_assets.traces.formats import vercel_ai_sdk
from toolsel_assets.traces.records import Record, records
from toolsel_assets.traces.shapes import otlp_envelope

DATA = Path(__file__).parents[1] / "data"
CONVENTIONS = (openinference, vercel, genai_events, genai_indexed)
INPUT, OUTPUT, FINISH, PROBLEM = model_span.INPUT, model_span.OUTPUT, model_span.FINISH, model_span.PROBLEM


def span(attributes: Mapping[str, Any], *events: Event, **more: Any) -> Span:
    return Span("s", attributes, events=events, **more)


def calls(found: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    (said,) = found[OUTPUT]
    return [(part["name"], part.get("arguments")) for part in said["parts"] if part["type"] == "tool_call"]


# --- aliases ------------------------------------------------------------------------------------------------------


def test_every_alias_leads_to_a_current_name_and_none_is_an_alias_itself() -> None:
    old = [alias.old for alias in ALIASES]
    assert len(set(old)) == len(old)
    assert not {alias.new for alias in ALIASES} & set(old)


def test_a_current_name_wins_over_an_old_one() -> None:
    found = renamed(
        {"gen_ai.usage.prompt_tokens": 1, "gen_ai.usage.input_tokens": 2, "http.route": "/", "user.id": "u"}
    )
    assert found == {"gen_ai.usage.input_tokens": 2, "user.id": "u"}


def test_one_finish_reason_becomes_a_list() -> None:
    assert renamed({"llm.finish_reason": "stop"}) == {FINISH: ["stop"]}


# --- genai_indexed ------------------------------------------------------------------------------------------------

INDEXED = {
    "llm.request.type": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "be good",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "hello",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c0",
    "gen_ai.prompt.2.tool_calls.0.name": "a",
    "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.content": '[{"type": "x"}]',
    "gen_ai.prompt.3.tool_call_id": "c0",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "a",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"x": 1}',
    "gen_ai.completion.0.tool_calls.1.name": "b",
    "gen_ai.completion.0.tool_calls.1.arguments": '{"x": ',
    "llm.request.functions.0.name": "a",
    "llm.request.functions.0.parameters": '{"type": "object"}',
    "gen_ai.usage.prompt_tokens": "12",
    "traceloop.association.properties.session_id": "s1",
}


def test_numbered_messages_and_calls_are_read() -> None:
    found = genai_indexed.translate(span(INDEXED))
    assert calls(found) == [("a", {"x": 1}), ("b", '{"x": ')]  # arguments that are no JSON stay for the reader to judge
    assert [one["role"] for one in found[INPUT]] == ["system", "user", "assistant", "tool"]
    assert found[INPUT][3]["parts"] == [{"type": "tool_call_response", "id": "c0", "response": '[{"type": "x"}]'}]
    assert found["gen_ai.tool.definitions"] == [{"type": "function", "name": "a", "parameters": {"type": "object"}}]
    assert (found[FINISH], found["gen_ai.usage.input_tokens"]) == (["tool_calls"], 12)
    assert found["gen_ai.conversation.id"] == "s1"
    assert PROBLEM not in found


@pytest.mark.parametrize("lost", ["gen_ai.prompt.1.role", "gen_ai.prompt.2.tool_calls.0.name"])
def test_a_dropped_part_of_a_prompt_is_marked(lost: str) -> None:
    kept = {key: value for key, value in INDEXED.items() if key != lost}
    assert genai_indexed.translate(span(kept))[PROBLEM] == "attributes_dropped"


def test_a_hole_among_messages_is_marked_and_one_in_the_answer_is_no_stop() -> None:
    kept = {key: value for key, value in INDEXED.items() if not key.startswith("gen_ai.prompt.0")}
    assert genai_indexed.translate(span(kept))[PROBLEM] == "attributes_dropped"
    kept = {key: value for key, value in INDEXED.items() if not key.startswith("gen_ai.completion.0.tool_calls.0")}
    assert genai_indexed.translate(span(kept))[OUTPUT] == model_span.CUT


def test_blocks_as_json_text_become_parts_and_cut_ones_are_marked() -> None:
    blocks = [{"type": "text", "text": "t"}, {"type": "tool_use", "id": "i", "name": "a", "input": {}}]
    asked = {"gen_ai.prompt.0.role": "assistant", "gen_ai.prompt.0.content": json.dumps(blocks)}
    found = genai_indexed.translate(span(asked))
    assert [part["type"] for part in found[INPUT][0]["parts"]] == ["text", "tool_call"]
    asked["gen_ai.prompt.0.content"] = json.dumps(blocks)[:-9]
    assert genai_indexed.translate(span(asked))[PROBLEM] == "value_truncated"


def test_a_prompt_in_one_attribute_or_event_is_read() -> None:
    text = json.dumps([{"role": "user", "content": "hello"}])
    prompt = Event("gen_ai.content.prompt", {"gen_ai.prompt": text})
    said = Event("gen_ai.content.completion", {"gen_ai.completion": "just text"})
    for one in (span({"gen_ai.prompt": text, "gen_ai.completion": "just text"}), span({}, prompt, said)):
        assert genai_indexed.speaks(one)
        found = genai_indexed.translate(one)
        assert found[INPUT] == [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
        assert found[OUTPUT][0]["parts"] == [{"type": "text", "content": "just text"}]
    assert genai_indexed.translate(span({"gen_ai.prompt": text[:-4]}))[PROBLEM] == "value_truncated"


def test_a_refusal_is_the_finish_reason() -> None:
    found = genai_indexed.translate(
        span({"gen_ai.completion.0.refusal": "no", "gen_ai.completion.0.role": "assistant"})
    )
    assert found[FINISH] == ["refusal"]


def test_a_workflow_is_no_call_of_the_model() -> None:
    around = {"traceloop.span.kind": "workflow", "traceloop.association.properties.thread_id": "t"}
    found = genai_indexed.translate(span(around))
    assert (found["gen_ai.operation.name"], found["gen_ai.conversation.id"]) == ("invoke_workflow", "t")
    assert INPUT not in found and PROBLEM not in found


def test_content_that_was_not_captured_is_marked() -> None:
    assert genai_indexed.translate(span({"llm.request.type": "chat"}))[PROBLEM] == "content_not_captured"


# --- genai_events -------------------------------------------------------------------------------------------------


def choice(index: int, name: str, provider: str = "openai") -> Event:
    call = {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
    body = {"index": index, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    return Event("gen_ai.choice", {"body": body, "gen_ai.system": provider})


@pytest.mark.parametrize(
    "attributes",
    [
        {"body": {"content": "hello"}},
        {"event_body": json.dumps({"content": "hello"})},
        {"content": "hello", "gen_ai.system": "x"},
        {"event.name": "gen_ai.user.message", "content": "hello"},
    ],
)
def test_a_body_is_found_wherever_it_stands(attributes: dict[str, Any]) -> None:
    name = "event" if "event.name" in attributes else "gen_ai.user.message"
    one = span({}, Event(name, attributes), choice(0, "a"))
    assert genai_events.speaks(one)
    found = genai_events.translate(one)
    assert found[INPUT] == [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    assert (calls(found), found[FINISH]) == ([("a", {})], ["tool_calls"])


def test_several_choices_are_no_parallel_calls_but_blocks_of_anthropics_one_answer_are() -> None:
    both = choice(0, "a"), choice(1, "b")
    assert calls(genai_events.translate(span({"gen_ai.system": "openai"}, *both))) == [("a", {})]
    assert calls(genai_events.translate(span({"gen_ai.provider.name": "anthropic"}, *both))) == [("a", {}), ("b", {})]


def test_calls_beside_the_message_and_a_catalogue_as_a_users_message_are_openllmetrys() -> None:
    call = {"id": "i", "function": {"name": "a", "arguments": {"x": 1}}, "type": "function"}
    said = {"index": 0, "message": {"content": None}, "finish_reason": "tool_call", "tool_calls": [call]}
    asked = Event("gen_ai.user.message", {"body": {"content": "hello"}})
    tools = Event("gen_ai.user.message", {"body": {"content": {"tools": [{"name": "a"}]}}})
    found = genai_events.translate(span({}, asked, tools, Event("gen_ai.choice", {"body": said})))
    assert (calls(found), len(found[INPUT])) == ([("a", {"x": 1})], 1)
    assert found["gen_ai.tool.definitions"] == [{"name": "a"}]


def test_spread_out_bodies_are_put_together() -> None:
    attributes = {
        "index": 0,
        "finish_reason": "tool_calls",
        "message.role": "assistant",
        "message.tool_calls.0.id": "i",
        "message.tool_calls.0.function.name": "a",
        "message.tool_calls.0.function.arguments": "{}",
    }
    assert calls(genai_events.translate(span({}, Event("gen_ai.choice", attributes)))) == [("a", {})]


def test_the_details_of_a_call_are_read_and_cut_ones_marked() -> None:
    text = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hello"}]}])
    details = {INPUT: text, OUTPUT: text[:-5], "gen_ai.system": "x"}
    found = genai_events.translate(span({"gen_ai.operation.name": "chat"}, Event(genai_events.DETAILS, details)))
    assert (found[INPUT], found[OUTPUT]) == (json.loads(text), text[:-5])
    found = genai_events.translate(span({}, Event(genai_events.DETAILS, {INPUT: text[:-5]})))
    assert (found[PROBLEM], INPUT in found) == ("value_truncated", False)


def test_events_on_an_agents_span_are_not_an_answer() -> None:
    found = genai_events.translate(span({"gen_ai.operation.name": "invoke_agent"}, choice(0, "a")))
    assert found["gen_ai.operation.name"] == "invoke_agent" and OUTPUT not in found


# --- openinference ------------------------------------------------------------------------------------------------

CALL = {"tool_call": {"id": "c1", "function": {"name": "a", "arguments": '{"x": 1}'}}}
NESTED = {
    "openinference": {"span": {"kind": "LLM"}},
    "llm": {
        "model_name": "m",
        "input_messages": [{"message": {"role": "user", "content": "hello"}}],
        "output_messages": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [CALL],
                    "contents": [
                        {"message_content": {"type": "text", "text": "look"}},
                        {"message_content": {"type": "tool_use"}, **CALL},
                    ],
                }
            }
        ],
        "tools": [{"tool": {"json_schema": '{"name": "a", "input_schema": {}}'}}],
        "token_count": {"prompt": 10, "prompt_details": {"cache_read": 30, "cache_write": 5}},
    },
}
FLAT = flat(NESTED)


def test_a_decision_that_stands_twice_is_counted_once() -> None:
    found = openinference.translate(span(FLAT))
    assert calls(found) == [("a", {"x": 1})]
    assert [part["type"] for part in found[OUTPUT][0]["parts"]] == ["text", "tool_call"]
    assert found["gen_ai.tool.definitions"] == [{"name": "a", "input_schema": {}}]


def test_two_equal_calls_without_ids_stay_two() -> None:
    call = {"tool_call": {"function": {"name": "a", "arguments": "{}"}}}
    twice = {"role": "assistant", "tool_calls": [call, call], "contents": [{"message_content": {}, **call}] * 2}
    found = openinference.translate(span({"llm.output_messages": [{"message": twice}]}))
    assert calls(found) == [("a", {}), ("a", {})]


def test_nested_attributes_are_read_as_flat_ones() -> None:
    assert openinference.speaks(span(NESTED))
    assert openinference.translate(span(NESTED)) == openinference.translate(span(FLAT))


def test_an_input_smaller_than_its_cached_part_was_counted_without_it() -> None:
    assert openinference.translate(span(FLAT))["gen_ai.usage.input_tokens"] == 45
    whole = {**FLAT, "llm.token_count.prompt": 40}
    assert openinference.translate(span(whole))["gen_ai.usage.input_tokens"] == 40


def test_a_hole_is_marked_unless_the_raw_request_fills_it() -> None:
    cut = {key.replace("input_messages.0", "input_messages.1"): value for key, value in FLAT.items()}
    assert openinference.translate(span(cut))[PROBLEM] == "attributes_dropped"
    raw = json.dumps({"system": "s", "messages": [{"role": "user", "content": "hello"}], "tools": []})
    found = openinference.translate(span({**cut, "input.value": raw}))
    assert PROBLEM not in found and [one["role"] for one in found[INPUT]] == ["system", "user"]


@pytest.mark.parametrize(
    "response",
    [
        {"id": "r", "choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [CALL["tool_call"]]}}]},
        {"id": "r", "content": [{"type": "tool_use", "name": "a", "input": {"x": 1}}], "stop_reason": "tool_use"},
    ],
)
def test_the_raw_response_stands_in_for_numbered_messages(response: dict[str, Any]) -> None:
    found = openinference.translate(span({"openinference.span.kind": "LLM", "output.value": json.dumps(response)}))
    assert calls(found) == [("a", {"x": 1})]
    assert (found["gen_ai.response.id"], found[FINISH][0][:4]) == ("r", "tool")


def test_a_cut_answer_is_text_and_never_a_stop() -> None:
    kept = {key: value for key, value in FLAT.items() if "output_messages.0.message.role" not in key}
    assert openinference.translate(span(kept))[OUTPUT] == model_span.CUT
    raw = {"openinference.span.kind": "LLM", "output.mime_type": "application/json", "output.value": '{"choices": ['}
    assert openinference.translate(span(raw))[OUTPUT] == model_span.CUT


@pytest.mark.parametrize(
    ("kind", "operation"), [("AGENT", "invoke_agent"), ("TOOL", "execute_tool"), ("RERANKER", "reranker")]
)
def test_other_kinds_are_no_calls_of_the_model(kind: str, operation: str) -> None:
    found = openinference.translate(span({"openinference.span.kind": kind, "session.id": "s", "agent.name": "n"}))
    assert found["gen_ai.operation.name"] == operation and OUTPUT not in found
    assert (found["gen_ai.conversation.id"], found["gen_ai.agent.id"]) == ("s", "n")


# --- vercel -------------------------------------------------------------------------------------------------------


def sdk(**more: Any) -> Span:
    asked = [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    attributes = {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(asked)}
    return span({**attributes, **{key.replace("__", "."): value for key, value in more.items()}})


@pytest.mark.parametrize("field", [{"args": '{"x": 1}'}, {"input": {"x": 1}}, {"input": '{"x": 1}'}])
def test_calls_of_all_versions_of_the_sdk_are_read(field: dict[str, Any]) -> None:
    made = [
        {"toolCallId": "i", "toolName": "a", **field},
        {"toolCallId": "j", "toolName": "w", "providerExecuted": True},
    ]
    tools = [json.dumps({"type": "function", "name": "a", "inputSchema": {}})]
    found = vercel.translate(
        sdk(ai__response__toolCalls=json.dumps(made), ai__response__finishReason="tool-calls", ai__prompt__tools=tools)
    )
    assert (calls(found), found[FINISH]) == ([("a", {"x": 1})], ["tool-calls"])
    assert [part["type"] for part in found[OUTPUT][0]["parts"]] == ["tool_call", "server_tool_call"]
    assert found["gen_ai.tool.definitions"] == [json.loads(tools[0])]
    assert [one["role"] for one in found[INPUT]] == ["system", "user"]


def test_cut_calls_stay_text_and_a_cut_prompt_is_marked() -> None:
    assert vercel.translate(sdk(ai__response__toolCalls='[{"toolName": "a", '))[OUTPUT] == '[{"toolName": "a", '
    assert vercel.translate(sdk(ai__prompt__messages='[{"role": "us'))[PROBLEM] == "value_truncated"
    assert vercel.translate(sdk(ai__prompt__messages="7"))[PROBLEM] == "broken_messages"


def test_results_of_tools_are_unwrapped() -> None:
    result = {"type": "tool-result", "toolCallId": "i", "toolName": "a", "output": {"type": "json", "value": {"y": 2}}}
    found = vercel.translate(sdk(ai__prompt__messages=json.dumps([{"role": "tool", "content": [result]}])))
    assert found[INPUT] == [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "i", "response": {"y": 2}}]}
    ]


def test_the_cache_is_added_to_anthropics_input_before_version_6() -> None:
    read = {
        "ai__model__provider": "anthropic.messages",
        "ai__usage__inputTokens": 100,
        "ai__usage__cachedInputTokens": 30,
    }
    written = json.dumps({"anthropic": {"cacheCreationInputTokens": 7}})
    found = vercel.translate(sdk(**read, ai__response__providerMetadata=written))
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.cache_write.input_tokens"]) == (137, 7)
    found = vercel.translate(sdk(**read, ai__usage__inputTokenDetails__cacheReadTokens=30))
    assert found["gen_ai.usage.input_tokens"] == 100


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("ai.generateText", "invoke_agent"), ("ai.toolCall", "execute_tool"), ("ai.embed.doEmbed", "embeddings")],
)
def test_outer_spans_are_no_calls_of_the_model(operation: str, expected: str) -> None:
    one = span({"ai.operationId": operation, "ai.response.text": "t", "ai.telemetry.metadata.sessionId": "s"})
    found = vercel.translate(one)
    assert found["gen_ai.operation.name"] == expected and OUTPUT not in found
    assert found["gen_ai.conversation.id"] == "s"


# --- all ----------------------------------------------------------------------------------------------------------


def test_an_error_is_named_from_its_event() -> None:
    raised = Event("exception", {"exception.type": "RateLimitError"})
    assert openinference.translate(span(FLAT, raised, failed=True))["error.type"] == "RateLimitError"
    assert openinference.translate(span(FLAT, failed=True))["error.type"] == "_OTHER"
    assert "error.type" not in openinference.translate(span(FLAT))


def test_dropped_attributes_are_marked_and_a_missing_answer_is_not_a_stop() -> None:
    found = openinference.translate(
        span({"openinference.span.kind": "LLM", "llm.finish_reason": "stop"}, dropped_attributes=9)
    )
    assert (found[PROBLEM], found[OUTPUT]) == ("attributes_dropped", model_span.CUT)


def test_a_span_of_none_of_these_is_left_alone() -> None:
    for one in (span({"http.route": "/"}), span({"gen_ai.operation.name": "chat", INPUT: "[]"}), span({})):
        assert not any(convention.speaks(one) for convention in CONVENTIONS)


# --- real files: spans of real instrumentation --------------------------------------------------------------------

RECORDED = sorted(path.stem for path in (DATA / "otlp").glob("*.jsonl"))


def plain(value: Any) -> Any:
    if "arrayValue" in value:
        return [plain(one) for one in value["arrayValue"].get("values", [])]
    if "kvlistValue" in value:
        return pairs(value["kvlistValue"].get("values"))
    return int(value["intValue"]) if "intValue" in value else next(iter(value.values()), None)


def pairs(found: Any) -> dict[str, Any]:
    return {pair["key"]: plain(pair["value"]) for pair in found or []}


def recorded(name: str) -> Iterator[Span]:
    lines = [json.loads(line) for line in (DATA / "otlp" / f"{name}.jsonl").read_text().splitlines()]
    logs: dict[Any, list[Event]] = {}
    for log in (
        r for line in lines for a in line.get("resourceLogs", []) for b in a["scopeLogs"] for r in b["logRecords"]
    ):
        body = {"body": plain(log["body"])} if log.get("body") else {}
        logs.setdefault(log.get("spanId"), []).append(
            Event(log.get("eventName", ""), pairs(log.get("attributes")) | body)
        )
    for s in (s for line in lines for a in line.get("resourceSpans", []) for b in a["scopeSpans"] for s in b["spans"]):
        events = [Event(event["name"], pairs(event.get("attributes"))) for event in s.get("events", [])]
        yield Span(
            s["name"],
            pairs(s.get("attributes")),
            s["traceId"],
            s["spanId"],
            s.get("parentSpanId", ""),
            s.get("status", {}).get("code") == 2,
            events + logs.get(s["spanId"], []),
        )


def translated(one: Span) -> dict[str, Any]:
    spoken = [convention for convention in CONVENTIONS if convention.speaks(one)]
    assert len(spoken) <= 1, f"{one.name} speaks {spoken}"
    found = spoken[0].translate(one) if spoken else renamed(one.attributes)
    structure = found.get(OUTPUT)
    return {**found, OUTPUT: json.loads(structure) if isinstance(structure, str) else structure}


def ended(found: Mapping[str, Any]) -> str:
    """What the server calls it, from the stop reason and the parts alone."""
    if "error.type" in found:
        return "error"
    if found[FINISH][0] in ("refusal", "content_filter"):
        return "refused"
    return "called" if calls(found) else "stopped"


#: What an instrumentation did not write; see the README beside the files.
WITHOUT_ANSWERS = {"anthropic_native_no_content", "anthropic_openllmetry_events"}
WITHOUT_ARGUMENTS = {"openai_v2_no_content"}
LOST_THE_ERROR_AND_THE_STREAM = {"anthropic_openllmetry_indexed"}
WITHOUT_FINISH_WHEN_STREAMED = {"openai_v2_latest"}


def test_all_recorded_files_are_there() -> None:
    assert len(RECORDED) == 16


@pytest.mark.parametrize("name", RECORDED)
def test_the_decisions_found_are_the_requests_that_the_server_answered(name: str) -> None:
    requests = json.loads((DATA / "otlp" / f"{name}.expected.json").read_text())["requests"]
    found = [one for one in map(translated, recorded(name)) if one["gen_ai.operation.name"] == "chat"]
    if name in LOST_THE_ERROR_AND_THE_STREAM:
        assert OUTPUT in found[3] and found.pop(3)[OUTPUT] is None
        requests = [one for one in requests if one["ended"] != "error" and not one["streamed"]]
    if name == "anthropic_twice":
        assert [one.get("gen_ai.response.id") for one in found[::2]] == [
            one.get("gen_ai.response.id") for one in found[1::2]
        ]
        found = found[::2]
    assert len(found) == len(requests)
    assert ["error" if "error.type" in one else "answer" for one in found] == [
        "error" if one["ended"] == "error" else "answer" for one in requests
    ]
    if name in WITHOUT_ANSWERS:
        assert all(one[OUTPUT] is None for one in found)
        return
    assert [one.get("gen_ai.response.id") for one in found] == [one["response_id"] for one in requests]
    for one, request in zip(found, requests, strict=True):
        if FINISH not in one and request["ended"] == "called":
            assert name in WITHOUT_FINISH_WHEN_STREAMED
            one = {**one, FINISH: ["tool_calls"]}
        assert ended(one) == request["ended"]
        made = [(call["tool"], None if name in WITHOUT_ARGUMENTS else call["args"]) for call in request["calls"]]
        assert (calls(one) if made else []) == made


@pytest.mark.parametrize("name", RECORDED)
def test_tokens_of_recorded_files_include_the_cache(name: str) -> None:
    counts = {one.get("gen_ai.usage.input_tokens") for one in map(translated, recorded(name))}
    assert counts - {None, 0} == {137}  # 100 fresh, 30 read from the cache, 7 written to it


@pytest.mark.parametrize(
    "name", [name for name in RECORDED if name.endswith(("openinference", "indexed", "v2_events"))]
)
def test_what_each_decision_saw_begins_with_what_the_one_before_saw(name: str) -> None:
    by_trace: dict[str, list[Any]] = {}
    for one in recorded(name):
        found = translated(one)
        if found["gen_ai.operation.name"] != "chat":
            continue
        saw, before = found[INPUT], by_trace.get(one.trace_id, [])
        assert saw[: len(before)] == before
        assert len(saw) >= len(before) and PROBLEM not in found
        by_trace[one.trace_id] = saw
    assert len(by_trace) == 2


# --- formats: spans outside OTLP's envelope -----------------------------------------------------------------------

PHOENIX = {
    "name": "ChatCompletion",
    "context": {"trace_id": "0x" + "a" * 32, "span_id": "0x" + "b" * 16},
    "parent_id": None,
    "start_time": "2026-01-01T00:00:00.5+00:00",
    "end_time": "2026-01-01T00:00:01Z",
    "attributes": NESTED,
    "status_code": "ERROR",
    "status_message": "no",
    "events": [{"name": "exception", "timestamp": "2026-01-01T00:00:01Z", "attributes": {"exception.type": "E"}}],
}


def written(record: Any, module: Any) -> list[dict[str, Any]]:
    found = module.rewrite(record)
    return [] if found is None else found["resourceSpans"][0]["scopeSpans"][0]["spans"]


def test_an_export_of_phoenix_becomes_otlp() -> None:
    assert openinference_format.recognises(PHOENIX) and not vercel_ai_sdk.recognises(PHOENIX)
    (one,) = written(PHOENIX, openinference_format)
    assert (one["traceId"], one["spanId"], "parentSpanId" in one) == ("a" * 32, "b" * 16, False)
    assert (one["startTimeUnixNano"], one["endTimeUnixNano"]) == ("1767225600500000000", "1767225601000000000")
    assert one["status"] == {"code": 2, "message": "no"}
    assert pairs(one["attributes"]) == FLAT
    assert pairs(one["events"][0]["attributes"]) == {"exception.type": "E"}


def test_a_page_of_phoenix_is_as_many_spans() -> None:
    bare = {**PHOENIX, "attributes": {"llm.model_name": "m", "llm.input_messages": []}, "span_kind": "LLM"}
    page = {"data": [PHOENIX, bare, {"no": "span"}], "next_cursor": None}
    assert openinference_format.recognises(page) and openinference_format.units(page) == 3
    first, second, third = written(page, openinference_format)
    assert pairs(second["attributes"])["openinference.span.kind"] == "LLM"
    assert (first["name"], third) == ("ChatCompletion", {})


def test_a_row_of_a_data_frame_is_a_span() -> None:
    row = {f"attributes.{key}": value for key, value in FLAT.items()}
    row |= {"name": "n", "context.trace_id": "a" * 32, "context.span_id": "b" * 16, "start_time": 1767225600000}
    assert openinference_format.recognises(row)
    (one,) = written(row, openinference_format)
    assert (one["spanId"], one["startTimeUnixNano"]) == ("b" * 16, "1767225600000000000")


@pytest.mark.parametrize(
    "record",
    [
        None,
        7,
        [],
        {},
        {"resourceSpans": []},
        {"messages": [{"role": "user"}]},
        {"name": "x", "attributes": {"llm.model_name": "m"}},
        {"data": []},
        {"name": "n", "span_id": "b", "start_time": 1, "attributes": [{"key": "ai.operationId"}]},
    ],
)
def test_other_records_are_not_recognised_and_give_nothing(record: Any) -> None:
    for module in (openinference_format, vercel_ai_sdk):
        assert not module.recognises(record)
        assert (module.units(record), module.rewrite(record)) == (1, None)


VERCEL = DATA / "vercel_ai_sdk"


@cache
def real(name: str) -> list[Any]:
    return [record.value for record in records(VERCEL / name) if isinstance(record, Record)]


@pytest.mark.parametrize(
    ("name", "n_spans", "n_calls"), [("all-spans.json", 10, 4), ("ai-generateText-doGenerate.json", 2, 2)]
)
def test_real_spans_of_the_vercel_sdk_are_read(name: str, n_spans: int, n_calls: int) -> None:
    source = json.loads((VERCEL / name).read_text())
    assert len(source) == n_spans  # counted by hand as well: four do* spans of text and objects in the larger file
    found = []
    for value, expected in zip(real(name), source, strict=True):
        assert vercel_ai_sdk.recognises(value) and not openinference_format.recognises(value)
        (one,) = written(value, vercel_ai_sdk)
        seconds, rest = expected["startTime"]
        assert one["startTimeUnixNano"] == f"{seconds}{rest:09d}"
        assert one["spanId"] == expected["spanContext"]["spanId"]
        assert pairs(one["attributes"]) == expected["attributes"]
        answer = vercel.translate(Span(one["name"], pairs(one["attributes"])))
        if answer["gen_ai.operation.name"] == "chat":
            found.append((expected["attributes"], answer))
    assert len(found) == n_calls
    for attributes, answer in found:
        text = attributes.get("ai.response.text") or attributes["ai.response.object"]
        assert answer[OUTPUT][0]["parts"] == [{"type": "text", "content": text}]
        assert answer[FINISH] == ["stop"]
        assert len(answer[INPUT]) == len(json.loads(attributes["ai.prompt.messages"]))
        assert answer["gen_ai.usage.input_tokens"] == attributes["gen_ai.usage.input_tokens"]


# --- whatever stands in a file ------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.just('[{"a'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@cache
def all_recorded() -> list[Span]:
    return [one for name in RECORDED for one in recorded(name)] + [
        Span(value["name"], value["attributes"]) for value in real("all-spans.json")
    ]


def mutated(draw: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(values)
    for _ in range(draw(st.integers(0, 4))):
        if not found:
            break
        key = draw(st.sampled_from(sorted(found)))
        how = draw(st.sampled_from(["drop", "cut", "junk", "move"]))
        if how == "junk":
            found[key] = draw(JUNK)
        elif how == "cut" and isinstance(found[key], str):
            found[key] = found[key][: draw(st.integers(0, len(found[key])))]
        else:
            value = found.pop(key)
            if how == "move":
                found[key.replace(".0.", ".9.", 1)] = value
    return found


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_no_mutated_span_raises(data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(all_recorded()))
    events = [
        Event(event.name, mutated(data.draw, event.attributes)) for event in one.events if data.draw(st.integers(0, 9))
    ]
    changed = Span(one.name, mutated(data.draw, one.attributes), failed=one.failed, events=events)
    for convention in CONVENTIONS:
        convention.speaks(changed)
        found = convention.translate(changed)
        assert isinstance(found["gen_ai.operation.name"], str)
        json.dumps(found)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_mutated_record_raises_or_loses_a_span(data: st.DataObject) -> None:
    source: Any = data.draw(st.sampled_from([PHOENIX, *real("all-spans.json")]))
    record: Any = mutated(data.draw, source)
    if data.draw(st.booleans()):
        record = {"data": [record, data.draw(JUNK), source]}
    for module in (openinference_format, vercel_ai_sdk):
        module.recognises(record)
        found = written(record, module)
        assert not found or len(found) == module.units(record)
        json.dumps(found)


def test_what_is_nested_deeply_does_not_raise() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    otlp_envelope.enveloped({**PHOENIX, "attributes": {"llm.input_messages": deep, "x": deep}}, nested=True)
    for convention in CONVENTIONS:
        convention.translate(
            span({"gen_ai.prompt": deep, "llm.input_messages": deep, "ai.operationId": "ai.x.doStream"})
        )
