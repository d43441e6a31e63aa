"""Bring two spellings of one value to one form, so that comparing them finds real differences only.

One function per kind of value; its name in NORMALISERS is what catalogues/rules.yaml writes. Each takes a JSON value
and its options, and returns the canonical form or raises CannotNormalise, which is a mismatch with that reason and
never an error of the run. Nothing is guessed: what can be read in two ways (03/04/2026, "$", a time without a zone) is
settled by an option or is not read. Compare canonical forms with `same`, since to Python True == 1.

What does not belong here: which field has which rule, and whether a value has a property (predicates.py).
"""

import inspect
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import groupby
from json import dumps, loads
from typing import Any
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from toolsel_assets.vocabulary.problem import known_names

MAX_DEPTH = 100
MAX_CHARACTERS = 1_000_000  # of a whole value, containers counted as well
MAX_LINE = 1_000  # of a number, a date, an address: what people write on one line
MAX_DIGITS = 400  # a float has 309 before the point

#: Unicode's own bound for streams (UAX #15, stream-safe text). Ordering a longer run of marks takes quadratic time.
_MAX_MARKS = 30


class CannotNormalise(Exception):
    """The value is not of the kind that the rule declares, or is beyond what is compared."""

    def __init__(self, reason: str) -> None:
        """Give the reason, a short phrase for the table of argument failures."""
        self.reason = reason
        super().__init__(reason)


# Text and identifiers


def text(value: Any, *, keep_case: bool = False) -> str:
    """Fold Unicode's compatibility forms (NFKC), white space and, unless kept, case."""
    if not isinstance(value, str):
        raise CannotNormalise(f"{shown(value)} is not text")
    bounded(value)
    if not value.isascii():
        _no_endless_marks(value)
    before, now = None, value
    while now != before:  # folding case can undo NFKC and the other way round; a second round settles it
        before, now = now, unicodedata.normalize("NFKC", now)
        now = now if keep_case else now.casefold()
    bounded(now)  # compatibility forms grow: one sign can be eighteen letters
    return " ".join(now.split())


def identifier(value: Any, *, keep_case: bool = True) -> str:
    """Read a key: 17 is "17", and a UUID is one in any spelling. Case and leading zeros count unless told otherwise."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(number(value))
    found = _line(value, "an identifier")
    if re.search(r"\s", found) or not found:
        raise CannotNormalise(f"{shown(value)} is not an identifier")
    uuid = re.fullmatch(r"(?:urn:uuid:)?\{?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})\}?", found.lower())
    if uuid and ("-" in found or "{" in found):  # 32 plain hex digits may be any hash
        digits = uuid[1].replace("-", "")
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return found if keep_case else text(found)


# Numbers and amounts


def number(value: Any, *, decimal: str = ".") -> int | Decimal:
    """Read a number exactly: "-5.0" is -5, "1,234.5" is 1234.5. Whole numbers come back as int. True is no number.

    `decimal: ","` reads 1.234,5. Groups must be whole: with a decimal point "1,5" is not read as 15.
    """
    _option("decimal", decimal)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise CannotNormalise(f"{shown(value)} is not a number")
    if isinstance(value, str):
        return _exact(Decimal(_plain_digits(value, decimal)))
    if isinstance(value, int):
        if value.bit_length() > MAX_DIGITS * 3.33:  # printing a huge integer takes quadratic time
            raise CannotNormalise(f"a number of more than {MAX_DIGITS} digits is not compared")
        return _exact(Decimal(value))
    return _exact(Decimal(repr(value)) if isinstance(value, float) else value)  # repr: 0.1 is "0.1"


def currency(value: Any, *, currency: str | None = None, decimal: str = ".") -> str:
    """Read an amount of money: "1,234.50 €" is "EUR 1234.5". `currency` is that of amounts that name none.

    It also settles signs that several currencies share ("$", "¥"), which are not read without it. An object of an
    amount (or value) and a currency (or currency_code) is read as well.
    """
    _option("currency", currency)
    if isinstance(value, Mapping):
        value = _written_amount(value)
    if not isinstance(value, str):
        value = _plain(number(value)).replace(".", decimal)
    found = re.fullmatch(r"([-+]?)\s*([^\d\s.,+-]*)\s*([-+]?[\d.,' ]*\d)\s*([^\d\s.,]*)", _line(value, "an amount"))
    if not found or (found[2] and found[4]) or (found[1] and found[3][0] in "+-"):
        raise CannotNormalise(f"{shown(value)} is not an amount")
    return f"{_code(found[2] or found[4], currency)} {_plain(number(found[1] + found[3], decimal=decimal))}"


# Dates and times


def calendar_date(value: Any, *, order: str | None = None) -> str:
    """Read a day: ISO 8601, or with the month in English words. `order` (dmy, mdy) says how 03/04/2026 is meant."""
    _option("order", order)
    found = _line(value, "a date")
    try:
        return _day(found, order).isoformat()
    except ValueError as problem:
        raise CannotNormalise(f"{shown(value)} is not a date") from problem


def instant(value: Any, *, zone: str | None = None) -> str:
    """Read a date with a time to UTC; `zone` is the IANA zone of values that bring no offset of their own.

    14:00 in Europe/Madrid is not 14:00Z; 14:00Z is 15:00+01:00. Without either the clock's reading is kept, which
    equals another clock's reading and no instant.
    """
    found = moment(value, zone)
    return found.isoformat().replace("+00:00", "Z")


def moment(value: Any, zone: str | None = None) -> datetime:
    """Do as `instant`, and give a datetime: in UTC, or naive where neither the value nor the rule names a zone.

    Read are ISO 8601, a zone in brackets behind it (RFC 9557), mail's dates (RFC 5322), and {dateTime, timeZone} as
    calendars write it. Of an hour that comes twice, the first is meant; one that the clocks skip is not read.
    """
    if isinstance(value, Mapping) and set(value) <= {"dateTime", "timeZone"}:
        own = value.get("timeZone")
        value, zone = value.get("dateTime"), zone if own is None else _line(own, "a time zone")
    found = _line(value, "a date with a time")
    bracketed = re.fullmatch(r"(.+)\[([A-Za-z0-9_+/-]+)\]", found)
    if bracketed:
        found, zone = bracketed[1], bracketed[2]
    _option("zone", zone)
    try:
        time = _clock(found)
        if time.tzinfo is None and zone is None:
            return time
        return _placed(time, zone).astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError) as problem:  # before the year 1; odd mail dates
        raise CannotNormalise(f"{shown(value)} is not a date with a time") from problem


def duration(value: Any, *, unit: str | None = None) -> str:
    """Read a length of time to ISO 8601: "1h 30m", "1:30:00" and "PT90M" are "PT5400S".

    `unit` (seconds, minutes, ...) is that of bare numbers. Days have 24 hours. Months and years have no fixed length
    and stay months: "P1Y2M" is "P14M".
    """
    _option("unit", unit)
    if isinstance(value, int | float | Decimal):
        value = _plain(number(value))
    found = _line(value, "a duration").lower()
    for read in (_bare_duration, _iso_duration, _clock_duration, _worded_duration):
        if (parts := read(found, unit)) is not None:
            months = sum((n * per[0] for n, per in parts), Decimal(0))
            seconds = sum((n * per[1] for n, per in parts), Decimal(0))
            return _written_duration(_exact(months), _exact(seconds))
    raise CannotNormalise(f"{shown(value)} is not a duration")


# Addresses


def email(value: Any) -> str:
    """Read one address, a name beside it and `mailto:` left out; case does not count, `+tag` does."""
    found = _line(value, "an e-mail address").lower().removeprefix("mailto:")
    named = re.fullmatch(r'(?:"[^"<>]*"|[^"<>,;@]*)<([^<>]*)>', found)
    address = re.fullmatch(r"([^\s@<>,;:\"()]+)@([^\s@<>,;:\"()]+)", named[1].strip() if named else found)
    if not address or "." in (address[1][0], address[1][-1]):
        raise CannotNormalise(f"{shown(value)} is not one e-mail address")
    return f"{address[1]}@{_host(address[2])}"


def url(value: Any, *, scheme: str | None = None) -> str:
    """Read an address to RFC 3986's normal form; `scheme` is that of values without one ("example.org/a").

    Scheme and host lose their case, default ports and "." segments go, escapes are written one way. The order of the
    query, the fragment and a slash at the end of a path count.
    """
    bounded(value)
    if not isinstance(value, str) or len(value) > 20 * MAX_LINE:
        raise CannotNormalise(f"{shown(value)} is not a URL")
    found = value.strip()
    if scheme and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", found):
        found = f"{scheme}://{found.removeprefix('//')}"
    try:
        parts = urlsplit(found)
        if re.search(r"[\s\x00-\x1f]", found) or not parts.scheme:
            raise ValueError("no scheme, or white space")
        return urlunsplit(_normal_url(parts))
    except ValueError as problem:
        raise CannotNormalise(f"{shown(value)} is not a URL with a scheme") from problem


def phone(value: Any, *, region: str | None = None) -> str:
    """Read a telephone number. With `region` (an ISO 3166 code), by its numbering plan to E.164: needs phonenumbers.

    Without it, only the digits and a leading "+" count, so that "+1 (415) 555-0132" is "+14155550132", and a number
    without its country is not that number. That reading is the same on every machine, installed extras or not.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(number(value))
    found = _line(value, "a telephone number").lower().removeprefix("tel:")
    if region is not None:
        return _by_plan(found, region)
    if not re.fullmatch(r"\+?[\d\s().\-/]+", found) or "(0)" in found:
        raise CannotNormalise(f"{shown(value)} is not a telephone number that can be read without a region")
    digits = re.sub(r"\D", "", found)
    if not 3 <= len(digits) <= 15:
        raise CannotNormalise(f"{shown(value)} has {len(digits)} digits; telephone numbers have 3 to 15")
    return ("+" if found.startswith("+") else "") + digits


# Collections


def distinct_items(value: Any, *, of: Any = None) -> tuple[Any, ...]:
    """Read a list as a set: neither order nor repetition counts. `of` is the normaliser of its items."""
    return tuple(next(alike) for _, alike in groupby(unordered_items(value, of=of), canonical_json))


def unordered_items(value: Any, *, of: Any = None) -> tuple[Any, ...]:
    """Read a list whose order does not count; how often an item comes does. `of` is the normaliser of its items."""
    return tuple(sorted(items(value, of), key=canonical_json))


def items(value: Any, of: Any = None) -> list[Any]:
    """Normalise the items of a list, in its own order; without `of`, numbers alone have one form."""
    if not isinstance(value, list | tuple | set | frozenset):
        raise CannotNormalise(f"{shown(value)} is not a list")
    bounded(value)
    read = _nested(of)
    return [read(item) for item in value]


def json_text(value: Any) -> str:
    """Write JSON in one way: keys sorted, numbers exact. Text is read as JSON, as tools that take a body do."""
    return canonical_json(_parsed(value) if isinstance(value, str) else value)


#: What catalogues/rules.yaml writes, and what reads it.
NORMALISERS: dict[str, Callable[..., Any]] = {
    "text": text,
    "number": number,
    "date": calendar_date,
    "datetime": instant,
    "duration": duration,
    "email": email,
    "url": url,
    "phone": phone,
    "currency": currency,
    "identifier": identifier,
    "set": distinct_items,
    "list": unordered_items,
    "json": json_text,
}


@dataclass(frozen=True)
class Normaliser:
    """A normaliser with its options, as a rule declares it."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, value: Any) -> Any:
        """Give the canonical form, or raise CannotNormalise."""
        return NORMALISERS[self.name](value, **self.options)


def normaliser_from(document: Any) -> Normaliser:
    """Read `number` or `{datetime: {zone: Europe/Madrid}}`; a ValueError says what would be accepted."""
    if isinstance(document, Normaliser):
        return document
    only = len(document) == 1 if isinstance(document, Mapping) else False
    name, options = next(iter(document.items())) if only else (document, {})
    if not isinstance(name, str) or name not in NORMALISERS:
        raise ValueError(f"no normaliser {shown(name)} ({known_names(str(name), NORMALISERS)})")
    if not isinstance(options, Mapping):
        raise ValueError(f"the options of {name} are a mapping, not {shown(options)}")
    known = [n for n, p in inspect.signature(NORMALISERS[name]).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for option, given in options.items():
        if option not in known:
            raise ValueError(f"{name} has no option {shown(option)} ({known_names(str(option), known)})")
        try:
            _option(option, given)
        except CannotNormalise as problem:
            raise ValueError(f"{name}: {problem.reason}") from problem
    return Normaliser(name, {o: normaliser_from(given) if o == "of" else given for o, given in options.items()})


def same(left: Any, right: Any) -> bool:
    """Compare two canonical forms: 1 is 1.0, true is not 1, "1" is not 1."""
    return _written(left) == _written(right)


def canonical_json(value: Any) -> str:
    """Write a value so that two texts are equal exactly when the values are."""
    bounded(value)
    return _written(value)


def bounded(value: Any) -> None:
    """Refuse what would take the stack or minutes: nested more than 100 deep, or longer than a million characters."""
    left, open_values = MAX_CHARACTERS, [(value, 0)]
    while open_values:
        found, depth = open_values.pop()
        left -= len(found) if isinstance(found, str) else 1
        if depth > MAX_DEPTH:
            raise CannotNormalise(f"nested more than {MAX_DEPTH} deep")
        if isinstance(found, Mapping | list | tuple | set | frozenset):
            left -= len(found)  # before its items are listed: they may be many
        if left < 0:
            raise CannotNormalise(f"longer than {MAX_CHARACTERS:,} characters")
        if isinstance(found, Mapping):
            open_values += ((each, depth + 1) for pair in found.items() for each in pair)
        elif isinstance(found, list | tuple | set | frozenset):
            open_values += ((each, depth + 1) for each in found)


def shown(value: Any) -> str:
    """Show a value in a reason: its beginning, or for a collection what it is (its repr could take the stack)."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float | Decimal) or (isinstance(value, int) and value.bit_length() < 200):
        return str(value)
    kinds = {int: "a huge number", list: "a list", tuple: "a list", dict: "an object"}
    return kinds.get(type(value), f"a {type(value).__name__}")


# Options. Each is checked when rules are loaded (normaliser_from), and again where it is used.


def _option(name: str, given: Any) -> None:
    if given is not None and not _ACCEPTS[name][0](given):
        raise CannotNormalise(f"{name} is {shown(given)}; accepted is {_ACCEPTS[name][1]}")


def _is_zone(given: Any) -> bool:
    try:
        return isinstance(given, str) and bool(_zone(given))
    except (KeyError, ValueError, OSError):  # unknown; not a name at all; a folder of zones
        return False


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _is_region(given: Any) -> bool:
    if not isinstance(given, str):
        return False
    try:
        import phonenumbers
    except ImportError as problem:
        raise CannotNormalise("region needs the package phonenumbers: pip install 'toolsel[arguments]'") from problem
    return given in phonenumbers.SUPPORTED_REGIONS


def _is_normaliser(given: Any) -> bool:
    try:
        return bool(normaliser_from(given))
    except ValueError as problem:
        raise CannotNormalise(str(problem)) from problem


def _nested(of: Any) -> Callable[[Any], Any]:
    if of is None:
        return _exact_value
    try:
        return normaliser_from(of)
    except ValueError as problem:
        raise CannotNormalise(str(problem)) from problem


_UNITS: dict[str, tuple[int, Decimal]] = {
    "years": (12, Decimal(0)),
    "months": (1, Decimal(0)),
    "weeks": (0, Decimal(604_800)),
    "days": (0, Decimal(86_400)),
    "hours": (0, Decimal(3_600)),
    "minutes": (0, Decimal(60)),
    "seconds": (0, Decimal(1)),
    "milliseconds": (0, Decimal("0.001")),
}

_ACCEPTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "zone": (_is_zone, "an IANA time zone such as Europe/Madrid"),
    "region": (_is_region, "a region's code such as US"),
    "of": (_is_normaliser, "a normaliser"),
    "decimal": (lambda given: given in (".", ","), '"." or ","'),
    "order": (lambda given: given in ("dmy", "mdy"), "dmy or mdy"),
    "unit": (lambda given: isinstance(given, str) and given in _UNITS, ", ".join(_UNITS)),
    "currency": (lambda given: bool(re.fullmatch("[A-Z]{3}", str(given))), "a code of ISO 4217 such as USD"),
    "scheme": (lambda given: bool(re.fullmatch("[a-z][a-z0-9+.-]*", str(given))), "a scheme such as https"),
    "keep_case": (lambda given: isinstance(given, bool), "true or false"),
}


# How the parts are read.


def _line(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise CannotNormalise(f"{shown(value)} is not {what}")
    if len(value) > MAX_LINE:
        raise CannotNormalise(f"{len(value):,} characters are not {what}")
    _no_endless_marks(value)
    return " ".join(unicodedata.normalize("NFKC", value).split()).replace("\N{MINUS SIGN}", "-")


def _no_endless_marks(value: str) -> None:
    if value.isascii():
        return
    run = 0
    for character in value:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > _MAX_MARKS:
            raise CannotNormalise(f"more than {_MAX_MARKS} combining marks in a row are not text")


def _plain_digits(value: str, decimal: str) -> str:
    """Take the grouping out of a written number: one kind of separator, whole groups (three, or India's two)."""
    found, point = _line(value, "a number"), re.escape(decimal)
    comma = "," if decimal == "." else r"\."
    whole = rf"\d+|\d{{1,3}}(?P<group>[{comma}' ])(?:\d{{2,3}}(?P=group))*\d{{3}}"
    parts = re.fullmatch(
        rf"(?P<sign>[-+]?) ?(?P<whole>{whole})?(?:{point}(?P<part>\d*))?(?P<power>[eE][-+]?\d{{1,4}})?", found, re.ASCII
    )
    if not parts or not (parts["whole"] or parts["part"]):
        raise CannotNormalise(f"{shown(value)} is not a number with {decimal!r} as its decimal sign")
    digits = re.sub(r"\D", "", parts["whole"] or "0")
    return f"{parts['sign']}{digits}.{parts['part'] or '0'}{parts['power'] or ''}"


def _exact(found: Decimal) -> int | Decimal:
    """Give a number its one form without rounding it, as Decimal.normalize would."""
    if not found.is_finite():
        raise CannotNormalise(f"{found} is not a number")
    if not found:
        return 0
    sign, digits, power = found.as_tuple()
    assert isinstance(power, int)  # only NaN and infinity have letters there
    kept = len(digits)
    while digits[kept - 1] == 0:
        kept -= 1
    power += len(digits) - kept
    if kept + abs(power) > MAX_DIGITS:
        raise CannotNormalise(f"a number of more than {MAX_DIGITS} digits is not compared")
    reduced = Decimal((sign, digits[:kept], power))
    return int(reduced) if power >= 0 else reduced


def _plain(found: int | Decimal) -> str:
    return f"{found:f}" if isinstance(found, Decimal) else str(found)


#: Signs of money; the first currency is meant where it is the only one, else the rule's `currency` decides.
_SIGNS: dict[str, tuple[str, ...]] = {
    "€": ("EUR",),
    "£": ("GBP",),
    "₹": ("INR",),
    "₩": ("KRW",),
    "₺": ("TRY",),
    "₽": ("RUB",),
    "₪": ("ILS",),
    "₴": ("UAH",),
    "₫": ("VND",),
    "฿": ("THB",),
    "zł": ("PLN",),
    "r$": ("BRL",),
    "us$": ("USD",),
    "a$": ("AUD",),
    "c$": ("CAD",),
    "hk$": ("HKD",),
    "$": ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "CLP", "COP", "ARS"),
    "¥": ("JPY", "CNY"),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
}


def _code(sign: str, declared: str | None) -> str:
    if not sign:
        if declared is None:
            raise CannotNormalise("the amount names no currency, and neither does the rule")
        return declared
    if re.fullmatch("[A-Za-z]{3}", sign):
        return sign.upper()
    meant = _SIGNS.get(sign.casefold(), ())
    if len(meant) == 1 or declared in meant:
        return meant[0] if len(meant) == 1 else str(declared)
    raise CannotNormalise(f"{sign!r} is the sign of {', '.join(meant) or 'no known currency'}; the rule does not say")


def _written_amount(value: Mapping[Any, Any]) -> str:
    amounts = [value[name] for name in ("amount", "value") if name in value]
    codes = [value[name] for name in ("currency", "currency_code") if name in value]
    if len(amounts) != 1 or len(codes) != 1 or len(value) != 2:
        raise CannotNormalise("an object that is an amount has amount (or value) and currency (or currency_code)")
    amount = amounts[0] if isinstance(amounts[0], str) else _plain(number(amounts[0]))
    return f"{_line(codes[0], 'a currency')} {amount}"


_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def _day(found: str, order: str | None) -> date:
    if re.fullmatch(r"\d{4}-?(?:\d{2}-?\d{2}|W\d{2}-?\d)", found, re.ASCII):
        return date.fromisoformat(found)
    lower = found.lower()
    if named := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]{3,9})\.?,? (\d{4})", lower, re.ASCII):
        return date(int(named[3]), _month(named[2]), int(named[1]))
    if named := re.fullmatch(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})", lower, re.ASCII):
        return date(int(named[3]), _month(named[1]), int(named[2]))
    if figures := re.fullmatch(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})", found, re.ASCII):
        return date(int(figures[1]), int(figures[2]), int(figures[3]))
    if figures := re.fullmatch(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})", found, re.ASCII):
        if order is None:
            raise CannotNormalise(f"{shown(found)} can be read as two dates; the rule's order does not say which")
        month, day = (2, 1) if order == "dmy" else (1, 2)
        return date(int(figures[3]), int(figures[month]), int(figures[day]))
    raise ValueError(found)


def _month(name: str) -> int:
    for position, full in enumerate(_MONTH_NAMES, start=1):
        if name == full or (name == full[:3]) or (name == "sept" and position == 9):
            return position
    raise ValueError(name)


def _clock(found: str) -> datetime:
    if re.match(r"[A-Za-z]{3}, \d", found):
        return parsedate_to_datetime(found)
    upper = re.sub(r" ?(?:UTC|GMT|Z)$", "Z", found.upper())
    upper = re.sub(r" (?=[-+]\d)", "", upper)
    # fromisoformat takes any character between date and time, so that 2026-03-03-14:00 would be two o'clock.
    if not re.fullmatch(r"\d{4}-?(?:\d{2}-?\d{2}|W\d{2}-?\d)[T ][\d:.,]+(?:Z|[-+][\d:]+)?", upper, re.ASCII):
        raise ValueError(found)
    return datetime.fromisoformat(upper)


def _placed(time: datetime, zone: str | None) -> datetime:
    if time.tzinfo is not None or zone is None:
        return time
    placed = time.replace(tzinfo=_zone(zone))
    if placed.astimezone(UTC).astimezone(placed.tzinfo).replace(tzinfo=None, fold=0) != time:
        raise CannotNormalise(f"{time.isoformat()} is skipped by the clocks of {zone}")
    return placed


Parts = list[tuple[Decimal, tuple[int, Decimal]]]
_SHORT = {
    "y": "years", "yr": "years", "mo": "months", "w": "weeks", "wk": "weeks", "d": "days", "h": "hours", "hr": "hours",
    "m": "minutes", "min": "minutes", "s": "seconds", "sec": "seconds", "ms": "milliseconds",
}  # fmt: skip


def _bare_duration(found: str, unit: str | None) -> Parts | None:
    if not re.fullmatch(r"[-+]?\d+(?:\.\d+)?", found, re.ASCII):
        return None
    if unit is None:
        raise CannotNormalise(f"{found} has no unit, and neither has the rule")
    return [(Decimal(found), _UNITS[unit])]


def _iso_duration(found: str, unit: str | None) -> Parts | None:
    figure = r"(?:(\d+(?:[.,]\d+)?){})?"
    days, times = ("".join(figure.format(letter) for letter in letters) for letters in ("ymwd", "hms"))
    parts = re.fullmatch(rf"([-+]?)p{days}(t{times})?", found, re.ASCII)
    figures = [parts[i] for i in (2, 3, 4, 5, 7, 8, 9)] if parts else []
    if not parts or not any(figures) or parts[6] == "t":
        return None
    sign = -1 if parts[1] == "-" else 1
    units = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
    return [(sign * Decimal(n.replace(",", ".")), _UNITS[u]) for n, u in zip(figures, units, strict=True) if n]


def _clock_duration(found: str, unit: str | None) -> Parts | None:
    # 1:30 alone may be minutes and seconds or hours and minutes: not read.
    parts = re.fullmatch(r"(\d{1,4}):([0-5]\d):([0-5]\d(?:\.\d+)?)", found, re.ASCII)
    if not parts:
        return None
    return [(Decimal(parts[i]), _UNITS[u]) for i, u in ((1, "hours"), (2, "minutes"), (3, "seconds"))]


def _worded_duration(found: str, unit: str | None) -> Parts | None:
    one = r"(\d+(?:\.\d+)?) ?([a-z]+)"
    if not re.fullmatch(rf"{one}(?:(?:,| and)? ?{one})*", found, re.ASCII):
        return None
    parts: Parts = []
    for figure, word in re.findall(one, found, re.ASCII):
        name = _SHORT.get(word) or _SHORT.get(word.rstrip("s")) or (word if word.endswith("s") else word + "s")
        if name not in _UNITS:
            return None
        parts.append((Decimal(figure), _UNITS[name]))
    return parts


def _written_duration(months: int | Decimal, seconds: int | Decimal) -> str:
    if (months < 0) != (seconds < 0) and months and seconds:
        raise CannotNormalise("a duration with parts of both signs is not compared")
    sign = "-" if months < 0 or seconds < 0 else ""
    time = f"T{_plain(abs(seconds))}S"
    dates = f"{_plain(abs(months))}M" if months else ""
    return f"{sign}P{dates}{time if seconds or not months else ''}"


def _host(found: str) -> str:
    try:
        return found.encode("idna").decode("ascii").lower()
    except UnicodeError as problem:
        raise CannotNormalise(f"{shown(found)} is not a host") from problem


_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}


def _normal_url(parts: SplitResult) -> SplitResult:
    scheme, path = parts.scheme.lower(), _escaped(parts.path)
    if not parts.netloc:
        if scheme in _PORTS:
            raise ValueError("no host")
        return SplitResult(scheme, "", path, _escaped(parts.query), _escaped(parts.fragment))
    if not parts.hostname:
        raise ValueError("no host")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else _host(parts.hostname)
    login, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port in (None, _PORTS.get(scheme)) else f":{parts.port}"
    netloc = f"{login}{at}{host}{port}"
    return SplitResult(scheme, netloc, _without_dots(path), _escaped(parts.query), _escaped(parts.fragment))


def _escaped(part: str) -> str:
    """Write escapes in one way: unreserved characters plain, the others in upper case, other scripts escaped."""

    def rewrite(found: re.Match[str]) -> str:
        character = unquote_to_bytes(found[0]).decode("latin-1")
        return character if character in _UNRESERVED else found[0].upper()

    return re.sub(r"%[0-9A-Fa-f]{2}", rewrite, quote(part, safe="%!$&'()*+,;=:@/?~[]"))


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:] or [""]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    closing = [""] if segments[-1] in (".", "..") else []
    return "/" + "/".join([*kept, *closing])


def _by_plan(found: str, region: str) -> str:
    _option("region", region)
    import phonenumbers  # 2 MB of numbering plans, and an extra: loaded by the rules that name a region

    try:
        read = phonenumbers.parse(found, region)
    except phonenumbers.NumberParseException as problem:
        raise CannotNormalise(f"{shown(found)} is not a telephone number in {region}") from problem
    if not phonenumbers.is_possible_number(read):
        raise CannotNormalise(f"{shown(found)} is too long or too short for a telephone number of its country")
    extension = f";ext={read.extension}" if read.extension else ""
    return phonenumbers.format_number(read, phonenumbers.PhoneNumberFormat.E164) + extension


def _parsed(value: str) -> Any:
    bounded(value)
    try:
        return loads(value, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_object)
    except (ValueError, ArithmeticError, RecursionError) as problem:
        why = f"nested more than {MAX_DEPTH} deep" if isinstance(problem, RecursionError) else "not JSON"
        raise CannotNormalise(f"{shown(value)} is {why}") from problem


def _no_number(name: str) -> None:
    raise CannotNormalise(f"{name} is not JSON")


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CannotNormalise("a JSON object has a key twice")
    return found


def _exact_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _exact_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_exact_value(each) for each in value]
    return value if value is None or isinstance(value, bool | str) else number(value)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = sorted((dumps(str(key)), _written(each)) for key, each in value.items())
        return "{" + ",".join(f"{key}:{each}" for key, each in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_written(each) for each in value) + "]"
    return dumps(value) if value is None or isinstance(value, bool | str) else str(number(value))
