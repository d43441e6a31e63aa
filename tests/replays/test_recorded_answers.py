"""Recorded answers of three real models, read. The real lines are BFCL's (Apache-2.0, data/bfcl/README.md)."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.replays.recorded_answers import DEEPEST, LONGEST, MOST_CALLS, parse_answer
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

ANSWERS = Path(__file__).parent / "data" / "bfcl" / "answers.jsonl.gz"


def real() -> list[dict[str, Any]]:
    with gzip.open(ANSWERS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def calls(answer: object) -> list[tuple[str, Any]]:
    found = parse_answer(answer)
    assert found.status == Status.CALLED, found
    return [(call.tool, call.args) for call in found.action]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (  # airev-agent-0.8b, multiple_0: JSON's true
            "[triangle_properties.get(side1=5, side2=4, side3=3, get_area=true, get_perimeter=true, get_angles=true)]",
            [
                (
                    "triangle_properties.get",
                    {
                        "side1": 5,
                        "side2": 4,
                        "side3": 3,
                        "get_area": True,
                        "get_perimeter": True,
                        "get_angles": True,
                    },
                )
            ],
        ),
        (  # gemma4-e4b, multiple_114: the end of the turn is the chat template's
            "[prediction.evolution(species='Homo Sapiens', years=50, model='Darwin')]\n<end_of_turn>",
            [("prediction.evolution", {"species": "Homo Sapiens", "years": 50, "model": "Darwin"})],
        ),
        (  # glyphh-ada-1.1, live_multiple_3-2-0
            [{"api.weather": '{"loc": "Hanoi, Vietnam"}'}],
            [("api.weather", {"loc": "Hanoi, Vietnam"})],
        ),
        (  # airev-agent-0.8b, irrelevance_5: a refusal, and the call all the same
            "No function matches the user's request.\n\n[solve_quadratic_equation(a=5.0, b=4.0, c=5.0)]",
            [("solve_quadratic_equation", {"a": 5.0, "b": 4.0, "c": 5.0})],
        ),
        (  # airev-agent-0.8b, live_multiple_570-155-10: a list a line
            '[Events_3_FindEvents(event_type="Music", city="New York, NY", date="2025-04-18")]\n'
            '[Events_3_FindEvents(event_type="Music", city="New York, NY", date="2025-04-19")]',
            [
                ("Events_3_FindEvents", {"event_type": "Music", "city": "New York, NY", "date": "2025-04-18"}),
                ("Events_3_FindEvents", {"event_type": "Music", "city": "New York, NY", "date": "2025-04-19"}),
            ],
        ),
        (
            "[f(at=[40.7, -74.0], who={'a': (1, null)}, no=false)]",
            [("f", {"at": [40.7, -74.0], "who": {"a": [1, None]}, "no": False})],
        ),
        ("[a.b.c(), d()]", [("a.b.c", {}), ("d", {})]),
        ([{"f": {"a": [1, {"b": None}]}}, {"g": "{}"}], [("f", {"a": [1, {"b": None}]}), ("g", {})]),
        ("[f(a='a[b(c=1)]')]", [("f", {"a": "a[b(c=1)]"})]),
    ],
)  # fmt: skip
def test_a_well_formed_answer_is_its_calls(answer: object, expected: list[tuple[str, Any]]) -> None:
    assert calls(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        [],
        "[]",
        "No function matches the user's request.",  # airev-agent-0.8b, irrelevance_0
        "No function matches the requested request",  # irrelevance_1: no full stop
        "Talk soon! 😊",  # live_irrelevance_553-169-6
        "Hello! How can I help you with your financial transaction today?<|im_end|>",
        "Please give me the name(s), and f(x) as a formula (say, x + 1).",
    ],
)
def test_no_tool_is_an_empty_list_or_a_text_without_anything_like_a_call(answer: object) -> None:
    found = parse_answer(answer)
    assert (found.status, found.action) == (Status.STOPPED, ())


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ('lawyer.search(location="Los Angeles", expertise="Divorce")', "in no list"),  # gemma4-e4b, multiple_58
        ("version_api.VersionApi.get_version()\n<end_of_turn>", "in no list"),  # live_multiple_248-112-0
        ("Hotels: [Hotels_4_SearchHotel(star_rating=3", "in no list"),
        ("[user_authentication.login](user_authentication.login)", "there is more"),
        ("No.\n\n[ldap_api.LdapApi.retrieve](ldap_api.LdapApi.retrieve)", "there is more"),  # 748-259-0, shortened
        ("See [user_authentication.login](user_authentication.login)", "in no list"),
        ("[get_headway], [get_time_headway], [get_time_to_collision]", "there is more"),  # live_irrelevance_269-57-4
        ("[get_headway]", "holds no call"),
        (
            '[\n    {\n        "name": "search_web_tool"\n    }\n]',
            "holds no call",
        ),  # live_multiple_241-107-2
        ('{"name": "search_web_tool", "params": {}}', "in no list"),
        ("<tool_call>\nsearch", "in no list"),
        ("[f(a=1)", "never closed"),
        ("[f(a=1)] and that is all.", "no list of calls"),
        ("[f(a=1)]\nDone", "there is more"),
        ('[f(a="1" to "2")]', "no list of calls"),
        ('[f(category="x", "frameworks")]', "positional"),
        ("[f(a=1, a=2)]", "repeated"),
        ("[f(1)]", "without a name"),
        ("[f(**{'a': 1})]", "without a name"),
        ("[Hotels_4_SearchHotel(star_rating=dontcare)]", "dontcare is no literal"),  # live_multiple_594-158-0
        ("[f(a=g(b=1))]", "Call is no literal"),
        ("[f(a=1 + 1)]", "BinOp is no literal"),
        ("[f(a={1: 2})]", "no text"),
        ("[f(a={**b})]", "no text"),
        ("[f(a=1e999)]", "no number of JSON"),
        ("[f(a=1j)]", "no value of JSON"),
        ("[f(a=...)]", "no value of JSON"),
        ("[f(a=-'1')]", "of no number"),
        ("[f()()]", "has no name"),
        ("[__import__('os').system('true')]", "has no name"),
        ([{"f": "{"}], "not JSON"),
        ([{"f": "[1]"}], "list and no object"),
        ([{"f": None}], "NoneType and no object"),
        ([{"f": '{"a": NaN}'}], "no number of JSON"),
        ([{"f": {}, "g": {}}], "no {name: arguments}"),
        ([{}], "no {name: arguments}"),
        (["f"], "no {name: arguments}"),
        ([{"": {}}], "has no name"),
        ({"f": {}}, "neither a text nor a list"),
        (None, "neither a text nor a list"),
        (7, "neither a text nor a list"),
    ],
)
def test_what_cannot_be_read_is_malformed_and_never_a_stop(answer: object, detail: str) -> None:
    found = parse_answer(answer)
    assert (found.status, found.action) == (Status.MALFORMED, ())
    assert detail in (found.detail or "")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("", Status.UNKNOWN),
        ("  \n<end_of_turn>", Status.UNKNOWN),
        ("Error during inference: Error code: 400 - {'error': {'message': \"This model's", Status.API_ERROR),
        ("time as '5 years which is 5" + "0" * 400, Status.TRUNCATED),  # airev-agent-0.8b, simple_python_153
        ("I'll play a game. " * 30, Status.TRUNCATED),
    ],
)
def test_an_answer_that_is_none_has_a_status_of_its_own(answer: str, status: Status) -> None:
    assert parse_answer(answer).status == status


@pytest.mark.parametrize(
    "answer",
    [
        "[f(a=" + "[" * 150 + "]" * 150 + ")]",
        "[f(a=" + "{'a':" * 90 + "1" + "}" * 90 + ")]",
        "[f(a=" + "[" * 20_000,
        "[f(a=" + "-" * 90_000 + "1)]",
        "[f(a=" + "1+" * 40_000 + "1)]",
        "[f" + ".g" * 40_000 + "()]",
        "[f(a=" + "9" * 5000 + ")]",
        "[" + "f()," * (MOST_CALLS + 1) + "]",
        "x" * (LONGEST + 1),
        [{"f": "[" * 100_000}],
        [{"f": '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)}],
        [{"f": "x" * (LONGEST + 1)}],
        [{"f": {}}] * (MOST_CALLS + 1),
        "[f(a='\0')]",
    ],
)
def test_an_answer_beyond_all_bounds_is_malformed_and_nothing_is_raised(answer: object) -> None:
    assert parse_answer(answer).status == Status.MALFORMED


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.sampled_from(["a", "b_c", "day"]), json_values, max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["f", "a.b"]), arguments), max_size=3))
def test_the_styles_say_the_same(wanted: list[tuple[str, dict[str, Any]]]) -> None:
    text = ", ".join(f"{tool}({', '.join(f'{k}={v!r}' for k, v in args.items())})" for tool, args in wanted)
    as_text = parse_answer([{tool: json.dumps(args)} for tool, args in wanted])
    assert parse_answer(f"[{text}]") == as_text == parse_answer([{tool: args} for tool, args in wanted])
    assert as_text.action == tuple(Call(tool, args) for tool, args in wanted)


@given(st.text(alphabet="[](){}=,.'\"\\\n afgtrue10-", max_size=40))
def test_no_text_raises_and_only_calls_have_an_action(text: str) -> None:
    found = parse_answer(text)
    assert bool(found.action) == (found.status == Status.CALLED)


# --- the real answers, counted twice ------------------------------------------------------------------------------


def loose(answer: Any) -> str | None:
    """The first tool's name by a count that knows nothing of the parser."""
    if isinstance(answer, list):
        return next(iter(answer[0])) if answer else None
    found = re.search(r"([A-Za-z_][\w.]*)\(", answer)
    return found.group(1) if found else None


def parsed(answer: Any) -> str | None:
    """The first tool's name as the parser has it; a status that cannot be scored is a name that no tool has."""
    found = parse_answer(answer)
    if found.status == Status.STOPPED:
        return None
    return found.action[0].tool if found.status == Status.CALLED else f"({found.status})"


def right_names(count: Any) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in real():
        for model, answer in row["answers"].items():
            name, wanted = count(answer), row["tool"]
            ok = (
                name is wanted if name is None or wanted is None else name.replace(".", "_") == wanted.replace(".", "_")
            )
            found.setdefault(model, Counter())[row["category"]] += ok
    return found


def test_the_loose_count_gives_the_published_figures() -> None:
    assert Counter(row["category"] for row in real()) == {
        "multiple": 120, "live_multiple": 632, "irrelevance": 144, "live_irrelevance": 531,
    }  # fmt: skip
    assert right_names(loose) == {
        "airev-agent-0.8b": {"multiple": 118, "live_multiple": 593, "irrelevance": 66, "live_irrelevance": 108},
        "glyphh-ada-1.1": {"multiple": 117, "live_multiple": 533, "irrelevance": 119, "live_irrelevance": 474},
        "gemma4-e4b": {"multiple": 120, "live_multiple": 616},
    }


def test_the_parser_gives_less_only_where_an_answer_is_not_well_formed() -> None:
    assert right_names(parsed) == {
        "airev-agent-0.8b": {"multiple": 118, "live_multiple": 582, "irrelevance": 66, "live_irrelevance": 102},
        "glyphh-ada-1.1": {"multiple": 117, "live_multiple": 533, "irrelevance": 119, "live_irrelevance": 474},
        "gemma4-e4b": {"multiple": 115, "live_multiple": 611},
    }
    differ = [
        parse_answer(answer).status
        for row in real()
        for answer in row["answers"].values()
        if (loose(answer) == row["tool"]) != (parsed(answer) == row["tool"])
    ]
    assert Counter(differ) == {Status.MALFORMED: 27}


def test_every_status_of_the_real_answers_is_counted() -> None:
    found: dict[str, Counter[str]] = {}
    for row in real():
        for model, answer in row["answers"].items():
            found.setdefault(model, Counter())[str(parse_answer(answer).status)] += 1
    assert found == {
        "airev-agent-0.8b": {"called": 1185, "stopped": 168, "malformed": 74},
        "glyphh-ada-1.1": {"called": 747, "stopped": 680},
        "gemma4-e4b": {"called": 739, "malformed": 11, "api_error": 2},
    }
