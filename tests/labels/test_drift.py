"""The population stability index by hand, and the size and power of its permutation test."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency

from toolsel_assets.labels.drift import drift, psi

TOOLS = ["(no tool)", "get_user", "refund_order", "search"]
SHARES = np.array([0.4, 0.3, 0.1, 0.2])


def runs(rng: np.random.Generator, n: int, shares: np.ndarray, alike: float | None = None) -> np.ndarray:
    """Runs of 1 to 12 decisions. The smaller `alike`, the more a run keeps to its own few tools."""
    lengths = rng.integers(1, 13, size=n)
    own = np.tile(shares, (n, 1)) if alike is None else rng.dirichlet(alike * shares, size=n)
    return rng.multinomial(lengths, own)


def test_the_index_is_the_one_by_hand():
    # (60 + .5) / (100 + 1) = .599, (40 + .5) / 101 = .401; the other window the other way round.
    p, q = 60.5 / 101, 40.5 / 101
    assert psi([60, 40], [40, 60]) == pytest.approx((q - p) * log(q / p) + (p - q) * log(p / q))
    assert psi([60, 40], [40, 60]) == pytest.approx(0.159, abs=0.0005)
    # Without smoothing: .02 ln(.02 / .1) ... of three categories, at counts where half a decision does not matter.
    p, q = np.array([0.5, 0.4, 0.1]), np.array([0.5, 0.48, 0.02])
    by_hand = (0.48 - 0.4) * log(0.48 / 0.4) + (0.02 - 0.1) * log(0.02 / 0.1)
    assert psi((p * 10**8).astype(int), (q * 10**8).astype(int)) == pytest.approx(by_hand, abs=1e-6)


def test_a_category_new_to_one_window_is_finite_and_one_that_neither_has_changes_nothing():
    assert 0.5 < psi([100, 0], [80, 20]) < 2
    assert psi([60, 0, 40], [40, 0, 60]) == psi([60, 40], [40, 60])


@settings(max_examples=50, deadline=None)
@given(arrays(np.int64, (2, 4), elements=st.integers(0, 1000)))
def test_the_index_is_symmetric_never_negative_and_zero_for_the_same_counts(counts):
    before, after = counts
    assert psi(before, after) >= 0
    assert psi(before, after) == pytest.approx(psi(after, before))
    assert psi(before, before) == 0


def test_what_moved_most_is_named_with_its_shares_as_they_are():
    before, latest = np.zeros((10, 4), dtype=int), np.zeros((8, 4), dtype=int)
    before[:, 0], before[:, 1] = 6, 4
    latest[:, 0], latest[:, 1], latest[:, 2] = 2, 5, 3
    found = drift("tool", TOOLS, before, latest)
    assert (found.largest, found.share_baseline, found.share_latest) == ("(no tool)", 0.6, 0.2)
    assert (found.column, found.n_runs_baseline, found.n_runs_latest) == ("tool", 10, 8)
    assert (found.n_baseline, found.n_latest) == (100, 80)
    assert found.psi == psi(before.sum(axis=0), latest.sum(axis=0))
    assert (found.p_value, found.note) == (1 / 1000, None), "no parting of these runs is as far as theirs"


def test_an_obvious_shift_is_seen():
    rng = np.random.default_rng(1)
    p = [
        drift("tool", TOOLS, runs(rng, 60, SHARES, 2), runs(rng, 60, SHARES[::-1], 2), permutations=199).p_value
        for _ in range(20)
    ]
    assert max(p) < 0.05


def test_without_drift_one_p_in_twenty_is_below_five_percent():
    rng = np.random.default_rng(2)
    p = np.array(
        [
            drift("tool", TOOLS, runs(rng, 30, SHARES), runs(rng, 20, SHARES), permutations=99, seed=i).p_value
            for i in range(200)
        ]
    )
    assert 0.01 <= (p <= 0.05).mean() <= 0.10
    assert 0.4 < p.mean() < 0.6
    assert len(np.unique(p)) > 50


def test_with_runs_that_keep_to_their_tools_the_test_keeps_its_size_where_chi_square_does_not():
    rng = np.random.default_rng(3)
    permuted, naive = [], []
    for i in range(200):
        before, latest = runs(rng, 40, SHARES, 0.7), runs(rng, 40, SHARES, 0.7)
        permuted.append(drift("tool", TOOLS, before, latest, permutations=99, seed=i).p_value)
        naive.append(chi2_contingency(np.array([before.sum(axis=0), latest.sum(axis=0)])).pvalue)
    assert 0.01 <= (np.array(permuted) <= 0.05).mean() <= 0.10
    assert (np.array(naive) <= 0.05).mean() > 0.3


def test_equal_windows_have_no_drift_at_all():
    same = runs(np.random.default_rng(4), 20, SHARES)
    found = drift("tool", TOOLS, same, same)
    assert (found.psi, found.p_value) == (0, 1)


def test_a_parting_that_is_equally_far_counts_as_far():
    alike = np.tile([3, 0, 1, 2], (20, 1))
    assert drift("tool", TOOLS, alike[:13], alike[13:]).p_value == 1


def test_categories_that_no_run_has_change_nothing():
    rng = np.random.default_rng(8)
    before, latest = (np.concatenate([runs(rng, 20, SHARES), np.zeros((20, 300), dtype=int)], axis=1) for _ in "ab")
    names = [*TOOLS, *map(str, range(300))]
    assert drift("tool", names, before, latest) == drift("tool", TOOLS, before[:, :4], latest[:, :4])


@pytest.mark.parametrize(
    ("n_before", "n_latest", "note"),
    [
        (10, 0, "no traffic in the latest window"),
        (0, 10, "no traffic in the baseline window"),
        (10, 4, "too few runs: 4 in the latest window, at least 5 are needed"),
        (4, 10, "too few runs: 4 in the baseline window, at least 5 are needed"),
    ],
)
def test_without_enough_runs_the_index_is_undefined_and_the_note_says_why(n_before, n_latest, note):
    rng = np.random.default_rng(5)
    found = drift("tool", TOOLS, runs(rng, n_before, SHARES), runs(rng, n_latest, SHARES))
    assert (found.psi, found.p_value, found.largest, found.share_latest) == (None, None, None, None)
    assert (found.n_runs_baseline, found.n_runs_latest, found.note) == (n_before, n_latest, note)


def test_windows_without_a_category_are_windows_without_traffic():
    found = drift("tool", [], np.zeros((0, 0), dtype=int), np.zeros((0, 0), dtype=int))
    assert (found.psi, found.note) == (None, "no traffic in the baseline window")


def test_a_run_without_a_decision_in_the_window_is_no_run_of_it():
    rng = np.random.default_rng(6)
    before, latest = runs(rng, 20, SHARES), runs(rng, 20, SHARES)
    with_empty = np.concatenate([latest, np.zeros((30, 4), dtype=int)])
    assert drift("tool", TOOLS, before, with_empty) == drift("tool", TOOLS, before, latest)


def test_chunks_of_permutations_add_up_to_the_number_asked_for(monkeypatch):
    rng = np.random.default_rng(7)
    before, latest = runs(rng, 20, SHARES), runs(rng, 20, SHARES)
    whole = drift("tool", TOOLS, before, latest, permutations=99)
    monkeypatch.setattr("toolsel_assets.labels.drift.CHUNK", 40 * 7)
    assert drift("tool", TOOLS, before, latest, permutations=99) == whole
