import json
from typing import Any

from toolsel_assets.labels.contexts import Contexts


def row(kind: str, context: str, place: int, value: Any, form: str = "openai") -> dict[str, Any]:
    return {"kind": kind, "context_id": context, "n_messages": place, "form": form, "messages": json.dumps(value)}


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_a_decision_saw_the_first_messages_of_a_context_that_grew() -> None:
    contexts = Contexts()
    contexts.add([row("message", "c", place, said(str(place))) for place in (2, 0, 1)])
    assert contexts.seen("c", 2) == [said("0"), said("1")]


def test_a_call_has_its_own_messages() -> None:
    contexts = Contexts()
    contexts.add([row("model", "c", 1, [said("x")])])
    assert contexts.seen("c", 1) == [said("x")]


def test_messages_of_opentelemetry_become_chat_messages() -> None:
    contexts = Contexts()
    parts = [{"type": "tool_call", "id": "1", "name": "a", "arguments": {"x": 1}}]
    contexts.add([row("model", "c", 1, [{"role": "assistant", "parts": parts}], form="genai")])
    (found,) = contexts.seen("c", 1) or []
    assert found["tool_calls"][0]["function"] == {"name": "a", "arguments": '{"x": 1}'}


def test_a_fork_begins_with_what_it_extends_and_names_what_has_to_be_read_as_well() -> None:
    contexts = Contexts()
    contexts.add([row("extends", "fork", 0, {"context_id": "c", "n": 1}), row("message", "fork", 1, said("other"))])
    assert contexts.missing() == {"c"} and contexts.seen("fork", 2) is None
    contexts.add([row("message", "c", 0, said("first")), row("message", "c", 1, said("then"))])
    assert contexts.missing() == set()
    assert contexts.seen("fork", 2) == [said("first"), said("other")]
    assert contexts.seen("fork", 1) == [said("first")]


def test_what_is_not_there_is_not_made_up() -> None:
    contexts = Contexts()
    contexts.add([row("message", "c", 0, said("x"))])
    assert contexts.seen("c", 2) is None and contexts.seen("d", 1) is None
