"""The items of OpenAI's Responses API as Codex logs them, and the adding up of the items of one response.

What belongs here: what one `response_item` says, read without knowing the items around it. What does not: where a
response ends and what the model saw (formats/codex.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsel_assets.traces import outcome
from toolsel_assets.traces.model_call import ContextProblem
from toolsel_assets.traces.shapes.values import text_at
from toolsel_assets.vocabulary import chat
from toolsel_assets.vocabulary.action import Action
from toolsel_assets.vocabulary.chat import Chat
from toolsel_assets.vocabulary.decision import Status

#: Results of tools; tools that the provider runs itself.
OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output"}
)
SERVER_TOOLS = frozenset(
    {"web_search_call", "image_generation_call", "file_search_call", "code_interpreter_call", "mcp_call"}
)
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})


@dataclass(slots=True, kw_only=True)
class Item:
    """One item: `said` when it came from outside, else what the model made."""

    item_id: str | None = None
    call_id: str | None = None
    said: Chat | None = None
    text: str = ""
    call: tuple[Any, Any] | None = None
    server_tool: str | None = None

    def chat(self) -> Chat:
        """Give it as a message of its own."""
        if self.said is not None:
            return self.said
        response = Response(None, None)
        response.add(self, None)
        return next(iter(response.messages()), {"role": "assistant", "content": ""})


def read(payload: Mapping[str, Any]) -> Item | None:
    """Read an item; None when it is neither the model's nor for it. `ValueError` says what is wrong with it."""
    kind = payload.get("type")
    if not isinstance(kind, str):
        raise ValueError("an item without a type")
    item_id = text_at(payload, "id")
    call_id = text_at(payload, "call_id") or item_id
    if kind in OUTPUTS:
        output = payload.get("output", payload.get("tools"))
        return Item(call_id=call_id, said=chat.tool_result(call_id, output))
    if kind in ("message", "agent_message"):
        return _message(payload, item_id)
    if kind == "reasoning":
        return Item(item_id=item_id)
    if kind in SERVER_TOOLS or (kind == "tool_search_call" and payload.get("execution") == "server"):
        return Item(item_id=item_id, server_tool=kind.removesuffix("_call"))
    if kind in CALLS:
        return Item(item_id=item_id, call_id=call_id, call=_call(kind, payload))
    return None


def _message(payload: Mapping[str, Any], item_id: str | None) -> Item:
    role = "user" if payload["type"] == "agent_message" else payload.get("role")
    content = payload.get("content")
    if not isinstance(role, str) or not isinstance(content, str | list):
        raise ValueError("a message without a role or without content")
    text = "\n".join(part for part in map(_part, content) if part) if isinstance(content, list) else content
    if role == "assistant":
        return Item(item_id=item_id, text=text)
    return Item(item_id=item_id, said={"role": role, "content": text})


def _part(part: Any) -> str:
    """Give the text of a part; one without text is named, so that a reader sees that something stood there."""
    return chat.text_of(part) or (f"[{part.get('type', 'part')}]" if isinstance(part, dict) else "")


def _call(kind: str, payload: Mapping[str, Any]) -> tuple[Any, Any]:
    """Give the name of the tool, with its namespace, and the arguments."""
    if kind == "local_shell_call":
        return "local_shell", payload.get("action")
    if kind == "tool_search_call":
        return "tool_search", payload.get("arguments")
    name, space = payload.get("name"), text_at(payload, "namespace")
    if space and isinstance(name, str) and name:
        name = f"{space}{'' if space.endswith(('_', '.', '/')) else '.'}{name}"
    if kind == "custom_tool_call":
        return name, {"input": payload.get("input")}
    return name, payload.get("arguments")


@dataclass(slots=True)
class Response:
    """What the items of one response add up to, and the results that came before its end was known."""

    first_seen: Any
    context_problem: ContextProblem | None
    last_seen: Any = None
    item_id: str | None = None
    call_id: str | None = None
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[Any, Any]] = field(default_factory=list)
    tool_calls: list[Chat] = field(default_factory=list)
    server_tools: list[str] = field(default_factory=list)
    usage: Mapping[str, Any] | None = None
    complete: bool = False
    after: list[Chat] = field(default_factory=list)

    def add(self, item: Item, seen: Any) -> None:
        """Take one more item of it."""
        self.last_seen = seen
        self.item_id = self.item_id or item.item_id
        if item.text and item.text not in self.texts:
            self.texts.append(item.text)
        if item.call:
            self.call_id = self.call_id or item.call_id
            self.calls.append(item.call)
            self.tool_calls.append(chat.tool_call(item.call_id, *item.call))
        if item.server_tool:
            self.server_tools.append(item.server_tool)

    def messages(self) -> list[Chat]:
        """Give it as one message, and those after it."""
        text = "\n".join([*(f"[{tool}]" for tool in self.server_tools), *self.texts])
        if self.tool_calls:
            return [{"role": "assistant", "content": text or None, "tool_calls": self.tool_calls}, *self.after]
        return [{"role": "assistant", "content": text}, *self.after] if text else self.after

    def conclude(self, stop_reason: str | None) -> tuple[Action, Status, str | None]:
        """Say what the model did: a stop only if the response is known to be complete."""
        try:
            action = tuple(outcome.call(name, arguments) for name, arguments in self.calls)
        except outcome.Malformed as problem:
            return (), Status.MALFORMED, str(problem)
        ended, detail = outcome.status(action, stop_reason, text=bool(self.texts), must_finish=not self.complete)
        return action if ended == Status.CALLED else (), ended, detail


def items(kind: str, payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the items that a line holds: its own, or those that replace the history."""
    if kind == "response_item":
        return [payload]
    kept = payload.get("replacement_history") if kind == "compacted" else None
    return [item for item in kept if isinstance(item, dict)] if isinstance(kept, list) else []


def parent_of(meta: Mapping[str, Any]) -> str | None:
    """Give the run that started the run of a session_meta, None when a person did."""
    source = meta.get("source")
    spawned = source.get("subagent", source.get("sub_agent")) if isinstance(source, dict) else None
    thread = spawned.get("thread_spawn") if isinstance(spawned, dict) else None
    return text_at(thread, "parent_thread_id") if isinstance(thread, dict) else None


def system_of(meta: Mapping[str, Any]) -> list[Chat]:
    """Give the system prompt of a session_meta as no message or one."""
    base = meta.get("base_instructions", meta.get("instructions"))
    text = text_at(base, "text") if isinstance(base, dict) else base
    return [{"role": "system", "content": text}] if isinstance(text, str) and text else []
