"""Logs of OpenAI's API, request and answer side by side: Chat Completions and the Responses API.

Each record is one call of the model and one decision, in any of the envelopes that envelope.py knows; a record is the
unit of the books. Parallel calls are one decision; several choices (`n`) are alternatives, of which the first counts.
Whether a tool was called is decided by the calls: a forced `tool_choice` ends with "stop". A stop needs a finish
reason; a stream that broke off is no stop. Which run it was is rarely known here.

What does not belong here: Anthropic's Messages API (anthropic_messages), runs as lists of messages (openai_messages).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem, Item, ModelCall, Rejected
from toolsel_assets.traces.records import Record
from toolsel_assets.traces.shapes import openai_responses
from toolsel_assets.traces.shapes.answer import Answer, concluded, tokens
from toolsel_assets.traces.shapes.envelope import exchange, known
from toolsel_assets.traces.shapes.exchange import Exchange
from toolsel_assets.vocabulary.chat import text_of
from toolsel_assets.vocabulary.decision import Status


def recognises(record: Any) -> bool:
    """A logged call whose answer, address or request is of one of OpenAI's two APIs."""
    try:
        found = known(record)
    except RecursionError:
        return False
    return found is not None and found.api in ("chat", "responses")


def units(record: Any) -> int:
    """Count the calls: one per record."""
    return 1


def read(records: Iterable[Record]) -> Iterator[Item]:
    """Read one call per record."""
    for record in records:
        try:
            found = exchange(record.value)
            if found is None or found.api not in ("chat", "responses"):
                detail = (
                    "no request to OpenAI and its answer" if found is None else f"another API: {found.api or 'unknown'}"
                )
                yield Rejected(record.position, "not_a_record", detail)
            else:
                yield _decision(found)
        except RecursionError:
            yield Rejected(record.position, "not_a_record", "nested too deeply")


def _decision(found: Exchange) -> ModelCall:
    request, body = found.request, found.body
    if found.api == "responses":
        messages, problem = openai_responses.messages(request, body)
        tools = openai_responses.tools_seen(request, body)
    else:
        messages, problem = _messages(request)
        tools = _tools(request)
    beside = found.fields()
    beside["conversation_id"] = beside["conversation_id"] or _conversation(request, body)
    return ModelCall(
        **beside, **_outcome(found), **_usage(body), messages=messages, context_problem=problem, tools_seen=tools
    )


def _outcome(found: Exchange) -> dict[str, Any]:
    if found.error:
        return {"status": Status.API_ERROR, "detail": found.error}
    if found.answer is None:
        return {"status": Status.UNKNOWN, "detail": "no answer was logged"}
    answer = openai_responses.answer(found.body) if found.api == "responses" else _answer(found.body)
    return concluded(answer, broken_off=found.broken_off, args_complete=found.args_complete)


def _conversation(request: Mapping[str, Any], body: Mapping[str, Any]) -> str | None:
    for side in (request, body):
        given = side.get("conversation")
        given = given.get("id") if isinstance(given, Mapping) else given
        if isinstance(given, str):
            return given
    return None


def _answer(body: Mapping[str, Any]) -> Answer:
    """Read an answer of Chat Completions."""
    choices = body.get("choices")
    choices = [choice for choice in choices if isinstance(choice, Mapping)] if isinstance(choices, list) else []
    choice = next((choice for choice in choices if choice.get("index") == 0), choices[0] if choices else {})
    message, finish = choice.get("message"), choice.get("finish_reason")
    if not isinstance(message, Mapping):
        return Answer(malformed="the answer has no choice with a message")
    calls = message.get("tool_calls")
    legacy = message.get("function_call")
    return Answer(
        calls=[_call(call) for call in calls] if isinstance(calls, list) and calls else _legacy_call(legacy),
        malformed="tool_calls is no list" if calls and not isinstance(calls, list) else None,
        text=bool(text_of(message.get("content"))),
        refused=bool(message.get("refusal")),
        stop_reason=finish if isinstance(finish, str) else None,
        must_finish="finish_reason" in choice,
        note=f"the first of {len(choices)} alternatives" if len(choices) > 1 else None,
    )


def _call(call: Any) -> tuple[Any, Any]:
    call = call if isinstance(call, Mapping) else {}
    custom = call.get("custom")
    if isinstance(custom, Mapping):
        return custom.get("name"), {"input": custom.get("input")}
    function = call.get("function")
    return (function.get("name"), function.get("arguments")) if isinstance(function, Mapping) else (None, None)


def _legacy_call(call: Any) -> list[tuple[Any, Any]]:
    """Read the older `function_call`; clients write it as null beside `tool_calls`."""
    return [(call.get("name"), call.get("arguments"))] if isinstance(call, Mapping) else []


def _messages(request: Mapping[str, Any]) -> tuple[list[Any] | None, ContextProblem | None]:
    given = request.get("messages")
    if not given:
        return None, "content_not_captured"
    if not isinstance(given, list):
        return None, "broken_messages"
    whole = all(isinstance(message, Mapping) and isinstance(message.get("role"), str) for message in given)
    return (given, None) if whole else (None, "broken_messages")


def _tools(request: Mapping[str, Any]) -> list[Any] | None:
    return next((request[key] for key in ("tools", "functions") if isinstance(request.get(key), list)), None)


def _usage(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the tokens; both APIs count cached tokens among the input."""
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    given = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    details = given if isinstance(given, Mapping) else {}
    return {
        "input_tokens": tokens(usage.get("prompt_tokens", usage.get("input_tokens"))),
        "output_tokens": tokens(usage.get("completion_tokens", usage.get("output_tokens"))),
        "cache_read_tokens": tokens(details.get("cached_tokens")),
        "cache_write_tokens": tokens(details.get("cache_write_tokens", details.get("cache_creation_tokens"))),
    }
