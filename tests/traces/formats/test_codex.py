import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.mutants import JSON, mutants
from tests.traces.formats.test_claude_code import calls, seen
from toolsel_assets.traces.formats import claude_code, codex
from toolsel_assets.traces.model_call import Extends, Item, Merged, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

DATA = Path(__file__).parent.parent / "data"
FILES = sorted((DATA / "codex").glob("*.jsonl"))
LINES = [json.loads(line) for file in FILES for line in file.read_text().splitlines()]


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-12T10:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **payload)


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", type=kind, **payload)


def said(text: str, role: str = "user") -> dict[str, Any]:
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


def use(call_id: str, name: str = "shell", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return item("function_call", call_id=call_id, name=name, arguments=arguments, **more)


def result(call_id: str) -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=f"of {call_id}")


def used(total: int) -> dict[str, Any]:
    last = {"input_tokens": total, "cached_input_tokens": 1, "output_tokens": 2}
    return event("token_count", info={"total_token_usage": {"total_tokens": total}, "last_token_usage": last})


META = line("session_meta", id="s", base_instructions={"text": "be good"})
TURN = event("task_started", turn_id="0" * 36)
DONE = event("task_complete", turn_id="0" * 36)
TEXT = item("message", role="assistant", content=[{"type": "output_text", "text": "well"}])
REASONING = item("reasoning", summary=[], encrypted_content="x")
ABORTED = event("turn_aborted", reason="interrupted")


def read(lines: Iterable[Any]) -> list[Item]:
    """Read, and hold what is true of every reading: books that close, and contexts as long as calls say."""
    lines = list(lines)
    items = list(codex.read(Record(i, value) for i, value in enumerate(lines, 1)))
    booked = sum(item.n if isinstance(item, Merged) else isinstance(item, ModelCall | Rejected) for item in items)
    assert booked == sum(map(codex.units, lines))
    length: Counter[str] = Counter()
    for found in items:
        if isinstance(found, Message):
            length[found.context] += 1
        elif isinstance(found, Extends):
            assert found.context not in length and found.n_messages <= length[found.of]
            length[found.context] = found.n_messages
        elif isinstance(found, ModelCall):
            assert found.n_messages == length[str(found.context)]
            assert bool(found.action) == (found.status == Status.CALLED)
    ids = [call.call_id for call in calls(items)]
    assert len(ids) == len(set(ids))
    return items


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_of_a_real_rollout_is_accounted_for(file: Path) -> None:
    lines = [json.loads(text) for text in file.read_text().splitlines()]
    payloads = [entry["payload"] for entry in lines if entry["type"] == "response_item"]
    made = [p for p in payloads if p.get("role") == "assistant" or p["type"].endswith(("reasoning", "_call"))]
    usages = [
        entry["payload"]["info"]["last_token_usage"]
        for entry in lines
        if entry["payload"].get("type") == "token_count" and entry["payload"]["info"]
    ]
    items = read(record.value for record in records(file) if isinstance(record, Record))
    found = calls(items)
    assert [(call.input_tokens, call.output_tokens) for call in found] == [
        (usage["input_tokens"], usage["output_tokens"]) for usage in usages
    ]
    assert [call.tool for one in found for call in one.action] == [p["name"] for p in made if "name" in p]
    merged = Counter({reason: 0 for reason in ("context", "bookkeeping", "content_block")})
    for one in items:
        if isinstance(one, Merged):
            merged[one.reason] += one.n
    assert merged == {
        "context": len(payloads) - len(made),
        "bookkeeping": len(lines) - len(payloads),
        "content_block": len(made) - len(found),
    }
    assert {call.run_id for call in found} == {lines[0]["payload"]["id"]}
    assert not any(call.context_problem for call in found)
    assert not any(isinstance(one, Extends | Rejected) for one in items)


@pytest.mark.parametrize(
    ("stem", "statuses", "widths"),  # written down by eye from the lines
    [("codex_turn-2", {"stopped": 2}, {0: 2}), ("rollout.head54", {"called": 8, "stopped": 1}, {0: 1, 1: 6, 3: 2})],
)
def test_real_responses_end_as_they_ended(stem: str, statuses: dict[str, int], widths: dict[int, int]) -> None:
    lines = [json.loads(text) for text in (DATA / "codex" / f"{stem}.jsonl").read_text().splitlines()]
    found = calls(read(lines))
    assert Counter(call.status.value for call in found) == statuses
    assert Counter(len(call.action) for call in found) == widths


def test_only_lines_of_codex_are_recognised() -> None:
    assert all(codex.recognises(entry) for entry in LINES)
    others = [
        {"type": "item.completed", "item": {"type": "agent_message", "text": "x"}},  # `codex exec --json`
        {"type": "response_item", "payload": [], "timestamp": "x"},
        {"type": {}, "payload": {}, "timestamp": "x"},
        {"messages": []},
        [],
        None,
    ]
    assert not any(codex.recognises(other) for other in others)
    assert not any(claude_code.recognises(entry) for entry in LINES)


def test_the_items_of_a_response_are_one_decision_and_parallel_calls_are_together() -> None:
    one = [REASONING, TEXT, use("c1", arguments='{"x": 1}'), use("c2"), used(10), result("c1"), result("c2")]
    two = [use("c3"), used(20), result("c3")]
    items = read([META, TURN, said("hello"), *one, *two, TEXT, used(30), DONE])
    first, second, third = calls(items)
    assert first.action == (Call("shell", {"x": 1}), Call("shell", {}))
    assert (first.call_id, first.input_tokens, first.cache_read_tokens, first.run_id) == ("c1", 10, 1, "s")
    assert seen(items, first) == ["system be good", "user hello"]
    assert seen(items, second)[2:] == ["assistant c1+c2", "tool of c1", "tool of c2"]
    assert (third.status, third.stop_reason) == (Status.STOPPED, "task_complete")


def test_without_usage_a_result_ends_the_response() -> None:
    lines = [META, said("hello"), use("c1"), use("c2"), result("c1"), result("c2"), use("c3"), result("c3"), TEXT, DONE]
    assert [len(call.action) for call in calls(read(lines))] == [2, 1, 0]


def test_usage_written_before_the_items_belongs_to_the_response_that_follows() -> None:
    one, two = [used(10), use("c1"), result("c1"), use("c2"), result("c2")], [used(20), use("c3"), result("c3")]
    items = read([META, said("hello"), *one, *two, used(30), TEXT])
    assert [(len(call.action), call.input_tokens) for call in calls(items)] == [(2, 10), (1, 20), (0, 30)]
    assert seen(items, calls(items)[1])[2:] == ["assistant c1+c2", "tool of c1", "tool of c2"]
    assert calls(items)[2].status == Status.STOPPED


def test_usage_that_is_shown_again_is_no_response() -> None:
    lines = [META, said("hello"), use("c1"), used(10), result("c1"), used(10), use("c2"), use("c3"), used(20)]
    assert [(len(call.action), call.input_tokens) for call in calls(read(lines))] == [(1, 10), (2, 20)]


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ([used(10)], Status.STOPPED),
        ([used(10), ABORTED], Status.STOPPED),
        ([DONE], Status.STOPPED),
        ([said("next")], Status.STOPPED),
        ([event("task_started", turn_id="1")], Status.STOPPED),
        ([], Status.UNKNOWN),
        ([ABORTED], Status.UNKNOWN),
        ([said("<turn_aborted>"), ABORTED], Status.UNKNOWN),
        ([event("error", message="stream disconnected")], Status.API_ERROR),
        ([line("compacted", message="so far")], Status.UNKNOWN),
    ],
)
def test_text_is_a_stop_only_when_the_response_is_seen_to_be_complete(after: list[Any], status: str) -> None:
    (call,) = calls(read([META, TURN, said("hello"), TEXT, *after]))
    assert call.status == status


def test_an_error_where_an_answer_was_due_is_a_call_that_failed() -> None:
    lines = [META, TURN, said("hello"), use("c"), used(10), result("c"), event("error", message="usage limit")]
    assert [(call.status, call.detail) for call in calls(read(lines))] == [
        (Status.CALLED, None),
        (Status.API_ERROR, "usage limit"),
    ]
    rollback = event("error", message="no", codex_error_info="thread_rollback_failed")
    assert not calls(read([META, said("hello"), rollback]))


@pytest.mark.parametrize(
    ("made", "action"),
    [
        (use("c", "find", namespace="mcp__crm__"), (Call("mcp__crm__find", {}),)),
        (use("c", "find", namespace="crm"), (Call("crm.find", {}),)),
        (item("custom_tool_call", call_id="c", name="apply_patch", input="*** Begin"), None),
        (item("local_shell_call", call_id="c", action={"type": "exec"}), (Call("local_shell", {"type": "exec"}),)),
        (item("tool_search_call", call_id="c", arguments={"q": "x"}), (Call("tool_search", {"q": "x"}),)),
    ],
)
def test_every_kind_of_call_is_a_call(made: dict[str, Any], action: tuple[Call, ...] | None) -> None:
    (call,) = calls(read([META, made, used(1)]))
    assert call.action == (action or (Call("apply_patch", {"input": "*** Begin"}),))


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null", 7, None])
def test_arguments_that_are_no_object_make_the_decision_malformed(arguments: Any) -> None:
    assert [call.status for call in calls(read([META, use("c", arguments=arguments), DONE]))] == [Status.MALFORMED]


def test_tools_that_the_provider_runs_are_no_choice_of_the_loop() -> None:
    search = item("web_search_call", status="completed", action={"type": "search", "query": "x"})
    (call,) = calls(read([META, said("hello"), REASONING, search, TEXT, used(10), DONE]))
    assert (call.status, call.server_tools) == (Status.STOPPED, ("web_search",))
    assert calls(read([META, said("hello"), search, used(10)]))[0].status == Status.UNKNOWN


@pytest.mark.parametrize(
    ("history", "context", "problem"),
    [
        ([said("kept")["payload"]], ["system be good", "user kept", "user next"], None),
        ([{"type": "compaction", "encrypted_content": "x"}], ["system be good", "user next"], "kept_by_provider"),
        (None, ["system be good", "user so far", "user next"], "broken_messages"),
    ],
)
def test_a_compaction_begins_a_new_context(history: Any, context: list[str], problem: str | None) -> None:
    compacted = line("compacted", message="so far", replacement_history=history)
    items = read([META, said("hello"), TEXT, used(10), compacted, said("next"), TEXT, used(20)])
    assert seen(items, calls(items)[1]) == context
    assert calls(items)[1].context_problem == problem


def test_a_turn_that_is_rolled_back_is_not_seen_any_more() -> None:
    ask = event("user_message", message="x")
    one, two, three = ([said(text), ask, TEXT, used(i), DONE] for i, text in enumerate(("one", "two", "three")))
    items = read([META, *one, *two, event("thread_rolled_back", num_turns=1), *three])
    assert seen(items, calls(items)[2]) == ["system be good", "user one", "assistant well", "user three"]
    assert len({call.call_id for call in calls(items)}) == 3


def test_a_sub_agent_names_its_parent_and_a_fork_keeps_its_own_name() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    (call,) = calls(read([line("session_meta", id="s", source=source), META, use("c"), used(1)]))
    assert (call.run_id, call.parent_run_id) == ("s", "p")


def test_calls_and_results_that_are_written_again_are_counted_once() -> None:
    lines = [META, said("hello"), use("c"), used(1), result("c")]
    items = read([*lines, *lines[2:], TEXT, used(2)])
    assert [call.status for call in calls(items)] == [Status.CALLED, Status.STOPPED]
    assert seen(items, calls(items)[1]) == ["system be good", "user hello", "assistant c", "tool of c"]


def test_a_context_of_which_a_line_is_lost_is_not_what_the_model_saw() -> None:
    lines = [META, said("hello"), use("c"), used(1), result("c"), TEXT, used(2)]
    assert [call.context_problem for call in calls(read(lines))] == [None, None]
    assert {call.context_problem for call in calls(read(lines[1:]))} == {"broken_messages"}
    broken = item("message", role=7, content="x")
    assert [c.context_problem for c in calls(read([*lines[:5], broken, *lines[5:]]))] == [None, "broken_messages"]


@settings(max_examples=300, deadline=None)
@given(mutants(LINES))
def test_no_mutation_of_real_lines_breaks_the_reader_or_its_books(lines: list[Any]) -> None:
    read(lines)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(codex.LINES)), JSON)))
def test_any_json_may_stand_anywhere(lines: list[Any]) -> None:
    read([{"type": kind, "payload": payload, "timestamp": payload} for kind, payload in lines])
