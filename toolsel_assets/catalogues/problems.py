"""What is wrong with the tools of a catalogue that can be used all the same.

What belongs here: what needs more than the list itself: whether a schema is valid JSON Schema, whether providers take a
name. What does not: what reading the list says of it (vocabulary/tool_lists.py), what follows from it (checks.py).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.validators import validator_for

from toolsel_assets.vocabulary.tool import Catalogue, Tool
from toolsel_assets.vocabulary.tool_lists import ToolProblem

#: What Anthropic and OpenAI take as a name. MCP accepts more; such names are mapped before a model is asked.
WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

LONGEST = 300


def problems(catalogue: Catalogue, said: Iterable[ToolProblem]) -> list[ToolProblem]:
    """Add to what was said when the list was read."""
    return [*said, *(problem for tool in catalogue.tools for problem in _of_tool(tool))]


def _of_tool(tool: Tool) -> Iterator[ToolProblem]:
    if found := schema_mistake(tool.input_schema):
        yield ToolProblem(tool.name, "schema_is_invalid", found)
    if not WIRE_NAME.fullmatch(tool.name):
        detail = f"not {WIRE_NAME.pattern}: a model is shown another name, which is mapped back"
        yield ToolProblem(tool.name, "name_refused_by_providers", detail)


def schema_mistake(schema: dict[str, Any]) -> str | None:
    """Say what makes a schema no JSON Schema, of the draft that it names or of 2020-12; None when it is one."""
    dialect = schema.get("$schema")
    if not isinstance(dialect, str | None):
        return "$schema: no text"
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path)) or "the schema"
        message = error.message if len(error.message) <= LONGEST else f"{error.message[:LONGEST]} ..."
        return f"{place}: {message}"
    return None
