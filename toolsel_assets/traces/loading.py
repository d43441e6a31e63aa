"""What was read of all trace files, as the tables that sql/traces/ starts from.

What belongs here: the rows of the stage's small tables, and loading them beside a view of the Parquet files. What does
not: reading a file (reading.py), Dagster (assets.py).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsel_assets import store
from toolsel_assets.traces.catalogue_seen import trace_catalogues
from toolsel_assets.traces.ingest import Kept
from toolsel_assets.traces.tables import MODEL_CALLS, TABLES
from toolsel_assets.vocabulary.tool import Catalogue

Row = dict[str, Any]

SEEN = """
select catalogue_key, any_value(tools_seen) as tools from read_parquet($files)
where catalogue_key is not null group by catalogue_key
"""


@dataclass(frozen=True)
class Joined:
    """What a study adds to its traces. Without a study, nothing."""

    study: str = ""
    catalogues: tuple[Catalogue, ...] = ()
    catalogue_rules: tuple[Row, ...] = ()  # rows of joined_catalogues
    retired: tuple[Row, ...] = ()  # rows of retired_tools


def load_tables(con: store.Connection, folder: Path, kept: Sequence[Kept], joined: Joined) -> None:
    """Write the small tables to `folder`, and load all tables of the stage that Python fills."""
    files = sorted({found.parquet for found in kept})
    small = [table for table in TABLES if table is not MODEL_CALLS]
    with store.row_files(folder, small) as targets:
        for name, rows in _tables(kept, files, joined).items():
            for row in rows:
                targets[name].write(row)
    store.load(con, MODEL_CALLS, files, as_view=True)
    for table in small:
        store.load(con, table, [folder / f"{table.name}.parquet"])


def build_tables(con: store.Connection, folder: Path) -> None:
    """Build sql/traces/ without Dagster."""
    for table in store.sql_tables("traces"):
        store.build(con, table, folder / f"{table.name}.parquet" if table.name in AS_FILES else None)


#: Read again outside the warehouse, or large: a Parquet file, and a view of it.
AS_FILES = ("decisions",)


def _tables(kept: Sequence[Kept], files: Sequence[Path], joined: Joined) -> dict[str, Iterable[Row]]:
    seen = store.read_files(SEEN, {"files": [str(file) for file in files]}) if files else []
    texts = [(row["catalogue_key"], row["tools"]) for row in seen if row["tools"]]
    return {
        "trace_files": _file_rows(joined.study, kept),
        "merged_units": _merged_rows(kept),
        "ingest_rejects": _reject_rows(joined.study, kept),
        "trace_catalogues": trace_catalogues(texts, joined.catalogues),
        "joined_catalogues": joined.catalogue_rules,
        "retired_tools": joined.retired,
    }


def _with_copies(kept: Sequence[Kept]) -> Iterator[tuple[Kept, bool]]:
    """Yield each file, and whether one of the same source with the same content came before it."""
    seen = set()
    for found in kept:
        yield found, found.parquet in seen
        seen.add(found.parquet)


def _file_rows(study: str, kept: Sequence[Kept]) -> Iterator[Row]:
    for found, is_copy in _with_copies(kept):
        file, books = found.file, found.books
        yield {
            "study": study,
            "source": file.source,
            "source_file": file.shown_as,
            "file_id": books.file_id,
            "is_copy": is_copy,
            "source_format": books.format,
            "content_hash": books.content_hash,
            "n_bytes": books.n_bytes,
            "n_records": books.n_records,
            "n_rejects": 0 if is_copy else len(books.rejects),
            "n_redacted": 0 if is_copy else sum(books.redacted.values()),
            "seconds": 0 if is_copy else books.seconds,
            "collected": file.collected,
        }


def _merged_rows(kept: Sequence[Kept]) -> Iterator[Row]:
    for found, is_copy in _with_copies(kept):
        for reason, n in () if is_copy else found.books.merged.items():
            yield {"source": found.file.source, "file_id": found.books.file_id, "reason": reason, "n": n}


def _reject_rows(study: str, kept: Sequence[Kept]) -> Iterator[Row]:
    for found, is_copy in _with_copies(kept):
        place = {"study": study, "source": found.file.source, "source_file": found.file.shown_as}
        for position, reason, detail in () if is_copy else found.books.rejects:
            yield {**place, "position": position, "reason": reason, "detail": detail}
