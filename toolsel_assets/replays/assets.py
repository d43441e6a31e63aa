"""The assets of stage 5: the rungs, one Parquet file of choices per rung, and the one step that loads them all."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import FOLLOWS, OWNERS, key, materialised, sql_assets, table_asset, table_spec
from toolsel_assets.graph import RUNGS as RUNG_PARTITIONS
from toolsel_assets.replays.agents import Agent, Choice, MustStop, RemoteAgent, Request
from toolsel_assets.replays.book import Book
from toolsel_assets.replays.ledger import Ledger, exclusive, now
from toolsel_assets.replays.refusals import check_ladder, difference
from toolsel_assets.replays.run import (
    Row,
    RungPlan,
    agent_module,
    at_once,
    choices,
    make_agent,
    order_seeds,
    requests_of,
    setup_of,
    tools_in_order,
)
from toolsel_assets.replays.tables import CHOICES, RUNG_TOOLS, RUNGS, TOOL_POSITIONS
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study
from toolsel_assets.vocabulary.action import calls_from_json
from toolsel_assets.vocabulary.decision import Status
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import Ladder, Rung
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import order_hash

PROGRESS = logging.getLogger("toolsel.replays")

#: The requests of a label set with their labels and, where they are decisions of the traces, what was done. Read
#: from the stages' Parquet files, so that rungs run beside each other and beside a step that writes the warehouse.
REQUESTS = """
select label_set_version, request_id, slice, messages, tools, label, decision.calls, decision.status,
       decision.model_served,
       decision.input_tokens, decision.cache_read_tokens, decision.cache_write_tokens, decision.output_tokens,
       decision.latency_ms
from read_parquet($requests) as requests join read_parquet($label_rows) as labels using (label_set_version, request_id)
left join read_parquet($decisions) as decision on decision_id = request_id
where starts_with(label_set_version, $label_set || '@') order by request_id
"""

#: What list_rungs writes.
LISTS = (RUNGS, TOOL_POSITIONS, RUNG_TOOLS)

#: What is known of a logged decision beside what it chose.
MEASURED = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "latency_ms")

rung_runs = sql_assets("replays", automation_condition=FOLLOWS)


@dg.multi_asset(
    specs=[
        table_spec(table, ["labels.label_sets", "labels.label_rows", "catalogues.catalogue_tools"], skippable=True)
        for table in LISTS
    ],
    name="list_rungs",
    can_subset=True,  # a sensor asks for one of them; both are written, since they are one look at the ladders
)
def list_rungs(context: dg.AssetExecutionContext, workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """List the rungs of all ladders; a ladder that its agent cannot climb is refused here, before anything runs."""
    study = workspace.study()
    found: dict[str, list[Row]] = {table.name: [] for table in LISTS}
    for ladder in study.ladders:
        version, requests = requests_to_ask(workspace, study, ladder)
        check_ladder(study, ladder, requests, released=is_released(workspace, version))
        for rung in ladder.rungs:
            found[RUNGS.name].append(rung_row(study, ladder, rung, version, len(requests)))
            found[TOOL_POSITIONS.name] += position_rows(study, ladder, rung)
            found[RUNG_TOOLS.name] += tool_rows(study, ladder, rung)
    with workspace.tables() as con:
        for table in LISTS:
            path = workspace.folder("replays", f"{table.name}.parquet")
            with store.RowFile(path, table) as file:
                for row in found[table.name]:
                    file.write(row)
            store.load(con, table, [path])
            if dg.AssetKey(list(table.key)) in context.selected_asset_keys:
                yield materialised(con, table)


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
    again is no new evidence. Answers that cost something come from the ledger where it has them, and are asked and
    written there where it has not; a question that got no answer is asked again by the next run.
    """
    study = workspace.study()
    ladder, rung = study.rung(context.partition_key)
    path = choices_path(workspace, ladder, rung)
    work = plan(workspace, study, ladder, rung)
    agent = make_agent(ladder, rung, study.folder)
    if not isinstance(agent, RemoteAgent):
        found = answer_at_once(work, agent, path)
    else:
        found = answer_from_ledger(workspace, study, work, agent, path)
    PROGRESS.info("%s: %s", context.partition_key, found.pop("said"))
    return dg.MaterializeResult(metadata={"dagster/row_count": work.n_choices, "path": str(path), **found})


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


def answer_at_once(work: RungPlan, agent: Agent, path: Path) -> dict[str, Any]:
    """Write the choices of an agent that costs nothing, unless they stand there."""
    kept = is_current(path, work.inputs_hash, work.n_choices)
    if not kept:
        with store.RowFile(path, CHOICES) as file:
            for row in choices(work, at_once(work, agent), now()):
                file.write(row)
    return {"kept": kept, "said": f"{work.n_choices} choices{' (kept: nothing changed)' if kept else ''}"}


def answer_from_ledger(
    workspace: Workspace, study: Study, work: RungPlan, agent: RemoteAgent, path: Path
) -> dict[str, Any]:
    """Ask what the ledger does not know, and write all choices. One process asks at a time."""
    prices, place = study.spec.prices, ledger_path(workspace)

    def progress(text: str) -> None:
        PROGRESS.info("%s: %s", work.partition, text)

    with exclusive(place, progress), Ledger(place) as ledger:
        book = Book(work, agent, ledger)
        n_known = len(book.known)
        if n_known and n_known < book.n_questions:
            progress(f"{n_known} of {book.n_questions} answers are in the ledger")
        try:
            tally = book.ask(study.spec.budget, prices, progress)
        except MustStop as reason:
            raise BadInput(work.partition, str(reason), "answers so far are kept; run again to go on") from reason
        with store.RowFile(path, CHOICES) as file:
            for row in choices(work, book.answered(prices), now()):
                file.write(row)
    said = f"{work.n_choices} choices, {n_known} of {book.n_questions} answers from the ledger"
    measured = {"from_ledger": n_known, "asked": tally.answered, "without_an_answer": tally.failed}
    return {**measured, "usd": round(tally.usd, 6), "said": said}


def ledger_path(workspace: Workspace) -> Path:
    """Name the ledger: one per data directory, kept by `--fresh`."""
    return workspace.folder("ledger", "ledger.sqlite")


def is_released(workspace: Workspace, version: str) -> bool:
    """Say whether a label set version is released."""
    query = "select is_released from read_parquet($path) where label_set_version = $version"
    found = store.read_files(query, {"path": str(workspace.folder("labels", "label_sets.parquet")), "version": version})
    return bool(found and found[0]["is_released"])


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
    return RungPlan(study.name, ladder, rung, study.catalogue(rung), prompt, version, requests, study.folder)


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
    calls, status = calls_from_json(row["calls"]), Status(row["status"])
    return Choice(calls, status, model_served=row["model_served"], measures={name: row[name] for name in MEASURED})


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
        "n_tools": None if rung.is_from_request else len(catalogue.tools),
        "prompt_hash": study.prompt_hash(rung),
        "criteria": ladder.criteria,
        "label_set_version": version,
        "n_seeds": len(order_seeds(ladder)),
        "n_draws": ladder.draws,
        "n_requests": n_requests,
        "tool_order": ladder.order,
        "caches": bool(getattr(setup_of(ladder, rung, study.folder).settings, "cache", False)),
        "n_changes": len(changes),
        "changes": "; ".join(changes),
        "difference": difference(study, ladder.rungs[order - 1], rung) if order else "",
    }


def rung_keys(study: Study, ladder: Ladder, rung: Rung) -> Row:
    """Give what every row of a rung begins with."""
    return {
        "study": study.name,
        "ladder": ladder.name,
        "rung": rung.name,
        "rung_order": ladder.rungs.index(rung),
        "catalogue_hash": study.catalogue(rung).hash,
    }


def tool_rows(study: Study, ladder: Ladder, rung: Rung) -> Iterator[Row]:
    """Give what each tool of a rung can reach."""
    keys = rung_keys(study, ladder, rung)
    for tool in study.catalogue(rung).tools:
        effect, source = study.effect_of(tool)
        yield {**keys, "tool": tool.name, "effect": effect, "effect_source": source}


def position_rows(study: Study, ladder: Ladder, rung: Rung) -> Iterator[Row]:
    """Give the place of each tool in each order of a rung."""
    catalogue = study.catalogue(rung)
    keys = {**rung_keys(study, ladder, rung), "n_tools": len(catalogue.tools)}
    for seed in order_seeds(ladder):
        tools = tools_in_order(ladder, catalogue, seed)
        order = {"seed": seed, "order_hash": order_hash(tools)}
        for position, tool in enumerate(tools, start=1):
            yield {**keys, **order, "tool": tool.name, "position": position}
