"""`toolsel label`: from a sample to a released label set version. Options and help; labels/commands.py does it."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolsel_assets.cli.opening import DATA, STUDY, open_workspace, show_progress, tells_users
from toolsel_assets.vocabulary.problem import BadInput

if TYPE_CHECKING:
    from toolsel_assets.study import Study


@click.group()
def label() -> None:
    """From a drawn sample to a released label set version.

    A version is begun (new), answered by labellers (export, import), adjudicated where they differ, and released; from
    then on it never changes.
    """


NAME = click.argument("name", metavar="VERSION")


@label.command("list")
@STUDY
@tells_users
def list_versions(study: str) -> None:
    """List the versions of a study and what is still open in them."""
    from toolsel_assets.labels import commands

    commands.show_versions(open_workspace(study, None, None), click.echo)


@label.command("new")
@NAME
@STUDY
@DATA
@click.option("--parent", metavar="VERSION", help="A released version whose rows go on in this one.")
@click.option(
    "--requests",
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE",
    help='Written requests, one a line: {"id": ..., "slice": "new:...", "messages": [...]}.',
)
@tells_users
def new_version(name: str, study: str, data: str | None, parent: str | None, requests: Path | None) -> None:
    """Begin VERSION with the sampled states that its parent has no label for."""
    from toolsel_assets.labels import commands

    commands.new(open_workspace(study, data, None), name, parent, requests, click.echo)


@label.command("page")
@NAME
@STUDY
@DATA
@click.option("--labeller", metavar="NAME", help="For whom: states that NAME has answered are left out.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to, such as v2.html."
)
@tells_users
def write_page(name: str, study: str, data: str | None, labeller: str | None, out: Path) -> None:
    """Write the labelling page of VERSION: one HTML file that works without a server and a network."""
    from toolsel_assets.labels import commands

    commands.write_page(open_workspace(study, data, None), name, labeller, out, click.echo)


@label.command("export")
@NAME
@STUDY
@DATA
@click.option("--to", "form", type=click.Choice(["label-studio", "csv"]), required=True, help="The form.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to.")
@tells_users
def export_states(name: str, study: str, data: str | None, form: str, out: Path) -> None:
    """Write the states of VERSION for Label Studio, or as a sheet to fill in. Never what the agent did."""
    from toolsel_assets.labels import commands

    commands.export(open_workspace(study, data, None), name, form, out, click.echo)


@label.command("import")
@NAME
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@STUDY
@click.option("--labeller", metavar="NAME", help="Who answered, where the file does not say.")
@click.option(
    "--users",
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE",
    help='For Label Studio: the name behind each user id or e-mail, as JSON: {"1": "ana"}.',
)
@click.option("--partial", is_flag=True, help="Take a file that leaves states out.")
@click.option("--replace", is_flag=True, help="Take the place of the labeller's earlier answers.")
@tells_users
def import_answers(
    name: str, file: Path, study: str, labeller: str | None, users: Path | None, partial: bool, replace: bool
) -> None:
    """Take a labeller's FILE into VERSION: JSONL, CSV or a Label Studio export as JSON. All of it, or nothing."""
    from toolsel_assets.labels import commands

    workspace = open_workspace(study, None, None)
    commands.import_answers(workspace, name, file, labeller, users, click.echo, partial=partial, replace=replace)


@label.command("agreement")
@NAME
@STUDY
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@tells_users
def show_agreement(name: str, study: str, as_json: bool) -> None:
    """Print how far the labellers of VERSION agree, with bootstrap intervals over states."""
    from toolsel_assets.labels import commands

    commands.show_agreement(open_workspace(study, None, None), name, click.echo, as_json=as_json)


@label.command("adjudicate")
@NAME
@STUDY
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE",
    help="A filled-in work list. Without it the work list is written.",
)
@click.option("--decided-by", metavar="NAME", help="Who decided, where the file does not say.")
@click.option("--second-look", is_flag=True, help="Also states on which labellers agree and every model differs.")
@tells_users
def adjudicate(name: str, study: str, source: Path | None, decided_by: str | None, second_look: bool) -> None:
    """Write the work list of the states on which labellers of VERSION differ, or read decisions back."""
    from toolsel_assets.labels import commands

    workspace = open_workspace(study, None, None)
    commands.adjudicate(workspace, name, source, decided_by, click.echo, second_look=second_look)


@label.command("suggest")
@NAME
@STUDY
@DATA
@click.option("--model", metavar="ID", help="The model's pinned identifier.")
@click.option("--agent", default="anthropic", show_default=True, metavar="NAME", help="Who is asked, as in a ladder.")
@click.option(
    "--params", default="{}", metavar="JSON", help='What the agent takes: {"base_url": ...}, {"command": ...}.'
)
@click.option("--pinned", is_flag=True, help="The identifier names one version for ever, though it does not show.")
@tells_users
def suggest(name: str, study: str, data: str | None, model: str | None, agent: str, params: str, pinned: bool) -> None:
    """Have a model propose actions for the states of VERSION, for the adjudicator to see after the labellers' answers.

    Proposals are marked as a model's, are in no labelling page and no export, and count in no agreement.
    """
    from toolsel_assets.labels import commands
    from toolsel_assets.replays.assets import ledger_path
    from toolsel_assets.replays.proposing import Asked, propose
    from toolsel_assets.vocabulary.ladder import AgentSpec

    try:
        spec = AgentSpec.model_validate({"name": agent, "params": json.loads(params), "pinned": pinned})
    except ValueError as error:
        raise BadInput("--params", "no JSON object", '{"base_url": "https://..."}') from error
    workspace = open_workspace(study, data, None)
    show_progress()

    def ask(study: "Study", states: Mapping[str, Any], tools: Mapping[str, Any]) -> Mapping[str, Asked]:
        show = logging.getLogger("toolsel.replays").info
        return propose(study, ledger_path(workspace), spec, model, states, tools, show)

    by = f"model:{model}" if model else f"program:{agent}"
    commands.suggest(workspace, name, by, ask, click.echo)


@label.command("release")
@NAME
@STUDY
@click.option("--without-unanswered", is_flag=True, help="Leave out states that nobody answered.")
@tells_users
def release_version(name: str, study: str, without_unanswered: bool) -> None:
    """Release VERSION: its rows and their hash are written, and never change again."""
    from toolsel_assets.labels import commands

    workspace = open_workspace(study, None, None)
    commands.release_version(workspace, name, click.echo, without_unanswered=without_unanswered)
