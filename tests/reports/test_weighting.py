"""A rate of the traffic from a stratified sample: by hand, at its edges, and drawn many times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

from toolsel_assets.reports.weighting import ALL_DRAWN, NOTHING_DRAWN, clopper_pearson, weighted_rate, wilson

MANY = 10**9


def sample(*parts: tuple[str, int, int, float]) -> dict[str, list]:
    """Rows of (stratum, right, wrong, weight)."""
    found: dict[str, list] = {"y": [], "weight": [], "stratum": []}
    for stratum, right, wrong, weight in parts:
        found["y"] += [1] * right + [0] * wrong
        found["weight"] += [weight] * (right + wrong)
        found["stratum"] += [stratum] * (right + wrong)
    return found


def test_rows_count_as_often_as_the_states_that_they_stand_for():
    # 20 of 40 in a stratum of 800, 36 of 40 in one of 200: the sample says 70 %, the traffic is at 58 %.
    found = weighted_rate(**sample(("a", 20, 20, 20.0), ("b", 36, 4, 5.0)), population={"a": 800, "b": 200})
    assert found.estimate == pytest.approx(0.8 * 0.5 + 0.2 * 0.9)
    assert (found.n, found.df, found.covered, found.note) == (80, 78, 1.0, None)


def test_the_variance_is_the_textbooks_of_a_stratified_sample_without_replacement():
    found = weighted_rate(**sample(("a", 20, 20, 20.0), ("b", 36, 4, 5.0)), population={"a": 800, "b": 200})
    variance = 0.8**2 * (1 - 40 / 800) * 0.5 * 0.5 / 39 + 0.2**2 * (1 - 40 / 200) * 0.9 * 0.1 / 39
    n_eff = 0.58 * 0.42 / variance * (t.ppf(0.975, 79) / t.ppf(0.975, 78)) ** 2
    assert found.n_eff == pytest.approx(n_eff)
    assert (found.low, found.high) == pytest.approx(proportion_confint(0.58 * n_eff, n_eff, method="wilson"))


def test_weights_unequal_within_a_stratum_are_linearised():
    y, w = np.array([1, 1, 0, 1, 0, 1.0]), np.array([9, 1, 1, 1, 1, 2.0])
    p = 13 / 15
    z = w * (y - p) / 15
    assert weighted_rate(y, w, ["a"] * 6, {"a": MANY}).estimate == pytest.approx(p)
    linearised = 6 / 5 * (z**2).sum()
    unrelated = (w**2).sum() / 15**2 * y.var(ddof=1)
    assert unrelated > linearised, "the two failures have small weights, by chance for all one knows"
    half_way = (linearised + unrelated) / 2
    assert weighted_rate(y, w, ["a"] * 6, {"a": MANY}).n_eff == pytest.approx(p * (1 - p) / half_way, rel=1e-6)
    heavy = weighted_rate(1 - y[::-1], w[::-1], ["a"] * 6, {"a": MANY})
    assert heavy.n_eff == pytest.approx(p * (1 - p) / half_way, rel=1e-6), "neither rows' order nor the sign counts"
    related = np.array([0, 1, 1, 1, 1, 1.0])
    z = w * (related - 0.4) / 15
    assert weighted_rate(related, w, ["a"] * 6, {"a": MANY}).n_eff == pytest.approx(0.24 / (6 / 5 * (z**2).sum()))


def test_one_stratum_of_equal_weights_has_the_intervals_of_a_simple_sample():
    rows = sample(("a", 30, 11, 7.0))
    found = weighted_rate(**rows, population={"a": MANY})
    exact = weighted_rate(**rows, population={"a": MANY}, method="clopper_pearson")
    p = 30 / 41
    assert found.n_eff == pytest.approx(40)
    assert (found.low, found.high) == pytest.approx(proportion_confint(p * 40, 40, method="wilson"))
    assert (exact.low, exact.high) == pytest.approx(proportion_confint(p * 40, 40, method="beta"))
    assert weighted_rate(**rows, population={"a": MANY}, confidence=0.9).low > found.low


@pytest.mark.parametrize(("right", "wrong"), [(12, 0), (0, 12)])
def test_where_all_rows_are_right_or_all_wrong_the_weights_alone_say_how_much_that_tells(right, wrong):
    rows = sample(("a", right, wrong, 1.0), ("b", right, wrong, 3.0))
    found = weighted_rate(**rows, population={"a": 500, "b": 1500})
    assert found.n_eff == pytest.approx(48**2 / (12 + 12 * 9)), "24 rows with a design effect of 1.25"
    assert (found.low, found.high) == pytest.approx(proportion_confint(19.2 if right else 0, 19.2, method="wilson"))


def test_strata_without_variation_do_not_make_the_rate_certain():
    found = weighted_rate(**sample(("a", 10, 0, 1.0), ("b", 0, 10, 1.0)), population={"a": 500, "b": 500})
    assert (found.estimate, found.n_eff) == (0.5, 20)
    assert found.high - found.low > 0.35


def test_a_stratum_of_which_nothing_was_drawn_is_not_spoken_for():
    population = {"a": 600, "b": 150, "rare": 250}
    found = weighted_rate(**sample(("a", 9, 1, 60.0), ("b", 5, 5, 15.0)), population=population)
    assert found.covered == 0.75
    assert found.estimate == pytest.approx(0.8 * 0.9 + 0.2 * 0.5)


def test_where_all_is_drawn_there_is_no_error_of_sampling():
    rows = sample(("a", 9, 1, 1.0), ("b", 5, 5, 1.0))
    found = weighted_rate(**rows, population={"a": 10, "b": 10, "rare": 20})
    assert (found.low, found.estimate, found.high, found.n_eff) == (0.7, 0.7, 0.7, None)
    assert (found.covered, found.note) == (0.5, ALL_DRAWN)


def test_a_stratum_drawn_whole_adds_no_variance():
    whole = weighted_rate(**sample(("a", 5, 5, 1.0), ("b", 20, 20, 10.0)), population={"a": 10, "b": 400})
    part = weighted_rate(**sample(("a", 5, 5, 1.0), ("b", 20, 20, 10.0)), population={"a": MANY, "b": 400})
    assert whole.n_eff > part.n_eff
    variance = (400 / 410) ** 2 * (1 - 40 / 400) * 0.25 / 39
    assert whole.n_eff == pytest.approx(0.25 / variance * (t.ppf(0.975, 49) / t.ppf(0.975, 48)) ** 2)


def test_nothing_drawn_gives_no_rate():
    found = weighted_rate([], [], [], {"a": 10})
    assert (found.estimate, found.low, found.high, found.n, found.n_eff) == (None, None, None, 0, None)
    assert (found.covered, found.note) == (0, NOTHING_DRAWN)
    assert weighted_rate([], [], [], {}).covered == 0


def test_a_stratum_with_one_row_is_compared_with_all_rows():
    rows = sample(("a", 6, 4, 10.0), ("single", 0, 1, 50.0))
    found = weighted_rate(**rows, population={"a": 100, "single": 50})
    variance = (2 / 3) ** 2 * 0.9 * 0.24 / 9 + (1 / 3) ** 2 * (1 - 1 / 50) * 0.4**2
    assert found.estimate == pytest.approx(0.4)
    assert found.df == 9, "the single row adds no degree of freedom"
    assert found.n_eff == pytest.approx(0.24 / variance * (t.ppf(0.975, 10) / t.ppf(0.975, 9)) ** 2)


def test_strata_of_one_row_each_count_as_one_stratum():
    names = list("abcdefgh")
    found = weighted_rate([1, 1, 1, 0, 1, 0, 1, 1], [5.0] * 8, names, dict.fromkeys(names, MANY))
    assert found.df == 7
    assert found.n_eff == pytest.approx(8, rel=1e-6)
    alone = weighted_rate([1], [3.0], ["a"], {"a": 100})
    assert (alone.n_eff, alone.df) == (1, 1)
    assert alone.low < 0.25


def test_many_strata_cost_degrees_of_freedom():
    y = [1, 0] * 10
    one = weighted_rate(y, [1.0] * 20, ["a"] * 20, {"a": MANY})
    ten = weighted_rate(y, [1.0] * 20, [i // 2 for i in range(20)], dict.fromkeys(range(10), MANY))
    assert (one.df, ten.df) == (19, 10)
    # In pairs the variance within the strata is .5, in one stratum 5/19: the rest is due to the degrees of freedom.
    assert ten.n_eff / one.n_eff == pytest.approx(5 / 19 / 0.5 * (t.ppf(0.975, 19) / t.ppf(0.975, 10)) ** 2, rel=1e-6)


def test_a_mean_over_seeds_is_less_uncertain_than_one_try():
    once = weighted_rate([1, 0] * 20, [1.0] * 40, ["a"] * 40, {"a": MANY})
    means = weighted_rate([0.7, 0.3] * 20, [1.0] * 40, ["a"] * 40, {"a": MANY})
    assert means.estimate == pytest.approx(once.estimate)
    assert means.n_eff == pytest.approx(once.n_eff / 0.4**2)


@pytest.mark.parametrize(
    ("y", "weight", "stratum", "says"),
    [
        ([1, 0], [1.0], ["a", "a"], "a row has one of each"),
        ([1, 2], [1.0, 1.0], ["a", "a"], "within 0..1"),
        ([1, float("nan")], [1.0, 1.0], ["a", "a"], "within 0..1"),
        ([1, 0], [1.0, 0.0], ["a", "a"], "positive"),
        ([1, 0], [1.0, float("inf")], ["a", "a"], "positive"),
        ([1, 0], [1.0, 1.0], ["a", "b"], "1 rows of the stratum 'b', whose population is 0"),
        ([1, 0, 1], [1.0, 1.0, 1.0], ["a", "a", "a"], "3 rows of the stratum 'a', whose population is 2"),
    ],
)
def test_what_is_no_sample_of_the_population_is_refused(y, weight, stratum, says):
    with pytest.raises(ValueError, match=says.replace(".", r"\.")):
        weighted_rate(y, weight, stratum, {"a": 2})


ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 1 / 3, 1.0]), st.floats(0.1, 100), st.sampled_from("abc")), min_size=1, max_size=30
)


@settings(deadline=None)
@given(ROWS, st.floats(0.01, 100), st.sampled_from(["wilson", "clopper_pearson"]), st.randoms(use_true_random=False))
def test_the_bounds_enclose_the_rate_whatever_the_weights_scale_and_the_rows_order(rows, scale, method, rng):
    population = dict.fromkeys("abc", 100)
    y, weight, stratum = zip(*rows, strict=True)
    found = weighted_rate(y, weight, stratum, population, method=method)
    assert 0 <= found.low <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.high <= 1
    assert found.high - found.low > 0
    y, weight, stratum = zip(*rng.sample(rows, len(rows)), strict=True)
    other = weighted_rate(y, np.array(weight) * scale, stratum, population, method=method)
    assert (other.estimate, other.low, other.high) == pytest.approx((found.estimate, found.low, found.high), abs=1e-7)


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_both_kinds_of_bounds_are_statsmodels(hits):
    assert wilson(hits / 20, 20, 0.95) == pytest.approx(proportion_confint(hits, 20, method="wilson"), abs=1e-12)
    assert clopper_pearson(hits / 20, 20, 0.95) == pytest.approx(proportion_confint(hits, 20, method="beta"))


def test_samples_drawn_with_quotas_and_a_cap_find_the_populations_rate():
    """5 x 30 of groups of alike states, one of each group to be drawn; tests/bench/statistics has the whole table."""
    rng = np.random.default_rng(8)
    strata = []
    for n_groups, p in ((1000, 0.4), (1800, 0.55), (1400, 0.7), (900, 0.8), (1000, 0.9)):
        size = rng.choice([1, 2, 4], n_groups, p=[0.7, 0.2, 0.1])
        strata.append((size, (rng.random(n_groups) < p).astype(float)))  # alike states have the same answer
    population = {i: int(size.sum()) for i, (size, _) in enumerate(strata)}
    truth = sum(size @ y for size, y in strata) / sum(population.values())
    found = []
    for _ in range(300):
        drawn = [rng.choice(len(size), 30, replace=False) for size, _ in strata]
        y = np.concatenate([y[rows] for rows, (_, y) in zip(drawn, strata, strict=True)])
        weight = np.concatenate([size[rows] * len(size) / 30 for rows, (size, _) in zip(drawn, strata, strict=True)])
        found.append(weighted_rate(y, weight, np.repeat(np.arange(5), 30).tolist(), population))
    estimates = np.array([one.estimate for one in found])
    assert abs(estimates.mean() - truth) < 3 * estimates.std() / np.sqrt(300)
    assert 0.90 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99
    half = np.mean([(one.high - one.low) / 2 for one in found])
    assert half == pytest.approx(1.96 * estimates.std(), rel=0.15), "as wide as the estimates vary, and not wider"
