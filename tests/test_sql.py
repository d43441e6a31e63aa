"""Given rows, expected rows: every file of sql/ as it stands, built by store on an in-memory DuckDB.

tests/sql/<schema>/<table>.yaml holds the cases of sql/<schema>/<table>.sql:

    defaults: {schema.table: {column: value}}  # of the columns that a case does not name; else '', 0, false, 1970-01-01
    cases:
      - name: a sentence
        given: {schema.table: [rows]}          # or {query: "select ... from range(...)"}
        expect: [rows]                         # the columns to compare; text beside a float fixes its decimals
        ordered: true                          # in the order of the table, rather than as a multiset
        through: select ...                    # compare what this query gives, rather than the table

A table that is not given is empty, or built from its own file. Expected figures are worked out by hand from the design.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from toolsel_assets import store

Row = Mapping[str, Any]

CASES = Path(__file__).parent / "sql"
PACKAGE = Path(store.__file__).parent

PYTHON_TABLES = {
    table.full_name: table
    for path in PACKAGE.glob("*/tables.py")
    for table in vars(import_module(f"toolsel_assets.{path.parent.name}.tables")).values()
    if isinstance(table, store.Table)
}
SQL_TABLES = {
    table.full_name: table
    for folder in sorted(store.sql_dir().iterdir())
    if folder.is_dir()
    for table in store.sql_tables(folder.name)
}
ZEROS = {"VARCHAR": "", "BOOLEAN": False, "DATE": "1970-01-01", "TIMESTAMP": "1970-01-01"}


@dataclass(frozen=True)
class Case:
    """One case of a yaml; a key that it does not know is a TypeError."""

    name: str
    given: Mapping[str, Any]
    expect: Sequence[Row]
    ordered: bool = False
    through: str = ""


def paths(folder: Path, ending: str) -> set[str]:
    return {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob(f"*{ending}")}


def read(name: str) -> Any:
    return yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))


def cases_of_tables() -> list[Any]:
    found = []
    for full_name in SQL_TABLES:
        path = full_name.replace(".", "/")
        if not (CASES / f"{path}.yaml").exists():
            continue  # the test of the pairs says so
        content = read(path)
        assert content.keys() <= {"defaults", "cases"}, f"{path}.yaml has more than defaults and cases"
        for case in (Case(**raw) for raw in content["cases"]):
            found.append(pytest.param(full_name, content.get("defaults", {}), case, id=f"{path}: {case.name}"))
    return found


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as connection:
        store.add_macros(connection)
        yield connection


@pytest.fixture
def con(database: store.Connection) -> Any:
    yield database
    for schema in {name.split(".")[0] for name in PYTHON_TABLES.keys() | SQL_TABLES.keys()}:
        database.execute(f"drop schema if exists {schema} cascade")


# --- given --------------------------------------------------------------------------------------------------------


def make(con: store.Connection, name: str, given: Mapping[str, Any], defaults: Mapping[str, Row]) -> None:
    """Make a table after those that it reads: filled where it is given, else built or left empty."""
    if store.exists(con, name):
        return
    if name in SQL_TABLES:
        for read_table in sorted(SQL_TABLES[name].reads):
            make(con, read_table, given, defaults)
        store.build(con, SQL_TABLES[name])
        columns = store.describe(con, name)
    else:
        columns = [(column.name, column.type) for column in PYTHON_TABLES[name].columns]
    if name in given or name not in SQL_TABLES:
        fill(con, name, columns, given.get(name, []), defaults.get(name, {}))


def fill(con: store.Connection, name: str, columns: Sequence[tuple[str, str]], given: Any, defaults: Row) -> None:
    """Make a table of typed columns with defaults, and insert rows or what a query gives."""
    assert defaults.keys() <= {column for column, _ in columns}, f"defaults name a column that {name} has not"
    zeros = {t: "[]" if t.endswith("[]") else ZEROS.get(t, 0) for _, t in columns}
    typed = [f'"{c}" {t} default {literal(defaults.get(c, zeros[t]))}' for c, t in columns]
    con.execute(f"create schema if not exists {name.split('.')[0]}")
    con.execute(f"create or replace table {name} ({', '.join(typed)})")
    if isinstance(given, dict):
        con.execute(f"insert into {name} by name {given['query']}")
        return
    for row in given:
        if not row:
            con.execute(f"insert into {name} default values")
            continue
        names = ", ".join(f'"{column}"' for column in row)
        con.execute(f"insert into {name} ({names}) values ({', '.join('?' * len(row))})", list(row.values()))


def literal(value: object) -> str:
    return "null" if value is None else "'" + str(value).replace("'", "''") + "'"


# --- expected -----------------------------------------------------------------------------------------------------


def agrees(expected: object, actual: object) -> bool:
    """Say whether a value is the expected one: floats to 1e-9 of it, or to the decimals of a text."""
    if isinstance(actual, float) and isinstance(expected, str):
        return f"{actual:.{len(expected.partition('.')[2])}f}" == expected
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(actual, float) and isinstance(expected, int | float):
        return math.isclose(actual, expected, rel_tol=1e-9)
    return expected == actual


def row_agrees(expected: Row, actual: Row) -> bool:
    return all(agrees(value, actual[column]) for column, value in expected.items())


def compare(expected: Sequence[Row], actual: Sequence[Row], *, ordered: bool) -> bool:
    if len(expected) != len(actual):
        return False
    if ordered:
        return all(map(row_agrees, expected, actual))
    left = list(actual)
    for row in expected:
        place = next((i for i, candidate in enumerate(left) if row_agrees(row, candidate)), None)
        if place is None:
            return False
        del left[place]
    return True


@pytest.mark.parametrize(("full_name", "defaults", "case"), cases_of_tables())
def test_given_rows_give_the_expected_rows(
    con: store.Connection, full_name: str, defaults: Mapping[str, Row], case: Case
) -> None:
    make(con, full_name, case.given, defaults)
    for name in {*case.given, *defaults}:
        assert name != full_name and store.exists(con, name), f"{full_name} does not read {name}"
    found = store.rows(con, case.through or f"select * from {full_name}")
    named = list(case.expect[0]) if case.expect else []
    assert all(list(row) == named for row in case.expect), "the expected rows name different columns"
    shown = [{column: row[column] for column in named} for row in found]
    if not compare(case.expect, shown, ordered=case.ordered):
        expected_lines = [f"expected {row}" for row in case.expect]
        found_lines = [f"found    {row}" for row in (shown if named else found)]
        pytest.fail("\n".join([case.name, *expected_lines, *found_lines]), pytrace=False)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        pytest.param(expression, value, id=f"{case['name']}: {expression}")
        for case in read("macros")["cases"]
        for expression, value in case["expect"].items()
    ],
)
def test_a_macro_gives_the_expected_value(con: store.Connection, expression: str, value: object) -> None:
    found = con.execute(f"select {expression}").fetchall()[0][0]
    assert agrees(value, found), f"expected {value!r}, found {found!r}"


# --- the files ----------------------------------------------------------------------------------------------------


def test_every_sql_file_has_its_cases_and_every_yaml_its_sql_file() -> None:
    assert paths(store.sql_dir(), ".sql") == paths(CASES, ".yaml")
    assert all(read(name)["cases"] for name in paths(CASES, ".yaml"))


@pytest.mark.parametrize("full_name", SQL_TABLES)
def test_an_sql_file_says_first_what_one_row_is(full_name: str) -> None:
    assert SQL_TABLES[full_name].select.startswith("-- One row per ")


@pytest.mark.parametrize("full_name", SQL_TABLES)
def test_every_computed_column_has_a_comment(con: store.Connection, full_name: str) -> None:
    make(con, full_name, {}, {})
    computed = computed_columns(con, SQL_TABLES[full_name].select)
    query = "select column_name, comment from duckdb_columns() where schema_name || '.' || table_name = ?"
    comments = dict(con.execute(query, [full_name]).fetchall())
    assert computed and [column for column in computed if not comments[column]] == []


def computed_columns(con: store.Connection, select: str) -> list[str]:
    """Name the columns of a SELECT that are more than a column of their own name."""
    tree = json.loads(con.execute("select json_serialize_sql(?)", [select]).fetchall()[0][0])
    items = tree["statements"][0]["node"]["select_list"]
    return [
        item["alias"]
        for item in items
        if item["class"] != "COLUMN_REF" or item["alias"] not in ("", item["column_names"][-1])
    ]
