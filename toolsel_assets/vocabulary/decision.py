"""A decision: one point at which the loop asked the model what to do, the final stop included.

What belongs here: the statuses a decision can end in and which of them can be scored. What does not: how a trace
format spells them (traces/formats/).
"""

from enum import StrEnum


class Status(StrEnum):
    """How a decision ended.

    *No tool* is concluded from positive evidence that the model finished without a call, never from missing, cut or
    unparsable data: two published benchmarks credit unparsable output as a correct abstention.
    """

    CALLED = "called"  # at least one well-formed call
    STOPPED = "stopped"  # a complete message and no call: the choice of no tool
    REFUSED = "refused"  # the provider or the model declined to answer
    TRUNCATED = "truncated"  # cut by a token limit or by the log
    MALFORMED = "malformed"  # a call whose arguments are not a JSON object, or an answer of no known shape
    API_ERROR = "api_error"  # no answer came
    UNKNOWN = "unknown"  # nothing tells whether the model finished
    NOT_SERVED = "not_served"  # never asked: the rung's catalogue holds none of the tools that the request needs


#: Where in its run a decision stands; sql/macros.sql cuts a run into these (position_bucket).
BUCKETS = ("first", "early", "middle", "late", "last")

#: The statuses that can be scored. All others are counted beside every rate and never enter its denominator.
SCORABLE = frozenset({Status.CALLED, Status.STOPPED})
