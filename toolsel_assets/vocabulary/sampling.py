"""How the states to label are drawn: the definition that study.yaml gives and that a label set version keeps.

What belongs here: what a person writes, and the quota that follows from it. What does not: the drawing
(samples/stratify.py).
"""

from math import sqrt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from toolsel_assets.vocabulary.decision import BUCKETS
from toolsel_assets.vocabulary.problem import known_names

#: The second column of a stratum -> what it is of a decision, in SQL.
PARTS = {
    "tool": "action",
    "client": "coalesce(client_id, '(unknown)')",
    "day": "coalesce(strftime(decided_at, '%Y-%m-%d'), '(unknown)')",
    "source": "source",
    "model": "coalesce(model_served, model_requested, '(unknown)')",
}

Count = Annotated[int, Field(ge=0)]
_Z = 1.959963984540054


class Resolution(BaseModel):
    """How exactly a rate is to be known in every stratum; the quota follows from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    half_width_pp: float = Field(gt=0, lt=50, description="half the 95 % Wilson interval, in percentage points")
    rate: float = Field(0.5, ge=0, le=1, description="the rate at which it is to hold; at 0.5 it is widest")

    @property
    def n(self) -> int:
        """The smallest number of states for which the interval is as narrow as this."""
        low, high = 0, 1
        while self._half_width(high) > self.half_width_pp / 100:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._half_width(middle) > self.half_width_pp / 100 else (low, middle)
        return high

    def _half_width(self, n: int) -> float:
        """Half the Wilson interval (1927) of `rate` on n trials."""
        return _Z * sqrt(self.rate * (1 - self.rate) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)


class Busiest(BaseModel):
    """More states behind the tools that are called most (seeds/per_tool_and_pair): a drop there touches most users."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tools: int = Field(ge=1, description="how many of the most called tools")
    times: float = Field(gt=1, description="how many times the quota of the others")


class SampleSpec(BaseModel):
    """A stratified sample: a quota per position in the run and, where `by` is given, per value of one more column."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int
    quota: dict[str, Count] | None = Field(
        None, description=f"states per stratum by position ({', '.join(BUCKETS)}), or one number for all"
    )
    resolution: Resolution | None = Field(None, description="in place of quota")
    by: Literal["tool", "client", "day", "source", "model"] | None = Field(None, description="the second column")
    max_alike: int | None = Field(None, ge=1, description="of states that look the same, at most so many can be drawn")
    busiest: Busiest | None = Field(None, description="needs by: tool")

    @field_validator("quota", mode="before")
    @classmethod
    def _one_number_is_for_all_positions(cls, quota: Any) -> Any:
        return dict.fromkeys(BUCKETS, quota) if isinstance(quota, int) else quota

    @field_validator("quota")
    @classmethod
    def _positions_are_known(cls, quota: dict[str, int] | None) -> dict[str, int] | None:
        for name in quota or ():
            if name not in BUCKETS:
                raise ValueError(f"unknown name {name!r} ({known_names(name, BUCKETS)})")
        return quota

    @model_validator(mode="after")
    def _one_rule_gives_the_quota(self) -> "SampleSpec":
        if (self.quota is None) == (self.resolution is None):
            raise ValueError("quota or resolution: exactly one of the two")
        if self.busiest and self.by != "tool":
            raise ValueError("busiest needs by: tool")
        return self

    def quota_of(self, bucket: str) -> int:
        """Give the quota of a stratum at this position, before what `busiest` adds."""
        if self.resolution is not None:
            return self.resolution.n
        return (self.quota or {}).get(bucket, 0)

    @property
    def largest_quota(self) -> int:
        """The most states that any stratum can be asked for."""
        times = self.busiest.times if self.busiest else 1
        return round(max(self.quota_of(bucket) for bucket in BUCKETS) * times)
