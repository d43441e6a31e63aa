"""The parts of a message: text, calls of tools and their results, as each provider and framework spells them.

What belongs here: one part, and a message made of parts, as chat messages. What does not: whole requests and answers
(loose.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolsel_assets.traces.shapes.answer import direct
from toolsel_assets.vocabulary.chat import Chat, text_of, tool_call, tool_result, with_said

#: Tools that OpenAI defines and the loop carries out; the kind of the part is the name of the tool.
DEFINED = frozenset({"computer_call", "shell_call", "local_shell_call", "apply_patch_call"})
CALLS = DEFINED | {"tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call", "function"}
RESULTS = frozenset(
    {"tool_result", "tool_call_response", "tool-result", "tool-return", "tool_return", "retry-prompt"}
    | {"function_call_output", "custom_tool_call_output"}
)
TEXTS = frozenset(
    {"text", "text_delta", "input_text", "output_text", "refusal", "system-prompt", "user-prompt", "message"}
)
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "redacted-reasoning", "compaction"})
MEDIA = frozenset({"image_url", "input_audio", "file"})
#: Parts that a model may answer with and that are no calls.
HARMLESS = frozenset(
    {"image", "audio", "source", "document", "blob", "uri", "container_upload", "step-start"}
    | {"mcp_list_tools", "tool_search_output", "server_tool_call_response", "builtin-tool-return"}
)
#: Calls that the provider itself carried out.
SERVER = frozenset({"server_tool_use", "server_tool_call", "mcp_tool_use", "mcp_call", "builtin-tool-call"})
HOSTED = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call"}
)
#: Google's and Bedrock's parts have no type: their one key says what they are.
_CALL_KEYS = ("function_call", "functionCall", "toolUse")
_RESULT_KEYS = ("function_response", "functionResponse", "toolResult")
_TEXT_KEYS = frozenset({"text", "thought", "thought_signature", "thoughtSignature"})
_CALL_IDS = ("call_id", "toolCallId", "tool_call_id", "tool_use_id", "toolUseId", "id")


def first(value: Mapping[str, Any], *keys: str) -> Any:
    """Give the first value under one of these keys that is not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def kind(part: Mapping[str, Any]) -> str:
    """Name the kind of a part."""
    named = first(part, "type", "part_kind")
    if isinstance(named, str):
        return named
    if isinstance(first(part, *_CALL_KEYS), Mapping):
        return "function_call"
    if isinstance(first(part, *_RESULT_KEYS), Mapping):
        return "function_call_output"
    if isinstance(part.get("reasoningContent"), Mapping):
        return "reasoning"
    if isinstance(part.get("text"), str) and _TEXT_KEYS.issuperset(part):
        return "reasoning" if part.get("thought") is True else "text"
    return "tool-call" if "toolName" in part and "toolCallId" in part else ""


def _is_known(name: str) -> bool:
    known = CALLS | RESULTS | TEXTS | THOUGHTS | MEDIA | HARMLESS | SERVER | HOSTED
    return name in known or name.endswith("_tool_result")


def is_part(value: Any) -> bool:
    """Say whether a value is a part that stands alone, in no message: it has a kind and no role."""
    return isinstance(value, Mapping) and "role" not in value and _is_known(kind(value))


def is_result(value: Any) -> bool:
    """Say whether a value is the result of a tool."""
    return isinstance(value, Mapping) and kind(value) in RESULTS


def called(part: Mapping[str, Any]) -> Chat:
    """Give a call as an entry of `tool_calls`. Google's calls have no ids: their names tie results to them."""
    inner = first(part, *_CALL_KEYS, "function")
    if isinstance(inner, Mapping):
        part = {**part, **inner}
    name = first(part, "name", "toolName", "tool_name")
    if name is None and kind(part) in DEFINED:
        name = kind(part).removesuffix("_call")
    call_id = first(part, *_CALL_IDS) or name
    arguments = first(part, "arguments", "args", "input", "action", "operation")
    if arguments is None and "arguments" not in part:
        arguments = {}  # Google and Pydantic AI write a call without arguments so
    if part.get("type") == "custom_tool_call" and isinstance(arguments, str):
        arguments = {"input": arguments}  # free text by design, and no JSON
    space = part.get("namespace")
    return tool_call(call_id, f"{space}.{name}" if isinstance(space, str) and space else name, arguments)


def result(part: Mapping[str, Any]) -> Chat:
    """Give a tool's result as a message."""
    inner = first(part, *_RESULT_KEYS)
    if isinstance(inner, Mapping):
        part = {**part, **inner}
    name = first(part, "name", "toolName", "tool_name")
    call_id = first(part, *_CALL_IDS) or name
    content = first(part, "output", "result", "response", "content")
    if isinstance(content, Mapping) and "value" in content:  # Vercel
        content = content["value"]
    return tool_result(call_id, content, name)


def said(role: str, parts: Sequence[Any], calls: Sequence[Chat] = ()) -> list[Chat]:
    """Turn a message of parts into chat messages. `calls` stand beside the parts; one that is in both counts once."""
    found: list[Chat] = []
    texts: list[str] = []
    made: list[Chat] = []
    for part in parts:
        if not isinstance(part, Mapping):
            texts.append(part if isinstance(part, str) else "")
        elif is_result(part):
            found.append(result(part))
        elif _is_choice(part):
            made.append(called(part))
        elif kind(part) not in THOUGHTS:
            texts.append(text_of([part]) or (f"[{kind(part)}]" if kind(part) not in TEXTS else ""))
    known = {call["id"] for call in made if call["id"]}
    made += [call for call in calls if call["id"] not in known]
    return with_said(found, role, texts, made)


def _is_choice(part: Mapping[str, Any]) -> bool:
    """A call that the loop has to carry out: not the provider's own, and not made by code that the provider runs."""
    return kind(part) in CALLS and direct(part.get("caller"))


def _within(said_by_model: Any) -> list[Any]:
    """Give the parts of a message, of a list of parts, or of a list of items that are messages themselves."""
    if isinstance(said_by_model, Mapping):
        inner = first(said_by_model, "parts", "content")
        return inner if isinstance(inner, list) else []
    if not isinstance(said_by_model, list):
        return []
    nested = [_within(each) for each in said_by_model if isinstance(each, Mapping) and each.get("type") == "message"]
    return [*said_by_model, *(part for inner in nested for part in inner)]


def oddity(said_by_model: Any) -> str | None:
    """Name a part of an answer that is of no known kind: it may be a call."""
    for part in _within(said_by_model):
        if not isinstance(part, str | Mapping):
            return f"a part that is no object but {type(part).__name__}"
        if isinstance(part, Mapping) and not _is_known(kind(part)):
            return f"a part of unknown kind {kind(part) or sorted(map(str, part))[:3]}"
    return None


def refuses(said_by_model: Any) -> bool:
    """Say whether the model declined: a refusal beside the content or among the parts."""
    beside = said_by_model.get("refusal") if isinstance(said_by_model, Mapping) else None
    return bool(beside) or any(isinstance(p, Mapping) and kind(p) == "refusal" for p in _within(said_by_model))


def server_tools(said_by_model: Any) -> tuple[str, ...]:
    """Name the tools that the provider itself ran for an answer."""
    ran = [part for part in _within(said_by_model) if isinstance(part, Mapping) and kind(part) in SERVER | HOSTED]
    return tuple(str(first(part, "name", "tool_name") or kind(part).removesuffix("_call")) for part in ran)
