"""Names of tools on the wire: providers refuse `calendar.create_event`, so that it travels as `calendar_create_event`.

A wire name depends on the tool's own name alone, so that it is the same on every rung of a ladder: what a model sees of
a tool must not change when another joins it. Two names that would travel as one are refused before anything is asked.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

from toolsel_assets.vocabulary.problem import BadInput

#: What Anthropic and OpenAI accept.
ACCEPTED = re.compile(r"[a-zA-Z0-9_-]{1,128}")

_LONGEST = 128
_DIGEST = 8


def wire_name(name: str) -> str:
    """Give the name under which a tool travels: its own where that is accepted."""
    if ACCEPTED.fullmatch(name):
        return name
    safe = re.sub(r"[^a-zA-Z0-9_-]", "_", name)
    if len(safe) <= _LONGEST:
        return safe
    # Cut names would collide where they begin alike; a digest of the whole name keeps them apart.
    return f"{safe[: _LONGEST - _DIGEST - 1]}_{sha256(name.encode()).hexdigest()[:_DIGEST]}"


def wire_names(names: Iterable[str], where: str) -> dict[str, str]:
    """Map wire names back to tools. Two tools with one wire name raise `BadInput`, which names both."""
    found: dict[str, str] = {}
    for name in sorted(set(names)):
        other = found.setdefault(wire_name(name), name)
        if other != name:
            raise BadInput(
                where,
                f"{other} and {name} would both be shown to the model as {wire_name(name)}",
                "names that differ after every character but letters, digits, _ and - has become _",
            )
    return found
