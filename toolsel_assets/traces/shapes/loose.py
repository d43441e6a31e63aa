"""Requests and answers of a model in whatever shape an instrumentation wrote them down.

Some logs (Langfuse, LangSmith, a value on a span) hold what the framework handed over: a list of OpenAI messages, a
whole request or response of any provider, blocks of Anthropic, items of OpenAI's Responses, contents of Google, parts
of OpenTelemetry, Vercel or Pydantic AI, dumps of LangChain, and JSON text of each. Here they become chat messages.

What belongs here: shapes. What does not: where a format keeps them (formats/), how a call ended (outcome.py). Nothing
is guessed: a value of no known shape is None as a request and has an `oddity` as an answer.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolsel_assets.traces.shapes import parts
from toolsel_assets.traces.shapes.messages import LANGCHAIN, ROLES, chat_messages
from toolsel_assets.traces.shapes.parts import first
from toolsel_assets.traces.shapes.values import as_dict
from toolsel_assets.vocabulary.chat import Chat, system, text_of

#: What the text of a JSON object or list begins with; text that begins so and cannot be read was cut or damaged.
_JSON_HEAD = re.compile(r'\s*(\{\s*("|$)|\[\s*([\[{"]|$))')
_STOPS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")


class Cut(ValueError):
    """JSON text that ends early or is damaged."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was asked. `partial`: the provider had kept earlier messages, which are not among these."""

    messages: list[Chat] | None = None
    tools: list[Any] | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What the model answered. `oddity` names what could not be read in it, which may have been a call."""

    calls: tuple[tuple[Any, Any], ...] = ()  # names and arguments as they stand: `outcome.call` judges them
    text: str = ""
    stop_reason: str | None = None
    refused: bool = False
    oddity: str | None = None
    server_tools: tuple[str, ...] = ()
    response_id: str | None = None
    model: str | None = None
    request: Request = Request()  # what an answer of OpenAI's Responses repeats of its request


def decode(value: Any) -> Any:
    """Give the value of JSON text, other text as it is, blank text as None; `Cut` when it only begins as JSON."""
    if isinstance(value, str) and value.strip() in ("", "null"):
        return None
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
        return value
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if _JSON_HEAD.match(value):
            raise Cut(str(error) or type(error).__name__) from error
        return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def request(value: Any) -> Request:
    """Read a request, or the messages of one; `Cut` when it is JSON text that was cut."""
    value = decode(value)
    if isinstance(value, Mapping) and set(value) == {"args", "kwargs"}:  # Langfuse's decorator of a function
        value = value["kwargs"]
    if not isinstance(value, Mapping):
        found, offered = _split(value)
        return Request(messages(found), definitions(offered))
    config = as_dict(value.get("config"))
    offered = [first(value, "tools", "functions", "toolConfig"), config.get("tools")]
    tools = next((tools for tools in map(definitions, offered) if tools), None)
    listed, mixed_in = _split(decode(first(value, "messages", "input", "contents", "prompt")))
    found = messages(value if listed is None else listed)
    asked = first(value, "system", "instructions", "system_instruction", "systemInstruction")
    if found is not None:
        found = [*instructions(asked or first(config, "system_instruction", "systemInstruction")), *found]
    return Request(found, tools or definitions(mixed_in), _partial(value))


def _partial(value: Mapping[str, Any]) -> bool:
    return bool(first(value, "previous_response_id", "conversation"))


def _split(value: Any) -> tuple[Any, list[Any]]:
    """Take the definitions of tools from among the messages, where Langfuse's handler for LangChain puts them."""
    if not isinstance(value, list):
        return value, []
    tools = [message["content"] for message in value if _is_definition(message)]
    return [message for message in value if not _is_definition(message)], tools


def _is_definition(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("role") != "tool" or "tool_call_id" in message:
        return False
    content = message.get("content")
    return isinstance(content, Mapping) and ("function" in content or ("name" in content and "input_schema" in content))


def instructions(value: Any) -> list[Chat]:
    """Give a system prompt of any provider as no message or one."""
    return system(value["parts"] if isinstance(value, Mapping) and "parts" in value else value)


def messages(value: Any) -> list[Chat] | None:
    """Give messages as chat messages; None when there are none or one of them has no known shape."""
    value = decode(value)
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value.strip() else None
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(inner, list) for inner in value):  # LangChain: one list per prompt of a batch
        value = value[0]
    found: list[Chat] = []
    for each in value:
        converted = chat_messages(each)
        if converted is None:
            return None
        _join(found, converted, item=isinstance(each, Mapping) and "role" not in each)
    return found or None


def _join(found: list[Chat], more: list[Chat], *, item: bool) -> None:
    """Add messages. Items of one answer that stand alone (Responses) become one message: parallel calls are one."""
    for message in more:
        before = found[-1] if found else {}
        if item and message.get("tool_calls") and before.get("role") == "assistant":
            found[-1] = {**before, "tool_calls": [*before.get("tool_calls", []), *message["tool_calls"]]}
        else:
            found.append(message)


def answer(value: Any) -> Said | None:
    """Read an answer, None when there is none; `Cut` when it is JSON text that was cut."""
    value = decode(value)
    if value is None or value in ("", [], {}):
        return None
    layers: list[Mapping[str, Any]] = []
    said = _innermost(value, layers)
    found = _as_messages(said)
    calls = [call for message in found for call in message.get("tool_calls", ())]
    return Said(
        calls=tuple((call["function"]["name"], call["function"]["arguments"]) for call in calls),
        text="\n".join(text for text in (text_of(message.get("content")) for message in found) if text),
        stop_reason=next(filter(None, map(_stop, reversed(layers))), None),
        refused=any(layer.get("refusal") for layer in layers) or parts.refuses(said),
        oddity=parts.oddity(said) if found else f"an answer of no known shape: {_shape(value)}",
        server_tools=parts.server_tools(said),
        response_id=_text_at((layer for layer in layers if "model" in layer or "choices" in layer), "id"),
        model=_text_at(layers, "model", "model_name", "model_version"),
        request=_repeated(layers),
    )


def _as_messages(said: Any) -> list[Chat]:
    """Give what the model said as messages of the assistant; none when it is something else."""
    if isinstance(said, list) and not any(isinstance(part, Mapping) and "role" in part for part in said):
        return parts.said("assistant", said)
    if isinstance(said, Mapping) and "role" not in said and isinstance(said.get("parts"), list) and "kind" not in said:
        said = {**said, "role": "assistant"}  # Google leaves it out
    found = [{"role": "assistant", "content": said}] if isinstance(said, str) else messages(said) or []
    return found if all(message["role"] == "assistant" for message in found) else []


def _innermost(value: Any, layers: list[Mapping[str, Any]]) -> Any:
    """Go from an envelope to the message in it, noting the envelopes on the way, outermost first."""
    for _ in range(8):  # deeper than any envelope
        if isinstance(value, Mapping):
            layers.append(value)
            inner = _inside(value)
            if inner is None:
                return value
            value = inner
        elif isinstance(value, list) and value and not any(map(parts.is_part, value)):
            value = _chosen(value)
        else:
            return value
    return value


def _inside(value: Mapping[str, Any]) -> Any:
    for key in ("choices", "candidates", "generations"):
        if isinstance(value.get(key), list) and value[key]:
            return value[key][0]
    if "role" in value or "lc" in value or parts.kind(value) in LANGCHAIN:
        return None
    if isinstance(value.get("content"), Mapping) or (isinstance(value.get("content"), list) and _stop(value)):
        return value["content"]
    for key in ("message", "messages", "output"):
        if isinstance(value.get(key), Mapping | list) and value[key]:
            return value[key]
    calls = first(value, "tool_calls", "toolCalls")
    text = first(value, "text", "completion", "output_text")
    if calls or isinstance(text, str):
        return {"role": "assistant", "content": text, "tool_calls": calls}
    return None


def _chosen(value: list[Any]) -> Any:
    """Of messages, the answer: the last when there is history before it, else the first of several choices."""
    roles = [first(each, "role", "type") if isinstance(each, Mapping) else None for each in value]
    return value[-1 if any(ROLES.get(str(role), role) not in (None, "assistant") for role in roles) else 0]


def _stop(layer: Mapping[str, Any]) -> str | None:
    if layer.get("object") == "response" and isinstance(layer.get("status"), str):
        cut = as_dict(layer.get("incomplete_details")).get("reason")
        return cut if isinstance(cut, str) else str(layer["status"])
    layer = as_dict(layer.get("kwargs")) or layer  # LangChain's `dumpd`
    places = (layer, as_dict(layer.get("response_metadata")), as_dict(layer.get("generation_info")))
    return next((place[key] for place in places for key in _STOPS if isinstance(place.get(key), str)), None)


def _text_at(layers: Iterable[Mapping[str, Any]], *keys: str) -> str | None:
    return next((layer[key] for layer in layers for key in keys if isinstance(layer.get(key), str)), None)


def _repeated(layers: Sequence[Mapping[str, Any]]) -> Request:
    layer = next((layer for layer in layers if layer.get("object") == "response"), {})
    return Request(instructions(layer.get("instructions")) or None, definitions(layer.get("tools")), _partial(layer))


def _shape(value: Any) -> str:
    return ", ".join(sorted(map(str, value))[:5]) if isinstance(value, Mapping) else type(value).__name__


def definitions(value: Any) -> list[Any] | None:
    """Give the tools on offer as they stand, for catalogue_seen.py to read; None without any."""
    try:
        value = decode(value)
    except Cut:
        return None
    listed = [value] if isinstance(value, Mapping) else value
    return listed if isinstance(listed, list) and any(listed) else None
