"""Whether a label set still describes traffic: how far a column's shares moved, and whether chance would do as much.

What belongs here: the index and its test, as pure functions of counts. What does not: which decisions are in which
window and how one is put into a category (traffic.py), at which index a set is stale (study.yaml, checks.py).

Counts are a matrix, a row per run and a column per category. Decisions of one run resemble each other, so a test that
takes them as independent (chi-square) calls drift where there is none; runs are what is drawn, so runs are permuted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Added to the count of every category that either window has, so that a category new to one of them has a logarithm.
#: Half a decision is Jeffreys' prior.
SMOOTHING = 0.5
#: Runs that each window must have. With 5 and 5 there are 252 ways to part them, with fewer no p below .01 to speak of.
FEWEST_RUNS = 5
#: Numbers of a permutation's indicator that are held at once: 32 MB.
CHUNK = 4_000_000


@dataclass(frozen=True)
class Drift:
    """How far a column of the latest window is from the baseline. What is undefined is None; the note says why."""

    column: str
    psi: float | None
    p_value: float | None
    n_runs_baseline: int
    n_runs_latest: int
    n_baseline: int  # decisions
    n_latest: int
    largest: str | None  # the category whose share moved most
    share_baseline: float | None  # its share of the decisions, without smoothing
    share_latest: float | None
    note: str | None


def psi(baseline_counts: Sequence[int] | Counts, latest_counts: Sequence[int] | Counts) -> float:
    """Give the population stability index of two vectors of counts over the same categories.

    sum((q - p) ln(q / p)), Jeffreys' divergence, over the categories that either side has; a category that neither has
    changes nothing. Shares are smoothed: (count + 0.5) / (n + 0.5 categories). Customary readings: below .1 stable,
    above .25 shifted (Siddiqi 2006, Credit Risk Scorecards). Chance alone gives about (categories - 1)(1/n + 1/m),
    more where runs are alike, so that small windows need the p-value (Yurdakul 2018).
    """
    before, after = (np.asarray(counts, dtype=np.float64) for counts in (baseline_counts, latest_counts))
    seen = before + after > 0
    return float(_psi(before[None, seen], after[None, seen])[0])


def drift(
    column: str,
    categories: Sequence[str],
    baseline: Counts,
    latest: Counts,
    *,
    permutations: int = 999,
    seed: int = 0,
) -> Drift:
    """Compare a column's shares of two windows; p by permuting whole runs between them.

    p is (1 + permutations at least as far) / (1 + permutations). It assumes that runs are independent of each other,
    and nothing of the decisions within. A run without a decision in its window is left out.
    """
    before, after = (np.asarray(counts)[np.asarray(counts).sum(axis=1) > 0] for counts in (baseline, latest))
    totals = before.sum(axis=0), after.sum(axis=0)
    sizes = (len(before), len(after), int(totals[0].sum()), int(totals[1].sum()))
    if note := _undefined(len(before), len(after)):
        return Drift(column, None, None, *sizes, None, None, None, note)
    shares = totals[0] / sizes[2], totals[1] / sizes[3]
    most = int(np.abs(shares[1] - shares[0]).argmax())
    largest = (categories[most], float(shares[0][most]), float(shares[1][most]))
    found = psi(*totals)
    permuted = _permuted(np.concatenate([before, after]), len(after), permutations, seed)
    # Sums in another order differ in the last digits; an equal parting of the runs must count as equally far.
    as_far = int((permuted >= found - 1e-9).sum())
    return Drift(column, found, (1 + as_far) / (1 + permutations), *sizes, *largest, None)


def _undefined(n_baseline: int, n_latest: int) -> str | None:
    for window, n_runs in (("baseline", n_baseline), ("latest", n_latest)):
        if not n_runs:
            return f"no traffic in the {window} window"
    for window, n_runs in (("baseline", n_baseline), ("latest", n_latest)):
        if n_runs < FEWEST_RUNS:
            return f"too few runs: {n_runs} in the {window} window, at least {FEWEST_RUNS} are needed"
    return None


def _psi(before: Floats, after: Floats) -> Floats:
    """Give the index of every row; all categories are in use."""
    p, q = (
        (counts + SMOOTHING) / (counts.sum(axis=1, keepdims=True) + SMOOTHING * counts.shape[1])
        for counts in (before, after)
    )
    return np.asarray(((q - p) * np.log(q / p)).sum(axis=1))


def _permuted(runs: Counts, n_latest: int, permutations: int, seed: int) -> Floats:
    """Give the index of every permutation: any `n_latest` of the runs take the latest's place."""
    used = runs[:, runs.sum(axis=0) > 0].astype(np.float64)
    total = used.sum(axis=0)
    rng = np.random.default_rng(seed)
    is_latest = np.zeros(len(used))
    is_latest[:n_latest] = 1
    step = max(1, CHUNK // len(used))
    found = []
    for start in range(0, permutations, step):
        n = min(step, permutations - start)
        after = rng.permuted(np.broadcast_to(is_latest, (n, len(used))), axis=1) @ used
        found.append(_psi(total - after, after))
    return np.concatenate(found) if found else np.zeros(0)
