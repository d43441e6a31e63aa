"""Times of traces, in whatever form they are written, as UTC."""

from datetime import UTC, datetime
from typing import Any

#: Above these, a number counts milliseconds, microseconds, nanoseconds since 1970 rather than seconds.
_SCALES = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def utc(value: Any) -> str | None:
    """Give `YYYY-MM-DD HH:MM:SS.ffffff` in UTC from ISO 8601 text or a number since 1970; None when it is neither.

    Text without a zone is taken as UTC. Numbers may be seconds, milliseconds, microseconds or nanoseconds, and text.
    """
    try:
        found = _instant(value)
        return None if found is None else found.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    except (ValueError, OverflowError, OSError):
        return None


def milliseconds(started: Any, ended: Any) -> float | None:
    """Give the milliseconds between two times, None when one is missing or they are in the wrong order."""
    try:
        first, last = _instant(started), _instant(ended)
    except (ValueError, OverflowError, OSError):
        return None
    if first is None or last is None or last < first:
        return None
    return (last - first).total_seconds() * 1000


def _instant(value: Any) -> datetime | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if not text.replace(".", "", 1).isdigit():
            found = datetime.fromisoformat(text)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        value = float(text)
    if not isinstance(value, int | float) or value <= 0:
        return None
    scale = next((scale for limit, scale in _SCALES if value > limit), 1.0)
    return datetime.fromtimestamp(value / scale, tz=UTC)
