"""The assets of stage 5: the rungs, one Parquet file of choices per rung, and the one step that loads them all."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import FOLLOWS, OWNERS, key, materialised, sql_assets, table_asset
from toolsel_assets.graph import RUNGS as RUNG_PARTITIONS
from toolsel_assets.replays.agents import Choice, Request
from toolsel_assets.replays.run import RungPlan, agent_module, choices, make_agent, order_seeds, requests_of
from toolsel_assets.replays.tables import CHOICES, RUNGS
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study
from toolsel_assets.vocabulary.action import calls_from_json
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import Ladder, Rung
from toolsel_assets.vocabulary.problem import BadInput

PROGRESS = logging.getLogger("toolsel.replays")

#: The requests of a label set with their labels and, where they are decisions of the traces, what was done. Read
#: from the stages' Parquet files, so that rungs run beside each other and beside a step that writes the warehouse.
REQUESTS = """
select label_set_version, request_id, slice, messages, label, decision.calls, decision.status, decision.model_served
from read_parquet($requests) as requests join read_parquet($label_rows) as labels using (label_set_version, request_id)
left join read_parquet($decisions) as decision on decision_id = request_id
where starts_with(label_set_version, $label_set || '@') order by request_id
"""

rung_runs = sql_assets("replays", automation_condition=FOLLOWS)


@table_asset(RUNGS, ["labels.label_sets", "labels.label_rows", "catalogues.catalogue_tools"])
def rungs(workspace: Workspace) -> dg.MaterializeResult[None]:
    """List the rungs of all ladders; a ladder that its agent cannot climb is refused here, before anything runs."""
    study, path = workspace.study(), workspace.folder("replays", "rungs.parquet")
    with store.RowFile(path, RUNGS) as file:
        for ladder in study.ladders:
            version, requests = requests_to_ask(workspace, study, ladder)
            for rung in ladder.rungs:
                make_agent(ladder, rung)
                file.write(rung_row(study, ladder, rung, version, len(requests)))
    with workspace.tables() as con:
        store.load(con, RUNGS, [path])
        return materialised(con, RUNGS)


@dg.asset(
    key=["replays", "choices_by_rung"],
    deps=[key("replays.rungs"), key("labels.requests"), key("labels.label_rows"), key("traces.decisions")],
    partitions_def=RUNG_PARTITIONS,
    group_name="replays",
    kinds={"parquet", "python"},
    owners=OWNERS,
)
def choices_by_rung(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult[None]:
    """One Parquet file per rung: its choices, one row per (seed, draw, request).

    A rung whose inputs are as they were keeps its choices and the time at which they were obtained: the same question
    again is no new evidence. Remove the file, or run with --fresh, to ask anew.
    """
    study = workspace.study()
    ladder, rung = study.rung(context.partition_key)
    path = choices_path(workspace, ladder, rung)
    work = plan(workspace, study, ladder, rung)
    expected = len(work.requests) * len(order_seeds(ladder)) * ladder.draws
    kept = is_current(path, work.inputs_hash, expected)
    if not kept:
        with store.RowFile(path, CHOICES) as file:
            for row in choices(work, make_agent(ladder, rung), datetime.now(UTC).replace(tzinfo=None)):
                file.write(row)
    PROGRESS.info("%s: %d choices%s", context.partition_key, expected, " (kept: nothing changed)" if kept else "")
    return dg.MaterializeResult(metadata={"dagster/row_count": expected, "kept": kept, "path": str(path)})


@table_asset(CHOICES, ["replays.choices_by_rung", "replays.rungs"], automation_condition=FOLLOWS)
def all_choices(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Load the files of the rungs that the ladders have now. Every choice there is comes in, complete or not."""
    study = workspace.study()
    paths = [choices_path(workspace, ladder, rung) for ladder in study.ladders for rung in ladder.rungs]
    with workspace.tables() as con:
        store.load(con, CHOICES, [path for path in paths if path.exists()])
        return materialised(con, CHOICES, {"missing_rungs": sum(not path.exists() for path in paths)})


def choices_path(workspace: Workspace, ladder: Ladder, rung: Rung) -> Path:
    """Name the file of a rung's choices."""
    return workspace.folder("replays", ladder.name, f"{rung.name}.parquet")


def is_current(path: Path, inputs_hash: str, expected: int) -> bool:
    """Say whether a file holds the complete choices of these very inputs."""
    if not path.exists():
        return False
    query = "select count(*) as n, max(inputs_hash) as hash from read_parquet($path)"
    found = store.read_files(query, {"path": str(path)})[0]
    return bool(found["n"] == expected and found["hash"] == inputs_hash)


def plan(workspace: Workspace, study: Study, ladder: Ladder, rung: Rung) -> RungPlan:
    """Gather all that a rung's replay needs."""
    version, requests = requests_to_ask(workspace, study, ladder)
    prompt = study.prompts[rung.prompt] if rung.prompt else None
    return RungPlan(study.name, ladder, rung, study.catalogue(rung), prompt, version, requests)


def requests_to_ask(
    workspace: Workspace, study: Study, ladder: Ladder
) -> tuple[str, tuple[tuple[Request, LabelRow], ...]]:
    """Give a ladder's label set version, and the requests of its slices with their labels."""
    files = {name: str(workspace.folder("labels", f"{name}.parquet")) for name in ("requests", "label_rows")}
    files["decisions"] = str(workspace.folder("traces", "decisions.parquet"))
    rows = store.read_files(REQUESTS, {**files, "label_set": ladder.label_set})
    requests = tuple(requests_of([{**row, "logged": logged(row)} for row in rows], ladder))
    if not requests:
        where = f"{study.folder / 'ladders' / ladder.name}.yaml, slices"
        raise BadInput(
            where, f"no request of {ladder.label_set} is in {list(ladder.slices or ())}", "slices of the label set"
        )
    return rows[0]["label_set_version"], requests


def logged(row: dict[str, Any]) -> Choice | None:
    """Give what was done at the time, for a request that is a decision of the traces."""
    if row["status"] is None:
        return None
    return Choice(calls_from_json(row["calls"]), Status(row["status"]), model_served=row["model_served"])


def rung_row(study: Study, ladder: Ladder, rung: Rung, version: str, n_requests: int) -> dict[str, Any]:
    """Give the row of a rung."""
    order, catalogue = ladder.rungs.index(rung), study.catalogue(rung)
    changes = ladder.rungs[order - 1].differences(rung) if order else ()
    return {
        "study": study.name,
        "ladder": ladder.name,
        "rung": rung.name,
        "rung_order": order,
        "is_candidate": rung == ladder.candidate,
        "agent": ladder.agent.name,
        "is_asked": agent_module(ladder).ASKED,
        "model_requested": rung.model,
        "params": json.dumps({**ladder.agent.params, **rung.params}, sort_keys=True),
        "catalogue": catalogue.name,
        "catalogue_hash": catalogue.hash,
        "n_tools": len(catalogue.tools),
        "prompt_hash": study.prompt_hash(rung),
        "criteria": ladder.criteria,
        "label_set_version": version,
        "n_seeds": len(order_seeds(ladder)),
        "n_draws": ladder.draws,
        "n_requests": n_requests,
        "n_changes": len(changes),
        "changes": "; ".join(changes),
    }
