"""`toolsel`, the command line: thin over the graph.

What belongs here: options, the order of the jobs, exit codes and messages. What does not: anything that is measured.

Exit codes: 0 done, and for `verdict` accept; 1 reject; 2 bad input or configuration; 3 not decided (not enough data,
inadmissible, incomplete); 4 a defect of toolsel's own, with a traceback.
"""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolsel_assets import __version__
from toolsel_assets.cli.catalogue import catalogue
from toolsel_assets.cli.label import label
from toolsel_assets.cli.opening import (
    BAD_INPUT,
    DATA,
    LADDER,
    STUDY,
    open_workspace,
    show_progress,
    shown,
    tells_users,
)
from toolsel_assets.vocabulary.problem import BadInput, known_names

if TYPE_CHECKING:
    import dagster as dg

    from toolsel_assets.resources import Workspace
    from toolsel_assets.study import Study

ACCEPT, REJECT, NOT_DECIDED, DEFECT = 0, 1, 3, 4
EXIT_CODES = {"accept": ACCEPT, "reject": REJECT}


def main() -> None:
    """Run the command line."""
    cli()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="toolsel")
def cli() -> None:
    """Measure how well an LLM agent chooses tools, no tool included, and whether a catalogue change may ship."""


cli.add_command(label)
cli.add_command(catalogue)


@cli.command()
@STUDY
@DATA
@LADDER
@click.option(
    "--fresh", is_flag=True, help="Make all choices anew. Answers that were paid for stay in the ledger and are used."
)
@click.option("--dry-run", is_flag=True, help="Ask nothing: prepare, and print what asking would take (toolsel plan).")
@tells_users
def run(study: str, data: str | None, ladder: str | None, fresh: bool, dry_run: bool) -> None:
    """Run the study up to the verdict and print a summary.

    Runs the jobs prepare, replay_rung (once per rung) and report in this process. A rung whose inputs have not changed
    keeps its choices, and an answer that was paid for is never asked for again: a run that was killed goes on where it
    was. A rung that fails leaves the others. The exit code says whether the run went through; `toolsel verdict` says
    what came out.
    """
    if dry_run:
        _plan(study, data, ladder, as_json=False)
        return
    workspace = open_workspace(study, data, ladder)
    _fetch_sources(workspace)
    loaded = workspace.study()
    show_progress()
    if fresh:
        shutil.rmtree(workspace.folder("replays"), ignore_errors=True)
    _run_jobs(workspace, loaded)
    from toolsel_assets.reports.assets import reported
    from toolsel_assets.reports.summary import summary

    click.echo(summary(reported(workspace)))
    published = workspace.folder("published")
    click.echo(f"\nreport  {shown(published / 'report.html')}\ntables  {shown(published / 'bi.duckdb')}")


@cli.command()
@STUDY
@DATA
@LADDER
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@tells_users
def plan(study: str, data: str | None, ladder: str | None, as_json: bool) -> None:
    """Say what a run would ask: calls, tokens, dollars, time. Nothing is asked and nothing is paid.

    Tokens are counted by the provider where there is a key (counting is free), else estimated.
    """
    _plan(study, data, ladder, as_json=as_json)


@cli.command()
@STUDY
@DATA
@LADDER
@click.option("--json", "as_json", is_flag=True, help="Print verdicts and findings as JSON.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write a JUnit file.")
@tells_users
def verdict(study: str, data: str | None, ladder: str | None, as_json: bool, junit: Path | None) -> None:
    """Print the findings of the last run. Exit code: 0 accept, 1 reject, 2 bad input, 3 not decided."""
    from toolsel_assets import store
    from toolsel_assets.verdict.junit import junit as as_junit

    workspace = open_workspace(study, data, ladder)
    with workspace.tables(read_only=True) as con:
        if not store.exists(con, "verdict.verdicts"):
            raise BadInput(str(workspace.data_dir), "no verdict in it yet", "toolsel run")
        verdicts = store.rows(con, "select * from verdict.verdicts where is_candidate order by ladder")
        findings = store.rows(con, "select * from verdict.findings order by ladder, rung_order, slice, rule, subject")
    if ladder:
        verdicts, findings = ([row for row in rows if row["ladder"] == ladder] for rows in (verdicts, findings))
    if not verdicts:
        raise BadInput(str(workspace.data_dir), f"no verdict on ladder {ladder}", "toolsel run --ladder NAME")
    if junit:
        junit.write_text(as_junit(verdicts, findings), encoding="utf-8")
    click.echo(_as_json(verdicts, findings) if as_json else _as_text(verdicts, findings))
    codes = [EXIT_CODES.get(row["state"], NOT_DECIDED) for row in verdicts]
    sys.exit(REJECT if REJECT in codes else max(codes))


@cli.command()
@STUDY
@DATA
@click.option("--port", default=3000, show_default=True, help="Port of the web page.")
@tells_users
def dev(study: str, data: str | None, port: int) -> None:
    """Open the asset graph of a study in the Dagster UI, with the daemon that runs its sensor."""
    if find_spec("dagster_webserver") is None:
        raise BadInput("toolsel dev", "dagster-webserver is not installed", "pip install 'toolsel[ui]'")
    workspace = open_workspace(study, data, None)
    workspace.study()
    click.echo(f"http://127.0.0.1:{port}  (study {shown(Path(workspace.study_dir))}, stop with Ctrl-C)", err=True)
    click.echo(
        "sensors are off until you switch them on under Automation: they may start runs that cost money", err=True
    )
    command = [sys.executable, "-m", "dagster", "dev", "-m", "toolsel_assets.definitions", "-p", str(port)]
    sys.exit(subprocess.run(command, check=False).returncode)


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@tells_users
def init(directory: Path) -> None:
    """Write a commented study into DIRECTORY that runs as it stands."""
    from toolsel_assets.resources import EXAMPLES

    if directory.exists() and any(directory.iterdir()):
        raise BadInput(str(directory), "the directory is not empty", "a new one")
    shutil.copytree(EXAMPLES / "starter", directory, dirs_exist_ok=True)
    click.echo(f"wrote {shown(directory)}; run it with: toolsel run --study {shown(directory)}")


@cli.group()
def traces() -> None:
    """Look at trace files before they are part of a study."""


@traces.command("inspect")
@click.argument("path")
@click.option("--format", "format_name", metavar="NAME", help="Read as this format. Default: recognised by content.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@tells_users
def inspect_traces(path: str, format_name: str | None, as_json: bool) -> None:
    """Say what is in PATH (a file, a directory, a glob or a url): format, decisions, and what is missing.

    Nothing is kept. The exit code is 0 even when some records cannot be read: these are counted and explained.
    """
    from toolsel_assets.traces import formats
    from toolsel_assets.traces.inspection import as_text, inspect

    if format_name and format_name not in formats.names():
        raise BadInput("--format", f"unknown format {format_name!r}", known_names(format_name, formats.names()))
    show_progress()
    found = inspect(path, format_name)
    click.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else as_text(found))


@cli.command()
@STUDY
@DATA
@tells_users
def sample(study: str, data: str | None) -> None:
    """Read the traces and draw the sample: what comes before the first label.

    Needs no label set. The strata are printed; `toolsel label new NAME` goes on from here.
    """
    from toolsel_assets import store

    workspace = open_workspace(study, data, None)
    workspace.study()
    show_progress()
    _run_job(workspace, "sample")
    with workspace.tables(read_only=True) as con:
        for row in store.rows(con, "select * from samples.strata order by population desc"):
            place = row["bucket"] + (f", {row['part']}" if row["part"] else "")
            no_tool = f"{row['n_no_tool_drawn']} without a call"
            click.echo(f"{place:<28} {row['drawn']:>6} of {row['population']:<10} {no_tool}")


# --- running jobs -------------------------------------------------------------------------------------------------


def _fetch_sources(workspace: "Workspace") -> None:
    """Ask the study's live sources before anything is read from their snapshots."""
    from toolsel_assets.catalogues import commands

    commands.fetch_before_a_run(workspace, lambda text: click.echo(text, err=True))


def _plan(study: str, data: str | None, ladder: str | None, *, as_json: bool) -> None:
    from toolsel_assets.replays.commands import show_plan

    workspace = open_workspace(study, data, ladder)
    _fetch_sources(workspace)
    workspace.study()
    show_progress()
    _run_job(workspace, "prepare")
    show_plan(workspace, click.echo, as_json=as_json)


def _run_job(workspace: "Workspace", job: str) -> None:
    import dagster as dg

    from toolsel_assets.definitions import defs

    with dg.DagsterInstance.get() as instance:
        _run(defs, job, workspace, instance)


def _run_jobs(workspace: "Workspace", study: "Study") -> None:
    import dagster as dg

    from toolsel_assets.definitions import defs
    from toolsel_assets.graph import RUNGS

    partitions = study.partitions()
    with dg.DagsterInstance.get() as instance:
        _run(defs, "prepare", workspace, instance)
        instance.add_dynamic_partitions(str(RUNGS.name), partitions)
        failed = []
        for partition in partitions:
            try:
                _run(defs, "replay_rung", workspace, instance, partition)
            except BadInput as problem:
                failed.append(problem)
                click.echo(f"{partition} failed: {problem.found}", err=True)
        if failed:
            done = (
                f"{len(partitions) - len(failed)} of {len(partitions)} rungs are done; there is no report without all"
            )
            raise BadInput("replay_rung", str(failed[0]), done)
        _run(defs, "report", workspace, instance)


def _run(
    defs: "dg.Definitions",
    job: str,
    workspace: "Workspace",
    instance: "dg.DagsterInstance",
    partition: str | None = None,
) -> None:
    """Run a job in this process; leave with the reason when it fails."""
    if partition is None:
        click.echo(f"{job} ...", err=True)
    config = {
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        "resources": {"workspace": {"config": workspace.model_dump()}},
    }
    result = defs.resolve_job_def(job).execute_in_process(
        run_config=config, instance=instance, partition_key=partition, raise_on_error=False
    )
    if result.success:
        return
    for event in result.all_events:
        error = getattr(event.event_specific_data, "error", None) if event.is_step_failure else None
        # A user's mistake may itself have a cause, such as a library's own error: the mistake is what helps.
        while error is not None and error.cause is not None and error.cls_name != "BadInput":
            error = error.cause
        if error is not None and error.cls_name == "BadInput":
            raise BadInput(job, error.message.partition("BadInput: ")[2].strip())
        if error is not None and error.cls_name != "DagsterAssetCheckFailedError":
            click.echo(error.to_string(), err=True)
            click.echo(f"toolsel: {job} failed; this is a defect of toolsel, not of your study", err=True)
            sys.exit(DEFECT)
    _leave_with_failed_checks(job, result)


def _leave_with_failed_checks(job: str, result: "dg.ExecuteInProcessResult") -> None:
    """Say which integrity check stopped a job, and leave: 3 when a verdict is inadmissible, 2 otherwise."""
    code = BAD_INPUT
    for check in result.get_asset_check_evaluations():
        if check.blocking and not check.passed:
            found = check.description or ", ".join(f"{name}: {value.value}" for name, value in check.metadata.items())
            click.echo(f"toolsel: {job} stopped, {check.check_name} is not so. {found}", err=True)
            code = NOT_DECIDED if check.check_name == "criteria_predate_the_run" else code
    if code == NOT_DECIDED:
        click.echo("toolsel: published/ keeps the last admissible verdict", err=True)
    sys.exit(code)


def _as_json(verdicts: list[dict[str, Any]], findings: list[dict[str, Any]]) -> str:
    return json.dumps({"verdicts": verdicts, "findings": findings}, default=str, indent=2, ensure_ascii=False)


def _as_text(verdicts: list[dict[str, Any]], findings: list[dict[str, Any]]) -> str:
    lines = []
    for row in verdicts:
        lines.append(f"{row['ladder']}, rung {row['rung']}: {row['state'].replace('_', ' ').upper()}")
        lines.append(f"  {row['why']}")
        for found in findings:
            if (found["ladder"], found["rung"]) == (row["ladder"], row["rung"]) and found["state"] != "not_applicable":
                lines.append(f"  {found['state']:<16} {found['rule']} ({found['slice']}): {found['sentence']}")
    return "\n".join(lines)
