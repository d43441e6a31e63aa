"""Ingest files without a study and query the tables: what the tests of the whole stage share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolsel_assets import store
from toolsel_assets.traces.ingest import Ingest, Kept, TraceFile
from toolsel_assets.traces.loading import Joined, build_tables, load_tables
from toolsel_assets.traces.redact import Redactor

DATA = Path(__file__).parent / "data"
EXAMPLES = Path(__file__).parents[2] / "toolsel_assets" / "examples"

#: One real file at least of every format, to be read whole and to be spoilt.
REAL = sorted(
    path
    for path in [*DATA.rglob("*"), EXAMPLES / "starter" / "traces" / "runs.jsonl"]
    if path.suffix in (".json", ".jsonl", ".traj") and not path.name.endswith(".expected.json")
)


def read(
    folder: Path, paths: Sequence[Path], *, format_name: str | None = None, rules: Sequence[Any] = ()
) -> list[Kept]:
    """Read files into a folder, under the names that they have."""
    names = [path.name for path in paths]
    shown = [path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}" for path in paths]
    files = [TraceFile("src", path, name, format_name) for path, name in zip(paths, shown, strict=True)]
    return Ingest(folder / "read", lambda: Redactor(rules), repr(rules)).read(files)


@contextmanager
def tables(folder: Path, kept: Sequence[Kept], joined: Joined | None = None) -> Iterator[store.Connection]:
    """Give the stage's tables of what was read."""
    with store.connect(folder / "w.duckdb") as con:
        load_tables(con, folder, kept, joined or Joined())
        build_tables(con, folder)
        yield con


def ingest(
    folder: Path, *paths: Path, format_name: str | None = None, rules: Sequence[Any] = ()
) -> dict[str, list[Any]]:
    """Read files and give the rows of the tables that people look at."""
    return looked_at(folder, read(folder, paths, format_name=format_name, rules=rules))


def ingest_apart(folder: Path, paths: Sequence[Path]) -> dict[str, list[Any]]:
    """Read files, each as a source of its own, so that nothing is merged across them; see `source_of`."""
    files = [TraceFile(source_of(path), path, path.name) for path in paths]
    return looked_at(folder, Ingest(folder / "read", lambda: Redactor(())).read(files))


def source_of(path: Path) -> str:
    """Name the source of a file that is read apart."""
    return f"{path.parent.name}-{path.name}"


def looked_at(folder: Path, kept: Sequence[Kept]) -> dict[str, list[Any]]:
    """Give the rows of the tables that people look at."""
    names = ("decisions", "ingest_files", "ingest_merged", "ingest_rejects", "trace_catalogues")
    with tables(folder, kept) as con:
        return {name: store.rows(con, f"select * from traces.{name} order by all") for name in names}


def model_calls(folder: Path, path: Path) -> list[dict[str, Any]]:
    """Read one file and give its calls of the model, without making the tables."""
    (kept,) = read(folder, [path])
    return store.read_files(
        "from read_parquet($path) where kind = 'model' order by ordinal", {"path": str(kept.parquet)}
    )


def books_close(found: dict[str, list[Any]]) -> bool:
    """Say whether every unit is a decision, merged or rejected, and every reject in its table."""
    files = found["ingest_files"]
    return (
        all(f["n_records"] == f["n_decisions"] + f["n_merged"] + f["n_rejects"] for f in files)
        and sum(f["n_rejects"] for f in files) == len(found["ingest_rejects"])
        and sum(f["n_decisions"] for f in files) == len({d["decision_id"] for d in found["decisions"]})
        and len(found["decisions"]) == len({d["decision_id"] for d in found["decisions"]})
    )
