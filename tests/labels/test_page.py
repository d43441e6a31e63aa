"""What goes into the labelling page, and that nothing in it can run."""

import json
import re
from typing import Any

import pytest

from toolsel_assets.labels.page import PageState, embedded, page
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028 http://example.com"


def made(**more: Any) -> str:
    states = [PageState("s1", [{"role": "user", "content": EVIL}], "shop")]
    tools = {"shop": [Tool("get_order", EVIL, {"type": "object"}, "read")]}
    return page(states, tools, title="Shop <b>", version="v1", **more)


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_text_of_traces_is_data_and_comes_back_as_it_was() -> None:
    text = made()
    assert text.count("<script") == 2 and text.count("</script>") == 2
    assert "<img" not in text and "\u2028" not in text
    assert data_of(text)["states"][0]["messages"] == [{"role": "user", "content": EVIL}]
    assert "<title>Shop &lt;b&gt;</title>" in text


def test_the_guide_is_escaped() -> None:
    assert "<script>alert" not in made(guide=EVIL)


def test_nothing_is_fetched_and_only_the_pages_own_script_runs() -> None:
    text = page([PageState("s1", [], "shop")], {"shop": []}, title="t", version="v1", guide="g")
    assert "http:" not in text and "https:" not in text and " src=" not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy and policy[1].startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy[1]


def test_a_catalogue_that_is_not_given_is_an_error() -> None:
    with pytest.raises(BadInput, match="state s1: no catalogue 'other'"):
        page([PageState("s1", [], "other")], {"shop": []}, title="t", version="v1")


def test_the_page_is_the_same_each_time() -> None:
    assert made() == made()


@pytest.mark.parametrize("value", ["<", "&amp;", "\u2029", "plain", "ü"])
def test_embedded_json_is_json(value: str) -> None:
    assert json.loads(embedded({"a": value})) == {"a": value}
    assert "<" not in embedded({"a": value})
