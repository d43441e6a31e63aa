import copy
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.mutants import JSON, mutants
from toolsel_assets.traces.formats import detect, langfuse
from toolsel_assets.traces.model_call import Item, Link, Merged, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

FILES = {
    file.name.split("-20")[0]: file for file in sorted((Path(__file__).parent.parent / "data/langfuse").glob("*.json"))
}
TRACES = [json.loads(file.read_text()) for file in FILES.values()]
ASKED = [{"role": "user", "content": "hello"}]


def observation(number: int = 1, **more: Any) -> dict[str, Any]:
    found = {
        "id": f"o{number}",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": f"2026-01-01T00:00:{number:02}.000Z",
        "endTime": f"2026-01-01T00:00:{number + 1:02}.000Z",
        "input": ASKED,
        "output": "done",
    }
    return {**found, **more}


def calling(*names: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"c{i}", "name": name, "input": {}} for i, name in enumerate(names)]


def read(values: Iterable[Any]) -> list[Item]:
    """Read, and see that the books close."""
    values = list(values)
    items = list(langfuse.read(Record(at, value) for at, value in enumerate(values, start=1)))
    assert sum(item.n if isinstance(item, Merged) else 1 for item in items) == sum(map(langfuse.units, values))
    return items


def calls(*values: Any) -> list[ModelCall]:
    return [item for item in read(values) if isinstance(item, ModelCall)]


def trace(*observations: Any, **more: Any) -> dict[str, Any]:
    return {"trace": {"id": "t", **more}, "observations": list(observations)}


def one(**more: Any) -> ModelCall:
    (found,) = calls(trace(observation(**more)))
    return found


def items_of(name: str) -> list[Item]:
    return list(langfuse.read(record for record in records(FILES[name]) if isinstance(record, Record)))


#: The decisions of the real files, found by reading them: which observation, what it called (None: it stopped), and
#: how many messages it saw.
#: claude-agent: the first three generations are text, a tool_use and a tool_use; both tools start 50 ms after the third
#:   began, so they are blocks of one answer. The last one answers the results; its input is `{"content":"role"}`.
#: vercel-aisdk: ai.generateText (1dc6...) holds the answer of the ai.generateText.doGenerate (91a1...) in it.
#: pydantic-ai-tools: three runs (two of joke_agent, one of evaluator_agent, which answers through its output tool).
DECISIONS: dict[str, list[tuple[str, list[str] | None, int | None]]] = {
    "claude-agent": [
        ("e9aac170e5d48125", ["mcp__weather__get_weather", "mcp__weather__get_weather"], 1),
        ("371496f71d82baed", None, None),
    ],
    "crewai": [("231c43964b7e7e63", None, 2)],
    "google-adk": [("f6e4c65297e40c96", ["say_hello"], 2), ("bded677884f031ce", None, 4)],
    "langgraph-python": [("4f6535aaebcda355", ["Web-Search"], 2), ("5ba09605e0929d78", None, 4)],
    "openai-agents": [("98870087af69bf06", ["get_weather"], 2), ("90d94774e8e3724d", None, 4)],
    "pydantic-ai-tools": [
        ("be64c23f44dd98be", ["get_pun_suggestion", "get_dad_joke_suggestion", "get_one_liner_suggestion"], 2),
        ("00d2804abb764b1b", None, 6),
        ("8976b072313c51f2", None, 8),
        ("eb0cc14cf7943ad5", ["final_result"], 2),
    ],
    "vercel-aisdk": [("91a17a2274bfd23f", ["getWeather"], 1)],
}


@pytest.mark.parametrize("name", FILES)
def test_every_decision_of_the_real_files_is_found(name: str) -> None:
    found = [item for item in items_of(name) if isinstance(item, ModelCall)]
    assert [
        (
            call.call_id,
            [each.tool for each in call.action] if call.status == Status.CALLED else None,
            None if call.messages is None else len(call.messages),
        )
        for call in found
    ] == DECISIONS[name]
    assert {call.status for call in found} <= {Status.CALLED, Status.STOPPED}


@pytest.mark.parametrize("name", FILES)
def test_the_books_of_the_real_files_close(name: str) -> None:
    types = Counter(each["type"] for each in json.loads(FILES[name].read_text())["observations"])
    merged: Counter[str] = Counter()
    for item in items_of(name):
        merged.update({item.reason: item.n} if isinstance(item, Merged) else {})
    assert sum(isinstance(item, Link) for item in items_of(name)) == types.total() - types["GENERATION"]
    doubles = {"claude-agent": {"content_block": 2}, "vercel-aisdk": {"instrumented_twice": 1}}
    assert merged == doubles.get(name, {})
    assert sum(isinstance(item, ModelCall) for item in items_of(name)) == types["GENERATION"] - merged.total()
    assert not any(isinstance(item, Rejected) for item in items_of(name))


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_langfuses_and_no_other_formats(name: str) -> None:
    assert detect(json.loads(FILES[name].read_text())) == "langfuse"


def test_real_files_give_tokens_models_ids_and_catalogues() -> None:
    first = {name: next(item for item in items_of(name) if isinstance(item, ModelCall)) for name in FILES}
    # usageDetails of the observation in question, by jq; claude-agent's are Langfuse's guess (no usage attribute).
    assert {name: (call.input_tokens, call.output_tokens) for name, call in first.items()} == {
        "claude-agent": (None, None),
        "crewai": (190, 164),
        "google-adk": (28, 3),
        "langgraph-python": (60, 15),
        "openai-agents": (55, 15),
        "pydantic-ai-tools": (265, 73),
        "vercel-aisdk": (62, 85),
    }
    assert {name: len(call.tools_seen) for name, call in first.items() if call.tools_seen} == {
        "google-adk": 1,
        "langgraph-python": 1,
        "openai-agents": 1,
        "pydantic-ai-tools": 5,
        "vercel-aisdk": 1,
    }
    assert (first["vercel-aisdk"].model_requested, first["vercel-aisdk"].model_served) == ("gpt-5", "gpt-5-2025-08-07")
    assert (first["google-adk"].conversation_id, first["google-adk"].client_id) == ("demo-session", "demo-user")
    assert first["langgraph-python"].conversation_id == "demo-thread-1"
    assert first["openai-agents"].messages[0] == {"role": "system", "content": "You are a helpful agent."}  # type: ignore[index]
    assert first["openai-agents"].latency_ms == 1036
    assert all(call.run_id is None and call.trace_id for call in first.values())


def test_observations_are_read_in_the_order_of_their_start() -> None:
    assert [call.call_id for call in calls(trace(observation(2), observation(1)))] == ["o1", "o2"]


@pytest.mark.parametrize("shape", ["lines", "snake", "page", "api_trace", "within_trace"])
def test_observations_are_read_in_every_envelope(shape: str) -> None:
    whole = [observation(1, parentObservationId="p", sessionId="s", userId="u"), observation(2, type="TOOL")]
    snake = {"traceId": "trace_id", "startTime": "start_time", "endTime": "end_time", "sessionId": "session_id"}
    snake |= {"parentObservationId": "parent_observation_id", "userId": "user_id"}
    values = {
        "lines": whole,
        "snake": [{snake.get(key, key): value for key, value in each.items()} for each in whole],
        "page": [{"data": whole, "meta": {"cursor": "x"}}],
        "api_trace": [{"id": "t", "projectId": "p", "observations": whole}],
        "within_trace": [{"trace": {"id": "t", "observations": whole}}],
    }[shape]
    assert all(map(langfuse.recognises, values))
    items = read(values)
    assert Counter(type(item) for item in items) == {ModelCall: 1, Link: 1}
    (call,) = (item for item in items if isinstance(item, ModelCall))
    assert (call.call_id, call.trace_id, call.parent_span_id) == ("o1", "t", "p")
    assert (call.conversation_id, call.client_id, call.started_at) == ("s", "u", "2026-01-01 00:00:01.000000")


def test_the_trace_says_the_session_and_the_user_where_the_observation_does_not() -> None:
    (call,) = calls(trace(observation(), sessionId="s", userId="u"))
    assert (call.conversation_id, call.client_id) == ("s", "u")


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"messages": []},
        {"observations": "x"},
        {"trace": "x", "observations": []},
        {"id": "x", "type": "function", "traceId": "t"},
        {"id": "x", "type": "message", "startTime": "t"},
        {"id": "r", "run_type": "llm", "trace_id": "t", "start_time": "x"},
        {"traceId": "t", "spanId": "s", "name": "x"},
        {"data": [{"id": "x"}]},
        {"type": ["GENERATION"], "id": "x", "traceId": "t"},
    ],
)
def test_records_of_other_formats_are_not_recognised(record: Any) -> None:
    assert not langfuse.recognises(record)


def test_parallel_calls_are_one_decision() -> None:
    call = one(output=calling("a", "b"))
    assert (call.status, call.action) == (Status.CALLED, (Call("a", {}), Call("b", {})))


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"output": "done"}, Status.STOPPED),
        ({"output": "par", "modelParameters": {"finishReason": "length"}}, Status.TRUNCATED),
        ({"output": "par", "metadata": {"gen_ai.response.finish_reasons": '["length"]'}}, Status.TRUNCATED),
        ({"usageDetails": {"output": 64}, "modelParameters": {"max_tokens": "64"}}, Status.TRUNCATED),
        ({"output": {"role": "assistant", "content": None, "refusal": "no"}}, Status.REFUSED),
        ({"output": {"city": "Berlin"}}, Status.MALFORMED),
        ({"output": [{"type": "tool_use", "name": "a", "input": "{cut"}]}, Status.MALFORMED),
        ({"output": [{"type": "tool_use", "name": None, "input": {}}]}, Status.MALFORMED),
        ({"output": '[{"type": "tool_use", "name": "a", "inp'}, Status.TRUNCATED),
        ({"output": '{"role": "assistant", "content": "well, I'}, Status.TRUNCATED),
        ({"output": None}, Status.UNKNOWN),
        ({"output": ""}, Status.UNKNOWN),
        ({"output": None, "level": "ERROR", "statusMessage": "overloaded"}, Status.API_ERROR),
        ({"output": "par", "level": "ERROR"}, Status.API_ERROR),
        ({"output": {"role": "assistant", "content": ""}}, Status.UNKNOWN),
    ],
)  # fmt: skip
def test_no_tool_needs_positive_evidence(more: dict[str, Any], status: Status) -> None:
    call = one(**more)
    assert (call.status, call.action) == (status, ())


def test_the_message_of_an_error_is_kept() -> None:
    assert one(output=None, level="ERROR", status_message="overloaded").detail == "overloaded"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", Status.UNKNOWN),  # OpenAI's reason for a forced call, Google's for every call
        ("tool_calls", Status.UNKNOWN),
        ("end_turn", Status.STOPPED),
        ("max_tokens", Status.TRUNCATED),
        ("refusal", Status.REFUSED),
    ],
)
def test_without_the_answer_a_stop_reason_alone_says_only_what_it_excludes(reason: str, status: Status) -> None:
    attributes = {"gen_ai.response.finish_reasons": [reason]}
    call = one(input=None, output=None, metadata={"attributes": attributes})
    assert (call.status, call.context_problem, call.messages) == (status, "content_not_captured", None)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "content_not_captured"),
        ("", "content_not_captured"),
        ("[]", "content_not_captured"),
        ('[{"role": "user", "content": "hel', "value_truncated"),
        ({"content": "role"}, "broken_messages"),
        ([*ASKED, 7], "broken_messages"),
        ({"previous_response_id": "resp_1", "input": "and now?"}, "kept_by_provider"),
        (ASKED, None),
    ],
)
def test_a_context_that_is_not_what_the_model_saw_says_why(value: Any, problem: str | None) -> None:
    call = one(input=value)
    assert (call.context_problem, call.status) == (problem, Status.STOPPED)
    assert (call.messages is None) == (problem not in (None, "kept_by_provider"))


@pytest.mark.parametrize(
    "more",
    [
        {"toolCallNames": ["find"], "toolCalls": ['{"id": "c", "arguments": "{\\"q\\": 1}"}']},
        {
            "metadata": {
                "attributes": {
                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"q": 1}',
                }
            }
        },
    ],
)
@pytest.mark.parametrize("output", [None, "let me see"])
def test_calls_that_stand_beside_the_answer_are_no_stop(more: dict[str, Any], output: Any) -> None:
    call = one(output=output, **more)
    assert (call.status, call.action, call.args_complete) == (Status.CALLED, (Call("find", {"q": 1}),), True)


def test_a_call_of_which_only_the_name_is_known_may_lack_arguments() -> None:
    call = one(output=None, toolCallNames=["find"])
    assert (call.action, call.args_complete) == ((Call("find", {}),), False)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 10, "output": 5, "total": 15}, (10, None, None, 5)),
        # Langfuse's rule: details are apart from `input` and `output`.
        ({"input": 10, "input_cached_tokens": 90, "output": 5, "total": 105}, (100, 90, None, 5)),
        ({"input": 10, "input_cached_tokens": 90, "output": 2, "output_reasoning_tokens": 3}, (100, 90, None, 5)),
        (
            {"input": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "output": 5},
            (100, 80, 10, 5),
        ),
        # Somebody kept another rule: the total tells.
        ({"input": 100, "input_cached_tokens": 90, "output": 5, "total": 105}, (100, 90, None, 5)),
        ({"input": 100, "prompt_details.cache_read": 90, "output": 5, "total": 105}, (100, 90, None, 5)),
        ({"input": 10, "prompt_details.cache_read": 90, "output": 5, "total": 105}, (100, 90, None, 5)),
        ({"promptTokens": 7, "completionTokens": 2}, (7, None, None, 2)),
        ({"input": "many", "output": True, "total": -1}, (None, None, None, None)),
        (["junk"], (None, None, None, None)),
    ],
)
def test_input_tokens_include_the_cache_whatever_rule_was_kept(usage: Any, expected: tuple[int | None, ...]) -> None:
    call = one(usageDetails=usage)
    assert (call.input_tokens, call.cache_read_tokens, call.cache_write_tokens, call.output_tokens) == expected


def test_tokens_that_langfuse_guessed_are_not_counted() -> None:
    more = {"usageDetails": {"input": 5, "output": 5}, "metadata": {"attributes": {"gen_ai.request.model": "m"}}}
    assert one(**more).input_tokens is None


def test_a_generation_around_the_same_call_is_instrumented_twice() -> None:
    items = read(
        [trace(observation(1, output=calling("a")), observation(2, parentObservationId="o1", output=calling("a")))]
    )
    assert [item.call_id for item in items if isinstance(item, ModelCall)] == ["o2"]
    assert Merged("instrumented_twice") in items


def test_a_generation_around_several_steps_is_none_of_them() -> None:
    steps = [observation(2, parentObservationId="o1", output=calling("a")), observation(3, parentObservationId="o1")]
    assert [call.call_id for call in calls(trace(observation(1), *steps))] == ["o2", "o3"]


def test_an_inner_generation_without_content_gives_way_to_the_outer() -> None:
    inner = observation(2, parentObservationId="o1", input=None, output=None)
    assert [call.call_id for call in calls(trace(observation(1, output=calling("a")), inner))] == ["o1"]


def test_a_sub_agent_below_a_tool_of_a_generation_is_no_double() -> None:
    tool = observation(2, type="TOOL", parentObservationId="o1")
    inner = observation(3, parentObservationId="o2", output=calling("a"))
    assert [call.call_id for call in calls(trace(observation(1, output=calling("a")), tool, inner))] == ["o1", "o3"]


def test_another_answer_in_a_nested_generation_is_another_call() -> None:
    inner = observation(2, parentObservationId="o1", output="other")
    assert len(calls(trace(observation(1, output=calling("a")), inner))) == 2


def test_vercels_wrapper_alone_on_a_line_is_merged() -> None:
    assert read([observation(name="ai.streamText")]) == [Merged("instrumented_twice")]


TURN = {"name": "claude.assistant.turn", "parentObservationId": "p"}
UNSEEN = {**TURN, "input": {"content": "role"}}


def block(number: int, block: Any, first: bool = False) -> dict[str, Any]:
    output = {"role": "assistant", "content": [block]}
    return observation(number, **(TURN if first else UNSEEN), output=json.dumps(output))


def test_generations_of_one_block_each_are_one_answer() -> None:
    tool = observation(4, type="TOOL", parentObservationId="p")
    text = {"type": "text", "text": "wait"}
    blocks = [block(1, text, first=True), block(2, *calling("a")), block(3, *calling("b")), tool, block(5, text)]
    items = read([trace(*blocks)])
    found = [item for item in items if isinstance(item, ModelCall)]
    assert [[call.tool for call in each.action] for each in found] == [["a", "b"], []]
    assert [each.status for each in found] == [Status.CALLED, Status.STOPPED]
    assert (found[0].messages, found[0].ended_at) == (ASKED, "2026-01-01 00:00:04.000000")
    assert Merged("content_block", 2) in items


def test_a_block_alone_on_its_line_is_no_stop() -> None:
    (call,) = calls(block(1, {"type": "text", "text": "wait"}, first=True))
    assert call.status == Status.UNKNOWN


def test_observations_that_are_no_calls_are_merged() -> None:
    kinds = ["SPAN", "TOOL", "AGENT", "EVENT", "EMBEDDING"]
    others = [observation(at, type=kind) for at, kind in enumerate(kinds)]
    embedding = observation(9, metadata={"attributes": {"gen_ai.operation.name": "embeddings"}})
    found = read([trace(*others, embedding)])
    kinds_found = [item.kind for item in found if isinstance(item, Link)]
    assert kinds_found == ["other", "tool", "agent", "other", "other", "other"]


def test_a_span_whose_attributes_say_that_it_is_a_call_of_the_model_is_one() -> None:
    assert one(type="SPAN", metadata='{"attributes": {"openinference.span.kind": "LLM"}}').status == Status.STOPPED


@pytest.mark.parametrize(
    ("more", "tools"),
    [
        ({"input": {"messages": ASKED, "tools": [{"name": "a"}]}}, [{"name": "a"}]),
        ({"metadata": {"tools": ['{"name": "a"}']}}, ['{"name": "a"}']),
        ({"metadata": {"attributes": {"gen_ai.tool.definitions": '[{"name": "a"}]'}}}, [{"name": "a"}]),
        ({"metadata": {"attributes": {"llm.tools.0.tool.json_schema": '{"name": "a"}'}}}, ['{"name": "a"}']),
        ({"modelParameters": {"tools": '[{"name": "a"}]'}}, [{"name": "a"}]),
        ({"toolDefinitions": {"a": '{"description": "d"}'}}, [{"name": "a", "description": "d"}]),
        ({"modelParameters": {"tools": '[{"name": "a"'}}, None),
        ({}, None),
    ],
)
def test_the_catalogue_is_found_wherever_it_stands(more: dict[str, Any], tools: Any) -> None:
    assert one(**more).tools_seen == tools


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (7, "not_a_record"),
        ({"trace": {"id": "t"}, "observations": []}, "no_decisions"),
        (trace("an id of an observation"), "not_a_record"),
        (trace({"id": "o1"}), "not_a_record"),
        (trace(observation(id=None)), "no_id"),
    ],
)
def test_what_cannot_be_read_is_rejected_with_its_reason(value: Any, reason: str) -> None:
    (item,) = read([value])
    assert isinstance(item, Rejected)
    assert (item.position, item.reason) == (1, reason)


def test_deep_nesting_is_no_traceback() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"message": deep}
    read([trace(observation(input=deep), observation(2, output=deep), observation(3, output="[" * 100_000))])


def opened(value: Any) -> Any:
    """Undo JSON text, so that mutations reach what stands in it."""
    if isinstance(value, dict):
        return {key: opened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [opened(each) for each in value]
    try:
        return opened(json.loads(value)) if isinstance(value, str) and value[:1] in ("{", "[") else value
    except ValueError:
        return value


LINES = [each for found in TRACES for each in found["observations"]]


@settings(max_examples=300, deadline=None)
@given(mutants(TRACES))
def test_no_mutation_of_real_traces_breaks_the_reader_or_its_books(values: list[Any]) -> None:
    read(values)


@settings(max_examples=500, deadline=None)
@given(mutants(opened(LINES)), st.booleans())
def test_no_mutation_of_real_observations_breaks_the_reader_or_its_books(values: list[Any], together: bool) -> None:
    read([trace(*copy.deepcopy(values))] if together else values)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["input", "output", "metadata", "usageDetails", "modelParameters", "toolCalls"]), JSON
    )
)
def test_any_json_may_stand_anywhere(more: dict[str, Any]) -> None:
    assert len(calls(trace(observation(**more)))) <= 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(FILES)), st.integers(0, 10**6), st.integers(0, 10**6), st.binary(max_size=3))
def test_damaged_bytes_are_no_traceback(tmp_path_factory: Any, name: str, at: int, cut: int, junk: bytes) -> None:
    data = FILES[name].read_bytes()
    at, cut = at % len(data), cut % len(data)
    damaged = tmp_path_factory.getbasetemp() / "damaged.json"
    damaged.write_bytes((data[:at] + junk + data[at + len(junk) :])[: cut if cut % 3 == 0 else None])
    read(record.value for record in records(damaged) if isinstance(record, Record))


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("crewai", "vercel-aisdk")])
def test_a_cut_answer_that_called_a_tool_is_never_a_stop(name: str) -> None:
    whole = json.loads(FILES[name].read_text())
    called = {call_id for call_id, tools, _ in DECISIONS[name] if tools}
    for raw in (raw for raw in whole["observations"] if raw["id"] in called):
        text = raw["output"] if isinstance(raw["output"], str) else json.dumps(raw["output"])
        if name == "claude-agent":  # the first block of the answer is text
            text = next(each["output"] for each in whole["observations"] if "tool_use" in str(each["output"]))
        for end in (*range(20), *range(20, len(text), 3)):
            (call,) = calls(trace({**raw, "output": text[:end]}))
            assert call.status in (Status.TRUNCATED, Status.UNKNOWN, Status.CALLED, Status.MALFORMED), text[:end]
