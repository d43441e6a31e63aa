"""The register of criteria: what was committed, and when. Append-only, one JSON object a line.

"A number that arrives before a criterion will find a criterion that accommodates it" (seeds/per_tool_and_pair).
Criteria count from the moment at which their present content was registered; a change and a change back are two
changes.
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Registration:
    """One content of one criteria file, from `registered_at` (UTC) on."""

    criteria: str
    criteria_hash: str
    registered_at: datetime


def read_register(path: Path) -> list[Registration]:
    """Read the register; an absent one is empty."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Registration(x["criteria"], x["criteria_hash"], datetime.fromisoformat(x["registered_at"])) for x in lines]


def register(path: Path, hashes: dict[str, str], now: datetime) -> list[Registration]:
    """Add what is new or has changed, and give the whole register."""
    found = read_register(path)
    new = [
        Registration(name, content, now)
        for name, content in sorted(hashes.items())
        if (last := current(found, name)) is None or last.criteria_hash != content
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for entry in new:
            file.write(json.dumps(asdict(entry), default=lambda time: time.isoformat()) + "\n")
    return found + new


def current(found: list[Registration], name: str) -> Registration | None:
    """Give the registration that is in force: the last one of that name."""
    return next((entry for entry in reversed(found) if entry.criteria == name), None)


def why_inadmissible(registered_at: datetime | None, first_chosen_at: datetime | None) -> str | None:
    """Say why criteria cannot judge a ladder; None when they were registered before its first choice."""
    if registered_at is None:
        return "the criteria are not registered"
    if first_chosen_at is not None and registered_at > first_chosen_at:
        return (
            f"the criteria were registered or changed at {registered_at:%Y-%m-%d %H:%M:%S}, after the "
            f"ladder's first choice at {first_chosen_at:%Y-%m-%d %H:%M:%S} UTC; "
            "put them back, or ask anew with `toolsel run --fresh`"
        )
    return None
