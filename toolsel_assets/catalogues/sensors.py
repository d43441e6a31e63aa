"""The sensors of stage 4: live sources are polled, and a catalogue that changes starts the rungs that show it.

The first writes what servers list to the data directory; the second sees every change there and in the study's files.
Its cursor holds the hash of every rung's catalogue, and how many versions the tables were asked to show. The run key
contains a counter as well: Dagster remembers a run key for ever, so that going back to an earlier catalogue would
otherwise be dropped without a word.
"""

import json
from pathlib import Path
from typing import Any

import dagster as dg

from toolsel_assets.catalogues.assets import TABLES, register_catalogues
from toolsel_assets.catalogues.snapshots import fetch
from toolsel_assets.catalogues.versions import read_versions
from toolsel_assets.graph import PREPARE, REPLAY_RUNG, RUNGS, key
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.problem import BadInput

#: Dagster ends a tick after 60 s; a source that needs longer is fetched by `toolsel catalogue fetch`.
LONGEST_POLL = 45.0


@dg.sensor(minimum_interval_seconds=60)
def catalogue_sources_polled(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SkipReason:
    """Ask every live source for its tools and save what came; the tick fails when one of them gave none.

    Requests no run: what has changed is seen by catalogue_changed.
    """
    found = fetch(Path(workspace.study_dir), workspace.snapshots, most_s=LONGEST_POLL)
    found.raise_failures()
    if not found.n_tools:
        return dg.SkipReason("the study has no live source (catalogues/<name>.mcp.yaml)")
    listed = ", ".join(f"{name} ({n} tools)" for name, n in found.n_tools.items())
    changed = f"new or changed: {', '.join(found.changed)}" if found.changed else "nothing has changed"
    return dg.SkipReason(f"asked {listed}; {changed}")


@dg.sensor(jobs=[REPLAY_RUNG, PREPARE], minimum_interval_seconds=30)
def catalogue_changed(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SensorResult | dg.SkipReason:
    """Register new versions, add a partition for each rung, and request a run of those whose catalogue has changed.

    A change that no model sees (order in the file, annotations) or no rung shows is a version, and asks no rung again.
    What follows the choices is made again by the automation conditions of the assets, not from here.
    """
    try:
        study = workspace.study()
    except BadInput as problem:
        return dg.SkipReason(f"the study cannot be read: {problem}")
    register_catalogues(study, workspace.folder("catalogues"))
    n_versions = len(read_versions(workspace.folder("catalogues")))
    seen: dict[str, Any] = json.loads(context.cursor or '{"counter": 0, "hashes": {}}')
    hashes = {ladder.partition(rung): study.catalogue(rung).hash for ladder in study.ladders for rung in ladder.rungs}
    changed = [name for name, found in hashes.items() if seen["hashes"].get(name) != found]
    if not changed and n_versions == seen.get("n_versions"):
        return dg.SkipReason(f"the catalogues of {len(hashes)} rungs are as they were")
    counter = seen["counter"] + 1
    tables = dg.RunRequest(
        job_name="prepare",
        run_key=f"catalogues:{counter}",
        asset_selection=[*(key(table.full_name) for table in TABLES), key("replays.rungs")],
    )
    rungs = [
        dg.RunRequest(job_name="replay_rung", partition_key=name, run_key=f"{name}:{hashes[name]}:{counter}")
        for name in changed
    ]
    return dg.SensorResult(
        run_requests=[tables, *rungs],
        dynamic_partitions_requests=[RUNGS.build_add_request(changed)] if changed else [],
        cursor=json.dumps({"counter": counter, "hashes": hashes, "n_versions": n_versions}),
    )
