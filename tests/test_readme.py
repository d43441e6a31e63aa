"""No command, table or output in the README may be false. (.ci/run runs its two commands in fresh environments.)"""

import re
import shlex
from pathlib import Path

import click
import dagster as dg

from tests.conftest import Run
from toolsel_assets.definitions import defs

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
GRAPH = defs.resolve_asset_graph()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", README, re.DOTALL)


def table(heading: str) -> list[list[str]]:
    section = README.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_the_output_is_what_the_example_prints(airline: Run) -> None:
    (shown,) = blocks("text")
    assert shown in airline.printed.out


def test_the_numbers_around_it_are_the_examples(airline: Run) -> None:
    assert "200 decisions" in README and airline.one("select count(*) from scored_rows where ladder = 'logged'") == 200
    assert "sampled from 1,093" in README and airline.one("select count(*) from decisions") == 1093
    sizes = airline.rows("select min(n_tools) as low, max(n_tools) as high from rungs")
    assert "from 14 tools to 26" in README and sizes == [{"low": 14, "high": 26}]


def test_the_journey_is_the_graph() -> None:
    rows = table("Follow one decision")
    assert [row[1].strip("`") for row in rows] == [
        "traces", "samples", "labels", "catalogues", "replays", "scores", "reports", "verdict",
    ]  # fmt: skip
    private = {"labels/requests", "replays/choices_by_rung", "samples/stratum_counts"}
    inner = ("model_calls", "trace_files", "merged_units", "trace_catalogues", "joined_catalogues", "retired_tools")
    private |= {f"traces/{name}" for name in (*inner, "call_fates", "call_runs", "call_places", "resolved_calls")}
    for _, stage, _, left in rows:
        prefix = stage.strip("`")
        named = {f"{prefix}/{name}" for name in re.findall(r"`(\w+)`", left)}
        found = {key.to_user_string() for key in GRAPH.get_all_asset_keys() if key.path[0] == prefix}
        assert named == found - private, prefix


def test_every_command_is_one_and_every_one_is_listed() -> None:
    from toolsel_assets.cli import cli

    listed = {re.findall(r"`toolsel (\w+)", row[0])[0] for row in table("Commands")}
    assert listed == set(cli.commands)
    for used in re.findall(r"`toolsel ([a-z]+)", README):
        assert used in cli.commands
    labelling = cli.commands["label"]
    assert isinstance(labelling, click.Group)
    for used in re.findall(r"`toolsel label ([a-z]+)", README):
        assert used in labelling.commands
    (row,) = (row for row in table("Commands") if row[0].startswith("`toolsel label "))
    assert set(re.findall(r"`([a-z]+)`", row[1])) | {"new"} == set(labelling.commands)


def test_the_two_commands_are_one_line_each_and_are_what_ci_runs() -> None:
    (commands,) = blocks("sh")
    lines = [line for line in commands.splitlines() if line and not line.startswith("#")]
    assert len(lines) == 2
    ci = (Path(__file__).parent.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert "readme_command 1" in ci and "readme_command 2" in ci
    for line in lines:
        assert all(shlex.split(part) for part in line.split("&&"))


def test_links_lead_somewhere() -> None:
    root = Path(__file__).parent.parent
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (root / target).exists(), target


def test_the_formats_and_agents_named_are_those_that_there_are() -> None:
    from toolsel_assets.replays import agents
    from toolsel_assets.traces import formats

    named = {re.findall(r"`(\w+)", row[0])[0] for row in table("Agents")}
    assert named == set(agents.names())
    assert sorted(name for row in table("Trace formats") for name in re.findall(r"`(\w+)`", row[0])) == formats.names()


def test_the_jobs_of_the_ui_are_those_of_the_commands() -> None:
    jobs = {job.name for job in defs.resolve_all_job_defs()} - {"__ASSET_JOB"}
    assert jobs == {"sample", "prepare", "replay_rung", "report"}
    assert dg.AssetKey(["published", "bi"]) in GRAPH.get_all_asset_keys()
