"""MCP servers as sources of catalogues: real processes and sockets, the whole list or a reason, and no secret kept."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.catalogues.conftest import Toy, free_port, source, tools_of
from tests.conftest import EXAMPLES
from toolsel_assets.catalogues import mcp
from toolsel_assets.catalogues.snapshots import Fetched, fetch
from toolsel_assets.study import load_study, read_sources
from toolsel_assets.vocabulary.problem import BadInput

ROOMS = tools_of(EXAMPLES / "starter" / "catalogues" / "rooms.json")
MANY = [
    {
        "name": f"tool_{number}",
        "title": "A title",
        "description": f"Does things, number {number}.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "default": None}}},
        "annotations": {"readOnlyHint": number % 2 == 0},
    }
    for number in (4, 0, 3, 1, 2)
]
SECRET = "hunter2-and-more"


def spec(toy: Toy, transport: str) -> dict[str, Any]:
    return {"command": toy.command, "env": ["TOY_SECRET"]} if transport == "stdio" else {"url": toy.url}


def fetched(study: Path, only: str | None = None) -> Fetched:
    return fetch(study, study / "out", only)


def failure(study: Path) -> str:
    """Fetch, and give what is said of the one source that fails."""
    (problem,) = fetched(study).failures
    return str(problem)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_SECRET", SECRET)
    monkeypatch.setenv("TOY_AUTHORIZATION", f"Bearer {SECRET}")


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_whole_list_comes_in_its_order_over_all_pages(starter: Path, toy: Toy, transport: str) -> None:
    toy.lists(MANY, page_size=2)
    source(starter, "live", **spec(toy, transport))
    found = fetched(starter)
    assert (dict(found.n_tools), found.changed, found.failures) == ({"live": 5}, ("live",), ())
    assert json.loads((starter / "out" / "live.json").read_text()) == {"tools": MANY}
    study = load_study(starter, snapshots=starter / "out")
    assert [tool.name for tool in study.catalogues["live"].tools] == [tool["name"] for tool in MANY]
    assert study.sources["live"].origin == f"mcp {transport}"


def test_a_list_that_is_as_it_was_is_not_written_again(live: Path, toy: Toy) -> None:
    assert fetched(live).changed == ("rooms",)
    before = (live / "out" / "rooms.json").stat()
    assert fetched(live).changed == ()
    assert (live / "out" / "rooms.json").stat().st_mtime_ns == before.st_mtime_ns
    toy.lists([*ROOMS, *MANY])
    assert fetched(live).changed == ("rooms",)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_server_that_hangs_is_given_up_at_the_deadline(starter: Path, toy: Toy, transport: str) -> None:
    toy.lists(MANY, behaviour="hang")
    source(starter, "live", **spec(toy, transport), timeout_s=3)
    began = time.monotonic()
    assert "did not give its whole list within 3 s" in failure(starter)
    assert time.monotonic() - began < 12
    assert not (starter / "out" / "live.json").exists()


def test_a_program_that_hangs_is_ended(starter: Path) -> None:
    source(starter, "live", command=["sh", "-c", "echo $$ > pid; exec sleep 100"], timeout_s=0.5)
    assert "did not give its whole list within 0.5 s" in failure(starter)
    with pytest.raises(ProcessLookupError):
        os.kill(int((starter / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": ["/no/such/program"]}, "No such file or directory"),
        ({"command": ["sh", "-c", "echo out of luck >&2; exit 3"]}, "Connection closed; it said: out of luck"),
        ({"command": ["sh", "-c", "echo not MCP"]}, "sh gave no list"),
        ({"command": ["true"], "cwd": "nowhere"}, "No such file or directory"),
        ({"command": ["true"], "env": ["NOT_SET_ANYWHERE"]}, "NOT_SET_ANYWHERE not set in the environment"),
        ({"url": "{url}", "headers_from_env": {"Authorization": "NOT_SET"}}, "NOT_SET not set in the environment"),
        ({"url": "http://127.0.0.1:{free}/mcp?key=abcdef"}, "http://127.0.0.1:{free}/mcp gave no list: All connection"),
        ({"url": "{url}/nowhere"}, "gave no list: Not Found; it said: HTTP 404"),
    ],
)
def test_a_source_that_cannot_be_reached_is_an_error_that_says_why(
    starter: Path, toy: Toy, given: dict[str, Any], said: str
) -> None:
    free = str(free_port())

    def filled(text: str) -> str:
        return text.replace("{free}", free).replace("{url}", toy.url)

    if "url" in given:
        given = {**given, "url": filled(given["url"])}
    source(starter, "live", **given)
    found = failure(starter)
    assert found.startswith(str(starter / "catalogues" / "live.mcp.yaml")) and filled(said) in found
    assert "abcdef" not in found


OLD_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if asked["method"] == "initialize":
        about = {"serverInfo": {"name": "old", "version": "1"}, "capabilities": {"tools": {}}}
        answer = {"result": {"protocolVersion": "2024-11-05", **about}}
    if asked["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def test_a_server_of_the_first_protocol_version_is_read_too(starter: Path) -> None:
    source(starter, "live", command=[sys.executable, "-c", OLD_SERVER])
    assert dict(fetched(starter).n_tools) == {"live": 1}
    study = load_study(starter, snapshots=starter / "out")
    assert [said.problem for said in study.catalogue_problems["live"]] == ["no_description"]


def test_pages_that_go_round_in_a_circle_are_not_followed_for_ever(live: Path, toy: Toy) -> None:
    toy.lists(MANY, behaviour="circle")
    assert "its pages go round in a circle" in failure(live)


def test_an_empty_list_is_refused_unless_the_source_says_that_it_may_be(live: Path, toy: Toy) -> None:
    toy.lists([])
    assert "the server lists no tool (may_be_empty: true" in failure(live)
    source(live, "rooms", url=toy.url, may_be_empty=True)
    assert dict(fetched(live).n_tools) == {"rooms": 0}


def test_one_failure_keeps_its_last_snapshot_and_the_lists_of_the_others(live: Path, toy: Toy) -> None:
    fetched(live)
    kept = (live / "out" / "rooms.json").read_text()
    source(live, "other", command=toy.command)
    source(live, "rooms", url=f"http://127.0.0.1:{free_port()}/mcp")
    toy.lists(MANY)
    found = fetched(live)
    assert dict(found.n_tools) == {"other": 5} and len(found.failures) == 1
    assert (live / "out" / "rooms.json").read_text() == kept and tools_of(live / "out" / "other.json") == MANY
    with pytest.raises(BadInput, match=r"rooms\.mcp\.yaml"):
        found.raise_failures()


def test_two_failures_are_both_named(live: Path) -> None:
    for name in ("rooms", "other"):
        source(live, name, url=f"http://127.0.0.1:{free_port()}/mcp")
    with pytest.raises(BadInput, match=r"2 live sources: .*other\.mcp\.yaml.*rooms\.mcp\.yaml"):
        fetched(live).raise_failures()


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([*MANY, MANY[0]], "tool_4 more than once"),
        ([{**MANY[0], "name": "a b"}], "tool name 'a b'"),
    ],
)
def test_a_list_that_could_not_be_used_never_takes_the_place_of_one_that_can(
    live: Path, toy: Toy, tools: list[dict[str, Any]], said: str
) -> None:
    fetched(live)
    kept = (live / "out" / "rooms.json").read_text()
    toy.lists(tools)
    assert said in failure(live)
    assert (live / "out" / "rooms.json").read_text() == kept


def test_the_studys_rule_for_duplicates_holds_for_servers(
    live: Path, toy: Toy, edit: Callable[[Path, str, str], None]
) -> None:
    edit(live / "study.yaml", "sample:", "duplicate_tools: last\nsample:")
    other = {**ROOMS[0], "description": "Another description."}
    toy.lists([*ROOMS, other])
    assert dict(fetched(live).n_tools) == {"rooms": len(ROOMS)}
    study = load_study(live, snapshots=live / "out")
    assert study.catalogues["rooms"].tools[-1].description == "Another description."
    assert [said.problem for said in study.catalogue_problems["rooms"]] == ["duplicate_name"]


# --- secrets ------------------------------------------------------------------------------------------------------


def test_a_header_comes_from_the_environment(live: Path, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.lists(ROOMS, token=SECRET)
    assert "HTTP 401" in failure(live)
    source(live, "rooms", url=toy.url, headers_from_env={"Authorization": "TOY_AUTHORIZATION"})
    assert dict(fetched(live).n_tools) == {"rooms": len(ROOMS)}
    monkeypatch.setenv("TOY_AUTHORIZATION", "Bearer of-another-token")
    assert "of-another-token" not in failure(live)


def test_a_program_is_given_the_named_variables_and_no_others(starter: Path) -> None:
    source(starter, "live", command=["sh", "-c", "env > seen; exit 1"], env=["TOY_SECRET"])
    fetched(starter)
    seen = (starter / "seen").read_text()
    assert f"TOY_SECRET={SECRET}" in seen and "TOY_AUTHORIZATION" not in seen


def test_a_secret_that_a_server_tells_is_masked(
    starter: Path, toy: Toy, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    toy.lists(ROOMS, behaviour="fail")
    source(starter, "one", command=toy.command, env=["TOY_SECRET"])
    shell = ["sh", "-c", "echo $TOY_SECRET; echo key $TOY_SECRET >&2; exit 1"]
    source(starter, "two", command=shell, env=["TOY_SECRET"])
    problems = [str(problem) for problem in fetched(starter).failures]
    assert len(problems) == 2 and all("***" in problem for problem in problems)
    assert SECRET not in "".join(problems)
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err + caplog.text
    for path in starter.rglob("*"):
        assert not path.is_file() or SECRET not in path.read_text(encoding="utf-8", errors="replace"), path


def test_a_secret_at_the_place_where_a_long_text_is_cut_is_masked(starter: Path) -> None:
    shell = f"printf '%s%0{mcp.TAIL - 10}d' $TOY_SECRET 0 >&2; exit 1"
    source(starter, "live", command=["sh", "-c", shell], env=["TOY_SECRET"])
    found = failure(starter)
    assert "it said: ***0000" in found and SECRET[-5:] not in found


# --- the study ----------------------------------------------------------------------------------------------------


def test_a_source_that_was_never_fetched_says_how(live: Path) -> None:
    for snapshots in (None, live / "out"):
        with pytest.raises(BadInput, match=r"rooms\.mcp\.yaml: its tools were never fetched \(toolsel catalogue fetch"):
            load_study(live, snapshots=snapshots)


def test_a_file_and_a_server_of_one_name_are_refused(starter: Path) -> None:
    source(starter, "rooms", command=["true"])
    with pytest.raises(BadInput, match=r"rooms\.mcp\.yaml: there is rooms\.json as well"):
        load_study(starter, snapshots=starter)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs either command or url"),
        ({"command": ["x"], "url": "http://localhost"}, "needs either command or url"),
        ({"command": []}, "command: .*at least 1"),
        ({"command": "npx x"}, "command: .*tuple"),
        ({"url": "http://localhost", "env": ["A"]}, "env and cwd go with command"),
        ({"command": ["x"], "headers_from_env": {"A": "B"}}, "headers_from_env goes with url"),
        ({"url": "localhost:80"}, "url must begin with http"),
        ({"url": "http://me:s3cret@localhost"}, "url has a user name or a password in it; use headers_from_env$"),
        ({"url": "http://localhost", "headers_from_env": {"A": "Bearer s3cret"}}, "names of .* and no values$"),
        ({"command": ["x"], "env": ["TOKEN=s3cret"]}, "env takes names of environment variables, and no values$"),
        ({"command": ["x"], "timeout_s": 0}, "timeout_s: .*greater than 0"),
        ({"comand": ["x"]}, "line 1: unknown key comand: did you mean command"),
    ],
)
def test_a_mistake_in_a_source_is_named_and_a_secret_in_it_is_not(
    starter: Path, given: dict[str, Any], said: str
) -> None:
    source(starter, "live", **given)
    with pytest.raises(BadInput, match=said) as problem:
        read_sources(starter)
    assert "live.mcp.yaml" in str(problem.value) and "s3cret" not in str(problem.value)


def test_without_the_extra_the_message_says_what_to_install(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"the package mcp is not installed \(pip install 'toolsel\[mcp\]'\)"):
        fetched(live)
