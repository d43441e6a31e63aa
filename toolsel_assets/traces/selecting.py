"""Read one trace file by its format's SELECT: DuckDB does the work, and Python looks at what DuckDB cannot read.

What belongs here: running the SELECT, rewriting records for it, finding the lines that it cannot read. What does not:
the SELECT itself (formats/), readers in Python (reading.py).
"""

import json
import re
import tempfile
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from toolsel_assets import store
from toolsel_assets.traces.books import Books
from toolsel_assets.traces.model_call import Merged
from toolsel_assets.traces.records import Failure, Record
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.traces.tables import MODEL_CALLS

#: The kinds of rows that are units of the books.
UNITS = ("model", "agent", "tool", "other")

Found = Iterator[Record | Failure]


def by_query(
    module: Any, path: Path, found: Found, source: str, books: Books, parquet: Path, redactor: Redactor
) -> None:
    """Read a file with the format's SELECT: as it stands when it is lines of JSON, else after a look at each record."""
    select = _Select(module, source, books.file_id, redactor)
    problem = select.copy(path, parquet) if _can_be_read_as_it_stands(module, path) else "to be rewritten"
    if problem is None:
        books.n_records += select.count_units(path, parquet)
    else:
        with tempfile.TemporaryDirectory(prefix="toolsel") as folder:
            lines = Path(folder) / "lines.jsonl"
            positions = _rewrite(module, found, lines, books)
            select.join(list(_halves(select, lines, positions, books)), parquet)
    select.settle(parquet, books)


def _can_be_read_as_it_stands(module: Any, path: Path) -> bool:
    if getattr(module, "REWRITE_ALWAYS", False):
        return False
    with path.open("rb") as file:
        head = file.read(64).lstrip()
    return head.startswith((b"{", b"PAR1"))


class _Select:
    """A format's SELECT with what it needs: where the file is, the functions of Python that it calls."""

    def __init__(self, module: Any, source: str, file_id: str, redactor: Redactor) -> None:
        self._module, self._redactor = module, redactor
        self._variables = {"source": source, "file_id": file_id}
        self._functions = {
            **getattr(module, "UDFS", {}),
            "redact": (redactor.json_text, ["VARCHAR"], "VARCHAR"),
        }
        self._may_hold_secrets = _condition(redactor)

    def copy(self, path: Path, parquet: Path) -> str | None:
        """Read a file into Parquet; what DuckDB says when it cannot."""
        before = self._redactor.counts.copy()
        variables, macros = {**self._variables, "path": str(path)}, {"may_hold_secrets(t)": self._may_hold_secrets}
        with store.scratch(variables, self._functions, macros, store.MEMORY) as con:
            problem = store.try_copy(con, self._module.QUERY, parquet)
        if problem is not None:
            self._redactor.counts = before
        return problem

    def units(self, record: Any) -> int:
        """Count the units of a record."""
        return int(self._module.units(record))

    def count_units(self, path: Path, parquet: Path) -> int:
        """Count the units of a file without its SELECT where the format has another way."""
        query = f"select count(*) as n from read_parquet($path) where kind in {UNITS}"
        n_read = int(store.read_files(query, {"path": str(parquet)})[0]["n"])
        return int(self._module.count_units(path, n_read)) if hasattr(self._module, "count_units") else n_read

    def join(self, parts: list[Path], parquet: Path) -> None:
        """Put parts of a file together. Places in the file go on from part to part."""
        selects, offset = [], 0
        for part in parts:
            moved = f"ordinal + {offset} as ordinal, file_id || ':' || (ordinal + {offset}) as context_id"
            selects.append(f"select * replace ({moved}) from read_parquet('{part}')")
            offset += int(store.read_files("select count(*) as n from read_parquet($p)", {"p": str(part)})[0]["n"])
        if not selects:
            with store.RowFile(parquet, MODEL_CALLS):
                return
        with store.scratch({}, {}, {}, store.MEMORY) as con:
            store.copy(con, " union all ".join(selects), parquet)

    def settle(self, parquet: Path, books: Books) -> None:
        """Count what the SELECT gave; a unit without an id is taken out and rejected."""
        query = f"""select count(call_id) filter (kind = 'model') as n_calls, count(*) - count(call_id) as n_without_id,
                           count(call_id) filter (kind <> 'model') as n_links
                    from read_parquet($path) where kind in {UNITS}"""
        found = store.read_files(query, {"path": str(parquet)})[0]
        books.n_calls += found["n_calls"]
        books.n_links += found["n_links"]
        if not found["n_without_id"]:
            return
        position = "select ordinal + 1 as position from read_parquet($path) where call_id is null order by ordinal"
        for row in store.read_files(position, {"path": str(parquet)}):
            books.reject(
                row["position"], "no_id", "a unit without what identifies it: trace and span id, or run and step"
            )
        with store.scratch({}, {}, {}, store.MEMORY) as con:
            store.copy(con, f"select * from read_parquet('{parquet}') where call_id is not null", parquet)


def _condition(redactor: Redactor) -> str:
    """Say in SQL which texts t have to go through the redactor: few do, and each costs a call of Python."""
    if not redactor.has_rules:
        return "false"
    literals = "|".join(re.escape(literal).replace("'", "''") for literal in redactor.prefilter)
    return f"regexp_matches(t::varchar, '{literals}', 'i')" if literals else "t is not null"


def _rewrite(module: Any, found: Found, lines: Path, books: Books) -> "array[int]":
    """Write a file's good records as lines, as the format's SELECT wants them; give the position of each."""
    positions = array("q")
    gather = getattr(module, "gather", lambda records: records)
    with lines.open("w", encoding="utf-8", errors="replace") as target:
        for record in gather(_rewritten(module, found, books)):
            if isinstance(record, Merged):
                books.merge(record.reason, record.n)
                continue
            target.write(json.dumps(record.value, ensure_ascii=False) + "\n")
            positions.append(record.position)
    return positions


def _rewritten(module: Any, found: Found, books: Books) -> Iterator[Record]:
    """Yield a file's good records as the format's SELECT wants them; count their units, and reject the others.

    A format that gathers what belongs together from several records does so on the records as they are.
    """
    as_it_is = not hasattr(module, "rewrite") or hasattr(module, "gather")
    rewrite = (lambda record: record if module.recognises(record) else None) if as_it_is else module.rewrite
    for record in found:
        if isinstance(record, Failure):
            books.n_records += 1
            books.reject(record.position, record.problem.reason, record.problem.detail)
            continue
        n_units = module.units(record.value)
        books.n_records += n_units
        rewritten = rewrite(record.value)
        if rewritten is not None:
            yield Record(record.position, rewritten)
            continue
        for _ in range(n_units):
            books.reject(record.position, "not_a_record", f"no record of {books.format}")


def _halves(select: _Select, lines: Path, positions: "array[int]", books: Books) -> Iterator[Path]:
    """Read lines; when they cannot be read, halve them until the lines that cannot are found and rejected."""
    if not positions:
        return
    part = lines.with_suffix(f".{positions[0]}.{len(positions)}.parquet")
    problem = select.copy(lines, part)
    if problem is None:
        yield part
    elif len(positions) == 1:
        with lines.open(encoding="utf-8") as file:
            n_units = select.units(json.loads(file.readline()))
        for _ in range(n_units):
            books.reject(positions[0], "not_a_record", problem)
    else:
        middle = len(positions) // 2
        for name, low, high in (("a", 0, middle), ("b", middle, len(positions))):
            half = lines.with_name(f"{lines.stem}{name}.jsonl")
            with lines.open("rb") as file, half.open("wb") as target:
                target.writelines(islice(file, low, high))
            yield from _halves(select, half, positions[low:high], books)
            half.unlink()
