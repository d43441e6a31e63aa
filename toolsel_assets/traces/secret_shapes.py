"""What secrets and personal data look like: the tables behind the built-in rules of redact.py.

What belongs here: regular expressions, names of keys. What does not: replacing, counting, walking through JSON.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from toolsel_assets.vocabulary.problem import BadInput, known_names

#: What a key ends in whose value is a secret, and a text without any of which holds no such key.
_SECRET = (
    r"(?:passwords?|passwd|passphrase|secrets?|secret[_-]?key|token|authorization|cookies?|credentials?"
    r"|api[_-]?keys?|access[_-]?key|private[_-]?key)\d{0,4}"
)
KEY_LITERALS = (
    *("passw", "passphrase", "secret", "token", "authorization", "cookie", "credential"),
    *(f"{what}{sign}key" for what in ("api", "access", "private") for sign in ("_", "-", "")),
)
_SECRET_KEY = re.compile(rf"{_SECRET}$", re.I | re.A)
_IS_TOKEN = re.compile(r"token\d*$", re.I | re.A)
#: Tokens that are places in a list or pieces of text: page_token, eos_token, time_to_first_token.
_HARMLESS = re.compile(
    r"(?:page|next|continuation|sync|eos|bos|pad|unk|stop|start|end|first|last|per|max|min|special)[_-]?token\d*$",
    re.I | re.A,
)
#: A JSON schema describes a property named `password`; it holds none.
_SCHEMA_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_SCHEMA_KEYS = frozenset({"$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties"})

_PEM = "[A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----"
_OPAQUE = r"(?!(?:tokens?|auth\w*)\b)(?=[\w.~+/-]*(?:\d|[a-z][A-Z]|\w[._~-]\w)|[\w.~+/-]{20})[\w.~+/-]{6,}=*"

#: Per rule: regular expressions, each with lower-case literals of which a text that matches has at least one. They
#: begin with something literal, which `re` finds fast; that is why the e-mail's begins with the sign in its middle.
BUILT_IN: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "secrets": (
        (("private key",), rf"-----BEGIN {_PEM}(?:[\s\S]{{0,20000}}?-----END {_PEM}|[A-Za-z0-9+/=\s\\]*)"),
        (("akia",), r"AKIA[A-Z0-9]{16,}"),
        # At the beginning of a word, also one after an escape of JSON, since there are disk- and task-.
        (
            ("sk-",),
            r"sk-(?:[A-Za-z0-9]{20,}|(?:(?<![A-Za-z0-9]sk-)|(?<=\\[bfnrt]sk-)|(?<=\\u[0-9A-Fa-f]{4}sk-))[\w-]{16,})",
        ),
        (("ghp_", "gho_", "ghs_"), r"gh[pos]_[A-Za-z0-9]{16,}"),
        (("github_pat_",), r"github_pat_\w{16,}"),
        (("xox",), r"xox[abeoprs]-[A-Za-z0-9-]{8,}"),
        (("aiza",), r"AIza[\w-]{30,}"),
        (("eyj",), r"eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]+)?"),
        # Text that is no JSON: JSON that was cut ("api_key": "...), variables (API_KEY=...), urls (?token=...).
        (
            KEY_LITERALS,
            rf"""["'](?P<key>[\w.$-]*(?i:{_SECRET}))\\*["']\s*:\s*"""
            r"""(?P<quote>\\*["'])(?P<secret>(?:(?!(?P=quote))(?:\\.|[^\n]))+)""",
        ),
        (
            KEY_LITERALS,
            r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|SECRET_KEY|TOKEN|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE_KEY)="
            r"""\\*["']?(?P<secret>[^\s"'\\&|;<>()$`]+)""",
        ),
        (KEY_LITERALS, rf"""[?&](?P<key>[\w-]*(?i:{_SECRET}))=(?P<secret>[^&\s"'#\\<>]+)"""),
        (("@",), r"""://[^\s/:@"'\[\]\\]*:(?P<secret>[^\s/@"'\[\]\\]+)@"""),
    ),
    "bearer": (
        (
            ("authorization",),
            r"""[Aa](?i:uthorization\W{1,8}(?:bearer|basic|token)\s+)(?!tokens?\b)(?P<secret>[^\s"'\\,;]+)""",
        ),
        (("bearer",), rf"[Bb](?i:earer\s+)(?P<secret>{_OPAQUE})"),
    ),
    "email": ((("@",), r"@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}"),),
}
#: What goes before a match of the e-mail's regular expression, and without which it is none.
_BEFORE = {"email": re.compile(r"[\w.%+-]{1,64}\Z")}

#: JSON may spell any of the literals with escapes; an escape of ASCII is rare enough to be looked at.
ESCAPED_LITERALS = tuple(f"\\u00{digit}" for digit in "234567")
ESCAPED = re.compile(r"\\u00[2-7]")

#: What follows a literal at the end of a key, so that prose about tokens and secrets is not looked at.
KEY_ENDS = {
    literal: re.compile(literal + (r"\d*" if literal == "token" else r"[a-z0-9_-]{0,8}") + r"""["'\\=]""")
    for literal in KEY_LITERALS
    if literal != "authorization"
}


@dataclass(frozen=True)
class Pattern:
    """A regular expression of a rule, and lower-case literals of which a text that it matches has at least one."""

    rule: str
    regex: re.Pattern[str]
    replacement: str
    literals: tuple[str, ...] = ()  # none: any text may match
    before: re.Pattern[str] | None = None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Find what is to be replaced in a text."""
        names = self.regex.groupindex
        for match in self.regex.finditer(text):
            start, end = match.span("secret" if "secret" in names else 0)
            if self.before:
                found = self.before.search(text, max(0, start - 64), start)
                start = found.start() if found else end
            if start < end and ("key" not in names or _is_secret(match["key"])):
                yield start, end


def built_in(name: str) -> list[Pattern]:
    """Give the patterns of a built-in rule."""
    if name not in BUILT_IN:
        raise BadInput(f"redact rule {name}", "there is no such rule", known_names(name, BUILT_IN))
    flags = 0 if name == "email" else re.ASCII  # people's names are written in any letters
    replacement, before = f"[redacted:{name}]", _BEFORE.get(name)
    return [Pattern(name, re.compile(regex, flags), replacement, lits, before) for lits, regex in BUILT_IN[name]]


@lru_cache(maxsize=10_000)
def _is_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None and _HARMLESS.search(key) is None


def secret_keys(value: Mapping[Any, Any]) -> dict[str, bool]:
    """Find the keys of an object whose values are secrets, and whether each is called a token."""
    found = {key: key for key in value if isinstance(key, str) and _is_secret(key)}
    if "value" in value:  # headers, variables and attributes as lists of names and values
        for key in ("key", "name"):
            if isinstance(name := value.get(key), str) and _is_secret(name):
                found["value"] = name
    is_token = {key: _IS_TOKEN.search(name) is not None for key, name in found.items()}
    # Token log-probabilities: pieces of the answer's text.
    return {key: token for key, token in is_token.items() if not (token and "logprob" in value)}


def is_schema(value: Any) -> bool:
    """Whether a value describes a property rather than holding it."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    return (isinstance(kind, str) and kind.lower() in _SCHEMA_TYPES) or not _SCHEMA_KEYS.isdisjoint(value)
