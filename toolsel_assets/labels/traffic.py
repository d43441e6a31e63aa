"""The two windows of traffic that drift is measured between, and the columns that are compared.

What belongs here: which decisions are in which window, and how a decision is put into a category. What does not: the
index and its test (drift.py), where the rows lie (assets.py).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from toolsel_assets.labels.drift import Drift, drift
from toolsel_assets.study import Freshness

Row = dict[str, Any]
Query = Callable[[str, Sequence[object]], list[Row]]

#: What is compared -> the category of a decision, in SQL. Lengths are those of the last message, cut at 500 characters:
#: bins that double, which do not depend on either window.
CATEGORIES = {
    "tool": "action",
    "position": "position_bucket(step_index, n_steps)",
    "no_tool": "case when action = '(no tool)' then '(no tool)' else 'a call' end",
    "message_length": """case when length(last_message) >= 500 then '500 and more'
        else 'below ' || least(500, 2 ** greatest(3, ceil(log2(1 + coalesce(length(last_message), 0)))))::int end""",
}

#: Runs of each window that are looked at: enough to see a shift of some points, few enough to permute.
MOST_RUNS = 2000

COUNTS = """
with runs as (
    select distinct run_id from traces.decisions where decided_at >= $1 and decided_at <= $2
    order by md5(run_id) limit {most}
)
select run_id, {category} as category, count(*) as n
from traces.decisions semi join runs using (run_id)
where decided_at >= $1 and decided_at <= $2
group by all
"""


def drift_rows(query: Query, label_sets: Iterable[Mapping[str, Any]], freshness: Freshness) -> Iterator[Row]:
    """Yield a row of the table drift per label set and column."""
    newest = query("select max(decided_at) as newest from traces.decisions", [])[0]["newest"]
    for label_set in label_sets:
        keys = {"study": label_set["study"], "label_set_version": label_set["label_set_version"]}
        before = (label_set["window_from"], label_set["window_until"])
        latest = latest_window(before[1], newest, freshness.window_days)
        for traffic in CATEGORIES:
            found = _compare(query, traffic, before, latest)
            yield {**keys, **_row(traffic, found), "latest_from": latest[0] if latest else None, "latest_until": newest}


def latest_window(until: datetime | None, newest: datetime | None, days: int) -> tuple[datetime, datetime] | None:
    """Give the last `days` of the traffic, as far as they lie after the label set's own; None when nothing does."""
    if until is None or newest is None or newest <= until:
        return None
    return max(newest - timedelta(days=days), until) + timedelta(microseconds=1), newest


def _compare(
    query: Query, traffic: str, before: tuple[Any, Any], latest: tuple[datetime, datetime] | None
) -> Drift | str:
    if before[0] is None:
        return "the label set does not say which traffic it was drawn from"
    if latest is None:
        return "no traffic after what the label set was drawn from"
    found = [_counts(query, traffic, window) for window in (before, latest)]
    categories = sorted({category for counts in found for of_run in counts.values() for category in of_run})
    matrices = [
        np.array([[of_run.get(name, 0) for name in categories] for of_run in counts.values()], dtype=np.int64).reshape(
            len(counts), len(categories)
        )
        for counts in found
    ]
    return drift(traffic, categories, matrices[0], matrices[1])


def _counts(query: Query, traffic: str, window: tuple[Any, Any]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for row in query(COUNTS.format(category=CATEGORIES[traffic], most=MOST_RUNS), list(window)):
        counts.setdefault(row["run_id"], {})[row["category"]] = row["n"]
    return dict(sorted(counts.items()))


def _row(traffic: str, found: Drift | str) -> Row:
    if isinstance(found, str):
        return {"traffic": traffic, "note": found}
    return {
        "traffic": traffic,
        "psi": found.psi,
        "p_value": found.p_value,
        "n_runs_before": found.n_runs_baseline,
        "n_runs_latest": found.n_runs_latest,
        "n_before": found.n_baseline,
        "n_latest": found.n_latest,
        "largest": found.largest,
        "share_before": found.share_baseline,
        "share_latest": found.share_latest,
        "note": found.note,
    }
