"""What the rules look at: the scored rows of one rung and slice beside the first rung's, request by request.

What belongs here: rows to counts. What does not: thresholds (rules.py) and queries (assets.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass
class Request:
    """One request: how often it was right, now and on the first rung, and what went wrong."""

    request_id: str
    expected: str
    row_class: str
    right: int = 0
    trials: int = 0
    right_before: int = 0
    trials_before: int = 0
    loss_share: float = 0.0  # expected share of trials that turn from right to wrong
    gain_share: float = 0.0
    forbidden: int = 0
    pairs: dict[str, int] = field(default_factory=dict)  # chosen -> incorrect trials
    new_pairs: dict[str, int] = field(default_factory=dict)  # chosen -> trials that were right on the first rung

    @property
    def paired(self) -> bool:
        """Whether the first rung answered it as often."""
        return self.trials_before == self.trials > 0

    @property
    def difference(self) -> int:
        """Right trials before minus right trials now."""
        return self.right_before - self.right


@dataclass(frozen=True)
class Evidence:
    """One rung and slice of a ladder."""

    ladder: str
    rung: str
    slice: str
    requests: tuple[Request, ...]
    volumes: Mapping[str, float]  # tool -> share of logged decisions
    n_volumes: int  # logged decisions behind them
    rho: float  # intra-request correlation
    seed_range_pp: float | None  # the larger of the two rungs' spreads over order seeds

    @property
    def paired(self) -> tuple[Request, ...]:
        """The requests that the first rung answered as well."""
        return tuple(request for request in self.requests if request.paired)

    @property
    def compares(self) -> bool:
        """Whether there is something to compare with: requests of a new capability have no base figure."""
        return self.slice == "existing" and bool(self.paired)

    def paired_by_tool(self) -> dict[str, list[Request]]:
        """Group the paired requests by the tool they expect."""
        found: dict[str, list[Request]] = {}
        for request in self.paired:
            found.setdefault(request.expected, []).append(request)
        return found


def requests_of(rows: Iterable[Row]) -> tuple[Request, ...]:
    """Sum rows of (request, seed, draw), each with `correct` and the first rung's `correct_before`, into requests."""
    found: dict[str, Request] = {}
    for row in rows:
        request = found.setdefault(row["request_id"], Request(row["request_id"], row["expected"], row["row_class"]))
        request.trials += 1
        request.right += row["correct"]
        request.forbidden += row["kind"] == "forbidden"
        before = row["correct_before"]
        if before is not None:
            request.trials_before += 1
            request.right_before += before
        if not row["correct"]:
            request.pairs[row["chosen"]] = request.pairs.get(row["chosen"], 0) + 1
            if before:
                request.new_pairs[row["chosen"]] = request.new_pairs.get(row["chosen"], 0) + 1
    for request in found.values():
        if request.paired:
            now, then = request.right / request.trials, request.right_before / request.trials_before
            request.loss_share, request.gain_share = then * (1 - now), (1 - then) * now
    return tuple(found[request_id] for request_id in sorted(found))


def by_rung(rows: Sequence[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Group rows by ladder, rung and slice."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["ladder"], row["rung"], row["slice"]), []).append(row)
    return found
