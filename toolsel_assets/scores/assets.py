"""The assets of stage 6: every scorable choice, judged; and judged again under the other versions of its label set."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from toolsel_assets import INSTRUMENT_VERSION, store
from toolsel_assets.graph import FOLLOWS, materialised, table_asset
from toolsel_assets.resources import Workspace
from toolsel_assets.scores.arguments import Rules
from toolsel_assets.scores.classify import CONVENTION, score_action
from toolsel_assets.scores.tables import BRIDGED_ROWS, KIND_MEANINGS, SCORED_ROWS
from toolsel_assets.vocabulary.action import calls_from_json
from toolsel_assets.vocabulary.kind import MEANING, OWNER
from toolsel_assets.vocabulary.label import LabelRow

CHOICES = """
select c.study, c.ladder, c.rung, c.rung_order, c.label_set_version, c.catalogue_hash, r.model_served, r.run_date,
       c.seed, c.draw, c.n_tools, c.prefix, c.request_id, c.slice, c.chosen_action, c.calls, c.gives_args,
       l.row_class, l.expected, l.label
from replays.choices as c
join replays.rung_runs as r using (ladder, rung)
join labels.label_rows as l on l.label_set_version = c.label_set_version and l.request_id = c.request_id
where c.status in ('called', 'stopped')
order by c.ladder, c.rung_order, c.seed, c.draw, c.request_id
"""

#: The kind of a choice under a label that its rung's catalogue cannot serve.
NOT_APPLICABLE = "not_applicable"

#: Every choice beside the label of each version that its own descends from or is an ancestor of, where the request is
#: the same down to its messages.
BRIDGED = """
with recursive ancestors as (
    select label_set_version as version, parent_version as ancestor from labels.label_sets where parent_version <> ''
    union
    select ancestors.version, older.parent_version
    from ancestors join labels.label_sets as older on older.label_set_version = ancestors.ancestor
    where older.parent_version <> ''
),
kin as (
    select version as own, ancestor as other from ancestors union select ancestor, version from ancestors
)
select c.study, c.ladder, c.rung, c.rung_order, c.label_set_version, c.slice, c.seed, c.draw, c.request_id, c.calls,
       kin.other as other_version, l.label, o.label as other_label
from replays.choices as c
join kin on kin.own = c.label_set_version
join labels.label_rows as l on l.label_set_version = c.label_set_version and l.request_id = c.request_id
join labels.label_rows as o on o.label_set_version = kin.other and o.request_id = c.request_id
join labels.requests as own on own.label_set_version = c.label_set_version and own.request_id = c.request_id
join labels.requests as other on other.label_set_version = kin.other and other.request_id = c.request_id
where c.status in ('called', 'stopped') and own.messages = other.messages
order by c.ladder, c.rung_order, c.seed, c.draw, c.request_id, kin.other
"""


@table_asset(SCORED_ROWS, ["replays.choices", "replays.rung_runs", "labels.label_rows"], automation_condition=FOLLOWS)
def scored_rows(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Judge every scorable choice."""
    rules, path = workspace.study().rules, workspace.folder("scores", "scored_rows.parquet")
    with workspace.tables() as con:
        with store.RowFile(path, SCORED_ROWS) as file:
            for row in judged(store.rows(con, CHOICES), rules):
                file.write(row)
        store.load(con, SCORED_ROWS, [path])
        return materialised(con, SCORED_ROWS)


@table_asset(KIND_MEANINGS)
def kind_meanings(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Write down what the kinds mean."""
    path = workspace.folder("scores", "kind_meanings.parquet")
    with workspace.tables() as con:
        with store.RowFile(path, KIND_MEANINGS) as file:
            for order, (kind, meaning) in enumerate(MEANING.items(), start=1):
                file.write({"kind": str(kind), "kind_order": order, "meaning": meaning, "owner": OWNER[kind]})
        store.load(con, KIND_MEANINGS, [path])
        return materialised(con, KIND_MEANINGS)


@table_asset(
    BRIDGED_ROWS,
    ["replays.choices", "labels.label_rows", "labels.label_sets", "labels.requests"],
    automation_condition=FOLLOWS,
)
def bridged_rows(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Judge every scorable choice under the other versions of its label set."""
    study, path = workspace.study(), workspace.folder("scores", "bridged_rows.parquet")
    tools = {(lad.name, rung.name): study.catalogue(rung).names for lad in study.ladders for rung in lad.rungs}
    with workspace.tables() as con:
        with store.RowFile(path, BRIDGED_ROWS) as file:
            for row in bridged(store.rows(con, BRIDGED), study.rules, tools):
                file.write(row)
        store.load(con, BRIDGED_ROWS, [path])
        return materialised(con, BRIDGED_ROWS)


def bridged(
    rows: list[dict[str, Any]], rules: Mapping[str, Rules], tools: Mapping[tuple[str, str], frozenset[str]]
) -> Iterator[dict[str, Any]]:
    """Yield each choice judged under its own label and under another version's.

    Where the rung's catalogue has nothing that the other label accepts, that label does not apply: being without a tool
    is no mistake.
    """
    labels: dict[str, LabelRow] = {}
    for row in rows:
        calls = calls_from_json(row.pop("calls"))
        found: dict[str, Any] = {}
        for prefix, text in (("", row.pop("label")), ("other_", row.pop("other_label"))):
            label = labels.get(text) or labels.setdefault(text, LabelRow.model_validate_json(text))
            score = score_action(calls, label, rules)
            applies = not prefix or label.can_be_served_by(tools[row["ladder"], row["rung"]])
            found[f"{prefix}expected"] = label.expected
            found[f"{prefix}chosen"] = score.chosen
            found[f"{prefix}correct"] = score.tool_ok if applies else None
            found[f"{prefix}kind"] = str(score.kind) if applies else NOT_APPLICABLE
        reason = score.reason if applies else "the rung's catalogue has nothing that this label accepts"
        yield {**row, **found, "other_reason": reason}


def judged(rows: list[dict[str, Any]], rules: Mapping[str, Rules]) -> Iterator[dict[str, Any]]:
    """Yield the scored row of each choice; a label is parsed once."""
    labels: dict[str, LabelRow] = {}
    for row in rows:
        text = row.pop("label")
        label = labels.get(text) or labels.setdefault(text, LabelRow.model_validate_json(text))
        found = score_action(calls_from_json(row.pop("calls")), label, rules)
        # An agent that gives no arguments has no second figure: its failures and stops alone would make a false one.
        args_ok = found.args_ok if row.pop("gives_args") else None
        yield {
            **row,
            "chosen": found.chosen,
            "correct": found.tool_ok,
            "pair": None if found.tool_ok else f"{row['expected']} -> {found.chosen}",
            "kind": str(found.kind),
            "reason": found.reason,
            "tool_ok": found.tool_ok,
            "args_ok": args_ok,
            "convention": CONVENTION,
            "instrument_version": INSTRUMENT_VERSION,
        }
