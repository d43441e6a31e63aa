"""One observation of Langfuse: where it keeps what, in the API's spelling, the export's, and an instrumentation's.

What belongs here: names of fields and attributes, counts of tokens. What does not: the tree of observations and what
an answer amounts to (formats/langfuse.py), the shapes of content (loose.py).
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from toolsel_assets.traces.shapes import answer, loose
from toolsel_assets.traces.shapes.values import as_dict

#: What an observation's attributes say when it is a call of the model, though its type says only SPAN.
_CALLS = {"openinference.span.kind": ("LLM",), "gen_ai.operation.name": ("chat", "text_completion", "generate_content")}
_STOPS = ("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.finish_reason")
_RESPONSE_IDS = ("gen_ai.response.id", "ai.response.id")
_SERVED = ("gen_ai.response.model", "ai.response.model", "llm.response.model_name")
_ASKED = ("gen_ai.request.model", "llm.request.model_name", "ai.model.id", "ls_model_name")
_SESSIONS = ("session.id", "langfuse.session.id", "gen_ai.conversation.id", "thread_id")
_CATALOGUES = ("tools", "gen_ai.tool.definitions", "ai.prompt.tools")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens")
_CALL_NAME = re.compile(r"llm\.output_messages\.0\.message\.tool_calls\.(\d+)\.tool_call\.function\.name")

#: Keys of usage, in order of preference. Langfuse's own are the first.
_INPUTS = ("input", "input_tokens", "prompt_tokens", "promptTokens", "inputTokens")
_OUTPUTS = ("output", "output_tokens", "completion_tokens", "completionTokens", "outputTokens")
_TOTALS = ("total", "total_tokens", "totalTokens")


def field(observation: Mapping[str, Any], name: str) -> Any:
    """Give a field by its name in camel case, however the export spells it."""
    return observation[name] if observation.get(name) is not None else observation.get(_snake(name))


@cache
def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter.group().lower()}", name)


def text(observation: Mapping[str, Any], *names: str) -> str | None:
    """Give the first of some fields that has text or a whole number, as text."""
    values = (field(observation, name) for name in names)
    found = (str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool))
    return next(filter(None, found), None)


def decoded(value: Any) -> Any:
    """Decode JSON text; None when it was cut."""
    try:
        return loose.decode(value)
    except loose.Cut:
        return None


def attributes(observation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the metadata and, over it, the span's attributes that Langfuse keeps in it."""
    metadata = as_dict(decoded(observation.get("metadata")))
    return {**metadata, **as_dict(decoded(metadata.get("attributes")))}


def is_call(observation: Mapping[str, Any]) -> bool:
    """Say whether an observation is a call of the model."""
    kind = observation.get("type")
    if kind not in ("GENERATION", "SPAN"):
        return False
    said = attributes(observation)
    if kind == "GENERATION":
        return said.get("gen_ai.operation.name") != "embeddings"
    return any(said.get(key) in values for key, values in _CALLS.items())


def _listed(value: Any) -> list[Any]:
    value = decoded(value)
    return value if isinstance(value, list) else [value]


def stop_reason(said: Mapping[str, Any], parameters: Mapping[str, Any]) -> str | None:
    """Give the stop reason that stands beside the answer."""
    found = [reason for key in _STOPS for reason in _listed(said.get(key))] + [parameters.get("finishReason")]
    return next((reason for reason in found if isinstance(reason, str) and reason), None)


def parameters(observation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the parameters of the model."""
    return as_dict(decoded(field(observation, "modelParameters")))


def models(observation: Mapping[str, Any], said: Mapping[str, Any], in_answer: str | None) -> dict[str, str | None]:
    """Give the model that was asked for and the one that answered: Langfuse's field may be either."""
    named = text(observation, "model", "providedModelName")
    asked, served = text(said, *_ASKED), text(said, *_SERVED) or in_answer
    if asked and named and asked != named:
        served = served or named
    return {"model_requested": asked or named, "model_served": served}


def ids(observation: Mapping[str, Any], said: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, str | None]:
    """Give what ties an observation to others. A trace's own id counts only where there is one around it."""
    around = {} if trace is observation else trace
    return {
        "conversation_id": text(observation, "sessionId") or text(around, "sessionId") or text(said, *_SESSIONS),
        "client_id": text(observation, "userId") or text(around, "userId") or text(said, "user.id"),
        "trace_id": text(observation, "traceId") or text(around, "id"),
        "span_id": text(observation, "id"),
        "parent_span_id": text(observation, "parentObservationId"),
        "response_id": text(said, *_RESPONSE_IDS),
    }


def recorded_calls(observation: Mapping[str, Any], said: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Give the calls that stand beside the answer: Langfuse's own extract, and OpenInference's attributes."""
    made = [as_dict(decoded(call)) for call in _listed(field(observation, "toolCalls"))]
    names = [name for name in _listed(field(observation, "toolCallNames")) if isinstance(name, str)]
    if names:
        made += [{}] * (len(names) - len(made))
        return [(name, call.get("arguments")) for name, call in zip(names, made, strict=False)]
    found = filter(None, map(_CALL_NAME.fullmatch, said))
    named = sorted((int(match.group(1)), match.group()) for match in found)
    return [(said[key], said.get(key.removesuffix("name") + "arguments")) for _, key in named]


def catalogue(observation: Mapping[str, Any], said: Mapping[str, Any]) -> list[Any] | None:
    """Give the tools on offer, where something beside the request names them."""
    offered = [said.get(key) for key in _CATALOGUES]
    offered += [_flattened(said), _pydantic(said), parameters(observation).get("tools"), _extracted(observation)]
    return next((tools for tools in map(loose.definitions, offered) if tools), None)


def _flattened(said: Mapping[str, Any]) -> list[Any]:
    """OpenInference: one attribute per tool."""
    return [value for key, value in said.items() if key.startswith("llm.tools.") and key.endswith(".json_schema")]


def _pydantic(said: Mapping[str, Any]) -> list[Any]:
    """Pydantic AI: an output tool is one more tool to the model."""
    asked = as_dict(decoded(said.get("model_request_parameters")))
    tools = [*_listed(asked.get("function_tools")), *_listed(asked.get("output_tools"))]
    return [
        {"name": tool.get("name"), "description": tool.get("description"), "parameters": tool["parameters_json_schema"]}
        for tool in tools
        if isinstance(tool, Mapping) and "parameters_json_schema" in tool
    ]


def _extracted(observation: Mapping[str, Any]) -> list[Any]:
    """Langfuse's own extract: definitions as JSON text, by name."""
    found = as_dict(decoded(field(observation, "toolDefinitions")))
    return [{"name": name, **as_dict(decoded(tool))} for name, tool in found.items()]


def tokens(observation: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, int | None]:
    """Count tokens. Nothing is counted where Langfuse only guessed: no usage was reported by the span's attributes."""
    usage = as_dict(decoded(field(observation, "usageDetails"))) or as_dict(decoded(observation.get("usage")))
    counts = {key: count for key, value in usage.items() if (count := answer.tokens(value)) is not None}
    if not counts or _is_guess(said):
        return {}
    total = next((counts[key] for key in _TOTALS if key in counts), None)
    read = _sum(value for key, value in counts.items() if _is_cache(key) and not _is_write(key))
    written = _sum(value for key, value in counts.items() if _is_write(key))
    inputs, outputs = _sides(counts, _INPUTS, "input"), _sides(counts, _OUTPUTS, "output")
    cached = (read or 0) + (written or 0)
    if inputs and total is not None and cached:
        inputs.append(inputs[-1] + cached)
    # By Langfuse's rule details are apart from `input` and `output`. The total tells when somebody kept another rule.
    pairs = [(one, other) for one in inputs or [0] for other in outputs or [0]]
    chosen = next((pair for pair in pairs if sum(pair) == total), pairs[0])
    return {
        "input_tokens": chosen[0] if inputs else None,
        "output_tokens": chosen[1] if outputs else None,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
    }


def _sides(counts: Mapping[str, int], keys: tuple[str, ...], side: str) -> list[int]:
    """Give what may be the whole of one side: with its details, or without them (they are in it already)."""
    plain = next((counts[key] for key in keys if key in counts), None)
    if plain is None:
        return []
    details = (value for key, value in counts.items() if side in key and key not in keys and "." not in key)
    return [plain + sum(details), plain]


def _is_cache(key: str) -> bool:
    return "cache" in key.lower()


def _is_write(key: str) -> bool:
    return _is_cache(key) and any(word in key.lower() for word in ("creation", "write"))


def _sum(values: Iterable[int]) -> int | None:
    found = list(values)
    return sum(found) if found else None


def _is_guess(said: Mapping[str, Any]) -> bool:
    spans = [key for key in said if key.startswith(("gen_ai.", "llm.", "ai."))]
    return bool(spans) and not any("usage" in key or "token_count" in key for key in spans)


def limit(observation: Mapping[str, Any]) -> int | None:
    """Give the most tokens that the answer could have."""
    asked = parameters(observation)
    texts = (str(asked[key]) for key in _LIMITS if isinstance(asked.get(key), str | int))
    return next((int(text) for text in texts if text.isdecimal() and len(text) < 10 and int(text)), None)
