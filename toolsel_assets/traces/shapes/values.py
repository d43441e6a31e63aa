"""What stands at a place in JSON, when it is of the kind that it should be.

What belongs here: reading one value without raising, since any JSON may stand anywhere in a log. What does not: what
the value means.
"""

from collections.abc import Mapping
from typing import Any


def as_dict(value: Any) -> dict[str, Any]:
    """Give an object, and an empty one for everything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Give a list, and an empty one for everything else."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Give a text with something in it, and None for everything else."""
    return value if isinstance(value, str) and value else None


def text_at(record: Mapping[str, Any], key: str) -> str | None:
    """Give the text that an object has under a key."""
    return as_text(record.get(key))


def count_at(record: Mapping[str, Any], key: str) -> int | None:
    """Give the whole number that an object has under a key."""
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
