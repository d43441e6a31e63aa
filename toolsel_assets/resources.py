"""What assets are handed: the study they work on, and the place its data lies.

What belongs here: finding a study and its data directory, and opening the warehouse. What does not: reading the
study's files (study.py) and tables (store.py).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster_duckdb import DuckDBResource

from toolsel_assets import store
from toolsel_assets.study import Study, load_study
from toolsel_assets.vocabulary.problem import BadInput, known_names

EXAMPLES = Path(__file__).parent / "examples"
CHECKOUT = Path(__file__).parent.parent
STUDY_VARIABLE, DATA_VARIABLE, LADDER_VARIABLE = "TOOLSEL_STUDY", "TOOLSEL_DATA", "TOOLSEL_LADDER"
DEFAULT_STUDY = "airline"

#: Seconds to wait for a warehouse that another process has open: longer than any step of a run holds it.
LOCK_WAIT = 15.0


def examples() -> list[str]:
    """List the studies that are shipped with the package."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/study.yaml"))


def find_study(name_or_folder: str) -> Path:
    """Find a study: a directory, or the name of a shipped example."""
    folder = Path(name_or_folder)
    if (folder / "study.yaml").is_file():
        return folder.resolve()
    if name_or_folder in examples():
        return EXAMPLES / name_or_folder
    if folder.is_dir():
        raise BadInput(str(folder), "there is no study.yaml in it", "`toolsel init DIR` writes a study to begin with")
    raise BadInput(
        name_or_folder,
        "no such study",
        f"a directory with study.yaml, or an example; {known_names(folder.name, examples())}",
    )


def is_checkout() -> bool:
    """Say whether the package runs from a checkout rather than from a wheel."""
    return (CHECKOUT / "pyproject.toml").is_file() and (CHECKOUT / "dagster_home").is_dir()


def data_dir(study: Path, chosen: str | None = None) -> Path:
    """Find where a study's outputs go: what was chosen, the environment's choice, or the default."""
    if found := chosen or os.environ.get(DATA_VARIABLE):
        return Path(found).resolve()
    if is_checkout():
        return CHECKOUT / "dagster_home" / "data" / study.name
    return Path.cwd() / ".toolsel" / study.name


class Warehouse(DuckDBResource):
    """The private DuckDB file of a study.

    dagster-duckdb's own connection is always read-write and waits silently for up to 100 s when the file is locked.
    Here a reader says so; a lock is waited for aloud, since another run may hold it for a moment, and then is an error
    that names who holds it.
    """

    @contextmanager
    def get_connection(self, *, read_only: bool = False) -> Iterator[store.Connection]:
        """Open the warehouse and close it whatever happens."""
        with store.connect(Path(self.database), read_only=read_only, wait=LOCK_WAIT) as con:
            yield con


class Workspace(dg.ConfigurableResource):  # type: ignore[type-arg] # generic only for dagster's own resource factories
    """A study and its data directory."""

    study_dir: str
    data_dir: str
    only_ladder: str = ""

    def study(self) -> Study:
        """Read and validate the study."""
        return load_study(Path(self.study_dir), self.only_ladder or None, self.snapshots)

    @property
    def snapshots(self) -> Path:
        """Name the folder of the lists that were fetched from live sources."""
        return self.folder("catalogues", "sources")

    def folder(self, *parts: str) -> Path:
        """Name a folder of the data directory."""
        return Path(self.data_dir).joinpath(*parts)

    @property
    def warehouse(self) -> Warehouse:
        """Name the private DuckDB file."""
        return Warehouse(database=str(self.folder("warehouse.duckdb")))

    @contextmanager
    def tables(self, *, read_only: bool = False) -> Iterator[store.Connection]:
        """Open the warehouse."""
        with self.warehouse.get_connection(read_only=read_only) as con:
            yield con


def workspace_from_environment() -> Workspace:
    """Give the workspace that TOOLSEL_STUDY and TOOLSEL_DATA name; the shipped example when they are not set."""
    study = find_study(os.environ.get(STUDY_VARIABLE) or DEFAULT_STUDY)
    only_ladder = os.environ.get(LADDER_VARIABLE, "")
    return Workspace(study_dir=str(study), data_dir=str(data_dir(study)), only_ladder=only_ladder)
