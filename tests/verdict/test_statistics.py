"""Published examples, other packages' answers, and the figures of DESIGN section 10."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from toolsel_assets.verdict.statistics import (
    Interval,
    clopper_pearson,
    effective_n,
    holm,
    noise_floor,
    requests_to_affirm,
    sign_flip,
    tango,
    weighted_sum,
    wilson,
)


def in_percent(found: Interval) -> tuple[float, float, float]:
    return round(100 * found.estimate, 1), round(100 * found.low, 1), round(100 * found.high, 1)


@pytest.mark.parametrize(
    ("losses", "gains", "n", "expected"),
    [
        (12, 0, 24, (50.0, 29.3, 68.6)),  # DESIGN 10.6
        (17, 1, 400, (4.0, 2.2, 6.5)),  # DESIGN 10.7
        (40, 20, 160, (12.5, 3.1, 21.8)),  # PropCIs::scoreci.mp, documented example
        (0, 0, 24, (0.0, -13.8, 13.8)),
    ],
)
def test_tango_gives_the_published_intervals(losses: int, gains: int, n: int, expected: tuple[float, ...]) -> None:
    assert in_percent(tango(losses, gains, n)) == expected


def test_a_bound_alone_is_tighter_and_still_far_from_affirming_at_24_requests() -> None:
    assert in_percent(tango(0, 0, 24, two_sided=False))[2] == 10.1
    assert in_percent(tango(0, 0, 52, two_sided=False))[2] == 4.9


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40))
def test_tango_mirrors_when_losses_and_gains_change_places(losses: int, gains: int, same: int) -> None:
    n = losses + gains + same
    if n:
        one, other = tango(losses, gains, n), tango(gains, losses, n)
        assert one.low <= one.estimate + 1e-9 and one.estimate <= one.high + 1e-9
        assert abs(one.low + other.high) < 1e-6


@pytest.mark.parametrize(("losses", "gains", "n"), [(1, 0, 0), (-1, 0, 5), (4, 4, 7)])
def test_impossible_counts_are_refused(losses: int, gains: int, n: int) -> None:
    with pytest.raises(ValueError, match="no paired difference"):
        tango(losses, gains, n)


def test_the_collapse_of_the_essay_is_significant_in_a_family_of_thirty() -> None:
    p = sign_flip([1] * 12 + [0] * 12)
    assert p == 2**-12
    assert round(holm([p] + [1.0] * 29)[0], 4) == 0.0073


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_the_sign_flip_equals_counting_all_sign_patterns(differences: list[int]) -> None:
    sizes = [abs(d) for d in differences]
    sums = [sum(s if bits >> i & 1 else -s for i, s in enumerate(sizes)) for bits in range(2 ** len(sizes))]
    assert sign_flip(differences) == pytest.approx(np.mean([s >= sum(differences) for s in sums]))


@given(st.integers(0, 20), st.integers(0, 20))
def test_with_one_trial_a_request_the_sign_flip_is_mcnemars_exact_test(losses: int, gains: int) -> None:
    expected = binomtest(losses, losses + gains, alternative="greater").pvalue if losses + gains else 1.0
    assert sign_flip([1] * losses + [-1] * gains) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@given(st.integers(0, 60), st.integers(1, 60))
def test_wilson_agrees_with_statsmodels(right: int, n: int) -> None:
    right = min(right, n)
    low, high = proportion_confint(right, n, method="wilson")
    found = wilson(right / n, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


@given(st.integers(0, 60), st.integers(1, 60))
def test_clopper_pearson_agrees_with_statsmodels(right: int, n: int) -> None:
    right = min(right, n)
    low, high = proportion_confint(right, n, alpha=0.1, method="beta")
    found = clopper_pearson(right, n, 0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(
    ("right", "n", "low", "high"), [(11, 24, 27.9, 64.9), (13, 31, 26.4, 59.2), (23, 24, 79.8, 99.3)]
)
def test_the_essays_rates_carry_wide_intervals(right: int, n: int, low: float, high: float) -> None:
    assert in_percent(wilson(right / n, n))[1:] == (low, high)


def test_three_seeds_that_agree_are_worth_one() -> None:
    assert effective_n(24, 3, 1.0) == 24
    assert effective_n(24, 3, 0.0) == 72


def test_the_permutations_of_the_essay_give_its_noise_floor() -> None:
    found = noise_floor([0.884, 0.891, 0.906])
    assert (round(found.mean_pct, 1), round(found.range_pp, 1), round(found.sd_pp, 2)) == (89.4, 2.2, 1.12)
    assert round(found.sd_of_mean_pp, 2) == 0.65


def test_the_volume_weighted_drop_of_the_essay_is_seventeen_points() -> None:
    parts = [tango(12, 0, 24, two_sided=False), tango(5, 0, 22, two_sided=False)]
    assert round(100 * weighted_sum([0.31, 0.066], parts, 10_000, 0.95).estimate, 1) == 17.0
    assert round(6 / 100 * 50, 1) == 3.0


def test_weights_counted_on_few_conversations_widen_the_interval() -> None:
    parts = [tango(12, 0, 24, two_sided=False), tango(0, 0, 100, two_sided=False)]
    few, many = (weighted_sum([0.31, 0.69], parts, n, 0.95) for n in (200, 10_000))
    assert few.high > many.high > few.estimate


def test_requests_to_affirm_are_those_of_the_simulations() -> None:
    assert requests_to_affirm(0.0, 0.05) == 52
    assert requests_to_affirm(0.02, 0.05) > 52
    n = requests_to_affirm(0.04, 0.05)
    assert tango(0.02 * n, 0.02 * n, n, two_sided=False).high < 0.05
    assert tango(0.02 * (n - 1), 0.02 * (n - 1), n - 1, two_sided=False).high >= 0.05
