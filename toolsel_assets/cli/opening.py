"""What every command takes and does: the study, its data, the ladder; finding them; telling users of their mistakes.

What belongs here: options and their meaning, the environment that the graph reads, progress. What does not: commands.
"""

import logging
import os
import shutil
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import click

from toolsel_assets.vocabulary.problem import BadInput

if TYPE_CHECKING:
    from toolsel_assets.resources import Workspace

#: The exit code of a user's mistake.
BAD_INPUT = 2

P = ParamSpec("P")

STUDY = click.option(
    "--study", default="airline", show_default=True, metavar="DIR|EXAMPLE", help="A study's directory, or an example."
)
DATA = click.option(
    "--data",
    default=None,
    metavar="DIR",
    help="Where outputs go. Default: dagster_home/data/<study> or .toolsel/<study>.",
)
LADDER = click.option("--ladder", default=None, metavar="NAME", help="One ladder of the study. Default: all.")


def tells_users(command: Callable[P, None]) -> Callable[P, None]:
    """Print a user's mistake without a traceback and leave with 2."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BadInput as problem:
            click.echo(f"toolsel: {problem}", err=True)
            sys.exit(BAD_INPUT)

    return wrapped


def open_workspace(study: str, data: str | None, ladder: str | None) -> "Workspace":
    """Find the study and its data, and tell the graph through the environment."""
    from toolsel_assets import resources

    folder = resources.find_study(study)
    place = resources.data_dir(folder, data)
    os.environ[resources.STUDY_VARIABLE], os.environ[resources.DATA_VARIABLE] = str(folder), str(place)
    os.environ[resources.LADDER_VARIABLE] = ladder or ""
    _choose_dagster_home(place)
    return resources.workspace_from_environment()


def _choose_dagster_home(place: Path) -> None:
    """Keep Dagster's records beside the data, or in the checkout's dagster_home; a set DAGSTER_HOME wins."""
    from toolsel_assets import resources, store

    if os.environ.get("DAGSTER_HOME"):
        return
    checkout_home = resources.CHECKOUT / "dagster_home"
    home = checkout_home if resources.is_checkout() and place.is_relative_to(checkout_home) else place / "dagster_home"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copy(store.shipped("dagster_home", "_dagster_home") / "dagster.yaml", home)
    os.environ["DAGSTER_HOME"] = str(home)


def show_progress() -> None:
    """Write what long work says of itself to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("toolsel")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def shown(path: Path) -> str:
    """Show a path relative to here when it lies below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
