"""Draw a fixed quota of states from each stratum: position in the run, and one more column (seeds/no_tool_cases).

The sample of a stratum is the bottom k of md5(seed:decision_id). So it is the same whatever the order of arrival, a
larger quota or more traffic keeps earlier rows wherever possible, and two parts of the population merge: the bottom k
of the union and the sum of the counts.

States that look alike can be capped: of each group the `cap` states with the smallest keys stay eligible. Their own
keys would favour large groups (the smallest of many keys is small), so an eligible state is drawn by a key of its
group and its rank there, which no newcomer changes: a group stays drawn, though a newcomer may come to stand for it.
The weight has both steps: eligible per drawn, times alike per kept. Any grouping gives unbiased weights; a good one
saves labels. What does not belong here: where the rows come from (assets.py), what a person may ask for (vocabulary).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import md5
from heapq import nsmallest

from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.sampling import SampleSpec


@dataclass(frozen=True, order=True)
class Candidate:
    """A state that can be drawn, in the order of its key. It is one of `n_kept` that stand for `n_alike`."""

    key: str
    decision_id: str
    n_alike: int = 1
    n_kept: int = 1


@dataclass(frozen=True)
class Sketch:
    """What is kept of a stratum: its population, how many can be drawn, and those with the smallest keys, ascending."""

    population: int
    lowest: tuple[Candidate, ...]
    eligible: int
    n_no_tool: int = 0


#: The position in the run, and the value of the second column; empty where there is none.
Stratum = tuple[str, str]


@dataclass(frozen=True)
class Drawn:
    """One sampled decision. `weight` is the number of decisions of its stratum that it stands for."""

    stratum: Stratum
    candidate: Candidate
    rank: int  # from 1, in the order of the key
    weight: float


def sketch(rows: Iterable[tuple[str, str]], size: int) -> Sketch:
    """Sketch (key, decision_id) rows in one pass, with O(size) memory."""
    population = 0

    def counted() -> Iterable[Candidate]:
        nonlocal population
        for key, decision_id in rows:
            population += 1
            yield Candidate(key, decision_id)

    lowest = nsmallest(size, counted())
    return Sketch(population, tuple(lowest), population)


def merge(left: Sketch, right: Sketch, size: int) -> Sketch:
    """Merge the sketches of two disjoint parts: of a stratum without a cap, or of a group of states that look alike."""
    lowest = nsmallest(size, (*left.lowest, *right.lowest))
    counts = (left.eligible + right.eligible, left.n_no_tool + right.n_no_tool)
    return Sketch(left.population + right.population, tuple(lowest), *counts)


def merge_alike(left: Mapping[str, Sketch], right: Mapping[str, Sketch], cap: int) -> dict[str, Sketch]:
    """Merge two disjoint parts of a stratum with a cap: a sketch of size `cap` per group."""
    none = Sketch(0, (), 0)
    return {group: merge(left.get(group, none), right.get(group, none), cap) for group in {**left, **right}}


def capped(groups: Mapping[str, Sketch], seed: int, cap: int, size: int) -> Sketch:
    """Sketch a stratum from its groups of states that look alike, of which `cap` each can be drawn."""
    kept = [
        Candidate(alike_key(seed, group, rank), one.decision_id, found.population, min(cap, len(found.lowest)))
        for group, found in groups.items()
        for rank, one in enumerate(found.lowest[:cap], start=1)
    ]
    population = sum(found.population for found in groups.values())
    n_no_tool = sum(found.n_no_tool for found in groups.values())
    return Sketch(population, tuple(nsmallest(size, kept)), len(kept), n_no_tool)


def alike_key(seed: int, group: str, rank: int) -> str:
    """Give the key by which the rank-th state of a group is drawn."""
    return md5(f"{seed}:{group}:{rank}".encode(), usedforsecurity=False).hexdigest()


def quotas(sketches: Mapping[Stratum, Sketch], spec: SampleSpec) -> dict[Stratum, int]:
    """Give the quota of every stratum that has a population; the busiest tools get more where that is asked for."""
    volume: dict[str, int] = {}
    for (_, part), found in sketches.items():
        if part != NO_TOOL and not part.startswith("("):
            volume[part] = volume.get(part, 0) + found.population
    n_busiest = spec.busiest.tools if spec.busiest else 0
    busiest = set(sorted(volume, key=lambda part: (-volume[part], part))[:n_busiest])
    times = spec.busiest.times if spec.busiest else 1
    return {
        (bucket, part): round(spec.quota_of(bucket) * (times if part in busiest else 1)) for bucket, part in sketches
    }


def draw(sketches: Mapping[Stratum, Sketch], quota: Mapping[Stratum, int]) -> list[Drawn]:
    """Draw each stratum's quota; a stratum smaller than its quota is drawn whole."""
    drawn = []
    for stratum, found in sketches.items():
        chosen = found.lowest[: quota.get(stratum, 0)]
        for rank, one in enumerate(chosen, start=1):
            weight = found.eligible / len(chosen) * (one.n_alike / one.n_kept)
            drawn.append(Drawn(stratum, one, rank, weight))
    return drawn
