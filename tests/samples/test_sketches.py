"""The one pass in SQL gives what the pure functions give."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets import store
from toolsel_assets.samples.assets import sketches
from toolsel_assets.samples.stratify import Sketch, Stratum, capped, sketch
from toolsel_assets.vocabulary.sampling import SampleSpec

STATES = """
select 'd' || i as decision_id, md5('5:d' || i) as sample_key, i % 7 as step_index, 7 as n_steps,
       i % 11 > 0 as context_complete,
       case when i % 3 = 0 then '(no tool)' else 'tool' || i % 2 end as action, 'c' || i % 4 as client_id,
       'Hello ' || case when i % 2 = 0 then ' ' else '' end || i % 13 as last_message, null as prior_actions
from range(2000) as r(i)
"""


@pytest.fixture(scope="module")
def decisions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "decisions.parquet"
    with store.scratch({}, {}, {}, store.MEMORY) as con:
        store.copy(con, STATES, path)
    return path


def expected(decisions: Path, spec: SampleSpec) -> dict[Stratum, Sketch]:
    rows = store.read_files(
        """select *, position_bucket(step_index, n_steps) as bucket,
                  md5(lower(trim(regexp_replace(last_message, '\\s+', ' ', 'g'))) || chr(31)) as alike
           from read_parquet($path) where context_complete""",
        {"path": str(decisions)},
    )
    parts = {"client": "client_id", "tool": "action"}
    by_stratum: dict[Stratum, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_stratum[row["bucket"], row[parts[spec.by]] if spec.by else ""].append(row)
    found = {}
    for stratum, members in by_stratum.items():
        groups = defaultdict(list)
        for row in members:
            groups[row["alike"]].append((row["sample_key"], row["decision_id"]))
        cap, size = spec.max_alike, spec.largest_quota
        one = (
            capped({name: sketch(group, cap) for name, group in groups.items()}, spec.seed, cap, size)
            if cap
            else sketch([(row["sample_key"], row["decision_id"]) for row in members], size)
        )
        n_no_tool = sum(row["action"] == "(no tool)" for row in members)
        found[stratum] = Sketch(one.population, one.lowest, one.eligible, n_no_tool)
    return found


@pytest.mark.parametrize("more", [{}, {"by": "client"}, {"max_alike": 1}, {"by": "tool", "max_alike": 2}])
def test_sql_and_python_draw_the_same(decisions: Path, more: dict[str, Any]) -> None:
    spec = SampleSpec.model_validate({"seed": 5, "quota": 9, **more})
    assert sketches(decisions, spec) == expected(decisions, spec)
