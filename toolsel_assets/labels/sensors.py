"""The sensor of stage 3: a label set that no longer describes traffic has a new sample proposed.

What belongs here: when to propose. What does not: the two checks, whose latest outcome is read from Dagster's records.
A proposal is a run of the job `sample`; what is new in it stands in labels.unlabelled_states, and a state that was
labelled once keeps its label.
"""

import dagster as dg

from toolsel_assets.graph import SAMPLE, key

#: The checks that say so.
CHECKS = (
    dg.AssetCheckKey(key("samples.sampled_states"), "resampled_from_live_traffic"),
    dg.AssetCheckKey(key("labels.drift"), "label_set_describes_traffic"),
)


@dg.sensor(job=SAMPLE, minimum_interval_seconds=3600)
def sample_is_stale(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Request one run of `sample` for every new evaluation with which one of the two checks fails."""
    found = context.instance.event_log_storage.get_latest_asset_check_execution_by_key(CHECKS)
    failed = {}
    for check in CHECKS:
        record = found.get(check)
        evaluation = record.event.asset_check_evaluation if record and record.event else None
        if record and evaluation is not None and not evaluation.passed:
            failed[check.name] = f"{check.name}: {evaluation.description} ({record.create_timestamp:.0f})"
    if not failed:
        return dg.SkipReason("no check says that the sample is stale")
    state = "; ".join(failed.values())
    if state == context.cursor:
        return dg.SkipReason(f"a new sample was proposed already: {state}")
    request = dg.RunRequest(run_key=state, tags={"toolsel/why": ", ".join(failed)})
    return dg.SensorResult(run_requests=[request], cursor=state)
