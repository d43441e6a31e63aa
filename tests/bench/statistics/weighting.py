"""Coverage of the intervals of reports/weighting.py, on samples drawn as samples/stratify.py draws them.

A population of states in five positions of a run, whose rates differ; a quota per position; near-duplicates capped and
weighted up again. Drawn many times, the interval should hold the population's rate 95 times of 100. Prints the rows of
the tables in README.md.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np

from toolsel_assets.reports import weighting
from toolsel_assets.reports.weighting import INTERVALS, weighted_rate

SHARES = (0.165, 0.30, 0.225, 0.145, 0.165)
#: How the positions' rates differ, in logits: about 40 points from the first to the last at a rate of a half.
OFFSETS = (-0.9, -0.4, 0.0, 0.4, 0.9)
RATES = (0.3, 0.5, 0.7, 0.85, 0.95, 0.98)
QUOTAS = (20, 40, 108)
#: Shares of the groups of alike states by size. `heavy`: one group in a hundred, and two fifths of the states.
GROUPS = {
    "none": {1: 1.0},
    "moderate": {1: 0.7, 2: 0.15, 3: 0.1, 5: 0.05},
    "heavy": {1: 0.8, 2: 0.1, 5: 0.06, 20: 0.03, 150: 0.01},
}
#: How alike the answers to alike states are: the share of groups whose states all have the same one.
SAME = 0.7


@dataclass(frozen=True)
class Stratum:
    """One position: what is right in each state, group by group, and the slots that a cap leaves to be drawn."""

    y: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    group: np.ndarray  # of each slot
    rank: np.ndarray  # of each slot within its group, from 0
    weight: np.ndarray  # alike per kept

    def draw(self, rng: np.random.Generator, quota: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw values and weights."""
        n = min(quota, len(self.group))
        slots = rng.choice(len(self.group), n, replace=False, shuffle=False)
        group, rank = self.group[slots], self.rank[slots]
        # Which of the group's states is kept is chance; two kept ones are two different ones.
        first = rng.random(len(self.sizes))[group] * self.sizes[group]
        member = (first.astype(np.int64) + rank) % self.sizes[group]
        return self.y[self.starts[group] + member], self.weight[slots] * len(self.group) / n


def population(
    rng: np.random.Generator, size: int, rate: float, groups: str, cap: int, spread: float = 1
) -> list[Stratum]:
    """Make the strata of a population whose expected rate is `rate`; `spread` multiplies the positions' offsets."""
    offsets = [spread * offset for offset in OFFSETS]
    low, high = -12.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = sum(w / (1 + np.exp(-middle - o)) for w, o in zip(SHARES, offsets, strict=True))
        low, high = (middle, high) if mean < rate else (low, middle)
    found = []
    for share, offset in zip(SHARES, offsets, strict=True):
        p, n = 1 / (1 + np.exp(-low - offset)), round(share * size)
        drawn = rng.choice(list(GROUPS[groups]), n, p=list(GROUPS[groups].values()))
        sizes = drawn[: int(np.searchsorted(np.cumsum(drawn), n)) + 1]
        sizes[-1] -= sizes.sum() - n
        of_group = np.repeat(np.arange(len(sizes)), sizes)
        own, common = rng.random(n) < p, (rng.random(len(sizes)) < p)[of_group]
        y = np.where((rng.random(len(sizes)) < SAME)[of_group], common, own).astype(float)
        kept = np.minimum(sizes, cap)
        group = np.repeat(np.arange(len(sizes)), kept)
        rank = np.arange(len(group)) - np.repeat(np.cumsum(kept) - kept, kept)
        found.append(Stratum(y, np.cumsum(sizes) - sizes, sizes, group, rank, (sizes / kept)[group]))
    return found


def simulate(
    rng: np.random.Generator, strata: list[Stratum], quota: int, replications: int, confidence: float = 0.95
) -> dict[str, float]:
    """Draw again and again: bias and its standard error, coverage and half-width of every kind of interval."""
    truth = float(np.concatenate([one.y for one in strata]).mean())
    sizes = {i: len(one.y) for i, one in enumerate(strata)}
    estimates, raw = [], []
    held = {name: 0 for name in INTERVALS}
    below = {name: 0 for name in INTERVALS}
    width = {name: 0.0 for name in INTERVALS}
    for _ in range(replications):
        drawn = [one.draw(rng, quota) for one in strata]
        y, weight = (np.concatenate(part) for part in zip(*drawn, strict=True))
        stratum = [i for i, (values, _) in enumerate(drawn) for _ in values]
        raw.append(y.mean())
        for name in INTERVALS:
            found = weighted_rate(y, weight, stratum, sizes, confidence, name)
            held[name] += found.low <= truth <= found.high
            below[name] += found.high < truth
            width[name] += (found.high - found.low) / 2
        estimates.append(found.estimate)
    result = {
        "truth": truth,
        "raw_bias": float(np.mean(raw)) - truth,
        "bias": float(np.mean(estimates)) - truth,
        "se": float(np.std(estimates) / np.sqrt(replications)),
    }
    for name in INTERVALS:
        result |= {f"{name}_coverage": held[name] / replications, f"{name}_half": width[name] / replications}
        result |= {f"{name}_below": below[name] / replications}
    return result


def main() -> None:
    """Print the table of one kind of population."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", choices=GROUPS)
    parser.add_argument("--cap", type=int, default=1)
    parser.add_argument("--population", type=int, default=20_000)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--quotas", type=int, nargs="+", default=QUOTAS)
    parser.add_argument("--spread", type=float, default=1.0, help="multiplies the offsets of the positions' rates")
    parser.add_argument("--linearised-alone", action="store_true", help="without the second variance, to compare")
    options = parser.parse_args()
    if options.linearised_alone:
        weighting.unrelated_variance = lambda *_: 0.0
    began = time.perf_counter()
    print(
        "| quota | rate % | bias of the sample, pp | bias, pp (se) "
        "| Wilson % | half-width, pp | Clopper-Pearson % | half-width, pp |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for quota in options.quotas:
        for rate in options.rates:
            rng = np.random.default_rng([quota, round(1000 * rate), options.cap, options.population])
            strata = population(rng, options.population, rate, options.groups, options.cap, options.spread)
            one = simulate(rng, strata, quota, options.replications)
            print(
                f"| 5 x {quota} | {100 * one['truth']:.1f} | {100 * one['raw_bias']:+.1f} "
                f"| {100 * one['bias']:+.2f} ({100 * one['se']:.2f}) "
                f"| {100 * one['wilson_coverage']:.1f} | {100 * one['wilson_half']:.1f} "
                f"| {100 * one['clopper_pearson_coverage']:.1f} | {100 * one['clopper_pearson_half']:.1f} |",
                flush=True,
            )
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
