import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from toolsel_assets import store
from toolsel_assets.store import Table, columns
from toolsel_assets.vocabulary.problem import BadInput

TABLE = Table("s", "t", "One row per thing.", columns(name="VARCHAR who", n="INTEGER how many"))


def test_rows_arrive_typed_with_nulls_and_odd_text(tmp_path: Path) -> None:
    odd = ["plain", "quote \" ' |", "line\nbreak", "nul\x00byte", "ünï 漢", "", "\ud800"]
    with store.RowFile(tmp_path / "t.parquet", TABLE) as file:
        for i, text in enumerate(odd):
            file.write({"name": text, "n": i})
        file.write({"name": None})
    with store.connect(tmp_path / "w.duckdb") as con:
        assert store.load(con, TABLE, [tmp_path / "t.parquet"]) == 8
        found = store.rows(con, "select * from s.t order by n nulls last")
    assert [row["name"] for row in found] == [*odd[:-1], "?", None]
    assert found[-1] == {"name": None, "n": None}


def test_an_unknown_column_is_a_defect_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with store.RowFile(path, TABLE) as file:
        file.write({"name": "old"})
    before = path.read_bytes()
    with pytest.raises(KeyError, match="no column m"), store.RowFile(path, TABLE) as file:
        file.write({"name": "new"})
        file.write({"m": 1})
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_no_rows_make_an_empty_table_with_its_columns(tmp_path: Path) -> None:
    with store.RowFile(tmp_path / "t.parquet", TABLE):
        pass
    with store.connect(tmp_path / "w.duckdb") as con:
        assert store.load(con, TABLE, [tmp_path / "t.parquet"]) == 0
        assert store.load(con, TABLE, []) == 0
        assert store.describe(con, "s.t") == [("name", "VARCHAR"), ("n", "INTEGER")]


def test_the_tables_of_a_schema_come_after_what_they_read() -> None:
    names = [table.full_name for table in store.sql_tables("reports")]
    for table in store.sql_tables("reports"):
        for read in table.reads & set(names):
            assert names.index(read) < names.index(table.full_name)
    assert store.sql_tables("reports")[0].reads


def test_every_table_has_one_name_across_stages() -> None:
    from toolsel_assets.reports.assets import PUBLISHED

    names = [name.split(".")[1] for name in PUBLISHED]
    assert len(set(names)) == len(names)


def test_a_locked_warehouse_is_an_error_that_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    code = f"import duckdb, time; con = duckdb.connect({str(path)!r}); print('open', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        try:
            with pytest.raises(BadInput, match=f"PID {other.pid}.*published/bi.duckdb"), store.connect(path):
                pass
        finally:
            other.kill()


def test_reading_a_warehouse_that_is_not_there_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="toolsel run"), store.connect(tmp_path / "none.duckdb", read_only=True):
        pass


def test_a_reader_that_stays_connected_does_not_block_publishing(tmp_path: Path) -> None:
    with store.connect(tmp_path / "w.duckdb") as con:
        con.execute("create schema s; create table s.t as select 1 as n; comment on column s.t.n is 'how many'")
        store.publish(con, ["s.t"], tmp_path / "published")
        reader = duckdb.connect(str(tmp_path / "published" / "bi.duckdb"), read_only=True)
        con.execute("insert into s.t values (2)")
        assert store.publish(con, ["s.t"], tmp_path / "published") == {"t": 2}
    assert reader.execute("select count(*) from t").fetchall() == [(1,)]
    reader.close()
    with duckdb.connect(str(tmp_path / "published" / "bi.duckdb"), read_only=True) as fresh:
        assert fresh.execute("select count(*) from t").fetchall() == [(2,)]
        assert fresh.execute("select comment from duckdb_columns() where column_name = 'n'").fetchall() == [
            ("how many",)
        ]


def test_a_column_that_bi_tools_cannot_read_is_not_published(tmp_path: Path) -> None:
    with store.connect(tmp_path / "w.duckdb") as con:
        con.execute("create schema s; create table s.t as select [1] as ns")
        with pytest.raises(TypeError, match=r"ns INTEGER\[\]"):
            store.publish(con, ["s.t"], tmp_path / "published")
        con.execute("create or replace table s.t as select 1 as n")
        store.publish(con, ["s.t"], tmp_path / "published")


def test_only_what_a_file_is_to_blame_for_is_said_of_it(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"a": "x"}\n')
    select = "select * from read_json('{}', format = 'newline_delimited', columns = {{'a': 'BIGINT'}})"
    with store.scratch({}, {}, {}, "200MB") as con:
        said = store.try_copy(con, select.format(tmp_path / "bad.jsonl"), tmp_path / "out.parquet")
        assert said is not None and "Failed to cast" in said and str(tmp_path) not in said
        with pytest.raises(duckdb.IOException):
            store.try_copy(con, select.format(tmp_path / "gone.jsonl"), tmp_path / "out.parquet")
