"""The labelling page in a real browser: five states labelled, reloaded, exported, read, and taken over elsewhere."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.labels.answer_files import read_answers
from toolsel_assets.labels.page import PageState, page
from toolsel_assets.vocabulary.tool import Tool

playwright_api = pytest.importorskip("playwright.sync_api", reason="the package playwright drives the browser")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe checks accessibility")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

TOOLS = [
    Tool("get_order", "Look an order up.", {"type": "object", "properties": {"id": {"type": "string"}}}, "read"),
    Tool("cancel_order", "Cancel an order.", {"type": "object"}, "destructive"),
    Tool("refund", "Refund an order.", {"type": "object"}, "write"),
]
MESSAGES = [
    {"role": "system", "content": "Be kind. " * 300},
    {"role": "user", "content": "Where is my order? <b>bold</b>"},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "get_order", "arguments": "{}"}}]},
    {"role": "tool", "content": "x" * 5000},
]
IDS = [f"shop:run:{n}" for n in range(5)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as play:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = play.chromium.launch(executable_path=BROWSER, args=arguments)
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "v1.html"
    states = [PageState(one, MESSAGES, "shop") for one in IDS]
    path.write_text(page(states, {"shop": TOOLS}, title="shop: label set v1", version="v1", guide="# Guide"))
    return path


def opened(browser: Any, file: Path, width: int = 1280) -> Any:
    tab = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True).new_page()
    tab.set_default_timeout(5000)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    tab.asked, tab.errors = asked, errors
    return tab


def named(tab: Any, name: str) -> None:
    tab.fill("#name", name)
    tab.keyboard.press("Tab")


def into_catalogue(tab: Any, word: str) -> None:
    tab.locator("#state-title").focus()
    tab.keyboard.press("/")
    tab.keyboard.type(word)
    tab.keyboard.press("Enter")


def label_five(tab: Any) -> None:
    """No tool; two tools; a forbidden one; arguments; a skip. The keyboard does all but the fields."""
    tab.locator("#state-title").focus()
    tab.keyboard.press("0")
    tab.select_option("#chosen select", "clarify")
    tab.locator("#state-title").focus()
    tab.keyboard.press("n")
    into_catalogue(tab, "refund")
    tab.keyboard.press("Space")
    tab.keyboard.press("Escape")
    into_catalogue(tab, "look")
    tab.keyboard.press("Space")
    tab.keyboard.press("n")
    tab.keyboard.press("0")
    into_catalogue(tab, "cancel")
    tab.keyboard.press("x")
    tab.keyboard.press("u")
    tab.keyboard.press("n")
    into_catalogue(tab, "look")
    tab.keyboard.press("Space")
    tab.fill("#chosen textarea", '{"id": "A1"}')
    tab.fill('#chosen input[autocomplete="off"]', "the user named it")
    tab.locator("#state-title").focus()
    tab.keyboard.press("n")
    tab.keyboard.press("s")


def exported(tab: Any, folder: Path) -> Path:
    with tab.expect_download() as waiting:
        tab.click("#export")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_five_states_are_labelled_kept_exported_and_taken_over(browser: Any, file: Path, tmp_path: Path) -> None:
    tab = opened(browser, file)
    named(tab, "ana")
    label_five(tab)
    assert tab.inner_text("#counts") == "5 of 5 done, 1 skipped"
    tab.reload()
    assert tab.inner_text("#counts") == "5 of 5 done, 1 skipped"
    path = exported(tab, tmp_path)
    assert path.name == "v1.ana.jsonl"
    states = dict.fromkeys(IDS, frozenset(tool.name for tool in TOOLS))
    first, two, forbidden, args, skipped = read_answers(path, states, labeller="ana")
    assert [(a.tool, a.reply) for a in first.valid_actions] == [(None, "clarify")]
    assert [a.tool for a in two.valid_actions] == ["refund", "get_order"]
    assert forbidden.forbidden_actions == ("cancel_order",) and forbidden.unsure
    assert (args.valid_actions[0].args, args.valid_actions[0].reason) == ({"id": "A1"}, "the user named it")
    assert skipped.skipped and all(one.labelled_at and one.seconds is not None for one in (first, two, args, skipped))

    elsewhere = opened(browser, file)
    elsewhere.set_input_files("#import", path)
    elsewhere.wait_for_function("document.getElementById('status').textContent.includes('taken over')")
    again = exported(elsewhere, tmp_path / "again")
    # Looking at a state again takes time, which is counted; nothing else differs.
    untimed = [one.model_copy(update={"seconds": None}) for one in read_answers(again, states, labeller="ana")]
    assert untimed == [one.model_copy(update={"seconds": None}) for one in (first, two, forbidden, args, skipped)]
    for one in (tab, elsewhere):
        assert one.errors == [] and all(url.startswith(("file:", "blob:")) for url in one.asked)


def test_answers_to_other_states_are_refused_whole(browser: Any, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(
        f'{{"id": "{IDS[0]}", "labelled_by": ["ana"], "skipped": true}}\n'
        '{"id": "elsewhere", "labelled_by": ["ana"]}\n'
    )
    tab = opened(browser, file)
    named(tab, "ana")
    tab.set_input_files("#import", other)
    tab.wait_for_function("document.getElementById('status').textContent.includes('line 2 answers another state')")
    assert tab.inner_text("#counts") == "0 of 5 done"


def test_contradictions_and_wrong_arguments_are_told_and_not_exported(browser: Any, file: Path, tmp_path: Path) -> None:
    tab = opened(browser, file)
    named(tab, "ben")
    into_catalogue(tab, "look")
    tab.keyboard.press("Space")
    tab.keyboard.press("x")
    assert "both acceptable and forbidden" in tab.inner_text("#problems")
    tab.keyboard.press("x")
    tab.fill("#chosen textarea", "[1]")
    assert "must be a JSON object" in tab.inner_text("#problems")
    assert tab.inner_text("#counts") == "0 of 5 done"
    assert exported(tab, tmp_path).read_text() == ""
    assert "1 with a contradiction or wrong arguments" in tab.inner_text("#status")


def test_nothing_is_answered_without_a_name(browser: Any, file: Path) -> None:
    tab = opened(browser, file)
    tab.locator("#state-title").focus()
    tab.keyboard.press("0")
    assert "Enter your name first" in tab.inner_text("#status")
    assert tab.inner_text("#counts") == "0 of 5 done"


@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible_and_fits(browser: Any, file: Path, width: int) -> None:
    tab = opened(browser, file, width)
    named(tab, "ana")
    tab.locator("#state-title").focus()
    tab.keyboard.press("0")
    into_catalogue(tab, "cancel")
    tab.keyboard.press("x")
    for is_open in (False, True):
        if is_open:
            tab.keyboard.press("?")
        found = axe.Axe().run(tab).response["violations"]
        assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_markup_in_messages_is_shown_as_text(browser: Any, file: Path) -> None:
    tab = opened(browser, file)
    assert "<b>bold</b>" in tab.inner_text("#dialogue") and tab.locator("#dialogue b").count() == 0
    assert tab.inner_text("#dialogue").count("x" * 100) > 0
    tab.get_by_text("Show all 5000 characters").click()
    assert "x" * 5000 in tab.inner_text("#dialogue")
