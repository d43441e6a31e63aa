"""The bodies of OpenAI's Responses API: what the model saw, as chat messages, and what it answered.

What belongs here: items of `input` and `output`. What does not: the envelope (envelope.py), Chat Completions
(formats/openai_requests.py). The identity of a tool is its name, or `<namespace>.<name>` where it has a namespace.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolsel_assets.traces.model_call import ContextProblem
from toolsel_assets.traces.shapes.answer import Answer, direct
from toolsel_assets.traces.shapes.values import as_list
from toolsel_assets.vocabulary import chat

Item = Mapping[str, Any]

#: Calls of built-in tools that the loop carries out, and where their arguments stand.
_LOOP_TOOLS = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
    "tool_search_call": ("tool_search", "arguments"),
}
#: Items whose content only the provider can read.
_OPAQUE = frozenset({"item_reference", "compaction", "compaction_summary"})
_PARTS = {"input_text": "text", "output_text": "text", "refusal": "text", "text": "text", "summary_text": "text"}


def tool_name(item: Item) -> Any:
    """Give the identity of the tool that an item calls or defines."""
    name, namespace = item.get("name"), item.get("namespace")
    return f"{namespace}.{name}" if isinstance(namespace, str) and namespace and isinstance(name, str) else name


def answer(body: Mapping[str, Any]) -> Answer:
    """Read an answer."""
    items = [item for item in as_list(body.get("output")) if isinstance(item, Mapping)]
    ran = {str(item.get("call_id")) for item in items if item.get("type") == "shell_call_output"}
    calls: list[tuple[Any, Any]] = []
    server_tools: list[str] = []
    for item in items:
        call = _call(item, ran)
        if call:
            calls.append(call)
        elif server_tool := _server_tool(item):
            server_tools.append(server_tool)
    parts = [part for item in items for part in as_list(item.get("content")) if isinstance(part, Mapping)]
    return Answer(
        calls=calls,
        text=any(part.get("type") == "output_text" and part.get("text") for part in parts),
        refused=any(part.get("type") == "refusal" for part in parts),
        stop_reason=_stop_reason(body),
        must_finish="status" in body,
        server_tools=tuple(server_tools),
        malformed=None if isinstance(body.get("output"), list) else "the answer has no list of output items",
    )


def _stop_reason(body: Mapping[str, Any]) -> str | None:
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    found = reason if isinstance(reason, str) and body.get("status") == "incomplete" else body.get("status")
    return found if isinstance(found, str) else None


def _call(item: Item, ran: set[str]) -> tuple[Any, Any] | None:
    """Give the call that the loop has to carry out, if an item is one."""
    kind = _kind(item)
    if not direct(item.get("caller")):
        return None
    if kind == "function_call":
        return tool_name(item), item.get("arguments")
    if kind == "custom_tool_call":
        return tool_name(item), {"input": item.get("input")}
    if kind == "mcp_approval_request":
        return _of_server(item), item.get("arguments")
    if kind not in _LOOP_TOOLS or _is_hosted(item, ran):
        return None
    name, key = _LOOP_TOOLS[kind]
    return name, item.get(key, {"actions": item["actions"]} if "actions" in item else None)


def _is_hosted(item: Item, ran: set[str]) -> bool:
    """Say whether the provider ran a built-in tool that could also be the loop's."""
    if item.get("type") == "tool_search_call":
        return item.get("execution") != "client"
    environment = item.get("environment")
    kind = environment.get("type") if isinstance(environment, Mapping) else None
    return (isinstance(kind, str) and kind.startswith("container")) or str(item.get("call_id")) in ran


def _server_tool(item: Item) -> str | None:
    kind = _kind(item)
    if kind == "mcp_call":
        return _of_server(item)
    if kind in ("function_call", "custom_tool_call"):
        return str(tool_name(item))
    return kind.removesuffix("_call") if kind.endswith("_call") else None


def _of_server(item: Item) -> str:
    return f"{item.get('server_label', 'mcp')}.{item.get('name', '')}"


def _kind(item: Item) -> str:
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def messages(
    request: Mapping[str, Any], body: Mapping[str, Any]
) -> tuple[list[chat.Chat] | None, ContextProblem | None]:
    """Give what the model saw as chat messages, and why that is not all of it, when it is not."""
    given = request.get("input")
    elsewhere = any(side.get(key) for side in (request, body) for key in ("previous_response_id", "conversation"))
    problem: ContextProblem | None = "kept_by_provider" if elsewhere or request.get("prompt") else None
    found = chat.system(_instructions(request.get("instructions") or body.get("instructions")))
    if isinstance(given, str):
        return [*found, {"role": "user", "content": given}], problem
    if not isinstance(given, list):
        return None, "broken_messages" if given else "content_not_captured"
    items = [item for item in given if isinstance(item, Mapping)]
    if len(items) < len(given) or not all("role" in item or "type" in item for item in items):
        return None, "broken_messages"
    if any(_kind(item) in _OPAQUE for item in items):
        problem = "kept_by_provider"
    return found + from_items(items), problem


def _instructions(value: Any) -> Any:
    items = [item for item in as_list(value) if isinstance(item, Mapping)]
    return [chat.text_of(item.get("content")) for item in items] if items else value


def from_items(items: Iterable[Item]) -> list[chat.Chat]:
    """Turn items of `input` into chat messages: calls join the assistant's message that they were issued with."""
    found: list[chat.Chat] = []
    for item in items:
        kind = _kind(item)
        if "role" in item:
            found.append({"role": str(item["role"]), "content": _content(item.get("content"))})
        elif kind.endswith("_output"):
            found.append(chat.tool_result(item.get("call_id"), _content(item.get("output"))))
        elif call := _call(item, set()):
            if not found or found[-1]["role"] != "assistant":
                found.append({"role": "assistant", "content": None})
            calls = found[-1].setdefault("tool_calls", [])
            calls.append(chat.tool_call(item.get("call_id") or item.get("id"), *call))
        elif kind not in ("", "reasoning", "additional_tools", *_OPAQUE):
            found.append({"role": "assistant", "content": chat.text_of(item.get("content")) or f"[{kind}]"})
    return found


def _content(content: Any) -> Any:
    """Give content as the chat form has it: text where it is all text, else parts under the chat form's names."""
    if not isinstance(content, list):
        return content
    parts = [part for part in content if isinstance(part, Mapping)]
    if all(part.get("type") in tuple(_PARTS) for part in parts):
        return chat.text_of([{"text": part.get("text") or part.get("refusal")} for part in parts])
    return [_part(part) for part in parts]


def _part(part: Item) -> dict[str, Any]:
    if part.get("type") in tuple(_PARTS):
        return {"type": "text", "text": chat.text_of(part.get("text"))}
    if part.get("type") == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url") or part.get("file_id")}}
    return dict(part)


def tools_seen(request: Mapping[str, Any], body: Mapping[str, Any]) -> list[Any] | None:
    """Give the catalogue: the request's, or as the answer repeats it, and tools that items of the input brought in."""
    given = next((side["tools"] for side in (request, body) if isinstance(side.get("tools"), list)), None)
    items = [item for item in as_list(request.get("input")) if isinstance(item, Mapping)]
    loaded = [item for item in items if _kind(item) in ("additional_tools", "tool_search_output")]
    if given is None and not loaded:
        return None
    seen = [tool for tool in _flat(given) if not (isinstance(tool, Mapping) and tool.get("defer_loading") is True)]
    return seen + [tool for item in loaded for tool in _flat(item.get("tools"))]


def _flat(tools: Any) -> Iterable[Any]:
    """Give tools one by one, those of a namespace under their full names."""
    for tool in as_list(tools):
        inner = tool.get("tools") if isinstance(tool, Mapping) and tool.get("type") == "namespace" else None
        if not isinstance(inner, list):
            yield tool
            continue
        for one in (one for one in inner if isinstance(one, Mapping)):
            yield {**one, "name": tool_name({**one, "namespace": tool.get("name")})}
