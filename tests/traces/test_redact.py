import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolsel_assets.traces.redact import Redactor
from toolsel_assets.vocabulary.problem import BadInput

BUILT_IN = ["secrets", "bearer", "email"]
HIDDEN = "[redacted:secrets]"

# Made up, and put together here so that no scanner of repositories takes them for real ones.
SHAPES = {
    "aws": "AKIA" + "ABCDEFGHIJ234567",
    "openai": "sk-" + "proj-abcDEF123456_7890-xyz",
    "anthropic": "sk-" + "ant-api03-abcdefghijklmnop",
    "github": "ghp_" + "a1B2" * 9,
    "github oauth": "gho_" + "a1B2" * 9,
    "github fine": "github_pat_" + "a1B2_" * 10,
    "slack": "xoxb-" + "123456789012-abcdefGHIJKL",
    "google": "AIza" + "Sy-_0123456789abcdefghijABCDEFGHIJK",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl-_",
    "private key": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\nIBAAK/+=\n-----END RSA PRIVATE " + "KEY-----",
}


def redactor() -> Redactor:
    return Redactor(BUILT_IN)


def value(given: Any) -> tuple[Any, Counter[str]]:
    ours = redactor()
    return ours.value(given), ours.counts


# --- keys ---


@pytest.mark.parametrize(
    "key",
    [
        *("api_key", "apikey", "apiKey", "API-Key", "x-api-key", "OPENAI_API_KEY", "openaiApiKey", "api_keys"),
        *("password", "passwd", "db_password", "userPassword", "password2", "passphrase"),
        *("secret", "client_secret", "clientSecret", "aws_secret_access_key", "secretKey", "secrets"),
        *("token", "access_token", "accessToken", "refresh-token", "authtoken", "github.token"),
        *("authorization", "Authorization", "http.request.header.authorization", "Proxy-Authorization"),
        *("access_key", "accessKey", "private_key", "privateKey", "cookie", "Set-Cookie", "credential", "credentials"),
    ],
)
def test_what_stands_under_the_key_of_a_secret_is_hidden(key: str) -> None:
    assert value({key: "hunter2", "a": 1}) == ({key: HIDDEN, "a": 1}, Counter(secrets=1))
    assert value({"messages": [{key: ["x", "y"]}]}) == ({"messages": [{key: [HIDDEN, HIDDEN]}]}, Counter(secrets=2))


@pytest.mark.parametrize(
    "key",
    [
        *("tokens", "max_tokens", "input_tokens", "maxTokens", "token_count", "token_type", "tokenizer", "n_token_ids"),
        *("nextPageToken", "page_token", "eos_token", "time_to_first_token", "input_cost_per_token"),
        *(
            "secretary",
            "passwordless",
            "key",
            "keys",
            "public_key",
            "cookie_policy",
            "author",
            "authorizations",
            "path",
        ),
    ],
)
def test_what_stands_under_other_keys_is_not(key: str) -> None:
    given = {key: "hunter2"}
    assert redactor().value(given) is given


def test_nothing_flags_and_counts_of_tokens_are_no_secrets_and_a_numeric_password_is() -> None:
    given = {"token": 5, "secret": True, "password": None, "api_key": "", "cookies": []}
    assert redactor().value(given) is given
    assert value({"password": 1234})[0] == {"password": HIDDEN}


def test_a_schema_describes_a_password_and_holds_none() -> None:
    tool = {
        "name": "log_in",
        "input_schema": {
            "type": "object",
            "properties": {"password": {"type": "string", "description": "of the user"}, "token": {"$ref": "#/x"}},
            "required": ["password"],
        },
    }
    ours = redactor()
    assert ours.value(tool) is tool and ours.json_text(json.dumps(tool)) == json.dumps(tool)


def test_objects_under_the_key_of_a_secret_are_hidden_with_all_that_is_in_them() -> None:
    assert value({"cookies": {"sid": "abc", "deep": [{"x": "y", "n": None}]}})[0] == {
        "cookies": {"sid": HIDDEN, "deep": [{"x": HIDDEN, "n": None}]}
    }


@pytest.mark.parametrize("name", ["name", "key"])
def test_lists_of_names_and_values_are_read_as_objects(name: str) -> None:
    attribute = {name: "http.request.header.authorization", "value": {"stringValue": "abc"}}
    assert value([attribute])[0] == [{**attribute, "value": {"stringValue": HIDDEN}}]
    count = {name: "app.token", "value": {"intValue": "12"}}
    assert value([count])[0] == [count]
    assert value([{name: "path", "value": "abc"}])[0] == [{name: "path", "value": "abc"}]


def test_log_probabilities_of_tokens_are_text_of_the_answer() -> None:
    given = {"content": [{"token": "Hello", "logprob": -0.1}]}
    assert redactor().value(given) is given


def test_keys_that_are_personal_data_are_replaced_one_by_one() -> None:
    given = {"a@example.com": "yes", "b@example.com": "no", "[redacted:email]": 1}
    found, counts = value(given)
    assert found == {"[redacted:email] 2": "yes", "[redacted:email] 3": "no", "[redacted:email]": 1}
    assert counts == Counter(email=2)


# --- texts ---


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "the key is {}.", "KEY={}", '"{}"', "x\\n{}\\n", "a\n{}\nb", "({})"])
def test_well_known_shapes_are_found_in_any_text(shape: str, around: str) -> None:
    ours = redactor()
    text = ours.text(around.format(SHAPES[shape]))
    assert SHAPES[shape] not in text and text == around.format(HIDDEN) and ours.counts == Counter(secrets=1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("curl -H 'Authorization: Bearer abc.def123'", "curl -H 'Authorization: Bearer [redacted:bearer]'"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:bearer]"),
        ("authorization: bearer abc", "authorization: bearer [redacted:bearer]"),
        ("use Bearer 0123456789abcdef==", "use Bearer [redacted:bearer]"),
        ("mail Zoë.Müller+x@mail.example.co.uk, please", "mail [redacted:email], please"),
        ("<a@b.org>;c_d@e-f.io", "<[redacted:email]>;[redacted:email]"),
        ('{"api_key": "ab\\"c", "x": "y', '{"api_key": "[redacted:secrets]", "x": "y'),
        (
            '{"arguments": "{\\"password\\": \\"abc\\", \\"n',
            '{"arguments": "{\\"password\\": \\"[redacted:secrets]\\", \\"n',
        ),
        ("{'token': 'abc'}", "{'token': '[redacted:secrets]'}"),
        ("export DB_PASSWORD=abc OTHER=1", "export DB_PASSWORD=[redacted:secrets] OTHER=1"),
        ("https://x.org/?a=1&access_token=abc&b=2", "https://x.org/?a=1&access_token=[redacted:secrets]&b=2"),
        ("postgres://user:abc@host/db", "postgres://user:[redacted:secrets]@host/db"),
    ],
)
def test_secrets_in_text_that_is_no_json_are_found(text: str, wanted: str) -> None:
    ours = redactor()
    assert ours.text(text) == wanted and ours.json_text(text) == wanted and sum(ours.counts.values()) >= 2


@pytest.mark.parametrize(
    "text",
    [
        "The bearer token is wrong; a basic understanding of bearer authentication helps.",
        "task-management-is-hard and disk-encryption-setup-is-too",
        "@pytest.mark.parametrize, lodash@4.17.21, 5 @ 3, a@b",
        "PASSWORD=$OTHER; max_tokens=100&page_token=abc",
        "password: must have 8 letters; the secret of cookies; eyJust a word; xox",
        "http://host:8080/path",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    ours = redactor()
    assert ours.text(text) is text and not ours.counts


# --- JSON texts ---


def test_json_text_is_changed_only_where_something_matches() -> None:
    clean = '{"a":1.50,  "max_tokens":\t7, "b": ["\\u00e9"]}'
    assert redactor().json_text(clean) is clean
    assert (
        redactor().json_text('{"b": "é", "token": "x", "n": 10}')
        == '{"b": "é", "token": "[redacted:secrets]", "n": 10}'
    )
    assert redactor().json_text('{"b": "\\u00e9", "token": "x"}') == '{"b": "\\u00e9", "token": "[redacted:secrets]"}'


def test_json_in_json_is_redacted_and_stays_json() -> None:
    arguments = json.dumps({"headers": {"Authorization": "Basic abc"}, "body": json.dumps({"password": 'a"b'})})
    text = json.dumps({"tool_calls": [{"function": {"name": "http", "arguments": arguments}}]})
    found = json.loads(json.loads(redactor().json_text(text))["tool_calls"][0]["function"]["arguments"])
    assert found["headers"] == {"Authorization": HIDDEN} and json.loads(found["body"]) == {"password": HIDDEN}


def test_escapes_hide_nothing() -> None:
    text = '{"\\u0070assword": "x", "b": "a\\u0040example.com"}'
    assert json.loads(redactor().json_text(text)) == {"password": HIDDEN, "b": "[redacted:email]"}
    assert any(literal in text for literal in redactor().prefilter)


@pytest.mark.parametrize("text", ['{"password": "x", "a": NaN}', '{"password": "x", "a": 1e999}', '{"password": "x"'])
def test_what_is_no_json_is_redacted_as_text(text: str) -> None:
    assert redactor().json_text(text) == text.replace('"x"', f'"{HIDDEN}"')


def test_nothing_is_too_deep() -> None:
    deep = '{"a": ' * 100_000 + '{"password": "x"}'
    assert '"x"' not in redactor().json_text(deep)
    nested: Any = {"password": "x"}
    for _ in range(300):
        nested = [nested]
    assert '"x"' not in json.dumps(redactor().value(nested))


def test_what_is_given_is_not_changed() -> None:
    given = {"messages": [{"password": "x"}]}
    redactor().value(given)
    assert given == {"messages": [{"password": "x"}]}


# --- own rules ---


def test_own_rules_replace_with_their_name_a_text_of_their_own_or_in_a_group() -> None:
    ours = Redactor(
        [
            {"name": "ticket", "regex": r"TCK-\d+"},
            {"name": "name", "regex": "Zoë", "replacement": "(name)"},
            {"name": "iban", "regex": r"IBAN (?P<secret>\w+)", "replacement": None},
        ]
    )
    assert ours.text("TCK-12 of Zoë, IBAN DE12") == "[redacted:ticket] of (name), IBAN [redacted:iban]"
    assert ours.counts == Counter(ticket=1, name=1, iban=1) and ours.prefilter == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("secret", r"redact rule secret: there is no such rule \(did you mean secrets"),
        ({"name": "a", "regex": "("}, r"redact rule a, regex: missing \)"),
        ({"name": "a", "regex": 5}, "redact rule a, regex"),
        ({"name": "a", "regex": "x*"}, "matches the empty text"),
        ({"name": "a", "regex": r"\b"}, "matches the empty text"),
        ({"name": "a", "regex": ""}, "matches the empty text"),
        ({"name": "a b", "regex": "x"}, "redact rule a b"),
        ({"regex": "x"}, "no name"),
        ({"name": "email", "regex": "x"}, "two rules of this name"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(rule: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Redactor(["email", rule])


def test_no_rules_change_nothing() -> None:
    ours = Redactor([])
    assert ours.text(SHAPES["aws"]) == SHAPES["aws"] and not ours.has_rules and ours.prefilter == ()


def test_what_surrounds_a_placeholder_goes_with_it() -> None:
    ours = Redactor(["email", {"name": "line", "regex": "user: .*"}])
    assert ours.text("user: a@example.com 123\nx") == "[redacted:line]\nx"


# --- properties ---

WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [*SHAPES.values(), "a@example.com", "Bearer abc123def", '"password": "x', "[redacted:email]", "[redacted:"]
    ),
    st.sampled_from(["password", "token", "TOKEN=x", "://u:p@", '\\"', "{", "'", "sk-", " ", "\n"]),
)
TEXTS = st.lists(WORDS, max_size=5).map("".join)
KEYS = st.one_of(st.text(max_size=8), st.sampled_from(["password", "token", "value", "name", "key", "type", "a@b.io"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | inner.map(lambda value: json.dumps(value))
    ),
    max_leaves=12,
)
OWN = [
    {"name": "words", "regex": r"\w+ \w+"},
    {"name": "any", "regex": "[a-f]+"},
    {"name": "start", "regex": "^a", "replacement": ""},
    {"name": "star", "regex": "x.", "replacement": "**"},
]
RULES = st.lists(st.sampled_from([*BUILT_IN, *OWN]), unique_by=str, max_size=5)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(child) for child in value.values()]
    return [shape(child) for child in value] if isinstance(value, list) else isinstance(value, str | int | float)


@given(RULES, VALUES)
@settings(max_examples=400, deadline=None)
@example(["secrets"], {"password": {"a@b.io": "x"}})
def test_redacting_twice_changes_and_counts_nothing_more_and_keeps_the_shape(rules: list[Any], given: Any) -> None:
    ours = Redactor(rules)
    once = ours.value(given)
    counts = ours.counts.copy()
    assert ours.value(once) is once and ours.counts == counts
    assert shape(once) == shape(given) and (counts or once is given)
    text = json.dumps(given, ensure_ascii=False)
    text_once = ours.json_text(text)
    counts = ours.counts.copy()
    assert ours.json_text(text_once) is text_once and ours.counts == counts
    assert json.loads(text_once) == once


@given(RULES, TEXTS)
@settings(max_examples=400, deadline=None)
def test_redacting_a_text_twice_changes_and_counts_nothing_more(rules: list[Any], text: str) -> None:
    ours = Redactor(rules)
    once = ours.text(text)
    counts = ours.counts.copy()
    assert ours.text(once) == once and ours.counts == counts and (counts or once is text)


@given(st.text(), st.sampled_from(sorted(SHAPES)), st.text(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_secret_of_a_known_shape_survives(before: str, name: str, after: str, ensure_ascii: bool) -> None:
    if SHAPES[name].startswith("sk-") and re.search(r"[A-Za-z0-9]\Z", before):
        before += " "  # sk- begins a word, or else task-force would be one
    ours = redactor()
    text = before + SHAPES[name] + after
    assert SHAPES[name] not in ours.text(text)
    dumped = json.dumps({"x": [text]}, ensure_ascii=ensure_ascii)
    assert SHAPES[name] not in json.loads(ours.json_text(dumped))["x"][0]
    assert SHAPES[name] not in ours.json_text(dumped[:-3])


@given(VALUES)
@settings(max_examples=400, deadline=None)
def test_a_text_without_any_literal_of_the_prefilter_is_never_changed(given: Any) -> None:
    ours = redactor()
    text = json.dumps(given, ensure_ascii=False)
    changed = ours.json_text(text) is not text or ours.text(text) is not text
    assert not changed or any(literal in text.lower() for literal in ours.prefilter)
