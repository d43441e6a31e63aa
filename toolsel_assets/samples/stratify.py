"""Draw a fixed quota of states from each position bucket (seeds/no_tool_cases).

The sample of a bucket is the bottom k of md5(seed:decision_id). So it is the same whatever the order of arrival, a
larger quota or more traffic keeps earlier rows wherever possible, and two parts of the population merge: the bottom k
of the union and the sum of the counts. What does not belong here: where the rows come from (assets.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest


@dataclass(frozen=True)
class Sketch:
    """What is kept of a bucket: its population, and the (key, decision_id) pairs with the smallest keys, ascending."""

    population: int
    lowest: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Drawn:
    """One sampled decision. `weight` is the number of decisions of its bucket that it stands for."""

    decision_id: str
    bucket: str
    rank: int  # from 1, in the order of the key
    weight: float


def sketch(rows: Iterable[tuple[str, str]], size: int) -> Sketch:
    """Sketch a bucket's (key, decision_id) rows in one pass, with O(size) memory."""
    population = 0

    def counted() -> Iterable[tuple[str, str]]:
        nonlocal population
        for row in rows:
            population += 1
            yield row

    lowest = nsmallest(size, counted())
    return Sketch(population, tuple(lowest))


def merge(left: Sketch, right: Sketch, size: int) -> Sketch:
    """Merge the sketches of two disjoint parts of a bucket."""
    return Sketch(left.population + right.population, tuple(nsmallest(size, (*left.lowest, *right.lowest))))


def draw(sketches: Mapping[str, Sketch], quota: Mapping[str, int]) -> list[Drawn]:
    """Draw each bucket's quota; a bucket smaller than its quota is drawn whole."""
    drawn = []
    for bucket, found in sketches.items():
        chosen = found.lowest[: quota.get(bucket, 0)]
        weight = found.population / len(chosen) if chosen else 0.0
        drawn += [Drawn(decision_id, bucket, rank, weight) for rank, (_, decision_id) in enumerate(chosen, start=1)]
    return drawn
