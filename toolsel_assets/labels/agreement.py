"""How far labellers agree: shares, Krippendorff's alpha over sets of actions, kappas; bootstrap intervals.

What belongs here: the measures, as pure functions of answers. What does not: which states are in dispute and what
becomes of them (adjudication.py), where the answers lie (answers.py, assets.py).

The choice of measure moves the figure by far more than its interval, so a figure is never given without its measure.
Every measure is a function of sums over states. A resample is then a vector of how often each state was drawn, and all
resamples are one product of matrices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from toolsel_assets.labels.answers import Answer

Actions = frozenset[str | None]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: A row per labeller, a column per state: the number of what was answered, -1 where nothing was.
Codes = NDArray[np.int64]
#: How often each state was drawn, a row per resample -> the measure in each of them, NaN where it is undefined.
Measure = Callable[[Floats], Floats]

ALL = "all"
NO_VARIATION = "undefined, no variation"
NO_DISAGREEMENT = "no disagreement"
NO_STATES = "no state with two answers"
#: The share of undefined resamples above which the note speaks of them.
TOLD = 0.05


@dataclass(frozen=True)
class Agreement:
    """One measure for two labellers, or for all. `n` is the numerator where the measure is a share."""

    labellers: str  # "a|b", sorted, or "all"
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n_states: int  # states with at least two answers of these labellers
    n: int | None
    note: str | None


def agreement(answers: Mapping[str, Mapping[str, Answer]], *, resamples: int = 1000, seed: int = 0) -> list[Agreement]:
    """Measure the agreement of labeller -> state id -> answer: of all labellers first, then of every pair.

    A skipped state is an abstention and is left out. Fewer than two labellers give no figures. Intervals are 95 %
    percentile intervals and take states as independent. A pair's figures do not depend on who else labelled.
    """
    names = sorted(answers)
    if len(names) < 2:
        return []
    given = [{state: one for state, one in answers[name].items() if not one.skipped} for name in names]
    states = sorted({state for of_one in given for state in of_one})
    valid, sets = _coded([[of_one[s].actions if s in of_one else None for s in states] for of_one in given])
    forbidden, forbidden_sets = _coded(
        [[frozenset(of_one[s].forbidden_actions) if s in of_one else None for s in states] for of_one in given]
    )
    group_of = {f"{names[i]}|{names[j]}": [i, j] for i, j in combinations(range(len(names)), 2)}
    found = []
    for labellers, rows in {ALL: list(range(len(names))), **group_of}.items():
        # A state with one answer agrees with nothing.
        shared = (valid[rows] >= 0).sum(axis=0) >= 2
        group = _Group(valid[rows][:, shared], forbidden[rows][:, shared], sets, forbidden_sets)
        draws = _draws(group.n_states, resamples, seed)
        found += [_measured(labellers, group, draws, *measure) for measure in group.measures(labellers == ALL)]
    return found


def jaccard(sets: Sequence[Actions]) -> Floats:
    """Give the Jaccard distance of every two sets: 1 - shared / united. Two empty sets are the same set: 0."""
    shared = _shared_members(sets)
    sizes = np.diag(shared)
    united = sizes[:, None] + sizes[None, :] - shared
    return np.where(united > 0, 1 - shared / np.maximum(united, 1), 0.0)


def masi(sets: Sequence[Actions]) -> Floats:
    """Give the MASI distance of every two sets (Passonneau 2006, LREC): 1 - Jaccard similarity x m.

    m is 1 for equal sets, 2/3 where one contains the other, 1/3 where they overlap otherwise, 0 for disjoint ones:
    a labeller who is only stricter than another is nearer to them than one who also names other actions.
    """
    shared = _shared_members(sets)
    sizes = np.diag(shared)
    smaller, larger = np.minimum.outer(sizes, sizes), np.maximum.outer(sizes, sizes)
    m = np.select([shared == larger, shared == smaller, shared > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    return np.asarray(1 - (1 - jaccard(sets)) * m)


def _shared_members(sets: Sequence[Actions]) -> Floats:
    """Count the members that every two sets share; None, for no tool, is a member like any other."""
    column = {member: i for i, member in enumerate(dict.fromkeys(member for one in sets for member in one))}
    holds = np.zeros((len(sets), len(column)))
    for i, one in enumerate(sets):
        holds[i, [column[member] for member in one]] = 1
    return holds @ holds.T


def _coded(rows: list[list[Actions | None]]) -> tuple[Codes, list[Actions]]:
    """Number the distinct sets in the order of their members' names, whoever gave them."""
    sets = sorted({one for row in rows for one in row if one is not None}, key=lambda one: sorted(m or "" for m in one))
    number = {one: i for i, one in enumerate(sets)}
    codes = [[-1 if one is None else number[one] for one in row] for row in rows]
    return np.array(codes, dtype=np.int64).reshape(len(rows), -1), sets


def _renumbered(codes: Codes, sets: list[Actions]) -> tuple[Codes, list[Actions]]:
    """Leave out the sets that do not occur."""
    kept = np.unique(codes[codes >= 0])
    return np.where(codes < 0, -1, np.searchsorted(kept, codes)), [sets[i] for i in kept]


def _draws(n_states: int, resamples: int, seed: int) -> Floats:
    """Draw the states of every resample with replacement; count how often each was drawn."""
    if not n_states:
        return np.zeros((resamples, 0))
    drawn = np.random.default_rng(seed).integers(n_states, size=(resamples, n_states))
    drawn += n_states * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * n_states)
    return counts.reshape(resamples, n_states).astype(np.float64)


def _measured(
    labellers: str, group: "_Group", draws: Floats, name: str, measure: Measure, n: int | None, notes: tuple[str, str]
) -> Agreement:
    """Take a measure once on the states as they are, and once on every resample. Notes: if defined, if undefined."""
    defined, undefined = notes
    if not group.n_states:
        return Agreement(labellers, name, None, None, None, 0, None, NO_STATES)
    value = float(measure(np.ones((1, group.n_states)))[0])
    if np.isnan(value):
        return Agreement(labellers, name, None, None, None, group.n_states, n, undefined)
    found = measure(draws)
    kept = found[~np.isnan(found)]
    told = [defined] if defined else []
    if len(kept) < (1 - TOLD) * len(found):
        told.append(f"undefined in {len(found) - len(kept)} of {len(found)} resamples, which are left out")
    if not len(kept):
        return Agreement(labellers, name, value, None, None, group.n_states, n, "; ".join(told) or None)
    low, high = (float(bound) for bound in np.quantile(kept, [0.025, 0.975]))
    if low == high:
        told.append("every resample gives the same figure, so the interval understates the doubt")
    return Agreement(labellers, name, value, low, high, group.n_states, n, "; ".join(told) or None)


class _Group:
    """The answers of some labellers on the states that at least two of them answered."""

    def __init__(self, valid: Codes, forbidden: Codes, sets: list[Actions], forbidden_sets: list[Actions]) -> None:
        self.valid, self.sets = _renumbered(valid, sets)
        self.forbidden, self.forbidden_sets = _renumbered(forbidden, forbidden_sets)
        self.n_states = valid.shape[1]

    def measures(self, are_all: bool) -> list[tuple[str, Measure, int | None, tuple[str, str]]]:
        """Give every measure with its name, the numerator of a share, and its notes.

        Cohen's kappa takes two labellers who both answered. For all of them the kappas are Krippendorff's alpha,
        nominal, and not Fleiss' kappa: labellers skip states, and Fleiss needs equally many answers of every state.
        """
        same = self._all_same(self.valid)
        overlapping = ~same & self._all_overlap()
        same_forbidden = self._all_same(self.forbidden)
        every = np.ones(self.n_states, dtype=bool)
        of_disagreements = f"of {int((~same).sum())} disagreements"
        no_tool = _lookup(self.valid, np.array([None in one for one in self.sets], dtype=np.int64))
        some_forbidden = _lookup(self.forbidden, np.array([bool(one) for one in self.forbidden_sets], dtype=np.int64))
        kappa, kappa_note = (_nominal_alpha, "Krippendorff's alpha, nominal") if are_all else (_cohen, "Cohen's kappa")
        undefined = ("", NO_VARIATION)
        return [
            ("exact", _share(same, every), int(same.sum()), undefined),
            (
                "both_defensible",
                _share(overlapping, ~same),
                int(overlapping.sum()),
                (of_disagreements, NO_DISAGREEMENT),
            ),
            ("alpha_masi", _alpha(self.valid, masi(self.sets)), None, undefined),
            ("alpha_jaccard", _alpha(self.valid, jaccard(self.sets)), None, undefined),
            ("kappa_no_tool", kappa(no_tool), None, (kappa_note, NO_VARIATION)),
            ("kappa_forbidden", kappa(some_forbidden), None, (kappa_note, NO_VARIATION)),
            ("exact_forbidden", _share(same_forbidden, every), int(same_forbidden.sum()), undefined),
        ]

    @staticmethod
    def _all_same(codes: Codes) -> Bools:
        """Say of each state whether all who answered gave the same set."""
        highest = codes.max(axis=0, initial=-1)
        return np.asarray(((codes == highest) | (codes < 0)).all(axis=0))

    def _all_overlap(self) -> Bools:
        """Say of each state whether every two of its sets overlap. Three may do so with no action common to all."""
        overlap = _shared_members(self.sets) > 0
        found = np.ones(self.n_states, dtype=bool)
        for a, b in combinations(self.valid, 2):
            found &= (a < 0) | (b < 0) | overlap[a, b]
        return found


def _lookup(codes: Codes, values: Codes) -> Codes:
    """Replace the number of a set by a value of that set."""
    return np.where(codes < 0, -1, values[codes]) if len(values) else codes


def _share(hits: Bools, among: Bools) -> Measure:
    """Share of the states `among` that are hits; undefined where a resample has none of them."""

    def measure(draws: Floats) -> Floats:
        return _divided(draws @ hits, draws @ among)

    return measure


def _alpha(codes: Codes, distance: Floats) -> Measure:
    """Krippendorff's alpha: 1 - observed / expected disagreement (Krippendorff 2004, Content Analysis, ch. 11).

    Every state has at least two answers. Undefined where nothing varies: then nothing could have disagreed.
    """
    n_states = codes.shape[1]
    counts = np.zeros((n_states, len(distance)))
    for row in codes:
        answered = np.flatnonzero(row >= 0)
        counts[answered, row[answered]] += 1
    observed = ((counts @ distance) * counts).sum(axis=1) / np.maximum(counts.sum(axis=1) - 1, 1)

    def measure(draws: Floats) -> Floats:
        totals = draws @ counts
        n = totals.sum(axis=1)
        expected = ((totals @ distance) * totals).sum(axis=1) / np.maximum(n - 1, 1)
        return 1 - _divided(draws @ observed, expected)

    return measure


def _nominal_alpha(codes: Codes) -> Measure:
    """Krippendorff's alpha of two values that are equal or not."""
    return _alpha(codes, 1 - np.eye(2))


def _cohen(codes: Codes) -> Measure:
    """Cohen's kappa of two labellers' yes and no (Cohen 1960, Educational and Psychological Measurement 20:37)."""
    a, b = codes.astype(np.float64)

    def measure(draws: Floats) -> Floats:
        n, n_a, n_b = draws.sum(axis=1), draws @ a, draws @ b
        differing = draws @ np.abs(a - b)
        # 1 - kappa is the share that differs beside the share that would by chance, both times n squared.
        return 1 - _divided(differing * n, n_a * (n - n_b) + n_b * (n - n_a))

    return measure


def _divided(part: Floats, whole: Floats) -> Floats:
    """Divide; NaN where there is nothing to divide by."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))
