"""The assets of stage 3: every label set version of the study, linted, hashed and joined to its messages; and drift."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import materialised, newest_decision, sql_assets, table_asset, table_spec
from toolsel_assets.labels.agreement import agreement
from toolsel_assets.labels.contexts import Contexts
from toolsel_assets.labels.rows import (
    adjudication_rows,
    answer_row,
    disagreement_rows,
    label_actions,
    label_row,
    label_set_row,
)
from toolsel_assets.labels.tables import (
    ADJUDICATIONS,
    AGREEMENT,
    DISAGREEMENTS,
    DRIFT,
    LABEL_ACTIONS,
    LABEL_ROWS,
    LABEL_SETS,
    LABELLER_ANSWERS,
    REQUESTS,
)
from toolsel_assets.labels.traffic import drift_rows
from toolsel_assets.labels.versions import LabelSet, read_label_set, version_names
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.problem import BadInput, known_names

Row = dict[str, Any]
TABLES = (
    LABEL_SETS,
    LABEL_ROWS,
    LABEL_ACTIONS,
    REQUESTS,
    LABELLER_ANSWERS,
    ADJUDICATIONS,
    DISAGREEMENTS,
    AGREEMENT,
)
READS = ["samples.sampled_states", "traces.decisions", "traces.model_calls"]

CONTEXTS = """
select kind, context_id, n_messages, form, messages from traces.model_calls
where messages is not null and context_id in (select unnest($1))
"""

label_tables = sql_assets("labels")


@dg.multi_asset(specs=[table_spec(table, READS) for table in TABLES])
def label_sets(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Load every version of the study's label sets."""
    study, folder = workspace.study(), workspace.folder("labels")
    labels, used = study.folder / "labels", {ladder.label_set for ladder in study.ladders}
    names = version_names(labels)
    if missing := sorted(used - set(names)):
        raise BadInput(
            str(labels / missing[0] / "labels.jsonl"), "there is no such file", known_names(missing[0], names)
        )
    found = {name: read_label_set(labels / name, study.tool_names) for name in names}
    with workspace.tables() as con, store.row_files(folder, TABLES) as files:
        for label_set in found.values():
            parent = found[label_set.record.parent].version if label_set.record.parent in found else ""
            traced = traced_messages(con, [row.id for row in label_set.rows])
            write_label_set(files, study.name, label_set, parent, traced, is_used=label_set.name in used)
            for row in label_set.rows:
                messages = request_messages(row, traced, str(labels / label_set.name))
                key = {"label_set_version": label_set.version, "request_id": row.id}
                tools = None if row.tools is None else json.dumps(row.tools, ensure_ascii=False)
                files["requests"].write({**key, "messages": messages, "tools": tools})
    with workspace.tables() as con:
        for table in TABLES:
            store.load(con, table, [folder / f"{table.name}.parquet"])
        newest = newest_decision(con, "select max(newest_decided_at) from labels.label_sets")
        for table in TABLES:
            yield materialised(con, table, data_time=newest)


@table_asset(DRIFT, ["labels.label_sets", "traces.decisions"])
def drift(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Compare the latest traffic with what each used label set was drawn from."""
    study, path = workspace.study(), workspace.folder("labels", "drift.parquet")
    with workspace.tables() as con:
        with store.RowFile(path, DRIFT) as file:
            used = store.rows(con, "select * from labels.label_sets where is_used order by label_set_version")
            for row in drift_rows(lambda query, values: store.rows(con, query, values), used, study.spec.freshness):
                file.write(row)
        store.load(con, DRIFT, [path])
        return materialised(con, DRIFT)


def traced_messages(con: store.Connection, ids: list[str]) -> dict[str, Row]:
    """Find the messages and the time of decisions of the traces, reading only their contexts."""
    query = """
    select decision_id, context_id, n_messages, decided_at from traces.decisions
    where decision_id in (select unnest($1)) and context_complete
    """
    found = store.rows(con, query, [ids])
    contexts = Contexts()
    wanted = {row["context_id"] for row in found}
    while wanted:
        rows = store.rows(con, CONTEXTS, [sorted(wanted)])
        contexts.add(rows)
        wanted = contexts.missing() if rows else set()
    traced = {}
    for row in found:
        messages = contexts.seen(row["context_id"], row["n_messages"])
        if messages is not None:
            traced[row["decision_id"]] = {**row, "messages": json.dumps(messages, ensure_ascii=False)}
    return traced


def write_label_set(
    files: Mapping[str, store.RowFile],
    study: str,
    found: LabelSet,
    parent: str,
    traced: Mapping[str, Row],
    *,
    is_used: bool,
) -> None:
    """Write one version to the stage's files, all but its messages."""
    keys = {"study": study, "label_set_version": found.version}
    times = [row["decided_at"] for row in traced.values() if row["decided_at"]]
    files["label_sets"].write({**keys, **label_set_row(found, parent, times, len(traced), is_used=is_used)})
    for row in found.rows:
        files["label_rows"].write({**keys, **label_row(row), "from_traces": row.id in traced})
        for action in label_actions(row):
            files["label_actions"].write({**keys, **action})
    for answers in found.answers.values():
        for answer in answers:
            files["labeller_answers"].write({**keys, **answer_row(answer)})
    for values in adjudication_rows(found.adjudications):
        files["adjudications"].write({**keys, **values})
    for values in disagreement_rows(found):
        files["disagreements"].write({**keys, **values})
    by_state = {name: {answer.id: answer for answer in answers} for name, answers in found.answers.items()}
    for one in agreement(by_state):
        files["agreement"].write({**keys, **asdict(one)})


def request_messages(row: LabelRow, traced: Mapping[str, Row], where: str) -> str:
    """Give the messages to replay: the row's own, else those of its decision; the summary alone is not replayed."""
    if row.messages:
        return json.dumps(row.messages, ensure_ascii=False)
    if row.id in traced:
        return str(traced[row.id]["messages"])
    raise BadInput(
        where, f"row {row.id} has no messages and is no decision of the traces", "messages, or a decision_id"
    )
