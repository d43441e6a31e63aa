"""Bodies of OpenAI's two APIs as tests need them, and a reading of one of them."""

from typing import Any

from toolsel_assets.traces.formats import openai_requests
from toolsel_assets.traces.model_call import Item, ModelCall
from toolsel_assets.traces.records import Record

USER = {"role": "user", "content": "hello"}
REQUEST = {"model": "gpt-x", "messages": [USER], "tools": [{"type": "function", "function": {"name": "a"}}]}
ASK = {"model": "gpt-x", "input": "hello", "instructions": "be brief"}


def read(*values: Any) -> list[Item]:
    return list(openai_requests.read(Record(n, value) for n, value in enumerate(values, start=1)))


def one(value: Any) -> ModelCall:
    (item,) = read(value)
    assert isinstance(item, ModelCall), item
    return item


def completion(finish: Any = "stop", /, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m", "choices": [choice]}


def tool_call(name: Any = "a", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


def chat(answer: Any, **more: Any) -> ModelCall:
    return one({"request": REQUEST, "response": answer, **more})


def response(*output: Any, status: Any = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": list(output), **more}


def said(text: str = "hi") -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def function_call(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}", **more}


def responses(answer: Any, request: Any = ASK) -> ModelCall:
    return one({"request": request, "response": answer})
