"""A tool and a catalogue: what the model may call, in which order it is shown, and what a call can reach."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

Effect = Literal["read", "write", "destructive", "none", "unknown"]

#: What can be declared; `none` is a tool without any effect and without anything to read, such as one to think in.
DECLARED_EFFECTS = ("read", "write", "destructive", "none")


@dataclass(frozen=True)
class Tool:
    """One tool as MCP's tools/list gives it, with the effect that its annotations declare.

    `effect` is `unknown` when nothing is declared: absent is not read-only.
    """

    name: str
    description: str
    input_schema: dict[str, Any] = field(default_factory=dict)
    effect: Effect = "unknown"

    def definition(self) -> dict[str, Any]:
        """Give what a model sees of the tool: name, description, input schema."""
        return {"name": self.name, "description": self.description, "inputSchema": self.input_schema}


def order_for_seed(tools: Iterable[Tool], seed: int) -> tuple[Tool, ...]:
    """Order tools by sha256(seed, name).

    A shuffle would reorder the old tools whenever one is added, so that two things change between two rungs. Here
    adding tools leaves the relative order of the others as it was (seeds/per_tool_and_pair, "position control").
    """
    return tuple(sorted(tools, key=lambda tool: (sha256(f"{seed}:{tool.name}".encode()).digest(), tool.name)))


def rotated(tools: Iterable[Tool], seeds: Sequence[int], seed: int) -> tuple[Tool, ...]:
    """Begin one order elsewhere for each seed, so that every tool is seen early, in the middle and late.

    The rows of a Latin square over as many places as there are seeds: seed number i of k begins i/k of the way in. The
    order is that of the first seed, so that adding tools leaves the cyclic order of the others as it was.
    """
    order = order_for_seed(tools, seeds[0])
    start = len(order) * seeds.index(seed) // len(seeds)
    return order[start:] + order[:start]


def order_hash(tools: Iterable[Tool]) -> str:
    """Hash the order in which tools are shown: 12 hexadecimal digits."""
    return sha256("\n".join(tool.name for tool in tools).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Catalogue:
    """A named set of tools. Its hash covers what a model sees of it, whatever the order of the file."""

    name: str
    tools: tuple[Tool, ...]

    @property
    def names(self) -> frozenset[str]:
        """The tools' names."""
        return frozenset(tool.name for tool in self.tools)

    @property
    def hash(self) -> str:
        """Hash the definitions, sorted by name: 12 hexadecimal digits."""
        definitions = sorted((tool.definition() for tool in self.tools), key=lambda d: str(d["name"]))
        return sha256(json.dumps(definitions, sort_keys=True).encode()).hexdigest()[:12]

    def shown_in_order(self, seed: int) -> tuple[Tool, ...]:
        """Give the tools in the order of a seed."""
        return order_for_seed(self.tools, seed)
