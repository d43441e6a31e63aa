"""Ask whether an argument has a property, where no single value is the right one (seeds/no_tool_cases).

One function per predicate; its name in PREDICATES is what catalogues/rules.yaml writes: `{between: [1, 10]}`. An
operand written `label` is the label's own value, so that `{superset_of: label}` asks for everyone whom the label names.
A predicate that cannot be asked, or that raises, is a mismatch with that reason.

A predicate passes a whole set of values, and so also an agent that creeps towards the edge of the set: where the set
has a middle, the verdict says how far from the edge a value lies. Whether two spellings mean one value is asked in
normalisers.py; which field has which rule, in neither.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from importlib import import_module
from math import prod
from typing import Any

import regex

from toolsel_assets.scores.normalisers import (
    CannotNormalise,
    bounded,
    calendar_date,
    canonical_json,
    items,
    moment,
    normaliser_from,
    number,
    same,
    shown,
    text,
)
from toolsel_assets.vocabulary.problem import known_names

#: Stands for the label's own value, where a predicate would otherwise write its operand.
LABEL = "label"

#: Seconds of processor time that one `matches` may take, and the longest text that it looks at.
REGEX_SECONDS, REGEX_TEXT = 0.25, 100_000
_PATTERN_LENGTH, _PATTERN_SIZE = 1_000, 1_000_000


@dataclass(frozen=True)
class Verdict:
    """Whether a value has the property, and why not; how close to the edge it lies, from 0 (on it) to 1 (middle)."""

    ok: bool
    reason: str = ""
    edge: float | None = None


#: Answers for (value, label_value, state).
Question = Callable[[Any, Any, Any], Verdict]


@dataclass(frozen=True)
class Predicate:
    """A predicate with its operand, as a rule declares it."""

    name: str
    operand: Any
    ask: Question


def predicate_from(document: Any) -> Predicate:
    """Read `{between: [1, 10]}`; a ValueError says what was found and what would be accepted."""
    if not isinstance(document, Mapping) or len(document) != 1:
        found = f"{len(document)} keys" if isinstance(document, Mapping) else shown(document)
        raise ValueError(f"a predicate is a mapping with one key, not {found} (known: {', '.join(sorted(PREDICATES))})")
    name, operand = next(iter(document.items()))
    if not isinstance(name, str) or name not in PREDICATES:
        raise ValueError(f"no predicate {shown(name)} ({known_names(str(name), PREDICATES)})")
    try:
        bounded(operand)
        return Predicate(name, operand, PREDICATES[name](operand))
    except (ValueError, CannotNormalise) as problem:
        raise ValueError(f"{name}: {problem}") from problem


def check(predicate: Predicate, value: Any, label_value: Any = None, state: Any = None) -> Verdict:
    """Ask a predicate about a value. What it raises becomes a mismatch: the other rows are still to be scored."""
    try:
        bounded(value)
        return predicate.ask(value, label_value, state)
    except CannotNormalise as problem:
        return Verdict(False, problem.reason)
    except Exception as problem:  # a rule's own function may raise anything
        return Verdict(False, f"{predicate.name} raised {type(problem).__name__}: {str(problem)[:200]}")


# Ranges


def between(operand: Any) -> Question:
    """Hold when low <= value <= high; null leaves a side open. Written `[low, high]`, `{low, high}` or `label`."""

    def limits(found: Any) -> Limits:
        low, high = _pair(found, ("low", "high"))
        return _in_order(*(None if limit is None else Fraction(number(limit)) for limit in (low, high)))

    if operand != LABEL:
        limits(operand)

    def ask(value: Any, label_value: Any, state: Any) -> Verdict:
        return _within(value, Fraction(number(value)), limits(label_value if operand == LABEL else operand))

    return ask


def within_window(operand: Any) -> Question:
    """Hold when start <= value <= end, in time; null leaves a side open.

    Written `[start, end]`, `label`, or `{start, end, zone}` and `{bounds: label, zone}`, where zone is the IANA zone of
    times without an offset. Three dates are compared as days; beside a time, a date is that whole day.
    """
    bounds, zone = _window_operand(operand)

    def window(found: Any, *given: Any) -> tuple[bool, datetime | None, datetime | None]:
        start, end = _pair(found, ("start", "end"))
        days = all(each is None or _is_day(each) for each in (start, end, *given))
        return days, _time(start, zone, days), _time(end, zone, days, at_its_end=True)

    if bounds != LABEL:
        _, start, end = window(bounds)
        _on_one_clock(start, end)
        _ticks(start, end)

    def ask(value: Any, label_value: Any, state: Any) -> Verdict:
        days, start, end = window(label_value if bounds == LABEL else bounds, value)
        time = datetime.fromisoformat(calendar_date(value)) if days else moment(value, zone)
        _on_one_clock(time, start, end)
        return _within(value, _tick(time), _ticks(start, end))

    return ask


def _window_operand(operand: Any) -> tuple[Any, str | None]:
    if not isinstance(operand, Mapping):
        return operand, None
    if not set(operand) <= {"start", "end", "bounds", "zone"} or (
        "bounds" in operand and {"start", "end"} & set(operand)
    ):
        raise ValueError("accepted are start, end and zone, or bounds and zone")
    own = dict(operand)
    zone = own.pop("zone", None)
    normaliser_from({"datetime": {"zone": zone}})  # refuses an unknown zone
    return own.get("bounds", own), zone


# Sets


def superset_of(operand: Any) -> Question:
    """Hold when the list has all of the items, and perhaps others. Written `[...]`, `label` or `{items, of}`."""
    return _about_items(operand, _superset)


def subset_of(operand: Any) -> Question:
    """Hold when the list has none but the items. Written as superset_of is."""
    return _about_items(operand, _subset)


def one_of(operand: Any) -> Question:
    """Hold when the value is one of the items. Written as superset_of is; `of` is the normaliser of both sides."""
    return _about_items(operand, _one_of)


# Text, state, own functions


def matches(operand: Any) -> Question:
    """Hold when the whole text matches; the pattern is of the package `regex`, which knows all that `re` knows.

    Python's `re` cannot be stopped: a thread that runs it neither ends nor lets others run, and a process per field
    costs milliseconds. `regex` looks at the time while it matches. What it does not bound is how it writes out fixed
    counts, so that (?:(?:a{1000}){1000}){1000} takes all memory when it is compiled: hence the size of a pattern.
    """
    if not isinstance(operand, str):
        raise ValueError(f"a pattern is text, not {shown(operand)}")
    counts = prod(max(1, int(count)) for count in re.findall(r"\{(\d{1,9})[,}]", operand))
    if len(operand) > _PATTERN_LENGTH or len(operand) * counts > _PATTERN_SIZE or re.search(r"\{\d{10}", operand):
        raise ValueError("the pattern is too large; accepted are 1,000 characters, and counts of some hundreds")
    try:
        pattern = regex.compile(operand)
    except (regex.error, OverflowError, RecursionError) as problem:
        raise ValueError(f"{shown(operand)} is no regular expression: {problem}") from problem

    def ask(value: Any, label_value: Any, state: Any) -> Verdict:
        if not isinstance(value, str):
            return Verdict(False, f"{shown(value)} is not text")
        if len(value) > REGEX_TEXT:
            return Verdict(False, f"longer than the {REGEX_TEXT:,} characters that matches looks at")
        try:
            found = pattern.fullmatch(value, timeout=REGEX_SECONDS)
        except TimeoutError:
            return Verdict(False, f"{shown(operand)} took longer than {REGEX_SECONDS} s and was stopped")
        return _verdict(found is not None, f"{shown(value)} does not match {shown(operand)}")

    return ask


def equals_state(operand: Any) -> Question:
    """Hold when the value occurs in the state at a path: `messages.-1.content`, or a JSON pointer.

    Text occurs in text in whole words, whatever its case; a number among the numbers of a text, so that 5 is not in
    150; anything in a collection that holds it at any depth. Each item of a list must occur.
    """
    if not isinstance(operand, str) or not operand.strip("/."):
        raise ValueError(f"a path is text such as messages.-1.content, not {shown(operand)}")
    steps = operand.split(".")
    if operand.startswith("/"):
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operand[1:].split("/")]

    def ask(value: Any, label_value: Any, state: Any) -> Verdict:
        place = state
        for step in steps:
            place = _inside(place, step, operand)
        bounded(place)
        for item in value if isinstance(value, list) else [value]:
            if not _occurs(item, place):
                return Verdict(False, f"{shown(item)} is not in the state at {operand}")
        return _verdict(value != [], f"an empty list says nothing of the state at {operand}")

    return ask


def call(operand: Any) -> Question:
    """Hold when the function of that dotted name returns True for (value, label_value, state)."""
    module, _, name = operand.rpartition(".") if isinstance(operand, str) else ("", "", "")
    if not module or not name:
        raise ValueError(f"a function is written as module.function, not {shown(operand)}")
    try:
        function = getattr(import_module(module), name)
    except Exception as problem:  # importing runs the user's module
        raise ValueError(f"{operand} cannot be imported: {type(problem).__name__}: {problem}") from problem
    if not callable(function):
        raise ValueError(f"{operand} is {shown(function)}, which cannot be called")

    def ask(value: Any, label_value: Any, state: Any) -> Verdict:
        answer = function(value, label_value, state)
        if not isinstance(answer, bool):
            return Verdict(False, f"{operand} returned {shown(answer)}, neither true nor false")
        return _verdict(answer, f"{operand} does not hold for {shown(value)}")

    return ask


#: What catalogues/rules.yaml writes, and what reads its operand.
PREDICATES: dict[str, Callable[[Any], Question]] = {
    "between": between,
    "within_window": within_window,
    "superset_of": superset_of,
    "subset_of": subset_of,
    "one_of": one_of,
    "matches": matches,
    "equals_state": equals_state,
    "call": call,
}


# How ranges are read.

Limits = tuple[Fraction | None, Fraction | None]


def _verdict(ok: bool, reason: str) -> Verdict:
    return Verdict(ok, "" if ok else reason)


def _pair(found: Any, names: tuple[str, str]) -> tuple[Any, Any]:
    if isinstance(found, list | tuple) and len(found) == 2:
        return found[0], found[1]
    if isinstance(found, Mapping) and found and set(found) <= set(names):
        return found.get(names[0]), found.get(names[1])
    raise CannotNormalise(f"{shown(found)} is no range; accepted is [{names[0]}, {names[1]}]")


def _in_order(low: Fraction | None, high: Fraction | None) -> Limits:
    if low is None and high is None:
        raise CannotNormalise("a range has at least one limit")
    if low is not None and high is not None and low > high:
        raise CannotNormalise("the range ends before it begins")
    return low, high


def _within(value: Any, place: Fraction, limits: Limits) -> Verdict:
    low, high = limits
    if low is not None and place < low:
        return Verdict(False, f"{shown(value)} lies before the range")
    if high is not None and place > high:
        return Verdict(False, f"{shown(value)} lies beyond the range")
    if low is None or high is None:
        return Verdict(True)
    return Verdict(True, "", float(2 * min(place - low, high - place) / (high - low)) if low < high else 0.0)


def _is_day(value: Any) -> bool:
    try:
        return bool(calendar_date(value))
    except CannotNormalise:
        return False


def _time(value: Any, zone: str | None, days: bool, at_its_end: bool = False) -> datetime | None:
    if value is None or not _is_day(value):
        return None if value is None else moment(value, zone)
    day = calendar_date(value)
    if days:
        return datetime.fromisoformat(day)
    return moment(f"{day}T23:59:59.999999" if at_its_end else f"{day}T00:00", zone)


def _ticks(*times: datetime | None) -> Limits:
    """Put two limits on the axis of `_tick`."""
    low, high = (None if time is None else _tick(time) for time in times)
    return _in_order(low, high)


def _tick(time: datetime) -> Fraction:
    return Fraction((time - datetime.min.replace(tzinfo=time.tzinfo)) // timedelta(microseconds=1))


def _on_one_clock(*times: datetime | None) -> None:
    if len({time.tzinfo is None for time in times if time is not None}) > 1:
        raise CannotNormalise("a time without a UTC offset is compared with one that has one; the rule names no zone")


# How sets are read.

Comparison = Callable[[Any, list[Any], Any], Verdict]


def _about_items(operand: Any, compare: Comparison) -> Question:
    own = dict(operand) if isinstance(operand, Mapping) else {"items": operand}
    if "items" not in own or not set(own) <= {"items", "of"}:
        raise ValueError("accepted are a list, label, and a mapping of items and of")
    wanted, of = own["items"], None if own.get("of") is None else normaliser_from(own["of"])
    if wanted != LABEL:
        items(wanted, of)

    def ask(value: Any, label_value: Any, state: Any) -> Verdict:
        return compare(value, items(label_value if wanted == LABEL else wanted, of), of)

    return ask


def _superset(value: Any, wanted: list[Any], of: Any) -> Verdict:
    has = {canonical_json(item) for item in items(value, of)}
    absent = [item for item in wanted if canonical_json(item) not in has]
    return _verdict(not absent, f"without {_few(absent)}")


def _subset(value: Any, allowed: list[Any], of: Any) -> Verdict:
    may = {canonical_json(item) for item in allowed}
    others = [item for item in items(value, of) if canonical_json(item) not in may]
    return _verdict(not others, f"has {_few(others)}, which is not among the allowed")


def _one_of(value: Any, allowed: list[Any], of: Any) -> Verdict:
    (read,) = items([value], of)
    return _verdict(any(same(read, item) for item in allowed), f"{shown(value)} is none of {_few(allowed)}")


def _few(found: list[Any]) -> str:
    return ", ".join(shown(item) for item in found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")


# How the state is read.


def _inside(place: Any, step: str, path: str) -> Any:
    if isinstance(place, Mapping) and step in place:
        return place[step]
    is_index = isinstance(place, list | tuple) and re.fullmatch(r"-?\d{1,9}", step, re.ASCII)
    if is_index and -len(place) <= int(step) < len(place):
        return place[int(step)]
    raise CannotNormalise(f"the state has nothing at {path}: no {step!r}")


def _occurs(value: Any, place: Any) -> bool:
    if value is None or (isinstance(value, str) and not text(value)):
        raise CannotNormalise(f"{shown(value)} says nothing of the state")
    if isinstance(value, str):
        words = _whole_words(text(value))
        return any(_has_text(value, words, part) for part in _parts(place))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(_has_figure(number(value), part) for part in _parts(place))
    return any(type(value) is type(part) and same(value, part) for part in _parts(place))


def _parts(place: Any) -> Iterator[Any]:
    yield place
    if isinstance(place, Mapping | list | tuple):
        for each in place.values() if isinstance(place, Mapping) else place:
            yield from _parts(each)


def _has_text(value: str, words: re.Pattern[str], part: Any) -> bool:
    if isinstance(part, str):
        return words.search(text(part)) is not None
    return isinstance(part, int) and not isinstance(part, bool) and value == str(number(part))  # a key, kept as text


def _has_figure(value: Any, part: Any) -> bool:
    if isinstance(part, str):
        return any(_read_figure(found) == value for found in _FIGURE.findall(part))
    return isinstance(part, int | float) and not isinstance(part, bool) and number(part) == value


_FIGURE = re.compile(r"(?<![\w.,])(?:(?<!\w)-)?\d[\d.,]{0,60}(?<![.,])(?!\w)", re.ASCII)


def _read_figure(found: str) -> Any:
    try:
        return number(found)
    except CannotNormalise:
        return None


#: A letter or digit of a script that puts spaces between words: not Thai and its neighbours, nor those of East Asia.
_LETTER = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"


def _whole_words(value: str) -> re.Pattern[str]:
    """Find a text that is not part of a longer word or number: 5 is not in 150, in 1.5 or in -5."""
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, value) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, value[-1]) else ""
    if value[0].isdigit():
        before += r"(?<!\d[.,])(?<!\W-)(?<!^-)"
    if value[-1].isdigit():
        after += r"(?![.,]\d)"
    return re.compile(before + re.escape(value) + after)
