"""The table of stage 7 that Python fills; every other one is a file of sql/reports/."""

from toolsel_assets.store import Table, columns

PRODUCTION_RATES = Table(
    "reports",
    "production_rates",
    """One row per rung: the rate on the sampled requests of the slice existing, weighted back to the traffic they were
drawn from. It stands beside the sample's own rate and never in its place; seeds are averaged first.""",
    columns(
        "study",
        "ladder",
        "rung",
        "rung_order",
        "label_set_version",
        "catalogue_hash",
        "model_served",
        "run_date",
        n_requests="INTEGER sampled requests that were scored",
        rate_in_sample="DOUBLE their rate as they stand, whose mix is the quota's",
        rate="DOUBLE the rate of the traffic, estimated (Hájek)",
        low="DOUBLE lower end of its 95 % interval",
        high="DOUBLE upper end",
        n_effective="DOUBLE requests of a simple random sample that would tell as much",
        covered="DOUBLE share of the traffic in strata from which something was scored",
        note="VARCHAR why there is no figure, or no interval",
    ),
)
