"""The statistics of the verdict: pure functions of counts, each with its source.

What belongs here: intervals, tests and sample sizes. What does not: thresholds and sentences (rules.py).
Proportions are 0..1 throughout. Counts may be fractions where requests were tried several times: a request that was
right in two of three trials counts two thirds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

import numpy as np
from scipy.special import betaincinv


@dataclass(frozen=True)
class Interval:
    """An estimate with its bounds."""

    estimate: float
    low: float
    high: float


def normal_quantile(confidence: float, *, two_sided: bool) -> float:
    """Give the standard normal quantile of a confidence level."""
    return NormalDist().inv_cdf((1 + confidence) / 2 if two_sided else confidence)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Find where a falling function crosses 0, to 2^-50 of the way. scipy.optimize costs 0.6 s of every start."""
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def tango(losses: float, gains: float, n: float, confidence: float = 0.95, *, two_sided: bool = True) -> Interval:
    """Score interval of a paired difference, (losses - gains) / n (Tango 1998, Statistics in Medicine 17:891).

    Exists where nothing changed: 0 of 24 has an upper bound of 13.8 points, two-sided. With `two_sided=False` each
    bound alone has the confidence. n must be positive, and losses + gains at most n; else ValueError.
    """
    if n <= 0 or losses < 0 or gains < 0 or losses + gains > n * (1 + 1e-9):
        raise ValueError(f"no paired difference in {losses} losses and {gains} gains of {n}")
    z = normal_quantile(confidence, two_sided=two_sided)
    estimate = (losses - gains) / n

    def score(delta: float) -> float:
        b = -losses - gains + (2 * n - losses + gains) * delta
        c = -gains * delta * (1 - delta)
        q = (sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = n * (2 * q + delta * (1 - delta))
        return (losses - gains - n * delta) / sqrt(variance) if variance > 0 else 0.0

    edge = 1 - 1e-12
    low = -1.0 if score(-edge) < z else _root(lambda d: score(d) - z, -edge, estimate)
    high = 1.0 if score(edge) > -z else _root(lambda d: score(d) + z, estimate, edge)
    return Interval(estimate, low, high)


def sign_flip(differences: Sequence[int]) -> float:
    """One-sided exact p of a sum of paired differences as large as this one, when each sign is a coin's (Fisher 1935).

    One integer per request: right trials before minus right trials after. With one trial a request this is the exact
    McNemar test. 1.0 without a difference.
    """
    sizes = [abs(difference) for difference in differences if difference]
    reach = sum(sizes)
    ways = np.zeros(2 * reach + 1)
    ways[reach] = 1.0
    for size in sizes:
        ways = (np.roll(ways, size) + np.roll(ways, -size)) / 2
    return float(min(1.0, ways[reach + sum(differences) :].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for a family of tests (Holm 1979, Scandinavian Journal of Statistics 6:65)."""
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted


def effective_n(n: float, m: float, rho: float) -> float:
    """Trials behind n requests tried m times each, when the trials of one request agree by rho (Kish 1965)."""
    return n * m / (1 + (m - 1) * rho)


def wilson(rate: float, n: float, confidence: float = 0.95, *, two_sided: bool = True) -> Interval:
    """Score interval of a proportion (Wilson 1927, JASA 22:209). n may be an effective number; it must be positive."""
    z = normal_quantile(confidence, two_sided=two_sided)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Interval(rate, max(0.0, centre - half), min(1.0, centre + half))


def clopper_pearson(successes: float, n: float, confidence: float) -> Interval:
    """Exact one-sided bounds of a proportion, each alone with the confidence (Clopper and Pearson 1934)."""
    alpha = 1 - confidence
    low = float(betaincinv(successes, n - successes + 1, alpha)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - alpha)) if successes < n else 1.0
    return Interval(successes / n, low, high)


def weighted_sum(weights: Sequence[float], parts: Sequence[Interval], n_weights: float, confidence: float) -> Interval:
    """Interval of a weighted sum of independent parts, by recovering variances from their intervals (MOVER).

    Zou and Donner 2008, Statistics in Medicine 27:1693. The parts carry one-sided bounds at the same confidence.
    The weights' own sampling variance, of shares counted on `n_weights` decisions, is added; a part without any
    change still contributes its uncertainty, which a Wald interval would take for none.
    """
    estimate = sum(w * part.estimate for w, part in zip(weights, parts, strict=True))
    of_weights = (sum(w * p.estimate**2 for w, p in zip(weights, parts, strict=True)) - estimate**2) / n_weights
    extra = normal_quantile(confidence, two_sided=False) ** 2 * max(0.0, of_weights)
    below = sum((w * (p.estimate - p.low)) ** 2 for w, p in zip(weights, parts, strict=True))
    above = sum((w * (p.high - p.estimate)) ** 2 for w, p in zip(weights, parts, strict=True))
    return Interval(estimate, estimate - sqrt(below + extra), estimate + sqrt(above + extra))


@lru_cache(maxsize=4096)
def requests_to_affirm(churn: float, margin: float, confidence: float = 0.95) -> int:
    """Requests with which a tool that does not drop is shown to drop less than `margin`, at this share of changes.

    `churn` is the share of requests that change either way, half of them each. At no churn and five points: 52.
    """
    most = 100_000

    def suffices(n: int) -> bool:
        return tango(churn * n / 2, churn * n / 2, n, confidence, two_sided=False).high < margin

    low, high = 0, 1
    while high < most and not suffices(high):
        low, high = high, high * 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return min(high, most)


@dataclass(frozen=True)
class NoiseFloor:
    """How much a rate moves when nothing but the order of the tools does. Points, not proportions."""

    mean_pct: float
    range_pp: float
    sd_pp: float
    sd_of_mean_pp: float
    k: int


def noise_floor(rates: Sequence[float]) -> NoiseFloor:
    """Describe the rates of k seeds, k at least 2."""
    found = 100 * np.asarray(rates, dtype=float)
    sd = float(found.std(ddof=1))
    return NoiseFloor(float(found.mean()), float(np.ptp(found)), sd, sd / sqrt(len(found)), len(found))
