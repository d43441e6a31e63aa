"""A study whose agent costs something, from the command line to the published tables, against a real local server.

One journey, told by the tests in its order: planned, refused half-way, run, run after an edit.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Outcome, Run, toolsel
from tests.replays.messages_server import MessagesServer
from tests.replays.paid import MODEL, PRICES, SECRET, change_study, copy_of_starter, write_ladder


@dataclass(frozen=True)
class Step:
    """What a step printed, the calls that had come in after it, and the choices after it."""

    printed: Outcome
    n_calls: int
    choices: list[dict[str, Any]]


@dataclass(frozen=True)
class Journey:
    """The steps by name, and where they were."""

    folder: Path
    steps: dict[str, Step]
    run: Run


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    folder = tmp_path_factory.mktemp("paid")
    study, data, steps = copy_of_starter(folder / "study"), folder / "out", {}
    with pytest.MonkeyPatch.context() as patch, MessagesServer() as server:
        patch.setenv("ANTHROPIC_API_KEY", SECRET)
        write_ladder(study, server.url)
        change_study(study, prices=PRICES)
        assert toolsel("label", "release", "v1", "--study", study).code == 0

        def step(name: str, *command: str) -> None:
            printed = toolsel(*command, "--study", study, "--data", data)
            known = (data / "published" / "bi.duckdb").exists()
            everything = "select * exclude (inputs_hash) from choices order by all"
            steps[name] = Step(printed, len(server.received), Run(data, printed).rows(everything) if known else [])

        step("planned", "plan", "--json")
        server.fault_of = lambda body, n: "401" if any("room" in tool["name"] for tool in body["tools"]) else None
        step("refused", "run")
        server.fault_of = lambda body, n: None
        step("run", "run")
        rooms = study / "catalogues" / "rooms.json"
        rooms.write_text(rooms.read_text().replace("Book a meeting room", "Reserve a meeting room"))
        step("edited", "run", "--fresh")
        yield Journey(folder, steps, Run(data, steps["edited"].printed))


def keys(step: Step, rung: str) -> set[str]:
    return {row["call_key"] for row in step.choices if row["rung"] == rung and row["call_key"]}


def test_a_plan_asks_nothing_and_counts_what_a_run_then_asks(journey: Journey) -> None:
    planned, whole = journey.steps["planned"], journey.steps["run"]
    found = json.loads(planned.printed.out)
    assert planned.n_calls == 0 and found["paid"]["calls"] == 0
    assert [rung["calls"] for rung in found["rungs"]] == [len(keys(whole, "base")), len(keys(whole, "+rooms"))]
    assert all("counted by the provider" in rung["tokens_are"] for rung in found["rungs"])
    read = {row["call_key"]: row["input_tokens"] for row in whole.choices if row["call_key"]}
    assert sum(rung["input_tokens"] for rung in found["rungs"]) == pytest.approx(sum(read.values()), rel=0.2)


def test_a_rung_that_is_refused_leaves_the_others(journey: Journey) -> None:
    refused, whole = journey.steps["refused"], journey.steps["run"]
    assert refused.printed.code == 2
    assert (
        "paid.+rooms failed: paid.+rooms: 401 authentication_error: invalid x-api-key Bearer [key]"
        in refused.printed.err
    )
    assert "1 of 2 rungs are done" in refused.printed.err
    assert len(keys(whole, "base")) < refused.n_calls <= len(keys(whole, "base")) + 2 * 16


def test_the_next_run_asks_what_is_missing_and_no_more(journey: Journey) -> None:
    refused, whole = journey.steps["refused"], journey.steps["run"]
    assert whole.printed.code == 0, whole.printed.err
    assert whole.n_calls - refused.n_calls == len(keys(whole, "+rooms")) > 40
    assert {row["status"] for row in whole.choices} == {"called", "stopped", "not_served"}
    for row in whole.choices:
        measured = [row[name] for name in ("input_tokens", "output_tokens", "cost_usd", "latency_ms", "n_tries")]
        assert (None in measured) == (row["status"] == "not_served")
        if row["call_key"]:
            assert row["cost_usd"] == pytest.approx(
                (5 * row["input_tokens"] + 25 * row["output_tokens"]) / 1e6, abs=1e-9
            )


def test_an_edited_description_asks_the_rung_that_shows_it_and_no_other_even_fresh(journey: Journey) -> None:
    before, after = journey.steps["run"], journey.steps["edited"]
    assert keys(before, "base") == keys(after, "base") and not keys(before, "+rooms") & keys(after, "+rooms")
    assert after.n_calls - before.n_calls == len(keys(after, "+rooms"))
    # What was not asked again keeps the time at which it was answered.
    kept = [[row for row in step.choices if row["rung"] == "base" and row["call_key"]] for step in (before, after)]
    assert kept[0] == kept[1]


def test_the_key_stands_nowhere_in_what_was_written_or_printed(journey: Journey) -> None:
    for step in journey.steps.values():
        assert SECRET not in step.printed.out + step.printed.err
    written = [path for home in (journey.folder, Path(os.environ["DAGSTER_HOME"])) for path in home.rglob("*")]
    files = [path for path in written if path.is_file()]
    assert len(files) > 50 and all(SECRET.encode() not in path.read_bytes() for path in files)


def test_tables_say_what_was_asked_where_tools_stood_and_what_it_cost(journey: Journey) -> None:
    run = journey.run
    places = run.rows(
        "select n_tools, count(*) as n, count(distinct position) as places from tool_positions group by all"
    )
    assert all(row["n"] == 3 * row["places"] == 3 * row["n_tools"] for row in places)
    effect = "select sum(n) from position_effect where rung = 'base'"
    assert run.one(effect) == run.one(
        "select count(*) from scored_rows where rung = 'base' and expected <> '(no tool)'"
    )
    assert run.one("select sum(n) from by_prefix") == run.one("select count(*) from scored_rows")
    assert {row["prefix"] for row in run.rows("select prefix from by_prefix")} <= {"foreign", "written"}
    assert run.one("select min(model_served) from rung_runs") == MODEL
    costs = run.rows("select sum(cost_usd) as usd from choices union all select sum(cost_usd) from rung_runs")
    assert costs[0]["usd"] == pytest.approx(costs[1]["usd"]) and costs[0]["usd"] > 0
    (changed,) = run.rows("select difference from rungs where rung = '+rooms'")
    assert changed["difference"].startswith("+ ")


def test_a_page_shows_the_new_tables(journey: Journey) -> None:
    page = (journey.run.data / "published" / "report.html").read_text(encoding="utf-8")
    for shown in ("Where the expected tool stood", "Whose steps came before", "What was asked and what it cost"):
        assert shown in page
