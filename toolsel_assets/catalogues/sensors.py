"""The sensor of stage 4: a catalogue that changes starts the rungs that show it.

The cursor holds the hash of every rung's catalogue. The run key contains a counter as well: Dagster remembers a run key
for ever, so that going back to an earlier catalogue would otherwise be dropped without a word.
"""

import json
from typing import Any

import dagster as dg

from toolsel_assets.graph import PREPARE, REPLAY_RUNG, RUNGS, key
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.problem import BadInput


@dg.sensor(jobs=[REPLAY_RUNG, PREPARE], minimum_interval_seconds=30)
def catalogue_changed(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SensorResult | dg.SkipReason:
    """Add a partition for each rung and request a run of those whose catalogue is new or has changed.

    What follows the choices is made again by the automation conditions of the assets, not from here.
    """
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
    tables = dg.RunRequest(
        job_name="prepare",
        run_key=f"catalogues:{counter}",
        asset_selection=[key("catalogues.catalogue_tools"), key("replays.rungs")],
    )
    rungs = [
        dg.RunRequest(job_name="replay_rung", partition_key=name, run_key=f"{name}:{hashes[name]}:{counter}")
        for name in changed
    ]
    return dg.SensorResult(
        run_requests=[tables, *rungs],
        dynamic_partitions_requests=[RUNGS.build_add_request(changed)],
        cursor=json.dumps({"counter": counter, "hashes": hashes}),
    )
