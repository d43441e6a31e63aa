"""Damaged copies of real records, and what must hold of everything that a reader makes of them."""

import copy
import json
from pathlib import Path
from random import Random
from typing import Any, get_args

from toolsel_assets.traces.formats import Format
from toolsel_assets.traces.model_call import Item, Link, Merged, MergeReason, ModelCall, Reason, Rejected
from toolsel_assets.traces.records import Record, records
from toolsel_assets.vocabulary.decision import Status

SCALARS = (None, True, 0, -1, 10**30, 1e308, "", "x", "\ud800", "2024-13-45")
#: As deep as records.py lets through, and deeper.
DEEP = [json.loads('{"content": [' * depth + "1" + "]}" * depth) for depth in (90, 200)]
JUNK: tuple[Any, ...] = (*SCALARS, [], {}, [[]], [None], {"a": []}, *DEEP)


def damaged(text: str, random: Random) -> Any:
    """Drop, double, turn round or replace values anywhere in a record."""
    value = json.loads(text)
    for _ in range(random.randint(1, 4)):
        value = _damage(value, random)
    return value


def _damage(value: Any, random: Random) -> Any:
    if not isinstance(value, dict | list) or not value or random.random() < 0.08:
        return copy.deepcopy(random.choice(JUNK))
    key = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
    act = random.random()
    if act < 0.85:
        value[key] = _damage(value[key], random)
    elif act < 0.9 or isinstance(value, dict):
        del value[key]
    elif act < 0.95:
        value.append(value[key])
    else:
        value.reverse()
    return value


def damaged_file(data: bytes, random: Random, folder: Path) -> list[Record]:
    """Cut a file or break some of its bytes, and give the records that can still be read."""
    broken = bytearray(data[: random.randrange(len(data))] if random.random() < 0.3 else data)
    for _ in range(random.randint(0, 5)):
        if broken:
            broken[random.randrange(len(broken))] = random.choice(b'\x00\xff"{}[],:0a')
    path = folder / "mutant"
    path.write_bytes(broken)
    return [record for record in records(path) if isinstance(record, Record)]


def counted(items: list[Item]) -> int:
    """Count the units that items stand for."""
    return sum(item.n if isinstance(item, Merged) else isinstance(item, ModelCall | Link | Rejected) for item in items)


def check_books(reader: Format, found: list[Record]) -> list[Item]:
    """Every unit is accounted for, and nothing is said that the vocabulary does not have."""
    items = list(reader.read(found))
    assert counted(items) == sum(reader.units(record.value) for record in found)
    for item in items:
        if isinstance(item, ModelCall):
            assert item.call_id
            assert isinstance(item.call_id, str)
            assert bool(item.action) == (item.status == Status.CALLED)
            assert item.messages is None or item.context is None
        elif isinstance(item, Merged):
            assert item.reason in get_args(MergeReason)
        elif isinstance(item, Rejected):
            assert item.reason in get_args(Reason)
    return items
