"""The assets of stage 3: every label set version that a ladder uses, linted, hashed and joined to its messages."""

import json
from collections.abc import Iterator
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import materialised, newest_decision, table_spec
from toolsel_assets.labels.contexts import Contexts
from toolsel_assets.labels.tables import LABEL_ACTIONS, LABEL_ROWS, LABEL_SETS, REQUESTS
from toolsel_assets.labels.versions import LabelSet, read_label_set
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.label import LabelRow, RowClass
from toolsel_assets.vocabulary.problem import BadInput

Row = dict[str, Any]
TABLES = (LABEL_SETS, LABEL_ROWS, LABEL_ACTIONS, REQUESTS)
READS = ["samples.sampled_states", "traces.decisions", "traces.model_calls"]

CONTEXTS = """
select kind, context_id, n_messages, form, messages from traces.model_calls
where messages is not null and context_id in (select unnest($1))
"""


@dg.multi_asset(specs=[table_spec(table, READS) for table in TABLES])
def label_sets(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Load the label sets of all ladders."""
    study, folder = workspace.study(), workspace.folder("labels")
    names = sorted({ladder.label_set for ladder in study.ladders})
    found = [read_label_set(study.folder / "labels" / name, study.tool_names) for name in names]
    with workspace.tables() as con, store.row_files(folder, TABLES) as files:
        for label_set in found:
            messages = traced_messages(con, label_set)
            write_label_set(files, study.name, label_set, messages, str(study.folder / "labels" / label_set.name))
    with workspace.tables() as con:
        for table in TABLES:
            store.load(con, table, [folder / f"{table.name}.parquet"])
        newest = newest_decision(con, "select max(newest_decided_at) from labels.label_sets")
        for table in TABLES:
            yield materialised(con, table, data_time=newest)


def traced_messages(con: store.Connection, label_set: LabelSet) -> dict[str, Row]:
    """Find the messages and the time of the rows that are decisions of the traces, reading only their contexts."""
    query = """
    select decision_id, context_id, n_messages, decided_at from traces.decisions
    where decision_id in (select unnest($1)) and context_complete
    """
    found = store.rows(con, query, [[row.id for row in label_set.rows]])
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
    files: dict[str, store.RowFile], study: str, label_set: LabelSet, traced: dict[str, Row], where: str
) -> None:
    """Write one label set to the stage's four files."""
    keys = {"study": study, "label_set_version": label_set.version}
    classes = label_set.class_counts()
    times = [row["decided_at"] for row in traced.values() if row["decided_at"]]
    files["label_sets"].write(
        {
            **keys,
            "content_hash": label_set.content_hash,
            "n_rows": len(label_set.rows),
            **{f"n_{name}": classes[name] for name in RowClass},
            "n_sampled": len(traced),
            "n_labellers": len({reader for row in label_set.rows for reader in row.labelled_by}),
            "newest_decided_at": max(times, default=None),
        }
    )
    for row in label_set.rows:
        files["label_rows"].write({**keys, **label_row(row), "from_traces": row.id in traced})
        for action in label_actions(row):
            files["label_actions"].write({**keys, **action})
        messages = request_messages(row, traced, where)
        version = {"label_set_version": label_set.version, "request_id": row.id}
        files["requests"].write({**version, "messages": messages})


def label_row(row: LabelRow) -> Row:
    """Give the row of label_rows."""
    return {
        "request_id": row.id,
        "slice": row.slice,
        "row_class": str(row.row_class),
        "expected": row.expected,
        "valid_tools": "|".join(sorted({action.tool or NO_TOOL for action in row.valid_actions})),
        "forbidden_tools": "|".join(sorted(row.forbidden_actions)),
        "reply": "|".join(sorted({action.reply for action in row.valid_actions if action.reply})),
        "labelled_by": "|".join(row.labelled_by),
        "label": row.model_dump_json(exclude={"messages"}, exclude_none=False),
    }


def label_actions(row: LabelRow) -> Iterator[Row]:
    """Yield the rows of label_actions."""
    for position, action in enumerate(row.valid_actions):
        args = "" if action.args is None else json.dumps(action.args, ensure_ascii=False)
        extra = {"is_forbidden": False, "args": args, "reply": action.reply, "reason": action.reason}
        yield {"request_id": row.id, "position": position, "action": action.tool or NO_TOOL, **extra}
    for position, tool in enumerate(row.forbidden_actions, start=len(row.valid_actions)):
        yield {"request_id": row.id, "position": position, "action": tool, "is_forbidden": True, "args": ""}


def request_messages(row: LabelRow, traced: dict[str, Row], where: str) -> str:
    """Give the messages to replay: the row's own, else those of its decision; the summary alone is not replayed."""
    if row.messages:
        return json.dumps(row.messages, ensure_ascii=False)
    if row.id in traced:
        return str(traced[row.id]["messages"])
    raise BadInput(
        where, f"row {row.id} has no messages and is no decision of the traces", "messages, or a decision_id"
    )
