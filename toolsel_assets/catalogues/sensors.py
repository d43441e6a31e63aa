"""The sensor of stage 4: a catalogue that changes starts the rungs that show it.

The cursor holds the hash of every rung's catalogue. The run key contains a counter as well: Dagster remembers a run key
for ever, so that going back to an earlier catalogue would otherwise be dropped without a word.
"""

import json
from typing import Any

import dagster as dg

from toolsel_assets.graph import RUNGS
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.problem import BadInput


@dg.sensor(job_name="replay_rung", minimum_interval_seconds=30)
def catalogue_changed(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SensorResult | dg.SkipReason:
    """Add a partition for each rung and request a run of those whose catalogue is new or has changed."""
    try:
        study = workspace.study()
    except BadInput as problem:
        return dg.SkipReason(f"the study cannot be read: {problem}")
    seen: dict[str, Any] = json.loads(context.cursor or '{"counter": 0, "hashes": {}}')
    hashes = {ladder.partition(rung): study.catalogue(rung).hash for ladder in study.ladders for rung in ladder.rungs}
    changed = [name for name, found in hashes.items() if seen["hashes"].get(name) != found]
    if not changed:
        return dg.SkipReason(f"the catalogues of {len(hashes)} rungs are as they were")
    counter = seen["counter"] + 1
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(partition_key=name, run_key=f"{name}:{hashes[name]}:{counter}") for name in changed
        ],
        dynamic_partitions_requests=[RUNGS.build_add_request(changed)],
        cursor=json.dumps({"counter": counter, "hashes": hashes}),
    )
