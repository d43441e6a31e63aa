"""An action: what the agent may do at one decision point, calling nothing included.

The one place where `null` (JSON) and `(no tool)` (tables) meet. A table never holds SQL NULL for "no tool": `<>`,
`count(distinct)`, `group by` and `list_contains` all drop NULL, which would rebuild in a data type the defect that the
no-tool essay describes (seeds/no_tool_cases).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: How the choice of no tool reads in every table. Tool names cannot contain a space or a bracket.
NO_TOOL = "(no tool)"


@dataclass(frozen=True)
class Call:
    """One call of one tool.

    `args` is None when the agent gives no arguments at all (a ranking agent chooses names only); an agent that calls
    a tool without arguments has `{}`. The two are scored differently.
    """

    tool: str
    args: Mapping[str, Any] | None = None


#: What one decision did: the calls it emitted, in order. The empty tuple is *no tool*.
Action = tuple[Call, ...]


def action_text(action: Sequence[Call]) -> str:
    """Name an action for a table: the tool, `(no tool)`, or several tools sorted and joined by `|`."""
    return "|".join(sorted(call.tool for call in action)) or NO_TOOL


def calls_to_json(action: Sequence[Call]) -> str:
    """Write an action as JSON: `[{"tool": ..., "args": {...} | null}, ...]`, `[]` for no tool."""
    return json.dumps([{"tool": call.tool, "args": call.args} for call in action], ensure_ascii=False)


def calls_from_json(text: str) -> Action:
    """Read what `calls_to_json` wrote."""
    return tuple(Call(call["tool"], call["args"]) for call in json.loads(text))
