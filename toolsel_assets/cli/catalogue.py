"""`toolsel catalogue`: live sources, and versions that were seen. Options and help; catalogues/commands.py does it."""

import click

from toolsel_assets.cli.opening import DATA, STUDY, open_workspace, show_progress, tells_users


@click.group()
def catalogue() -> None:
    """Live sources of tool catalogues, and the versions in which catalogues were seen."""


@catalogue.command("fetch")
@click.argument("name", required=False)
@STUDY
@DATA
@tells_users
def fetch_catalogues(name: str | None, study: str, data: str | None) -> None:
    """Ask the live source NAME for its tools, or all of them. `toolsel run` does so by itself."""
    from toolsel_assets.catalogues import commands

    show_progress()
    commands.fetch_sources(open_workspace(study, data, None), name, click.echo)


@catalogue.command("list")
@STUDY
@DATA
@tells_users
def list_catalogue_versions(study: str, data: str | None) -> None:
    """List every version of every catalogue that was seen, oldest first."""
    from toolsel_assets.catalogues import commands

    commands.show_versions(open_workspace(study, data, None), click.echo)
