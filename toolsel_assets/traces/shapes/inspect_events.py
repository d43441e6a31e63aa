"""Where things stand in a sample of Inspect AI: nested events, spans, texts and messages that are kept apart.

What belongs here: finding them. What does not: what an event means (formats/inspect_ai.py).
"""

from collections.abc import Iterator, Mapping
from typing import Any

REFERENCES = ("attachment://", "tc://")
SCORERS = frozenset({"scorer", "scorers"})

Spans = Mapping[str, tuple[str | None, str | None]]


def walk(events: list[Any]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Give every event with the tools around it, the innermost first. Older logs nest events; no recursion."""
    levels: list[tuple[Iterator[Any], tuple[str, ...]]] = [(iter(events), ())]
    while levels:
        for event in levels[-1][0]:
            tools = levels[-1][1]
            yield event, tools
            nested = event.get("events") if isinstance(event, dict) else None
            if isinstance(event, dict) and isinstance(nested, list) and nested:
                if event.get("event") == "tool":
                    tools = (_text(event.get("id")) or "tool", *tools)
                levels.append((iter(nested), tools))
                break
        else:
            levels.pop()


def spans_of(events: list[Any]) -> Spans:
    """Map each span to its type and its parent."""
    return {
        event["id"]: (_text(event.get("type")), _text(event.get("parent_id")))
        for event, _ in walk(events)
        if isinstance(event, dict) and event.get("event") == "span_begin" and isinstance(event.get("id"), str)
    }


def around(span: Any, spans: Spans) -> tuple[list[str], bool]:
    """Name the runs around a span, the innermost first: agents that tools started, or the tools. And: is it scoring?"""
    runs: list[str] = []
    agent: str | None = None
    scoring = False
    seen: set[str] = set()
    while isinstance(span, str) and span in spans and span not in seen:
        seen.add(span)
        kind, parent = spans[span]
        if kind == "agent":
            agent = span
        elif kind == "tool":
            runs.append(agent or span)
            agent = None
        scoring = scoring or kind in SCORERS
        span = parent
    return runs, scoring


def enters_scorer(event: Any) -> int:
    """Logs without spans mark a scorer by two step events."""
    if not isinstance(event, dict) or event.get("event") != "step" or event.get("type") != "scorer":
        return 0
    return {"begin": 1, "end": -1}.get(str(event.get("action")), 0)


def from_pool(refs: Any, pool: list[Any]) -> list[Any] | None:
    """Give the messages that ranges (start, end) of the pool stand for; None when they are not there."""
    found: list[Any] = []
    for ref in refs if isinstance(refs, list) else [None]:
        start, end = ref if isinstance(ref, list) and len(ref) == 2 else (None, None)
        if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(pool):
            return None
        found.extend(pool[start:end])
    return found


def whole(value: Any, texts: Mapping[str, Any], missing: list[str]) -> Any:
    """Put the texts that stand apart back where they belong."""
    if isinstance(value, str):
        scheme = next((scheme for scheme in REFERENCES if value.startswith(scheme)), None)
        if scheme is None:
            return value
        if not isinstance(found := texts.get(value.removeprefix(scheme)), str):
            missing.append(value)
            return value
        return found
    if isinstance(value, list):
        return [whole(part, texts, missing) for part in value]
    if isinstance(value, dict):
        return {key: whole(part, texts, missing) for key, part in value.items()}
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
