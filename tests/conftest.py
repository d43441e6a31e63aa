"""What the tests share: one run of the example study, and copies of studies to spoil."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

EXAMPLES = Path(__file__).parent.parent / "toolsel_assets" / "examples"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def toolsel(*arguments: str | Path) -> Outcome:
    """Run the command line in this process, as a user would, without leaving anything in the environment."""
    from toolsel_assets.cli import cli

    before = dict(os.environ)
    try:
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    finally:
        os.environ.clear()
        os.environ.update(before)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


@dataclass(frozen=True)
class Run:
    """A study that was run: its data directory and what was printed."""

    data: Path
    printed: Outcome

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Query what was published."""
        from toolsel_assets import store

        with store.connect(self.data / "published" / "bi.duckdb", read_only=True) as con:
            return store.rows(con, query)

    def one(self, query: str) -> Any:
        """Give the only value that a query selects."""
        return next(iter(self.rows(query)[0].values()))


@pytest.fixture(scope="session", autouse=True)
def _one_dagster_instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share one Dagster instance: making its database takes longer than most runs. Data directories are apart."""
    home = tmp_path_factory.mktemp("dagster_home")
    shutil.copy(EXAMPLES.parent.parent / "dagster_home" / "dagster.yaml", home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        yield


@pytest.fixture(scope="session")
def airline(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The example study, run once per session."""
    data = tmp_path_factory.mktemp("airline")
    printed = toolsel("run", "--data", data)
    assert printed.code == 0, printed.err
    return Run(data, printed)


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    """A copy of the small study, to be spoilt."""
    return Path(shutil.copytree(EXAMPLES / "starter", tmp_path / "study"))


@pytest.fixture
def edit() -> Callable[[Path, str, str], None]:
    """Replace text in a file, and fail when it is not there."""

    def replace(path: Path, old: str, new: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {path.name}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    return replace


@pytest.fixture
def jsonl(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Write objects as JSON lines."""

    def write(*objects: Any, name: str = "traces.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(found) + "\n" for found in objects), encoding="utf-8")
        return path

    yield write
