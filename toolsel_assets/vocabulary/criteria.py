"""The acceptance criteria: thresholds written down before the run (seeds/per_tool_and_pair).

"A number that arrives before a criterion will find a criterion that accommodates it." One field here is one rule of
the same name in verdict/rules.py and one asset check. A rule that is left out is not applied. The aggregate is no
criterion: an average cannot see one tool collapse.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Criteria(BaseModel):
    """Thresholds of one ladder; a file of criteria/."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tool_drop_pp: float | None = Field(
        None, gt=0, le=100, description="no tool may lose more than this many points against the first rung; 5 is usual"
    )
    meaningful_volume: Share = Field(
        0.0, description="a tool counts for max_tool_drop_pp when its share of logged decisions is at least this"
    )
    max_pair_share: Share | None = Field(
        None, description="no ordered pair (expected, chosen) may hold more than this share of the failures"
    )
    pair_share_of: Literal["new_failures", "all_failures"] = Field(
        "new_failures", description="the failures that max_pair_share divides by; new ones need a first rung to compare"
    )
    min_weighted_change_pp: float | None = Field(
        None, le=0, ge=-100, description="the volume-weighted change against the first rung may not be lower than this"
    )
    min_no_tool_rate: Share | None = Field(
        None, description="the lowest acceptable rate on the states where calling nothing is acceptable"
    )
    max_forbidden: int | None = Field(
        None, ge=0, description="the number of requests on which a forbidden tool may be called"
    )
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = Field(
        0.95, description="of one-sided bounds, and family-wise of the tests for drops"
    )


#: The fields that are rules, each with the asset check that states it; the others say how to read them.
RULES: dict[str, str] = {
    "max_tool_drop_pp": "no_tool_drops",
    "max_pair_share": "no_pair_dominates",
    "min_weighted_change_pp": "the_volume_weighted_rate_holds",
    "min_no_tool_rate": "the_no_tool_class_holds",
    "max_forbidden": "forbidden_tools_are_left_alone",
}

#: Figures that people ask for and that no criterion may use; an error explains why.
AGGREGATES = frozenset(
    {"accuracy", "min_accuracy", "aggregate", "min_aggregate", "micro", "macro", "min_micro", "min_macro"}
)
