"""DuckDB and sql/: where the tables are, how a SELECT becomes a table, and what BI tools get to see.

What belongs here: opening the warehouse, loading rows that Python made, building the tables of sql/, publishing. What
does not: what any table means (its own file says so), Dagster (assets.py).

A file in sql/ is one SELECT: no parameters, no templates, no DDL. Its path names the table, its first comment says what
one row is, the comment beside a column becomes the column's, and DuckDB's own parser says what it reads, so nothing is
written twice. DuckDB 2.0 lets one process write a file and locks readers out meanwhile: the warehouse is private, and
`published/` is what others open.
"""

import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from inspect import cleandoc
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import IO, Any, Literal

import duckdb

from toolsel_assets.vocabulary.keys import KEYS
from toolsel_assets.vocabulary.problem import BadInput

#: Raised by one whenever a published table loses or renames a column.
SCHEMA_VERSION = 1

#: The oldest storage format that current 1.x clients of BI tools can open.
PUBLISHED_STORAGE = "v1.0.0"

#: What DuckDB's own hash() depends on.
ENGINE = f"duckdb {duckdb.__version__}"

#: DuckDB's share of the memory while tables are made: what does not fit goes to temporary files beside the warehouse.
#: Some of its operators cannot do that; for very large traces without run ids the variable gives it more.
MEMORY_VARIABLE = "TOOLSEL_MEMORY"
MEMORY = os.environ.get(MEMORY_VARIABLE) or "700MB"

Connection = duckdb.DuckDBPyConnection

#: A Python function that SQL may call: itself, the types it takes, the type it gives. NULL in gives NULL out.
Function = tuple[Callable[..., Any], list[Any], str]

PROGRESS = logging.getLogger("toolsel.store")

#: json.dumps makes an encoder at every call.
as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


@dataclass(frozen=True)
class Column:
    """A column: its name, DuckDB type and meaning."""

    name: str
    type: str
    doc: str


@dataclass(frozen=True)
class Named:
    """A table's place, `schema.name`, and what one row of it is."""

    schema: str
    name: str
    doc: str

    @property
    def full_name(self) -> str:
        """Give the name as SQL writes it."""
        return f"{self.schema}.{self.name}"

    @property
    def key(self) -> tuple[str, str]:
        """Give the asset key: the same two names."""
        return self.schema, self.name


@dataclass(frozen=True)
class Table(Named):
    """A table that Python fills, with its columns in order."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        """Take the indentation of the source out of the text: Dagster would show it as code."""
        object.__setattr__(self, "doc", cleandoc(self.doc))


@dataclass(frozen=True)
class SqlTable(Named):
    """A table that a file of sql/ makes."""

    select: str
    column_docs: Mapping[str, str] = field(hash=False)
    reads: frozenset[str]


def columns(*keys: str, **docs: str) -> tuple[Column, ...]:
    """Declare columns as `name="TYPE what it means"`, after the published keys that are named."""
    declared = {**{name: KEYS[name] for name in keys}, **docs}
    return tuple(Column(name, *text.split(" ", 1)) for name, text in declared.items())


def shipped(checkout: str, wheel: str) -> Path:
    """Find a file that stands at the top of a checkout and inside the package in a wheel."""
    package = Path(__file__).parent
    inside = package / wheel
    return inside if inside.exists() else package.parent / checkout


def sql_dir() -> Path:
    """Find sql/."""
    return shipped("sql", "_sql")


# --- sql/ ---------------------------------------------------------------------------------------------------------


@cache
def sql_tables(schema: str) -> tuple[SqlTable, ...]:
    """Read the tables of one schema from sql/, each after those that it reads."""
    with _no_file() as con:
        found = {
            table.full_name: table for table in (_sql_table(con, p) for p in sorted((sql_dir() / schema).glob("*.sql")))
        }
    order = TopologicalSorter({name: sorted(table.reads & found.keys()) for name, table in found.items()})
    return tuple(found[name] for name in order.static_order())


def add_macros(con: Connection) -> None:
    """Define the shared arithmetic of sql/macros.sql on a connection."""
    con.execute((sql_dir() / "macros.sql").read_text(encoding="utf-8"))


def _sql_table(con: Connection, path: Path) -> SqlTable:
    select = path.read_text(encoding="utf-8")
    heading = [line.removeprefix("--").strip() for line in select.split("\n") if line.strip()]
    n_heading = next((i for i, line in enumerate(select.split("\n")) if not line.startswith("--")), 0)
    docs = {
        m["name"]: m["doc"] for m in re.finditer(r"(?P<name>\w+),?[ \t]+--[ \t]*(?P<doc>.+)$", select, re.MULTILINE)
    }
    return SqlTable(
        schema=path.parent.name,
        name=path.stem,
        select=select,
        doc="\n".join(heading[:n_heading]),
        column_docs={**{key.name: key.doc for key in columns(*KEYS)}, **docs},
        reads=frozenset(_tables_in(json.loads(con.execute("select json_serialize_sql(?)", [select]).fetchall()[0][0]))),
    )


def _tables_in(tree: Any) -> Iterator[str]:
    """Yield the qualified tables of a parsed statement. CTEs have no schema and are no tables."""
    if isinstance(tree, dict):
        if tree.get("type") == "BASE_TABLE" and tree.get("schema_name"):
            yield f"{tree['schema_name']}.{tree['table_name']}"
        yield from (name for value in tree.values() for name in _tables_in(value))
    elif isinstance(tree, list):
        yield from (name for value in tree for name in _tables_in(value))


def build(con: Connection, table: SqlTable, file: Path | None = None) -> int:
    """Make a table from its SELECT and give its number of rows; with a file, a Parquet file and a view of it.

    What is read again outside the warehouse goes to a file, so that it is written once.
    """
    con.execute(f"create schema if not exists {table.schema}")
    try:
        if file is None:
            _make(con, "table", table.full_name, table.select)
        else:
            con.execute("set preserve_insertion_order = false")  # or all rows would be held until the first is written
            copy(con, table.select, file, "row_group_size 30720")
            con.execute("reset preserve_insertion_order")
            _make(con, "view", table.full_name, f"select * from read_parquet({_quoted(str(file))})")
    except duckdb.OutOfMemoryException as error:
        raise BadInput(
            f"{MEMORY_VARIABLE}={MEMORY}",
            f"too little memory for DuckDB to make {table.full_name}",
            "more, such as 4GB",
        ) from error
    docs = {name: table.column_docs.get(name, "") for name, _ in describe(con, table.full_name)}
    _comment(con, table.full_name, table.doc, docs, kind="table" if file is None else "view")
    return count(con, table.full_name)


def copy(con: Connection, select: str, file: Path, *options: str) -> None:
    """Write what a SELECT gives to a Parquet file, moved into place when it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        written = ", ".join(["format parquet", "compression zstd", *options])
        con.execute(f"copy (\n{select}\n) to {_quoted(str(temporary))} ({written})")
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _make(con: Connection, kind: Literal["table", "view"], name: str, select: str) -> None:
    """Make a table or a view in the place of whatever had its name."""
    if (other := _kind(con, name)) and other != kind:
        con.execute(f"drop {other} {name}")
    con.execute(f"create or replace {kind} {name} as {select}")


def _kind(con: Connection, name: str) -> str | None:
    schema, table = name.split(".")
    query = "select table_type from information_schema.tables where table_schema = ? and table_name = ?"
    found = con.execute(query, [schema, table]).fetchall()
    return None if not found else "view" if found[0][0] == "VIEW" else "table"


def describe(con: Connection, name: str) -> list[tuple[str, str]]:
    """Give the columns of a table in order as (name, type)."""
    return [(row[0], row[1]) for row in con.execute(f"describe {name}").fetchall()]


def count(con: Connection, name: str) -> int:
    """Count the rows of a table."""
    return int(con.execute(f"select count(*) from {name}").fetchall()[0][0])


def exists(con: Connection, name: str) -> bool:
    """Say whether the warehouse holds a table."""
    return _kind(con, name) is not None


def try_copy(con: Connection, select: str, file: Path) -> str | None:
    """Write what a SELECT over a user's file gives to a Parquet file; what DuckDB says when the file is at fault.

    A full disk, say, is no fault of the file, and is raised.
    """
    try:
        copy(con, select, file, "row_group_size 16384")
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
        # Which file it was is known, and may be a temporary one.
        return re.sub(r' in file "[^"]*"(, in line \d+)?', "", str(error).partition("\n")[0])
    return None


def parquet_lacks(file: Path, names: Sequence[str]) -> str | None:
    """Say what is wrong with a Parquet file that should have columns of these names; None when nothing is."""
    try:
        found = {
            row["column_name"] for row in read_files("describe select * from read_parquet($path)", {"path": str(file)})
        }
    except duckdb.Error as error:
        return str(error).partition("\n")[0]
    missing = [name for name in names if name not in found]
    return f"Parquet without the columns {', '.join(missing)}" if missing else None


@contextmanager
def scratch(
    variables: Mapping[str, str], functions: Mapping[str, Function], macros: Mapping[str, str], memory: str
) -> Iterator[Connection]:
    """Open a database of its own in memory, with variables, Python functions, macros and those of sql/.

    `memory` limits it, since what it reads may be larger; what does not fit goes to the system's temporary files.
    """
    with duckdb.connect(config={"memory_limit": memory, "temp_directory": tempfile.gettempdir()}) as con:
        con.execute("set timezone = 'UTC'")  # times in traces without a zone are UTC, wherever they are read
        add_macros(con)
        for name, value in variables.items():
            con.execute(f"set variable {name} = {_quoted(value)}")
        for signature, expression in macros.items():
            con.execute(f"create macro {signature} as {expression}")
        for name, (function, parameters, returned) in functions.items():
            con.create_function(name, function, parameters, returned)
        yield con


def read_files(query: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
    """Run a query over Parquet files without opening the warehouse, so that no other process is in the way."""
    with _no_file() as con:
        return rows(con, query, parameters)


@cache
def _memory() -> Connection:
    con = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": tempfile.gettempdir()})
    add_macros(con)
    return con


def _no_file() -> Connection:
    """Give a cursor on this process's one database in memory: for parsing and for Parquet. A new one takes 30 ms."""
    return _memory().cursor()


def rows(con: Connection, query: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[dict[str, Any]]:
    """Run a query and give its rows as dictionaries."""
    result = con.execute(query, dict(parameters) if isinstance(parameters, Mapping) else list(parameters))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _comment(
    con: Connection, name: str, doc: str, column_docs: Mapping[str, str], *, kind: Literal["table", "view"] = "table"
) -> None:
    texts = [f'comment on column {name}."{column}" is {_quoted(text)}' for column, text in column_docs.items() if text]
    con.execute("; ".join([f"comment on {kind} {name} is {_quoted(doc)}", *texts]))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# --- rows that Python made ----------------------------------------------------------------------------------------


class RowFile:
    """Rows on their way to a Parquet file: written one by one, typed by DuckDB, moved into place when complete.

    Memory does not depend on the number of rows. An exception leaves an earlier file as it was.
    """

    def __init__(self, path: Path, table: Table) -> None:
        self.path, self.table = path, table
        self._lines = path.with_name(f".{path.name}.{os.getpid()}.ndjson")
        self._names = frozenset(column.name for column in table.columns)
        self._file: IO[bytes] | None = None
        self._longest = 0

    def __enter__(self) -> "RowFile":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._lines.open("wb")
        return self

    def write(self, row: Mapping[str, Any]) -> None:
        """Add a row; a key that the table does not have is a defect and raises KeyError."""
        if not row.keys() <= self._names:
            unknown = ", ".join(sorted(row.keys() - self._names))
            raise KeyError(f"{self.table.full_name} has no column {unknown}")
        assert self._file is not None, "a RowFile is written inside its with block"
        # Lone surrogates, which JSON allows and UTF-8 does not, become question marks.
        line = as_json(row).encode("utf-8", "replace") + b"\n"
        self._longest = max(self._longest, len(line))
        self._file.write(line)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        assert self._file is not None
        self._file.close()
        try:
            if kind is None:
                self._to_parquet()
        finally:
            self._lines.unlink(missing_ok=True)

    def _to_parquet(self) -> None:
        types = ", ".join(f"{_quoted(c.name)}: {_quoted(c.type)}" for c in self.table.columns)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        source = (
            f"read_json({_quoted(str(self._lines))}, format = 'newline_delimited', columns = {{{types}}}, "
            # DuckDB fills two buffers of this size per thread, so that it must not be larger than needed.
            f"maximum_object_size = {max(1 << 20, self._longest + 1024)})"
        )
        # Small groups of rows, so that memory does not grow with the texts in them.
        options = "format parquet, compression zstd, row_group_size 16384"
        with _no_file() as con:
            con.execute(f"copy (select * from {source}) to {_quoted(str(temporary))} ({options})")
        temporary.replace(self.path)


@contextmanager
def row_files(folder: Path, tables: Iterable[Table]) -> Iterator[dict[str, RowFile]]:
    """Open one RowFile per table in a folder, named after the table."""
    with ExitStack() as stack:
        yield {t.name: stack.enter_context(RowFile(folder / f"{t.name}.parquet", t)) for t in tables}


def load(con: Connection, table: Table, paths: Sequence[Path], *, as_view: bool = False) -> int:
    """Make a table of the warehouse from Parquet files, with its comments, and give its number of rows.

    A view leaves the rows in the files, which is where texts that are read once or twice belong.
    """
    con.execute(f"create schema if not exists {table.schema}")
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    typed = ", ".join(f'null::{column.type} as "{column.name}"' for column in table.columns)
    listed = ", ".join(_quoted(str(path)) for path in paths)
    select = f"select {names} from read_parquet([{listed}])" if paths else f"select {typed} limit 0"
    _make(con, "view" if as_view else "table", table.full_name, select)
    docs = {column.name: column.doc for column in table.columns}
    _comment(con, table.full_name, table.doc, docs, kind="view" if as_view else "table")
    return count(con, table.full_name)


# --- opening and publishing ---------------------------------------------------------------------------------------


@contextmanager
def connect(path: Path, *, read_only: bool = False, wait: float = 0) -> Iterator[Connection]:
    """Open a DuckDB file with the macros of sql/, and close it whatever happens.

    A file that another process has open is waited for, with a word about it, up to `wait` seconds; then it is an
    error that names the process.
    """
    if read_only and not path.exists():
        raise BadInput(str(path), "there is no warehouse yet", "toolsel run makes it")
    path.parent.mkdir(parents=True, exist_ok=True)
    con = _open(path, read_only=read_only, until=monotonic() + wait)
    try:
        if not read_only:
            add_macros(con)
        yield con
    finally:
        con.close()


def _open(path: Path, *, read_only: bool, until: float) -> Connection:
    told = False
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config={"memory_limit": MEMORY})
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise
            holder = re.search(r"PID \d+", str(error))
            found = f"another process has it open{f' ({holder[0]})' if holder else ''}"
            if monotonic() >= until:
                accepted = (
                    "DuckDB lets one process write at a time; close it, and point BI tools at published/bi.duckdb"
                )
                raise BadInput(str(path), found, accepted) from error
            if not told:
                PROGRESS.info("waiting: %s, %s", path, found)
                told = True
            sleep(0.2)


#: What may stand in a published column, so that every BI tool can read it.
SCALARS = frozenset({"VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP"})


def publish(con: Connection, names: Sequence[str], folder: Path) -> dict[str, int]:
    """Copy tables to `bi.duckdb`, flat in `main`, and to one Parquet file each; give the rows of each.

    Everything is written under temporary names and renamed when it is complete, so that a reader sees the old state or
    the new one. A column that is no scalar raises TypeError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".bi.duckdb.{os.getpid()}.tmp"
    temporary.unlink(missing_ok=True)
    counts: dict[str, int] = {}
    con.execute(f"attach {_quoted(str(temporary))} as bi (storage_version {_quoted(PUBLISHED_STORAGE)})")
    try:
        for full_name in names:
            name = full_name.split(".")[1]
            if bad := [f"{c} {t}" for c, t in describe(con, full_name) if t not in SCALARS]:
                raise TypeError(f"{full_name} cannot be published: {', '.join(bad)} is not one of {sorted(SCALARS)}")
            con.execute(f"create table bi.main.{name} as select * from {full_name}")
            _copy_comments(con, full_name, f"bi.main.{name}")
            parquet = folder / f".{name}.parquet.tmp"
            con.execute(f"copy {full_name} to {_quoted(str(parquet))} (format parquet, compression zstd)")
            parquet.replace(folder / f"{name}.parquet")
            counts[name] = count(con, full_name)
        con.execute(f"create table bi.main.schema_version as select {SCHEMA_VERSION}::integer as schema_version")
        con.execute("checkpoint bi")
    finally:
        con.execute("detach bi")
    temporary.replace(folder / "bi.duckdb")
    return counts


def _copy_comments(con: Connection, source: str, target: str) -> None:
    schema, name = source.split(".")
    place = "database_name = current_database() and schema_name = ? and table_name = ?"
    query = f"select comment from duckdb_tables() where {place} union all " + (
        f"select comment from duckdb_views() where {place.replace('table_name', 'view_name')}"
    )
    doc = con.execute(query, [schema, name, schema, name]).fetchall()
    docs = con.execute(f"select column_name, comment from duckdb_columns() where {place}", [schema, name]).fetchall()
    _comment(con, target, (doc[0][0] if doc else None) or "", {column: text or "" for column, text in docs})
