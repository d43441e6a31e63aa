"""A list of tools as MCP servers, Anthropic's and OpenAI's requests and files of these write it, as `Tool`s.

What belongs here: every form in which a list of tools comes, the rule for names that stand twice, and what is worth a
word in a list that can be used all the same. What does not: files and servers (study.py, catalogues/), whether a schema
is valid JSON Schema (catalogues/problems.py), what traces say of their catalogue (traces/catalogue_seen.py).

    MCP tools/list    {"tools": [{"name", "description", "inputSchema", "annotations"}]}, also inside a JSON-RPC answer
    Anthropic         [{"name", "description", "input_schema"}]
    OpenAI Chat       [{"type": "function", "function": {"name", "description", "parameters"}}]
    OpenAI Responses  [{"type": "function", "name", "description", "parameters"}]

Each of them bare or as `{"tools": [...]}`. What cannot be a list of tools, or would not be the one that the model saw,
is a `BadInput`; all else is a `ToolProblem` beside the tools.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Effect, Tool

#: Which definition of a name that stands twice is the tool: none (a mistake), the first, or the last.
Duplicates = Literal["error", "first", "last"]

Severity = Literal["error", "warning", "information"]

#: What can be said of a list of tools that is used all the same, and how bad it is.
SEVERITY: dict[str, Severity] = {
    "schema_is_invalid": "error",  # no JSON Schema: a provider refuses the whole request
    "schema_is_no_object": "error",  # a schema of another type than object: refused as well
    "list_is_incomplete": "error",  # one page of several
    "no_description": "warning",  # the model has the name alone to go by
    "no_schema": "warning",  # nothing is said of the arguments
    "schema_without_type": "warning",  # an object is meant, and not said
    "duplicate_name": "warning",  # resolved by the study's rule
    "run_by_provider": "warning",  # left out: its calls are no choices that the loop sees
    "annotation_is_no_boolean": "warning",  # ignored: the tool's effect is unknown
    "name_refused_by_providers": "information",  # MCP accepts it, Anthropic and OpenAI do not
}

#: Where a definition has its schema.
SCHEMAS = ("inputSchema", "input_schema", "parameters")

ANNOTATIONS: dict[Effect, dict[str, bool]] = {
    "read": {"readOnlyHint": True},
    "write": {"readOnlyHint": False},
    "destructive": {"readOnlyHint": False, "destructiveHint": True},
}


@dataclass(frozen=True)
class ToolProblem:
    """Something about one tool, or about the list when `tool` is empty; `problem` is a key of SEVERITY."""

    tool: str
    problem: str
    detail: str

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITY[self.problem]


@dataclass(frozen=True)
class ToolList:
    """The tools in the order of the list, each name once, and what is worth a word."""

    tools: tuple[Tool, ...]
    problems: tuple[ToolProblem, ...] = ()


def read_tool_list(document: Any, where: str, duplicates: Duplicates = "error") -> ToolList:
    """Read a parsed JSON document as a list of tools. `where` names it in errors."""
    if isinstance(document, dict) and isinstance(document.get("result"), dict) and "jsonrpc" in document:
        document = document["result"]
    entries = document.get("tools") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise BadInput(where, "there is no list of tools", 'an MCP tools/list result: {"tools": [...]}')
    problems = []
    if isinstance(document, dict) and document.get("nextCursor"):
        problems.append(ToolProblem("", "list_is_incomplete", "it has a nextCursor: further pages are missing"))
    found = []
    for position, entry in enumerate(entries):
        tool, said = _tool(entry, f"{where}, tools.{position}")
        problems += said
        found += [tool] if tool else []
    kept, said = _each_name_once(found, where, duplicates)
    problems += said
    return ToolList(kept, (*problems, *(said for tool in kept for said in _missing(tool))))


def tool_list(tools: Iterable[Tool]) -> dict[str, Any]:
    """Give tools as an MCP tools/list result, which `read_tool_list` reads back."""
    entries = []
    for tool in tools:
        annotations = ANNOTATIONS.get(tool.effect)
        entries.append({**tool.definition(), **({"annotations": annotations} if annotations else {})})
    return {"tools": entries}


# --- one tool -----------------------------------------------------------------------------------------------------


def _tool(entry: Any, where: str) -> tuple[Tool | None, list[ToolProblem]]:
    """Read one entry. None is a tool that the provider runs itself."""
    if not isinstance(entry, dict):
        raise _without_name(where)
    kind, inner = entry.get("type"), entry.get("function")
    if isinstance(entry.get("tools"), list):
        raise BadInput(where, "a list of tools inside the list", "a flat list: a model is shown each tool by its name")
    if isinstance(kind, str) and kind not in ("function", "custom"):
        name = str(entry.get("name") or kind)
        return None, [ToolProblem(name, "run_by_provider", f"left out: a tool of type {kind}")]
    definition = inner if isinstance(inner, dict) else entry
    name = _name(definition, where)
    schema = _schema(definition, where)
    effect, said = _effect(name, definition.get("annotations") or entry.get("annotations") or {}, where)
    return Tool(name, str(definition.get("description") or ""), schema, effect), said


def _name(definition: Mapping[str, Any], where: str) -> str:
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise _without_name(where)
    if re.search(r"[\s()|\ud800-\udfff]", name):  # half a surrogate pair is no text that could be written
        raise BadInput(where, f"tool name {name!r}", "no white space, brackets or |")
    return name


def _without_name(where: str) -> BadInput:
    return BadInput(where, "a tool without a name", "name, description, inputSchema, annotations")


def _schema(definition: Mapping[str, Any], where: str) -> dict[str, Any]:
    key = next((key for key in SCHEMAS if definition.get(key)), SCHEMAS[0])
    schema = definition.get(key) or {}
    if not isinstance(schema, dict):
        raise BadInput(f"{where}.{key}", f"found {type(schema).__name__}", "a JSON Schema object")
    return schema


def _effect(name: str, annotations: Any, where: str) -> tuple[Effect, list[ToolProblem]]:
    if not isinstance(annotations, dict):
        raise BadInput(f"{where}.annotations", f"found {type(annotations).__name__}", "an object of MCP's hints")
    hints = {hint: annotations.get(hint) for hint in ("readOnlyHint", "destructiveHint")}
    if odd := {hint: value for hint, value in hints.items() if not isinstance(value, bool | None)}:
        return "unknown", [ToolProblem(name, "annotation_is_no_boolean", json.dumps(odd, ensure_ascii=False))]
    if hints["readOnlyHint"] is None:
        return "unknown", []
    if hints["readOnlyHint"]:
        return "read", []
    return ("destructive" if hints["destructiveHint"] else "write"), []


def _missing(tool: Tool) -> Iterator[ToolProblem]:
    """Say what a definition does not have."""
    if not tool.description.strip():
        yield ToolProblem(tool.name, "no_description", "the model has the name alone to go by")
    kind = tool.input_schema.get("type")
    if not tool.input_schema:
        yield ToolProblem(tool.name, "no_schema", "nothing is said of its arguments")
    elif kind is None:
        yield ToolProblem(tool.name, "schema_without_type", 'the schema has no "type": "object"')
    elif kind != "object":
        found = json.dumps(kind, ensure_ascii=False)
        yield ToolProblem(tool.name, "schema_is_no_object", f"the schema's type is {found}; providers take objects")


# --- names that stand twice ---------------------------------------------------------------------------------------


def _each_name_once(
    found: list[Tool], where: str, duplicates: Duplicates
) -> tuple[tuple[Tool, ...], list[ToolProblem]]:
    """Keep one definition of each name, at its own place in the list."""
    by_name: dict[str, list[Tool]] = {}
    for tool in found:
        by_name.setdefault(tool.name, []).append(tool)
    twice = {name: tools for name, tools in by_name.items() if len(tools) > 1}
    if twice and duplicates == "error":
        rules = ", ".join(rule for rule in get_args(Duplicates) if rule != "error")
        raise BadInput(
            f"{where}, tools",
            f"{', '.join(sorted(twice))} more than once",
            f"each name once, or `duplicate_tools:` in study.yaml: {rules}",
        )
    kept = {name: tools[0 if duplicates == "first" else -1] for name, tools in by_name.items()}
    said = [
        ToolProblem(
            name,
            "duplicate_name",
            f"{len(tools)} {'equal' if all(tool == tools[0] for tool in tools) else 'different'} definitions; "
            f"the {duplicates} is kept",
        )
        for name, tools in twice.items()
    ]
    return tuple(tool for tool in found if kept[tool.name] is tool), said
