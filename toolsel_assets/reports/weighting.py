"""What a stratified sample with weights says of the traffic that it was drawn from: a rate, with its interval.

What belongs here: the Hájek estimate of a proportion and its interval, as pure functions. What does not: how the
sample was drawn and where its weights come from (samples/stratify.py), which rates are reported.

The rate of the sample itself describes the sample: quotas put as many rare states into it as common ones. The weight
of a row says how many states of the population it stands for, by its quota and by a cap on states that look alike.
Simulated coverage: tests/bench/statistics/.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

Floats = NDArray[np.float64]
Method = Literal["wilson", "clopper_pearson"]
NOTHING_DRAWN = "nothing drawn"
ALL_DRAWN = "every state of the drawn strata is in the sample"
#: What rounding leaves of a variance of 0.
NO_VARIANCE = 1e-15


@dataclass(frozen=True)
class WeightedRate:
    """An estimated proportion of the population. Without a row there is none: the estimate and its bounds are None."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    n_eff: float | None  # rows of a simple random sample that would tell as much; None where nothing is uncertain
    df: int | None
    covered: float  # share of the population in strata of which something was drawn: the estimate speaks of these
    note: str | None


def weighted_rate(
    y: Sequence[float] | Floats,
    weight: Sequence[float] | Floats,
    stratum: Sequence[Hashable],
    population: Mapping[Hashable, int],
    confidence: float = 0.95,
    method: Method = "wilson",
) -> WeightedRate:
    """Estimate the population's rate by sum(weight x y) / sum(weight) (Hájek 1971).

    y is 0 or 1 per row, or a mean over seeds. The interval is Wilson's, or Clopper and Pearson's, on n_eff =
    p (1 - p) / variance, adjusted for degrees of freedom (Korn and Graubard 1998, Survey Methodology 24:193).

    - The variance is the linearised one, and half of what the one that takes y and weight as unrelated within a
      stratum has above it. Without unequal weights in a stratum the two are one. With them, and with a handful of
      failures, the linearised one depends on the weights that these few happen to have: simulated, its interval held
      91 times of 100, and that on the larger of the two up to 97.5 times.
    - Where the sample does not vary within its strata, both are 0 and know too much: n_eff is then n over the design
      effect of the weights, that is (sum w)² / sum w² (Kish 1965, Survey Sampling).
    - A stratum of which nothing was drawn is not spoken for; `covered` says how much that is.
    - Where all of the drawn strata is in the sample there is no sampling error: the bounds are the estimate. What a
      repetition of the agent would change is no error of sampling and is not in the interval.
    """
    values, weights = np.asarray(y, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    rows = list(stratum)
    drawn = Counter(rows)
    _refuse(values, weights, len(rows), drawn, population)
    everyone = sum(population.values())
    covered = sum(population[one] for one in drawn) / everyone if everyone else 0.0
    n = len(values)
    if not n:
        return WeightedRate(None, None, None, 0, None, None, covered, NOTHING_DRAWN)
    estimate = min(1.0, float(weights @ values / weights.sum()))
    df = _degrees_of_freedom(list(drawn.values()))
    if all(drawn[one] == population[one] for one in drawn):
        return WeightedRate(estimate, estimate, estimate, n, None, df, covered, ALL_DRAWN)
    strata = Strata(rows, drawn, population)
    linearised = linearised_variance(values, weights, strata)
    variance = linearised + max(unrelated_variance(values, weights, strata) - linearised, 0.0) / 2
    if variance > NO_VARIANCE:
        n_eff = estimate * (1 - estimate) / variance * _fewer_degrees(n, df, confidence)
    else:
        n_eff = float(weights.sum() ** 2 / (weights @ weights))
    low, high = INTERVALS[method](estimate, n_eff, confidence)
    return WeightedRate(estimate, low, high, n, n_eff, df, covered, None)


class Strata:
    """The number of each row's stratum, and of each stratum how many rows were drawn and which share was left."""

    def __init__(self, rows: Sequence[Hashable], drawn: Mapping[Hashable, int], population: Mapping[Hashable, int]):
        number = {one: i for i, one in enumerate(drawn)}
        self.of = np.array([number[one] for one in rows], dtype=np.int64)
        self.n = np.array(list(drawn.values()), dtype=np.float64)
        # Of the stratum's states, not of those that a cap leaves to be drawn: when all of these are drawn, the states
        # that they stand for are still unknown.
        self.left = 1 - self.n / np.array([population[one] for one in drawn], dtype=np.float64)

    def sums(self, values: Floats) -> Floats:
        """Sum the rows of each stratum."""
        return np.asarray(np.bincount(self.of, weights=values, minlength=len(self.n)), dtype=np.float64)

    def spread(self, values: Floats, overall: float) -> Floats:
        """Give the variance of the rows within each stratum.

        A single row has none. It is compared with the overall mean, so that the difference between strata counts as
        well: too wide on average, where leaving the stratum out would be too narrow (the survey package of R calls
        this lonely.psu = "adjust").
        """
        means = np.where(self.n > 1, self.sums(values) / self.n, overall)
        return np.asarray(self.sums((values - means[self.of]) ** 2) / np.maximum(self.n - 1, 1))


def linearised_variance(values: Floats, weights: Floats, strata: Strata) -> float:
    """Give the variance of the estimate by linearisation, each stratum drawn without replacement.

    sum over strata of (1 - n/N) n var(z), z = w (y - p) / sum w (Särndal, Swensson and Wretman 1992, section 5.7).
    """
    total = weights.sum()
    z = weights * (values - weights @ values / total) / total
    return float((strata.left * strata.n * strata.spread(z, 0.0)).sum())


def unrelated_variance(values: Floats, weights: Floats, strata: Strata) -> float:
    """Give the variance if a state's weight says nothing of its value: sum over strata of (1 - n/N) sum(w²) var(y)."""
    total = weights.sum()
    spread = strata.spread(values, float(weights @ values / total))
    return float((strata.left * strata.sums(weights**2) * spread).sum() / total**2)


def wilson(rate: float, n: float, confidence: float) -> tuple[float, float]:
    """Score interval of a proportion on an effective number of rows (Wilson 1927, JASA 22:209)."""
    z = float(ndtri((1 + confidence) / 2))
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson(rate: float, n: float, confidence: float) -> tuple[float, float]:
    """Beta interval on an effective number of rows, as Korn and Graubard have it. It is the wider of the two."""
    alpha, hits = 1 - confidence, rate * n
    low = float(betaincinv(hits, n - hits + 1, alpha / 2)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - alpha / 2)) if hits < n else 1.0
    return low, high


INTERVALS = {"wilson": wilson, "clopper_pearson": clopper_pearson}


def _degrees_of_freedom(sizes: Sequence[int]) -> int:
    """Rows less strata. The strata with a single row, compared with one mean, count as one."""
    several = [n for n in sizes if n > 1]
    single = len(sizes) - len(several)
    return max(1, sum(several) - len(several) + max(0, single - 1))


def _fewer_degrees(n: int, df: int, confidence: float) -> float:
    """Give Korn and Graubard's factor on n_eff, at most 1: the variance was estimated with df and not n - 1 degrees."""
    at = (1 + confidence) / 2
    return float((stdtrit(max(1, n - 1), at) / stdtrit(df, at)) ** 2)


def _refuse(
    values: Floats, weights: Floats, n_strata: int, drawn: Mapping[Hashable, int], population: Mapping[Hashable, int]
) -> None:
    """Raise ValueError on what cannot be a sample of this population."""
    if not len(values) == len(weights) == n_strata:
        raise ValueError(f"{len(values)} values, {len(weights)} weights, {n_strata} strata: a row has one of each")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("a value that is not within 0..1")
    if not ((weights > 0) & np.isfinite(weights)).all():
        raise ValueError("a weight that is not a positive number")
    for one, n in drawn.items():
        if n > population.get(one, 0):
            raise ValueError(f"{n} rows of the stratum {one!r}, whose population is {population.get(one, 0)}")
