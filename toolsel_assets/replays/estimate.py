"""What a replay will take, before it is run: calls, tokens, dollars, time.

What belongs here: arithmetic on questions that have no answer yet. What does not: asking a provider to count
(agents/anthropic.py), printing (commands.py). An estimate is always labelled as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolsel_assets.replays.agents import Usage
from toolsel_assets.replays.budget import cost_usd
from toolsel_assets.study import Price

#: Characters of JSON per token: a rule of thumb for English text and schemas, low so that estimates err upwards.
CHARS_PER_TOKEN = 3.5

#: Tokens below which providers keep no beginning in their cache.
LEAST_CACHED = 1024

#: Seconds from question to answer where no answer is in the ledger yet.
SECONDS_PER_ANSWER = 4.0

#: Tokens of an answer where none is in the ledger yet: a call with a few arguments, or a short text.
TOKENS_PER_ANSWER = 150


def estimated_tokens(n_chars: int) -> int:
    """Estimate the tokens of a question from the characters of its JSON."""
    return round(n_chars / CHARS_PER_TOKEN)


@dataclass(frozen=True)
class Load:
    """The questions of one order of the tools: how many, the tokens they share, the tokens each has to itself."""

    n: int
    shared_tokens: int
    own_tokens: int

    @property
    def input_tokens(self) -> int:
        """Count all tokens read, the shared ones with every question."""
        return self.n * self.shared_tokens + self.own_tokens


@dataclass(frozen=True)
class Estimate:
    """What one rung takes."""

    calls: int
    input_tokens: int
    cached_input_units: float  # tokens at the price of plain input: what the cache makes of them
    output_tokens: int
    usd: float | None
    usd_cached: float | None
    usd_batch: float | None
    seconds: float


def estimate(
    loads: Sequence[Load],
    price: Price | None,
    *,
    output_per_call: float,
    seconds_per_call: float,
    in_flight: int,
    requests_per_minute: float | None,
) -> Estimate:
    """Work out a rung. The cache holds what questions of one order share, from its smallest size on."""
    calls = sum(load.n for load in loads)
    tokens = sum(load.input_tokens for load in loads)
    output = round(calls * output_per_call)
    cached = [load for load in loads if load.n and load.shared_tokens >= LEAST_CACHED]
    written = sum(load.shared_tokens for load in cached)
    read = sum((load.n - 1) * load.shared_tokens for load in cached)
    plain, with_cache = Usage(tokens, 0, 0, output), Usage(tokens, read, written, output)
    minutes = calls / requests_per_minute if requests_per_minute else 0.0
    return Estimate(
        calls=calls,
        input_tokens=tokens,
        cached_input_units=tokens - read - written + 0.1 * read + 1.25 * written,
        output_tokens=output,
        usd=cost_usd(plain, price, batched=False),
        usd_cached=cost_usd(with_cache, price, batched=False),
        usd_batch=cost_usd(plain, price, batched=True),
        seconds=max(calls * seconds_per_call / in_flight, 60 * minutes),
    )
