"""What the sample costs: samples/assets.py's own query on tables of decisions of growing size.

What belongs here: a synthetic decisions.parquet of the columns that sampling reads, and one process per measurement.
What does not: the query (imported), absolute limits.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb

DEFAULT_SIZES = (1_000_000, 10_000_000)
QUOTA = {"first": 40, "early": 40, "middle": 40, "late": 40, "last": 40}

#: Runs of ten decisions; every fiftieth run has messages missing. Ids and keys are as long as real ones.
NARROW = """
copy (
    select decision_id, step_index, 10 as n_steps, i // 10 % 50 <> 0 as context_complete, '(no tool)' as action,
           md5('20261130:' || decision_id) as sample_key
    from (select i, (i % 10)::integer as step_index, 'airline:' || md5((i // 10)::varchar)[:12] as run_id,
                 run_id || ':' || step_index as decision_id
          from range($rows) as rows(i))
) to '$path' (format parquet, compression zstd)
"""


def make(path: Path, rows: int) -> None:
    """Write a synthetic decisions.parquet."""
    with duckdb.connect() as con:
        con.execute("set preserve_insertion_order = false")
        con.execute(NARROW.replace("$rows", str(rows)).replace("$path", str(path)))


def sample(path: Path) -> dict[str, Any]:
    """Draw the sample in this process and give what that took; starting and importing are not counted."""
    from toolsel_assets import store
    from toolsel_assets.samples.assets import sketches
    from toolsel_assets.samples.stratify import draw, quotas
    from toolsel_assets.vocabulary.sampling import SampleSpec

    store.read_files("select 1", {})  # opens the database in memory
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    spec = SampleSpec(seed=0, quota=QUOTA)
    drawn = draw(found := sketches(path, spec), quotas(found, spec))
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "wall": wall,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "before_mb": before.ru_maxrss // 1024,
        "peak_mb": after.ru_maxrss // 1024,
        "drawn": len(drawn),
        "digest": sha256(repr(drawn).encode()).hexdigest()[:12],
    }


def in_a_process(*arguments: str) -> str:
    """Run this file in a process of its own and give what it printed."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Run the bench, or one step of it in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=DEFAULT_SIZES, help="rows (default: 1 and 10 million)")
    parser.add_argument("--repeats", type=int, default=3, help="measurements per size (default: 3)")
    parser.add_argument("--make", nargs=2, metavar=("FILE", "ROWS"), help=argparse.SUPPRESS)
    parser.add_argument("--sample", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(Path(options.make[0]), int(options.make[1]))
    elif options.sample:
        print(json.dumps(sample(Path(options.sample))))
    else:
        bench(options.sizes, options.repeats)


def bench(sizes: list[int], repeats: int) -> None:
    """Measure size after size; each file is removed before the next is made."""
    print("       rows  file MB     wall     cpu  RSS before   peak MB  drawn  sample        load")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as top:
            path = Path(top) / "decisions.parquet"
            in_a_process("--make", str(path), str(rows))
            for _ in range(repeats):
                found = json.loads(in_a_process("--sample", str(path)))
                print(
                    f"{rows:>11,}{path.stat().st_size / 1e6:9.0f}{found['wall']:9.2f}{found['cpu']:8.2f}"
                    f"{found['before_mb']:12}{found['peak_mb']:10}{found['drawn']:7}  {found['digest']}"
                    f"  {os.getloadavg()[0]:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
