"""What the labelled sample says of production: the rate of a rung, weighted back to the traffic.

What belongs here: which rows speak for which stratum. What does not: the estimate itself (weighting.py), the rows'
place (assets.py). A row speaks by its mean over order seeds and draws. Where a stratum lost rows on the way (a state
that nobody labelled, an answer that cannot be scored), the others of the stratum stand for them.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from toolsel_assets.reports.weighting import weighted_rate

Row = dict[str, Any]

#: A row per rung and sampled request, with its mean over seeds and draws and the weight that it was drawn with.
JUDGED = """
select s.study, s.ladder, s.rung, s.rung_order, s.label_set_version, s.catalogue_hash, s.model_served, s.run_date,
       s.request_id, sample.bucket, sample.part, sample.weight, avg(s.correct::int) as y
from scores.scored_rows as s
join samples.sampled_states as sample on sample.decision_id = s.request_id
where s.slice = 'existing'
group by all
order by s.ladder, s.rung_order, s.request_id
"""

STRATA = "select bucket, part, population from samples.strata"

KEYS = (
    "study",
    "ladder",
    "rung",
    "rung_order",
    "label_set_version",
    "catalogue_hash",
    "model_served",
    "run_date",
)


def production_rows(judged: Iterable[Row], strata: Iterable[Row]) -> Iterator[Row]:
    """Yield a row of production_rates per rung. `judged` is sorted by rung."""
    population: dict[Hashable, int] = {(one["bucket"], one["part"]): one["population"] for one in strata}
    for keys, of_rung in groupby(judged, key=lambda row: tuple(row[name] for name in KEYS)):
        rows = list(of_rung)
        found = weighted_rate(
            [row["y"] for row in rows],
            standing_for(rows, population),
            [(row["bucket"], row["part"]) for row in rows],
            population,
        )
        yield {
            **dict(zip(KEYS, keys, strict=True)),
            "n_requests": found.n,
            "rate_in_sample": sum(row["y"] for row in rows) / len(rows),
            "rate": found.estimate,
            "low": found.low,
            "high": found.high,
            "n_effective": found.n_eff,
            "covered": found.covered,
            "note": found.note,
        }


def standing_for(rows: Iterable[Row], population: Mapping[Hashable, int]) -> list[float]:
    """Scale the weights so that those of a stratum add up to its population again."""
    kept = list(rows)
    present: dict[Hashable, float] = defaultdict(float)
    for row in kept:
        present[row["bucket"], row["part"]] += row["weight"]
    return [
        row["weight"] * population[row["bucket"], row["part"]] / present[row["bucket"], row["part"]] for row in kept
    ]
