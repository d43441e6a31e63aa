"""The catalogue that a trace says the model was shown, in any provider's shape.

What belongs here: definitions of tools as logs have them, to `Catalogue`. What does not: the study's own catalogues
(study.py), where a trace keeps its definitions (formats/).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsel_assets.vocabulary.tool import Catalogue, Tool

#: Where a definition has its schema: MCP, Anthropic, OpenAI and OpenTelemetry, Google, LangChain.
SCHEMAS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "args_schema", "schema")
LISTS = ("functionDeclarations", "function_declarations", "tools", "functions")


@dataclass(frozen=True)
class Seen:
    """A catalogue as a trace has it. `names_only`: no definition has a description or a schema."""

    catalogue: Catalogue
    names_only: bool


def read_seen(text: str) -> Seen | None:
    """Read a JSON list of definitions or names; None when no tool can be found in it."""
    try:
        tools = {tool.name: tool for tool in _tools(json.loads(text))}
    except (ValueError, RecursionError):
        return None
    if not tools:
        return None
    names_only = not any(tool.description or tool.input_schema for tool in tools.values())
    return Seen(Catalogue("seen", tuple(tools.values())), names_only)


def _tools(value: Any) -> Iterator[Tool]:
    if isinstance(value, str):
        yield from _from_text(value)
    elif isinstance(value, list):
        for entry in value:
            yield from _tools(entry)
    elif isinstance(value, Mapping):
        yield from _from_object(value)


def _from_text(text: str) -> Iterator[Tool]:
    """Read a bare name, or a definition that was kept as JSON text."""
    if text.lstrip().startswith(("{", "[")):
        try:
            yield from _tools(json.loads(text))
        except ValueError:
            return
    elif text.strip():
        yield Tool(text.strip(), "")


def _from_object(value: Mapping[str, Any]) -> Iterator[Tool]:
    if isinstance(inner := value.get("function"), Mapping):
        yield from _from_object(inner)
    elif isinstance(name := value.get("name"), str) and name:
        space = value.get("namespace")
        schema: Mapping[str, Any] = next((value[key] for key in SCHEMAS if isinstance(value.get(key), Mapping)), {})
        full_name = f"{space}.{name}" if isinstance(space, str) and space else name
        yield Tool(full_name, str(value.get("description") or ""), dict(schema))
    elif found := next((value[key] for key in LISTS if isinstance(value.get(key), list)), None):
        yield from _tools(found)
    elif value and all(isinstance(entry, Mapping) for entry in value.values()):
        # Keyed by name, as some frameworks write it.
        yield from _tools([{"name": key, **entry} for key, entry in value.items()])


def trace_catalogues(texts: Iterable[tuple[str, str]], known: Iterable[Catalogue]) -> Iterator[dict[str, Any]]:
    """Yield the rows of trace_catalogues from (key, text). Bare names stand for the known catalogue that has them."""
    by_names = {catalogue.names: catalogue.hash for catalogue in known}
    for key, text in texts:
        seen = read_seen(text)
        if seen is None:
            continue
        names = seen.catalogue.names
        found = by_names.get(names) if seen.names_only else None
        yield {
            "catalogue_key": key,
            "catalogue_hash": found or seen.catalogue.hash,
            "catalogue_source": "names_only" if seen.names_only else "in_trace",
            "n_tools": len(names),
            "tools": "|".join(sorted(names)),
        }
