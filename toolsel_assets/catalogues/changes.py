"""What changed between two versions of a catalogue, tool by tool.

What belongs here: the comparison, and what is a rename (catalogues/retired.yaml says so; nothing is guessed from
likeness). What does not: which versions there are (versions.py).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolsel_assets.vocabulary.tool import Tool

ChangeKind = Literal[
    "added",
    "removed",
    "renamed",  # removed, and retired.yaml leads its callers to a tool that is new
    "replaced",  # removed, and retired.yaml leads its callers to a tool that was there already
    "description_changed",
    "schema_changed",
    "effect_changed",  # the annotations declare another effect
    "order_changed",  # the tools of both versions stand in another order
]


@dataclass(frozen=True)
class Change:
    """One change. `tool` is the name it has now, or had last; empty for the order, which is of the whole list."""

    tool: str
    change: ChangeKind
    before: str
    after: str


def changes(before: Sequence[Tool], after: Sequence[Tool], retired: Mapping[str, str]) -> list[Change]:
    """Compare two lists of tools in which every name stands once. `retired` leads from old names to new ones."""
    old, new = {tool.name: tool for tool in before}, {tool.name: tool for tool in after}
    names = {name: name for name in old if name in new}
    gone = {name: retired.get(name, "") for name in old if name not in new}
    renamed = {name: target for name, target in gone.items() if target in new and target not in old}
    found = [Change(name, "added", "", _definition(new[name])) for name in new if name not in old]
    found = [change for change in found if change.tool not in renamed.values()]
    for name, target in gone.items():
        if name in renamed:
            found.append(Change(name, "renamed", name, target))
        elif target in new:
            found.append(Change(name, "replaced", name, target))
        else:
            found.append(Change(name, "removed", _definition(old[name]), ""))
    for name, target in {**names, **renamed}.items():
        found += _differences(old[name], new[target])
    return [*found, *_order(before, after, names)]


def _differences(old: Tool, new: Tool) -> Iterator[Change]:
    if old.description != new.description:
        yield Change(new.name, "description_changed", old.description, new.description)
    # As text: Python takes true, 1 and 1.0 for equal, and a model sees the difference.
    if _text(old.input_schema) != _text(new.input_schema):
        yield Change(new.name, "schema_changed", _text(old.input_schema), _text(new.input_schema))
    if old.effect != new.effect:
        yield Change(new.name, "effect_changed", old.effect, new.effect)


def _order(before: Sequence[Tool], after: Sequence[Tool], common: Mapping[str, str]) -> Iterator[Change]:
    """Compare the order of the tools that both have: adding one in the middle leaves that of the others as it was."""
    old, new = ([tool.name for tool in tools if tool.name in common] for tools in (before, after))
    if old != new:
        yield Change("", "order_changed", ", ".join(old), ", ".join(new))


def _definition(tool: Tool) -> str:
    return _text({"description": tool.description, "inputSchema": tool.input_schema, "effect": tool.effect})


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
