"""Replace secrets and personal data in traces before anything is written. What was replaced is counted, never kept.

Built-in rules are `secrets` (values under keys that look like secrets, and well-known shapes of keys), `bearer`
(authorisation headers) and `email`; a user's own are regular expressions. A match becomes `[redacted:<rule>]`; where a
regex has a group named `secret`, only that group does. Redacting again changes nothing and counts nothing.

What does not belong here: which rules a study has (study.py), and where they are applied (rows.py, formats/).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolsel_assets.traces.records import parse
from toolsel_assets.traces.secret_shapes import (
    BUILT_IN,
    ESCAPED,
    ESCAPED_LITERALS,
    KEY_ENDS,
    KEY_LITERALS,
    Pattern,
    built_in,
    is_schema,
    secret_keys,
)
from toolsel_assets.vocabulary.problem import BadInput

_SURROGATE = re.compile("[\ud800-\udfff]")

Rule = str | Mapping[str, Any]

#: Passes until a text no longer changes: two in practice, since each pass leaves less that is not a placeholder.
ROUNDS = 10
MAX_DEPTH = 150


@dataclass(frozen=True)
class _Active:
    """The patterns that may match in a text, and in parts of it only where one of the literals is, if there are any."""

    patterns: tuple[Pattern, ...]
    literals: tuple[str, ...] = ()
    has_keys: bool = False

    def may_match(self, text: str) -> bool:
        if not self.literals:
            return bool(self.patterns)
        lowered = text.lower()
        for literal in self.literals:  # noqa: SIM110  # `any` would cost more than the looking
            if literal in lowered:
                return True
        return False


_NOTHING = _Active(())


class Redactor:
    """Redacts texts and JSON by its rules: names of built-in ones, or mappings of `name`, `regex`, `replacement`."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Compile the rules; `BadInput` names one that cannot be used."""
        self.counts: Counter[str] = Counter()
        patterns: list[Pattern] = []
        for rule in rules:
            patterns += built_in(rule) if isinstance(rule, str) else [_own(rule, {p.rule for p in patterns})]
        self._patterns = tuple(patterns)
        self._literals = tuple(dict.fromkeys(literal for p in patterns for literal in p.literals))
        self._plain = tuple(literal for literal in self._literals if "key" not in literal)
        self._with_key = tuple(literal for literal in self._literals if "key" in literal)
        self._is_open = not all(p.literals for p in patterns)
        self._all = _Active(self._patterns, has_keys=any(p.rule == "secrets" for p in patterns))
        replacements = {re.escape(p.replacement) for p in patterns if p.replacement}
        self._placeholder = re.compile("|".join([r"\[redacted:[\w.-]+\]", *sorted(replacements, reverse=True)]))
        self._clean_keys: set[str] = set()

    @property
    def has_rules(self) -> bool:
        """Whether there is anything to redact."""
        return bool(self._patterns)

    @property
    def prefilter(self) -> tuple[str, ...]:
        """Literals of which any text that a rule may change has at least one, in any case; none: all must be looked at.

        In SQL, one `regexp_matches(x, 'a|b', 'i')` costs less than a `contains` for each.
        """
        if self._is_open:
            return ()
        return self._literals + (ESCAPED_LITERALS if self._literals else ())

    def text(self, text: str) -> str:
        """Redact a text; the same text when nothing matches."""
        return self._text(text, self._active(text))

    def json_text(self, text: str) -> str:
        """Redact a text that is JSON, or was before it was cut; the same text when nothing matches."""
        active = self._active(text)
        if not active.patterns:
            return text
        try:
            value = parse(text.strip())
        except ValueError:
            return self._text(text, active)
        redacted = self._stable(value, active)
        return text if redacted is value else _dumped(redacted, text)

    def value(self, value: Any) -> Any:
        """Redact parsed JSON; the same object when nothing matches. What is given is not changed."""
        try:
            active = self._active(json.dumps(value, ensure_ascii=False, default=str))
        except (TypeError, ValueError, RecursionError):
            active = self._all
        return self._stable(value, active) if active.patterns else value

    def _active(self, text: str) -> _Active:
        """Choose the patterns that may match somewhere in a text: for most texts none."""
        lowered = text.lower()
        if "\\u00" in lowered and ESCAPED.search(lowered):
            return self._all
        found = [literal for literal in self._plain if literal in lowered]
        if "key" in lowered:
            found += [literal for literal in self._with_key if literal in lowered]
        found = [literal for literal in found if literal not in KEY_ENDS or KEY_ENDS[literal].search(lowered)]
        if not found and not self._is_open:
            return _NOTHING
        patterns = tuple(p for p in self._patterns if not p.literals or not set(found).isdisjoint(p.literals))
        has_keys = self._all.has_keys and not set(found).isdisjoint(KEY_LITERALS)
        return _Active(patterns, () if self._is_open else tuple(found), has_keys)

    def _stable(self, value: Any, active: _Active) -> Any:
        for _ in range(ROUNDS):
            redacted = self._walk(value, active, 0)
            if redacted is value:
                break
            value = redacted
        return value

    def _walk(self, value: Any, active: _Active, depth: int) -> Any:
        if isinstance(value, str):
            return self._string(value, active, depth)
        if not isinstance(value, dict | list | tuple):
            return value
        if depth == MAX_DEPTH:
            self.counts["depth"] += 1
            return "[redacted:depth]"
        if isinstance(value, dict):
            return self._object(value, active, depth + 1)
        redacted = [self._walk(child, active, depth + 1) for child in value]
        return value if all(new is old for new, old in zip(redacted, value, strict=True)) else redacted

    def _object(self, value: dict[Any, Any], active: _Active, depth: int) -> Any:
        redacted: dict[Any, Any] = {}
        changed = False
        secret = secret_keys(value) if active.has_keys else {}
        for key, child in value.items():
            new_key = key if key in self._clean_keys else self._key(key, value, redacted)
            if key in secret and not is_schema(child):
                new = self._hidden(child, is_token=secret[key])
            else:
                new = self._string(child, active, depth) if type(child) is str else self._walk(child, active, depth)
            changed = changed or new is not child or new_key is not key
            redacted[new_key] = new
        return redacted if changed else value

    def _key(self, key: Any, *taken: dict[Any, Any]) -> Any:
        """Redact a key, since things may be kept by e-mail address; those that would be equal are numbered."""
        if not isinstance(key, str):
            return key
        new, number = self.text(key), 1
        if new is key:
            if len(self._clean_keys) < 10_000:
                self._clean_keys.add(key)
            return key
        while (numbered := new if number == 1 else f"{new} {number}") in {**taken[0], **taken[1]}:
            number += 1
        return numbered

    def _hidden(self, value: Any, *, is_token: bool) -> Any:
        """Hide what stands under the key of a secret; a number that is called a token is a count or the token's id."""
        if isinstance(value, list | tuple):
            hidden = [self._hidden(child, is_token=is_token) for child in value]
            return value if all(new is old for new, old in zip(hidden, value, strict=True)) else hidden
        if isinstance(value, dict):
            hides: dict[Any, Any] = {}
            for key, child in value.items():
                is_count = is_token and key == "intValue"
                hides[self._key(key, value, hides)] = child if is_count else self._hidden(child, is_token=is_token)
            return value if all(hides.get(key) is child for key, child in value.items()) else hides
        if value is None or isinstance(value, bool) or (is_token and isinstance(value, int | float)):
            return value
        if isinstance(value, str) and (not value or self._placeholder.fullmatch(value)):
            return value
        self.counts["secrets"] += 1
        return "[redacted:secrets]"

    def _string(self, text: str, active: _Active, depth: int) -> str:
        if text[:1] in ("{", "[") and active.may_match(text):
            try:
                value = parse(text)
            except ValueError:
                return self._text(text, active)
            redacted = self._walk(value, active, depth)
            return text if redacted is value else _dumped(redacted, text)
        return self._text(text, active)

    def _text(self, text: str, active: _Active) -> str:
        for _ in range(ROUNDS):
            if not active.may_match(text):
                break
            before, lowered = text, text.lower()
            for pattern in active.patterns:
                if not pattern.literals or any(literal in lowered for literal in pattern.literals):
                    text = self._replaced(text, pattern)
            if text == before:
                return before
        return text

    def _replaced(self, text: str, pattern: Pattern) -> str:
        parts: list[str] = []
        at = 0
        placeholders: list[tuple[int, int]] | None = None
        for start, end in pattern.spans(text):
            if placeholders is None:
                placeholders = [found.span() for found in self._placeholder.finditer(text)]
            # A placeholder that a match touches goes with it, whole; one that is all of the match stays.
            touched = [span for span in placeholders if span[0] < end and start < span[1]]
            start, end = min([start, *(span[0] for span in touched)]), max([end, *(span[1] for span in touched)])
            if end > at and [(start, end)] != touched:
                parts += [text[at : max(at, start)], pattern.replacement]
                at = end
                self.counts[pattern.rule] += 1
        return "".join([*parts, text[at:]]) if parts else text


def _own(rule: Mapping[str, Any], taken: set[str]) -> Pattern:
    name, regex = rule.get("name"), rule.get("regex")
    where = f"redact rule {name}"
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise BadInput(where, "no name for it", "letters, digits, and _ . -")
    if name in taken or name in BUILT_IN:
        raise BadInput(where, "there are two rules of this name")
    try:
        compiled = re.compile(regex or "")
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        raise BadInput(f"{where}, regex", str(error), "a regular expression of Python's re") from error
    if any(found.start() == found.end() for probe in ("", "a", "a b", "0") for found in compiled.finditer(probe)):
        raise BadInput(f"{where}, regex", "it matches the empty text")
    replacement = rule.get("replacement")
    return Pattern(name, compiled, replacement if isinstance(replacement, str) else f"[redacted:{name}]")


def _dumped(value: Any, text: str) -> str:
    """Write JSON in the manner of the text that it was read from."""
    dumped = json.dumps(value, ensure_ascii=text.isascii())
    return dumped if text.isascii() or not _SURROGATE.search(dumped) else json.dumps(value)
