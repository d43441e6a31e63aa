"""What answers cost, and how far a study may go. Pure; checked before each call (asking.py).

Prices stand in the study, in dollars per million tokens: they change, and a price that is wrong here would be wrong
everywhere. Without a price nothing is guessed: the cost is unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolsel_assets.replays.agents import MustStop, Usage
from toolsel_assets.study import Budget, Price

PER_MILLION = 1_000_000


def cost_usd(usage: Usage, price: Price | None, *, batched: bool) -> float | None:
    """Give the dollars of an answer; None without a price or without token counts."""
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    plain = max(usage.input_tokens - read - written, 0)
    dollars = plain * price.input + read * price.of_cache_read + written * price.of_cache_write
    dollars += usage.output_tokens * price.output
    return dollars / PER_MILLION * (price.batch_share if batched else 1)


def spent_usd(sums: Iterable[Mapping[str, Any]], prices: Mapping[str, Price]) -> float:
    """Sum up what a ledger's answers cost, as far as their models have a price."""
    total = 0.0
    for row in sums:
        usage = Usage(*(row[f"{name}_tokens"] for name in ("input", "cache_read", "cache_write", "output")))
        total += cost_usd(usage, prices.get(row["model_requested"] or ""), batched=bool(row["batched"])) or 0.0
    return total


class Purse:
    """The budget while questions are under way: what was spent, and the most that those under way can cost."""

    def __init__(self, budget: Budget, price: Price | None, calls: int, usd: float) -> None:
        """Begin with what the ledger holds."""
        self.budget, self.price = budget, price
        self.calls, self.usd = calls, usd
        self.reserved_calls, self.reserved_usd = 0, 0.0

    def at_most(self, input_tokens: int, output_tokens: int, *, batched: bool = False) -> float:
        """Give the most that a question can cost: all of it written to the cache, and the longest answer."""
        usage = Usage(input_tokens, 0, input_tokens, output_tokens)
        return cost_usd(usage, self.price, batched=batched) or 0.0

    def reserve(self, calls: int, usd: float) -> bool:
        """Set money aside before a call. False: wait until a call under way is paid, which may leave enough."""
        limit = self.budget
        over_calls = limit.max_calls is not None and self.calls + self.reserved_calls + calls > limit.max_calls
        over_usd = limit.max_usd is not None and self.usd + self.reserved_usd + usd > limit.max_usd
        if not over_calls and not over_usd:
            self.reserved_calls += calls
            self.reserved_usd += usd
            return True
        if self.reserved_calls:
            return False
        reached = f"{self.calls} calls of max_calls {limit.max_calls}" if over_calls else self._dollars(usd)
        raise MustStop(f"the budget of study.yaml is used up: {reached}; what was paid for is kept")

    def _dollars(self, usd: float) -> str:
        return f"${self.usd:.2f} of max_usd {self.budget.max_usd}, and the next question may cost ${usd:.4f}"

    def settle(self, reserved_calls: int, reserved_usd: float, paid_calls: int, paid_usd: float | None) -> None:
        """Put back what was set aside, and take what was paid. An unknown price counts as what was set aside."""
        self.reserved_calls -= reserved_calls
        self.reserved_usd -= reserved_usd
        self.calls += paid_calls
        self.usd += reserved_usd if paid_calls and paid_usd is None else paid_usd or 0.0
