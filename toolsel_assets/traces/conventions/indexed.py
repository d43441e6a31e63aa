"""Structures that a convention writes as one attribute per leaf: `llm.input_messages.0.message.role`.

What belongs here: from numbered names to lists and objects, and the other way. What does not: what they mean.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

#: Names whose value is one, whatever is in it: an exporter that makes objects of JSON text does so here as well.
LEAVES = (".json_schema", ".arguments", "input.value", "output.value", ".invocation_parameters", ".parameters")

#: Longest index that is taken for one: no span has a thousand million messages.
_DIGITS = 9


class Numbered(NamedTuple):
    """A list whose elements were attributes of their own, and whether none of them is missing."""

    items: list[Any]
    whole: bool


def flat(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Write objects, and lists with objects in them, as one attribute per leaf; other lists stay."""
    found: dict[str, Any] = {}
    # A stack and no recursion: how deep a value is nested is up to whoever wrote the file.
    todo = [(str(name), value) for name, value in reversed(list(attributes.items()))]
    while todo:
        name, value = todo.pop()
        if name.endswith(LEAVES):
            found[name] = value
        elif isinstance(value, Mapping) and value:
            todo.extend((f"{name}.{key}", inner) for key, inner in reversed(list(value.items())))
        elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
            todo.extend((f"{name}.{index}", inner) for index, inner in reversed(list(enumerate(value))))
        else:
            found[name] = value
    return found


def tree(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Give everything under `prefix.` as nested objects; a value at a place that has others below it is lost."""
    root: dict[str, Any] = {}
    for path, value in _below(attributes, f"{prefix}."):
        node = root
        for step in path[:-1]:
            inner = node.get(step)
            if not isinstance(inner, dict):
                inner = node[step] = {}
            node = inner
        if not isinstance(node.get(path[-1]), dict):
            node[path[-1]] = value
    return root


def _below(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[list[str], Any]]:
    for name, value in attributes.items():
        if name.startswith(prefix):
            yield name[len(prefix) :].split("."), value


def numbered(node: Any) -> Numbered:
    """Give an object with the keys 0, 1, ... as a list in their order; a hole means that something was dropped."""
    if not isinstance(node, Mapping):
        return Numbered([], whole=True)
    by_index = {int(key): value for key, value in node.items() if _is_index(key)}
    return Numbered([by_index[index] for index in sorted(by_index)], sorted(by_index) == list(range(len(by_index))))


def _is_index(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= _DIGITS
