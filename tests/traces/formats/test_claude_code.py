import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.formats.mutants import JSON, mutants
from toolsel_assets.traces.formats import claude_code, codex
from toolsel_assets.traces.model_call import Extends, Item, Merged, Message, ModelCall, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

DATA = Path(__file__).parent.parent / "data"
FILES = sorted((DATA / "claude_code").glob("*.jsonl"))
LINES = [json.loads(line) for file in FILES for line in file.read_text().splitlines()]
TEXT = {"type": "text", "text": "well"}


def line(kind: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    when = "2026-02-10T21:00:00.000Z"
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": when, **more}


def user(uuid: str, parent: str | None, content: Any = "hello", **more: Any) -> dict[str, Any]:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **more)


def block(uuid: str, parent: str | None, message_id: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    own = {key: more.pop(key) for key in ("stop_reason", "usage", "model") if key in more}
    return line("assistant", uuid, parent, message={"id": message_id, "content": list(blocks), **own}, **more)


def use(call_id: str, name: str = "read", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(uuid: str, parent: str, call_id: str, **more: Any) -> dict[str, Any]:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": call_id, "content": f"of {call_id}"}], **more)


def read(lines: Iterable[Any]) -> list[Item]:
    """Read, and hold what is true of every reading: books that close, and contexts as long as calls say."""
    lines = list(lines)
    items = list(claude_code.read(Record(i, value) for i, value in enumerate(lines, 1)))
    booked = sum(item.n if isinstance(item, Merged) else isinstance(item, ModelCall | Rejected) for item in items)
    assert booked == sum(map(claude_code.units, lines))
    length: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Message):
            length[item.context] += 1
        elif isinstance(item, Extends):
            assert item.context not in length and item.n_messages <= length[item.of]
            length[item.context] = item.n_messages
        elif isinstance(item, ModelCall):
            assert item.n_messages == length[str(item.context)]
            assert bool(item.action) == (item.status == Status.CALLED)
    ids = [call.call_id for call in calls(items)]
    assert len(ids) == len(set(ids))
    return items


def calls(items: Iterable[Item]) -> list[ModelCall]:
    return [item for item in items if isinstance(item, ModelCall)]


def seen(items: list[Item], call: ModelCall) -> list[str]:
    """Spell what a call saw: roles and texts, a call of tools as their ids."""
    contexts: dict[str, list[Any]] = {}
    for item in items:
        if isinstance(item, Extends):
            contexts[item.context] = contexts.get(item.of, [])[: item.n_messages]
        elif isinstance(item, Message):
            contexts.setdefault(item.context, []).append(item.message)
    found = contexts.get(str(call.context), [])[: call.n_messages]
    return [
        f"{m['role']} {'+'.join(c['id'] for c in m['tool_calls']) if 'tool_calls' in m else m['content']}"
        for m in found
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_of_a_real_transcript_is_accounted_for(file: Path) -> None:
    lines = [json.loads(text) for text in file.read_text().splitlines()]
    answers = [entry for entry in lines if entry["type"] == "assistant"]
    used = {(entry["message"]["id"], b["id"]) for entry in answers for b in entry["message"]["content"] if "input" in b}
    ids = {entry["message"]["id"] for entry in answers}
    items = read(record.value for record in records(file) if isinstance(record, Record))
    found = calls(items)
    assert {call.call_id for call in found} == ids
    assert Counter({call.call_id: len(call.action) for call in found if call.action}) == Counter(m for m, _ in used)
    assert {call.call_id for call in found if call.status == Status.CALLED} == {m for m, _ in used}
    merged = Counter({reason: 0 for reason in ("context", "bookkeeping", "content_block")})
    for item in items:
        if isinstance(item, Merged):
            merged[item.reason] += item.n
    assert merged == {
        "context": sum(entry["type"] == "user" for entry in lines),
        "bookkeeping": sum(entry["type"] not in ("user", "assistant") for entry in lines),
        "content_block": len(answers) - len(ids),
    }
    for call in found:
        usage = [entry["message"]["usage"] for entry in answers if entry["message"]["id"] == call.call_id][-1]
        assert call.output_tokens == usage["output_tokens"]
        assert call.input_tokens == sum(
            usage[key] for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
    assert not any(call.context_problem for call in found)
    assert not any(isinstance(item, Extends | Rejected) for item in items)


@pytest.mark.parametrize(
    ("stem", "statuses"),  # written down by eye from the lines
    [
        ("agent-a2898e3.head60", {"called": 3}),
        ("codemie_session-9eda1058", {"called": 3, "stopped": 2}),
        ("codemie_turn-2", {"called": 2, "stopped": 4}),
        ("short", {"called": 1}),
        ("subagent.head36", {"called": 6}),
        ("tool_heavy", {"called": 4}),
    ],
)
def test_real_answers_end_as_they_ended(stem: str, statuses: dict[str, int]) -> None:
    lines = [json.loads(text) for text in (DATA / "claude_code" / f"{stem}.jsonl").read_text().splitlines()]
    assert Counter(call.status.value for call in calls(read(lines))) == statuses


def test_a_real_sub_agent_is_a_run_of_its_own() -> None:
    lines = [json.loads(t) for t in (DATA / "claude_code" / "agent-a2898e3.head60.jsonl").read_text().splitlines()]
    session = "4d5611e5-241a-462a-8d15-5122611a9569"
    runs = {(call.run_id, call.parent_run_id, call.conversation_id) for call in calls(read(lines))}
    assert runs == {(f"{session}:a2898e3", session, session)}


def test_only_lines_of_claude_code_are_recognised() -> None:
    assert all(claude_code.recognises(entry) for entry in LINES)
    others = [json.loads(text) for text in (DATA / "codex" / "codex_turn-2.jsonl").read_text().splitlines()]
    others += [
        {"type": "assistant", "session_id": "s", "message": {"content": []}},  # the SDK's stream
        {"type": "user", "sessionId": "s", "messageId": 0, "message": "hello"},  # another client's log
        {"messages": [{"role": "user", "content": "x"}]},
        {"type": ["user"], "sessionId": "s"},
        {"resourceSpans": []},
        [],
        None,
    ]
    assert not any(claude_code.recognises(other) for other in others)
    assert not any(codex.recognises(entry) for entry in LINES)


def test_lines_of_one_message_are_one_decision_even_with_results_between_them() -> None:
    items = read(
        [
            user("u", None),
            block("a1", "u", "m", TEXT, usage={"input_tokens": 1, "output_tokens": 1}),
            block("a2", "a1", "m", use("t1", path="x")),
            result("r1", "a2", "t1"),
            block(
                "a3",
                "r1",
                "m",
                use("t1", path="x"),
                use("t2", "grep"),
                usage={"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 9},
            ),
            result("r2", "a3", "t2"),
            block("b1", "r2", "n", TEXT, stop_reason="end_turn"),
        ]
    )
    first, last = calls(items)
    assert first.action == (Call("read", {"path": "x"}), Call("grep", {}))
    assert (first.input_tokens, first.output_tokens, first.cache_read_tokens) == (3, 9, 2)
    assert seen(items, last) == ["user hello", "assistant t1+t2", "tool of t1", "tool of t2"]
    assert (last.status, last.call_id) == (Status.STOPPED, "n")


def test_results_that_hang_on_their_own_calls_are_no_forks() -> None:
    items = read(
        [
            user("u", None),
            block("a1", "u", "m", use("t1")),
            block("a2", "a1", "m", use("t2")),
            result("r1", "a1", "t1"),
            result("r2", "a2", "t2"),
            block("b", "r1", "n", TEXT, stop_reason="end_turn"),
        ]
    )
    assert seen(items, calls(items)[1]) == ["user hello", "assistant t1+t2", "tool of t1", "tool of t2"]
    assert not any(isinstance(item, Extends) for item in items)


STOP_HOOK = line("progress", "h", "a", data={"type": "hook_progress", "hookEvent": "Stop"})
OTHER_HOOK = line("progress", "h", "a", data={"type": "hook_progress", "hookEvent": "PostToolUse"})
INTERRUPTION = user("x", "a", [{"type": "text", "text": "[Request interrupted by user]"}])


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ([user("v", "a", "next")], Status.STOPPED),
        ([STOP_HOOK], Status.STOPPED),
        ([STOP_HOOK, INTERRUPTION], Status.STOPPED),
        ([line("system", "y", "a", subtype="turn_duration")], Status.STOPPED),
        ([line("system", "y", "a", subtype="stop_hook_summary")], Status.STOPPED),
        ([user("w", "a", "<caveat>", isMeta=True), user("v", "w", "next")], Status.STOPPED),
        ([], Status.UNKNOWN),
        ([OTHER_HOOK], Status.UNKNOWN),
        ([INTERRUPTION], Status.UNKNOWN),
        ([user("w", "a", "Continue from where you left off.", isMeta=True)], Status.UNKNOWN),
        ([line("system", "y", "a", subtype="local_command")], Status.UNKNOWN),
        ([block("e", "a", "e", TEXT, model="<synthetic>", isApiErrorMessage=True)], Status.UNKNOWN),
        ([user("v", "elsewhere", "next")], Status.UNKNOWN),
    ],
)
def test_text_without_a_stop_reason_is_a_stop_only_when_the_turn_is_seen_to_end(after: list[Any], status: str) -> None:
    assert calls(read([user("u", None), block("a", "u", "m", TEXT), *after]))[0].status == status


@pytest.mark.parametrize(
    ("reason", "blocks", "status"),
    [
        ("end_turn", [TEXT], Status.STOPPED),
        ("stop_sequence", [TEXT], Status.STOPPED),
        ("max_tokens", [TEXT], Status.TRUNCATED),
        ("max_tokens", [TEXT, use("t")], Status.TRUNCATED),
        ("refusal", [TEXT], Status.REFUSED),
        ("tool_use", [TEXT], Status.MALFORMED),
        ("tool_use", [use("t")], Status.CALLED),
        (None, [{"type": "tool_use", "id": "t", "name": "read", "input": "{"}], Status.MALFORMED),
        (None, [{"type": "tool_use", "id": "t", "input": {}}], Status.MALFORMED),
        (None, [{"type": "thinking", "thinking": "hm"}], Status.UNKNOWN),
    ],
)
def test_a_stop_reason_decides_when_there_is_one(reason: str | None, blocks: list[Any], status: str) -> None:
    (call,) = calls(read([user("u", None), block("a", "u", "m", *blocks, stop_reason=reason)]))
    assert call.status == status


def test_server_tools_and_calls_made_by_code_are_no_choice_of_the_loop() -> None:
    search = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}}
    code = {**use("t", "query"), "caller": {"type": "code_execution_20250825", "tool_id": "w"}}
    (call,) = calls(read([block("a", None, "m", search, code, TEXT, stop_reason="end_turn")]))
    assert (call.status, call.action, call.server_tools) == (Status.STOPPED, (), ("web_search",))


def test_an_api_error_is_written_by_the_client_and_seen_by_no_model() -> None:
    error = {"type": "text", "text": "API Error: 529"}
    items = read(
        [
            user("u", None),
            block("e", "u", "x", error, model="<synthetic>", isApiErrorMessage=True),
            user("v", "e", "again"),
            block("a", "v", "m", TEXT, stop_reason="end_turn"),
            block("f", "a", "y", {"type": "text", "text": "No response requested."}, model="<synthetic>"),
        ]
    )
    assert [call.status for call in calls(items)] == [Status.API_ERROR, Status.STOPPED]
    assert seen(items, calls(items)[1]) == ["user hello", "user again"]


def test_a_sidechain_in_the_same_file_is_a_run_of_its_own_that_does_not_see_the_session() -> None:
    side = {"isSidechain": True}
    items = read(
        [
            user("u", None),
            block("a", "u", "m", use("t", "Task")),
            user("x", "a", "explore", **side),
            block("y", "x", "n", TEXT, **side, stop_reason="end_turn"),
            result("r", "a", "t"),
            block("b", "r", "o", TEXT, stop_reason="end_turn"),
        ]
    )
    found = {call.call_id: call for call in calls(items)}
    assert [(c.run_id, c.parent_run_id) for c in found.values()] == [("s", None), ("s:x", "s"), ("s", None)]
    assert seen(items, found["n"]) == ["user explore"]
    assert seen(items, found["o"]) == ["user hello", "assistant t", "tool of t"]


def test_a_compaction_begins_a_new_context() -> None:
    def after(metadata: Any) -> tuple[list[Item], ModelCall]:
        items = read(
            [
                user("u", None),
                block("a", "u", "m", TEXT, stop_reason="end_turn"),
                line("system", "c", "a", subtype="compact_boundary", compactMetadata=metadata),
                user("v", "c", "the story so far", isCompactSummary=True),
                block("b", "v", "n", TEXT, stop_reason="end_turn"),
            ]
        )
        return items, calls(items)[1]

    items, call = after({"trigger": "auto"})
    assert (seen(items, call), call.context_problem, call.run_id) == (["user the story so far"], None, "s")
    assert after({"preservedMessages": {"uuids": ["a"]}})[1].context_problem == "broken_messages"


def test_an_edited_prompt_forks_the_context() -> None:
    items = read(
        [
            user("u", None),
            block("a", "u", "m", TEXT, stop_reason="end_turn"),
            user("v", "a", "one"),
            block("b", "v", "n", TEXT, stop_reason="end_turn"),
            user("w", "a", "two"),
            block("c", "w", "o", TEXT, stop_reason="end_turn"),
        ]
    )
    assert [item.n_messages for item in items if isinstance(item, Extends)] == [2]
    assert seen(items, calls(items)[2]) == ["user hello", "assistant well", "user two"]


def test_a_context_of_which_a_line_is_lost_is_not_what_the_model_saw() -> None:
    lines = [user("u", None), block("a", "u", "m", use("t")), result("r", "a", "t"), block("b", "r", "n", TEXT)]
    assert [call.context_problem for call in calls(read(lines))] == [None, None]
    assert calls(read([*lines[:2], lines[3]]))[1].context_problem == "broken_messages"
    assert calls(read([*lines[:2], {**lines[2], "message": 7}, lines[3]]))[1].context_problem == "broken_messages"


def test_a_history_that_is_written_again_is_counted_once() -> None:
    lines = [user("u", None), block("a", "u", "m", use("t")), result("r", "a", "t")]
    more = block("b", "r", "n", TEXT, stop_reason="end_turn")
    once, again = read([*lines, more]), read([*lines, *lines, more])
    assert calls(again) == calls(once)
    renamed = [{**entry, "uuid": entry["uuid"] + "2"} for entry in lines]
    renamed = [{**entry, "parentUuid": entry["parentUuid"] and entry["parentUuid"] + "2"} for entry in renamed]
    copied = read([*lines, more, *renamed, block("c", "r2", "o", TEXT, stop_reason="end_turn")])
    assert [call.call_id for call in calls(copied)] == ["m", "n", "o"]
    assert Merged("same_call") in copied
    assert seen(copied, calls(copied)[2]) == ["user hello", "assistant t", "tool of t"]


def test_a_prompt_typed_while_the_model_works_is_part_of_what_it_sees_next() -> None:
    queued = line("attachment", "q", "r", attachment={"type": "queued_command", "prompt": "and also"})
    items = read(
        [
            user("u", None),
            block("a", "u", "m", use("t")),
            result("r", "a", "t"),
            queued,
            block("b", "q", "n", TEXT, stop_reason="end_turn"),
        ]
    )
    assert seen(items, calls(items)[1])[-1] == "user and also"


def test_how_many_conversations_are_open_at_once_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [entry for file in FILES for entry in map(json.loads, file.read_text().splitlines())]
    expected = {call.call_id: call for call in calls(read(lines))}
    monkeypatch.setattr("toolsel_assets.traces.formats.claude_code.MOST_OPEN", 2)
    assert {call.call_id: call for call in calls(read(lines))} == expected


@settings(max_examples=300, deadline=None)
@given(mutants(LINES))
def test_no_mutation_of_real_lines_breaks_the_reader_or_its_books(lines: list[Any]) -> None:
    read(lines)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["type", "uuid", "parentUuid", "sessionId", "message"]), JSON)))
def test_any_json_may_stand_anywhere(lines: list[Any]) -> None:
    read(lines)
