"""OTLP/JSON through its SELECT: one span at a time for the traps, whole real files for the counts."""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.traces.formats.damage import damaged
from toolsel_assets import store
from toolsel_assets.traces import outcome
from toolsel_assets.traces.books import Books
from toolsel_assets.traces.formats import otlp_json
from toolsel_assets.traces.model_call import Merged
from toolsel_assets.traces.records import Record, records
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.traces.selecting import by_query
from toolsel_assets.traces.shapes import otlp, otlp_query
from toolsel_assets.traces.shapes.otlp_envelope import any_value
from toolsel_assets.traces.tables import MODEL_CALLS
from toolsel_assets.vocabulary.action import Call

DATA = Path(__file__).parents[1] / "data" / "otlp"
FILES = sorted(DATA.glob("*.jsonl"))
TRACE, SPAN = "0AF7651916CD43DD8448EB211C80319C", "B7AD6B7169203331"
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Where is B7?"}]}
FIND = {"type": "tool_call", "id": "c1", "name": "find_order", "arguments": {"number": "B7"}}
Row = dict[str, Any]


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def answer(*parts: Any, **more: Any) -> str:
    return text([{"role": "assistant", "parts": list(parts), **more}])


def span(attributes: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A call of the model that asked one question; attributes that are None are left out."""
    known = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": text([ASKED]),
        "gen_ai.response.finish_reasons": ["stop"],
        **(attributes or {}),
    }
    pairs = [{"key": key, "value": any_value(value)} for key, value in known.items() if value is not None]
    return {"traceId": TRACE, "spanId": SPAN, "name": "chat m", "attributes": pairs, "status": {}, **more}


def export(*spans: Any) -> dict[str, Any]:
    service = [{"key": "service.name", "value": {"stringValue": "shop"}}]
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"spans": list(spans)}]}]}


def read(folder: Path, found: Iterable[Any], secrets: str = "false") -> list[Row]:
    path = folder / "lines.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in found))
    functions = {**otlp_json.UDFS, "redact": (lambda t: t.replace("B7", "[redacted]"), ["VARCHAR"], "VARCHAR")}
    variables = {"path": str(path), "file_id": "f", "source": "s", "longest_line": str(1 << 20)}
    with store.scratch(variables, functions, {"may_hold_secrets(t)": secrets}, "500MB") as con:
        return store.rows(con, otlp_json.QUERY)


def one(folder: Path, attributes: dict[str, Any] | None = None, **more: Any) -> Row:
    (row,) = read(folder, [export(span(attributes, **more))])
    return row


def gathered(path: Path) -> tuple[list[Any], int]:
    """The records of a file as the SELECT gets them, and the units that were merged on the way."""
    items = list(otlp_json.gather(record for record in records(path) if isinstance(record, Record)))
    return [i.value for i in items if isinstance(i, Record)], sum(i.n for i in items if isinstance(i, Merged))


# --- the rows -----------------------------------------------------------------------------------------------------


def test_the_columns_are_those_of_the_table(tmp_path: Path) -> None:
    assert list(one(tmp_path)) == [column.name for column in MODEL_CALLS.columns]


def test_a_call_with_all_that_a_span_says_of_it(tmp_path: Path) -> None:
    tools = [{"type": "function", "name": "find_order"}]
    attributes = {
        "gen_ai.output.messages": answer(FIND, finish_reason="tool_call"),
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.system_instructions": text([{"type": "text", "content": "Be kind."}]),
        "gen_ai.tool.definitions": text(tools),
        "gen_ai.conversation.id": "conv",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.id": "msg_1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 7,
        "gen_ai.usage.output_tokens": 9,
    }
    times = {"startTimeUnixNano": "1796097392385522326", "endTimeUnixNano": 1796097392407522326}
    found = one(tmp_path, attributes, parentSpanId="AB", **times)
    expected = {
        "kind": "model",
        "call_id": f"{TRACE.lower()}:{SPAN.lower()}",
        "parent_span_id": "ab",
        "conversation_id": "conv",
        "client_id": "shop",
        "status": "called",
        "stop_reason": "tool_call",
        "tools_called": ["find_order"],
        "args_complete": True,
        "model_requested": "m",
        "model_served": "m-1",
        "response_id": "msg_1",
        "input_tokens": 100,
        "cache_read_tokens": 60,
        "cache_write_tokens": 7,
        "output_tokens": 9,
        "latency_ms": 22.0,
        "context_id": "f:0",
        "n_messages": 2,
        "context_problem": None,
        "last_message": "Where is B7?",
        "prefix_hashes": None,
        "form": "genai",
    }
    assert {name: found[name] for name in expected} == expected
    assert str(found["started_at"]) == "2026-12-01 03:56:32.385522"
    assert json.loads(found["calls"]) == [{"tool": "find_order", "args": {"number": "B7"}}]
    system = {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}
    assert json.loads(found["messages"]) == [system, ASKED] and json.loads(found["tools_seen"]) == tools


@pytest.mark.parametrize(
    ("attributes", "more", "status", "detail"),
    [
        ({"gen_ai.output.messages": answer(FIND, FIND)}, {}, "called", None),
        ({"gen_ai.output.messages": answer({"type": "text", "content": "No."})}, {}, "stopped", None),
        ({"gen_ai.output.messages": answer(FIND), "gen_ai.response.finish_reasons": None}, {}, "called", None),
        ({"gen_ai.output.messages": answer({**FIND, "arguments": '{"number": "B7"}'})}, {}, "called", None),
        ({"gen_ai.output.messages": answer({**FIND, "arguments": '{"numb'})}, {}, "malformed", "not a JSON object"),
        ({"gen_ai.output.messages": answer({**FIND, "arguments": ["B7"]})}, {}, "malformed", "not a JSON object"),
        ({"gen_ai.output.messages": answer({**FIND, "name": None})}, {}, "malformed", "without a tool's name"),
        ({"gen_ai.output.messages": answer({**FIND, "arguments": "{"}, finish_reason="length"),
          "gen_ai.response.finish_reasons": None}, {}, "truncated", None),
        ({"gen_ai.output.messages": answer(FIND)[:70]}, {}, "truncated", "was cut"),
        ({"gen_ai.output.messages": "[1]"}, {}, "malformed", "no message"),
        ({"gen_ai.output.messages": answer(),
          "gen_ai.response.finish_reasons": ["tool_call"]}, {}, "malformed", "no call"),
        ({"gen_ai.output.messages": answer({"type": "text", "content": "x"}, finish_reason=None),
          "gen_ai.response.finish_reasons": None}, {}, "unknown", "no stop reason"),
        ({"gen_ai.output.messages": answer({"type": "text", "content": "x"}),
          "gen_ai.response.finish_reasons": None}, {}, "stopped", None),
        ({"gen_ai.output.messages": answer({"type": "text", "content": "x"}),
          "gen_ai.response.finish_reasons": None}, {"status": {"code": 2}}, "api_error", None),
        ({"gen_ai.response.finish_reasons": ["refusal"]}, {}, "refused", None),
        # Nothing but the span's own attributes: content capture is off.
        ({}, {}, "stopped", None),
        ({"gen_ai.response.finish_reasons": ["tool_calls"]}, {}, "unknown", "which one was not captured"),
        ({"gen_ai.response.finish_reasons": '["length"]'}, {}, "truncated", None),
        ({"gen_ai.response.finish_reasons": "end_turn"}, {}, "stopped", None),
        ({"gen_ai.response.finish_reasons": None, "anthropic.message.stop_reason": "end_turn"}, {}, "stopped", None),
        ({"gen_ai.response.finish_reasons": None}, {}, "unknown", "neither a stop reason nor an answer"),
        ({"gen_ai.response.finish_reasons": ["so_so"]}, {}, "unknown", "unknown stop reason so_so"),
        ({"gen_ai.response.finish_reasons": None, "error.type": "timeout"}, {}, "api_error", None),
        ({"gen_ai.response.finish_reasons": None}, {"status": {"code": "STATUS_CODE_ERROR"}}, "api_error", None),
    ],
)  # fmt: skip
def test_how_a_call_ended(tmp_path: Path, attributes: Row, more: Row, status: str, detail: str | None) -> None:
    found = one(tmp_path, attributes, **more)
    assert found["status"] == status, found["status_detail"]
    assert (detail or "") in (found["status_detail"] or "")
    assert (found["calls"] != "[]") == (status == "called") == bool(found["tools_called"])


@pytest.mark.parametrize(
    ("attributes", "more", "problem"),
    [
        ({}, {}, None),
        ({"gen_ai.input.messages": None}, {}, "content_not_captured"),
        ({"gen_ai.input.messages": "[]"}, {}, "content_not_captured"),
        ({"gen_ai.input.messages": None}, {"droppedAttributesCount": 3}, "attributes_dropped"),
        ({}, {"droppedAttributesCount": "3"}, "attributes_dropped"),
        ({"gen_ai.input.messages": text([ASKED])[:50]}, {}, "value_truncated"),
        ({"gen_ai.system_instructions": '[{"type": "text", "con'}, {}, "value_truncated"),
        ({"anthropic.content.truncated": True}, {}, "value_truncated"),
        ({"gen_ai.request.previous_response.id": "r"}, {}, "kept_by_provider"),
        ({"gen_ai.input.messages": None, "gen_ai.request.previous_response.id": "r"}, {}, "kept_by_provider"),
        ({"gen_ai.input.messages": '[1, {"parts": 2}]'}, {}, "broken_messages"),
    ],
)
def test_whether_the_messages_are_what_the_model_saw(
    tmp_path: Path, attributes: Row, more: Row, problem: str | None
) -> None:
    found = one(tmp_path, attributes, **more)
    assert found["context_problem"] == problem
    assert found["messages"] is None or isinstance(json.loads(found["messages"]), list)
    assert (found["messages"] is None) == (found["n_messages"] is None) == (found["context_id"] is None)


def test_choices_are_no_parallel_calls(tmp_path: Path) -> None:
    two = text([{"role": "assistant", "parts": [FIND]}, {"role": "assistant", "parts": [{**FIND, "name": "other"}]}])
    assert one(tmp_path, {"gen_ai.output.messages": two})["tools_called"] == ["find_order"]


def test_arguments_that_were_not_captured_are_not_complete(tmp_path: Path) -> None:
    found = one(tmp_path, {"gen_ai.output.messages": answer({"type": "tool_call", "name": "a"})})
    assert (found["status"], json.loads(found["calls"])) == ("called", [{"tool": "a", "args": {}}])
    assert found["args_complete"] is False


def test_tools_of_the_provider_are_no_choice_of_the_loop(tmp_path: Path) -> None:
    parts = [{"type": "server_tool_call", "name": "web_search"}, {"type": "text", "content": "Found."}]
    found = one(tmp_path, {"gen_ai.output.messages": answer(*parts)})
    assert (found["status"], found["server_tools"], found["tools_called"]) == ("stopped", "web_search", [])


def test_an_input_smaller_than_its_cached_part_was_counted_without_it(tmp_path: Path) -> None:
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.cache_read.input_tokens": "30"}
    assert one(tmp_path, usage)["input_tokens"] == 40


@pytest.mark.parametrize("key", ["response", "result"])
def test_the_last_message_may_be_the_result_of_a_tool(tmp_path: Path, key: str) -> None:
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", key: "shipped" * 100}]}
    found = one(tmp_path, {"gen_ai.input.messages": text([ASKED, result])})
    assert found["last_message"] == ("shipped" * 100)[:500] and found["n_messages"] == 2


@pytest.mark.parametrize(
    ("attributes", "name", "kind"),
    [
        ({"gen_ai.operation.name": "invoke_agent"}, "a", "agent"),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": answer(FIND)}, "a", "agent"),
        ({"gen_ai.operation.name": "execute_tool"}, "t", "tool"),
        ({"gen_ai.operation.name": "embeddings", "gen_ai.input.messages": None}, "e", "other"),
        ({"gen_ai.operation.name": None, "gen_ai.request.model": "m"}, "anthropic.messages.create", "model"),
        ({"gen_ai.operation.name": None, "gen_ai.input.messages": None, "gen_ai.response.finish_reasons": None,
          "gen_ai.request.model": "m"}, "embeddings m", "other"),
        ({"gen_ai.operation.name": None, "gen_ai.input.messages": None, "gen_ai.response.finish_reasons": None,
          "http.method": "POST"}, "POST", "other"),
    ],
)  # fmt: skip
def test_what_kind_of_span_it_is(tmp_path: Path, attributes: Row, name: str, kind: str) -> None:
    found = one(tmp_path, {"gen_ai.agent.name": "support", **attributes}, name=name)
    assert found["kind"] == kind and (found["status"] is not None) == (kind == "model")
    assert found["agent"] == ("support" if kind == "agent" else None)


def test_an_attempt_and_its_repetition_saw_the_same(tmp_path: Path) -> None:
    longer = {"gen_ai.input.messages": text([ASKED, ASKED, ASKED])}
    spans = [span({"error.type": "500"}), span(), span(longer), span({"gen_ai.system_instructions": "Be kind."})]
    failed, again, later, other = read(tmp_path, [export(*spans)])
    assert failed["input_hash"] == again["input_hash"] != later["input_hash"]
    assert failed["lineage"] == later["lineage"] != other["lineage"] and failed["length"] < later["length"]
    assert later["prefix_hashes"][:1] == failed["prefix_hashes"] and len(later["prefix_hashes"]) == 3
    assert other["n_messages"] == len(other["prefix_hashes"]) == 2


def test_secrets_are_redacted_wherever_text_is_kept(tmp_path: Path) -> None:
    attributes = {"gen_ai.output.messages": answer(FIND), "gen_ai.tool.definitions": text([{"name": "B7"}])}
    (found,) = read(tmp_path, [export(span(attributes))], secrets="contains(t::varchar, 'B7')")
    assert "B7" not in json.dumps(found, default=str)
    assert "redacted" in found["messages"] and "redacted" in found["calls"] and "redacted" in found["last_message"]


def test_values_of_any_type_do_no_harm(tmp_path: Path) -> None:
    strange = {name: {"a": [1]} for name in otlp_query.ATTRIBUTES.values() if "operation" not in name}
    assert one(tmp_path, strange)["kind"] == "model"
    assert one(tmp_path, dict.fromkeys(strange, 7), startTimeUnixNano="x", droppedAttributesCount=-1)["kind"] == "model"


def test_places_where_a_span_should_be_are_counted(tmp_path: Path) -> None:
    found = [
        {"resourceSpans": []},
        {"resourceSpans": [None, {"scopeSpans": None}, {"scopeSpans": [None, {"spans": [None, {}, span()]}]}]},
    ]
    rows = read(tmp_path, found)
    assert len(rows) == sum(otlp_json.units(record) for record in found) == 1 + 2 + 4
    assert [row["kind"] for row in rows if row["call_id"]] == ["model"] and Counter(r["kind"] for r in rows)[
        "other"
    ] == 6


# --- one meaning, however it is written ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anthropic_genai", "openai_genai", "anthropic_native"])
def test_structures_mean_what_json_text_means(tmp_path: Path, name: str) -> None:
    direct, _ = gathered(DATA / f"{name}.jsonl")
    structured = json.loads(json.dumps(direct))
    for record in structured:
        for found in otlp.spans(record):
            for pair in found["attributes"]:
                if pair["value"].get("stringValue", "").startswith("[{"):
                    pair["value"] = any_value(json.loads(pair["value"]["stringValue"]))
    assert structured != direct
    parsed = ("messages", "calls", "tools_seen")
    by_text = {"catalogue_key", "lineage", "input_hash", "prefix_hashes", "length"}
    for a, b in zip(read(tmp_path, direct), read(tmp_path, structured), strict=True):
        assert [json.loads(a[n] or "0") for n in parsed] == [json.loads(b[n] or "0") for n in parsed]
        same = set(a) - by_text - set(parsed)
        assert {n: a[n] for n in same} == {n: b[n] for n in same}


def test_messages_of_a_providers_own_shape_are_read_under_todays_names(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "find_order", "arguments": '{"number": "B7"}'}}
    attributes = {
        "gen_ai.input.messages": text([{"role": "user", "content": "Where is B7?"}]),
        "gen_ai.output.messages": text([{"role": "assistant", "tool_calls": [call], "finish_reason": "tool_calls"}]),
    }
    found = one(tmp_path, attributes)
    assert json.loads(found["calls"]) == [{"tool": "find_order", "args": {"number": "B7"}}]
    assert found["last_message"] == "Where is B7?"


WORDS = sorted({*outcome.FINISHED, *outcome.CALLING, *outcome.CUT, *outcome.DECLINED, *outcome.FAILED, "so_so", ""})


def test_the_select_and_python_agree_on_every_stop_reason() -> None:
    rules = otlp_query.outcome_rules("called", "has_text", "must_finish")
    columns = "case " + " ".join(f"when {rule[0]} then {{}}" for rule in rules) + " end"
    select = ", ".join(columns.format(*(rule[which] for rule in rules)) for which in (1, 2))
    for word, called, has_text, must_finish in product(WORDS, *[[True, False]] * 3):
        action = (Call("a", {}),) if called else ()
        expected = outcome.status(action, word or None, text=has_text, must_finish=must_finish)
        values = {"word": word, "stop_reason": word, "called": called, "text": has_text, "must": must_finish}
        given = "$word as word, $stop_reason as stop_reason, $called as called, $text as has_text, $must as must_finish"
        (row,) = store.read_files(f"select {select} from (select {given})", values)
        assert tuple(row.values()) == expected, (word, called, has_text, must_finish)


# --- envelopes ----------------------------------------------------------------------------------------------------


def test_only_exports_are_recognised() -> None:
    logs = {"resourceLogs": []}
    assert all(otlp_json.recognises(found) for found in [export(), logs, [export(), logs], {"resource_spans": []}])
    others = [None, [], "x", {}, {"resourceMetrics": []}, {"resourceSpans": None}, [export(), 1], span()]
    assert not any(otlp_json.recognises(found) for found in others)
    assert otlp_json.rewrite({"messages": []}) is None


def test_underscores_and_lists_of_exports_are_rewritten(tmp_path: Path) -> None:
    pairs = [{"key": "gen_ai.operation.name", "value": {"string_value": "chat"}}]
    snake = {"trace_id": TRACE, "span_id": SPAN, "attributes": pairs, "dropped_attributes_count": 1}
    record = [{"resource_spans": [{"scope_spans": [{"spans": [snake]}]}]}, export(span())]
    rows = read(tmp_path, [otlp_json.rewrite(record)])
    assert otlp_json.units(record) == len(rows) == 2
    assert [(row["kind"], row["context_problem"]) for row in rows] == [("model", "attributes_dropped"), ("model", None)]


def log(name: str, body: Any, **more: Any) -> dict[str, Any]:
    record = {"traceId": TRACE, "spanId": SPAN, "eventName": name, "body": any_value(body), **more}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


LOGS = [
    log("gen_ai.user.message", {"content": "Where is B7?"}, timeUnixNano="1796097392385522326"),
    log("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "In Leeds."}}),
]


def test_log_records_become_events_of_the_span_that_they_tell_of(tmp_path: Path) -> None:
    bare = span({"gen_ai.input.messages": None, "gen_ai.usage.input_tokens": 5})
    found = [Record(n, json.loads(json.dumps(value))) for n, value in enumerate([*LOGS, export(bare)], 1)]
    items = list(otlp_json.gather(found))
    assert [type(item) for item in items] == [Merged, Merged, Record]
    (row,) = read(tmp_path, [items[-1].value])
    assert (row["status"], row["last_message"], row["input_tokens"]) == ("stopped", "Where is B7?", 5)


def test_log_records_whose_span_never_comes_are_a_span(tmp_path: Path) -> None:
    items = list(otlp_json.gather(Record(n, value) for n, value in enumerate(LOGS, 1)))
    assert [type(item) for item in items] == [Record, Merged]
    (row,) = read(tmp_path, [items[0].value])
    assert (row["kind"], row["status"], row["context_problem"]) == ("model", "stopped", None)
    together = {"resourceLogs": [resource for record in LOGS for resource in record["resourceLogs"]]}
    (same,) = read(tmp_path, [otlp_json.rewrite(together)])
    assert (same["call_id"], same["messages"]) == (row["call_id"], row["messages"])


def test_exports_with_thousands_of_spans_are_given_as_several() -> None:
    record = export(*[span(spanId=f"{n:016x}") for n in range(2 * otlp.PIECE + 1)])
    record["resourceSpans"] += [{"scopeSpans": []}, None]
    pieces = list(otlp_json.gather([Record(4, record)]))
    assert [otlp_json.units(piece.value) for piece in pieces if isinstance(piece, Record)] == [otlp.PIECE] * 2 + [
        1,
        1,
        1,
    ]


# --- real files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_span_and_log_record_of_a_real_file_is_accounted_for(tmp_path: Path, path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    spans = [s for one in lines for r in one.get("resourceSpans", ()) for c in r["scopeSpans"] for s in c["spans"]]
    told = [x for one in lines for r in one.get("resourceLogs", ()) for c in r["scopeLogs"] for x in c["logRecords"]]
    found, merged = gathered(path)
    rows = read(tmp_path, found)
    # The exporter wrote one log record per line, so that each is a unit.
    assert len(rows) + merged == sum(map(otlp_json.units, lines)) == len(spans) + len(told)
    assert sum(row["call_id"] is None for row in rows) == sum("spanId" not in one for one in told)
    agents = sum(s["name"].startswith("invoke_agent") for s in spans)
    assert Counter(row["kind"] for row in rows if row["call_id"]) == +Counter(model=len(spans) - agents, agent=agents)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_exports_close_the_books(tmp_path: Path, seed: int) -> None:
    random, lines = Random(seed), [line for path in FILES for line in path.read_text().splitlines()]
    path, books = tmp_path / "damaged.jsonl", Books("0" * 64, 0)
    # Among forty exports most stay readable, and those that do not have to be found.
    found = [damaged(line, random) if random.random() < 0.2 else json.loads(line) for line in random.sample(lines, 40)]
    path.write_text("".join(json.dumps(record) + "\n" for record in found))
    by_query(otlp_json, path, records(path), "s", books, tmp_path / "x.parquet", Redactor(()))
    assert books.n_missing == 0 and books.n_records >= 40
    query = "select status, calls, messages from read_parquet($path) where kind = 'model'"
    for row in store.read_files(query, {"path": str(tmp_path / "x.parquet")}):
        assert (row["calls"] != "[]") == (row["status"] == "called")
        json.loads(row["calls"]), json.loads(row["messages"] or "[]")
