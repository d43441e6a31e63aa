"""The assets of stage 6: every scorable choice, judged; and judged again under the other versions of its label set."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from toolsel_assets import INSTRUMENT_VERSION, store
from toolsel_assets.graph import FOLLOWS, materialised, table_asset, table_spec
from toolsel_assets.resources import Workspace
from toolsel_assets.scores.arguments import MISSING, Rules
from toolsel_assets.scores.classify import CONVENTION, field_checks, score_action
from toolsel_assets.scores.tables import ARGUMENT_CHECKS, ARGUMENT_RULES, BRIDGED_ROWS, KIND_MEANINGS, SCORED_ROWS
from toolsel_assets.vocabulary.action import Call, calls_from_json
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


@dg.multi_asset(
    specs=[
        table_spec(table, ["replays.choices", "replays.rung_runs", "labels.label_rows"], automation_condition=FOLLOWS)
        for table in (SCORED_ROWS, ARGUMENT_CHECKS)
    ]
)
def scored_rows(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Judge every scorable choice, and its arguments field by field."""
    rules, folder, tables = workspace.study().rules, workspace.folder("scores"), (SCORED_ROWS, ARGUMENT_CHECKS)
    with workspace.tables() as con:
        with store.row_files(folder, tables) as files:
            for row, checks in judged(store.rows(con, CHOICES), rules):
                files[SCORED_ROWS.name].write(row)
                for check in checks:
                    files[ARGUMENT_CHECKS.name].write(check)
        for table in tables:
            store.load(con, table, [folder / f"{table.name}.parquet"])
            yield materialised(con, table)


@table_asset(ARGUMENT_RULES, ["catalogues.catalogue_tools"])
def argument_rules(workspace: Workspace) -> dg.MaterializeResult[None]:
    """List how every argument of every tool is compared, and which of them nobody has decided."""
    study, path = workspace.study(), workspace.folder("scores", "argument_rules.parquet")
    fields = {
        (tool.name, str(field))
        for catalogue in study.catalogues.values()
        for tool in catalogue.tools
        for field in tool.input_schema.get("properties") or {}
    }
    with workspace.tables() as con:
        with store.RowFile(path, ARGUMENT_RULES) as file:
            for tool, field in sorted(fields):
                declared = study.rules.get(tool, {}).get(field)
                rule = {"rule": declared or "exact", "is_declared": declared is not None}
                file.write({"study": study.name, "tool": tool, "field": field, **rule})
        store.load(con, ARGUMENT_RULES, [path])
        return materialised(con, ARGUMENT_RULES)


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
    # A rung whose requests bring their own tools is in no such list: every label of a request is about the same tools.
    tools = {
        (ladder.name, rung.name): study.catalogue(rung).names
        for ladder in study.ladders
        for rung in ladder.rungs
        if not rung.is_from_request
    }
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
            shown = tools.get((row["ladder"], row["rung"]))
            applies = not prefix or shown is None or label.can_be_served_by(shown)
            found[f"{prefix}expected"] = label.expected
            found[f"{prefix}chosen"] = score.chosen
            found[f"{prefix}correct"] = score.tool_ok if applies else None
            found[f"{prefix}kind"] = str(score.kind) if applies else NOT_APPLICABLE
        reason = score.reason if applies else "the rung's catalogue has nothing that this label accepts"
        yield {**row, **found, "other_reason": reason}


def judged(
    rows: list[dict[str, Any]], rules: Mapping[str, Rules]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the scored row of each choice, and the rows of its arguments; a label is parsed once."""
    labels: dict[str, LabelRow] = {}
    for row in rows:
        text = row.pop("label")
        label = labels.get(text) or labels.setdefault(text, LabelRow.model_validate_json(text))
        calls = calls_from_json(row.pop("calls"))
        found = score_action(calls, label, rules)
        # An agent that gives no arguments has no second figure: its failures and stops alone would make a false one.
        gives_args = row.pop("gives_args")
        args_ok = found.args_ok if gives_args else None
        checks = list(check_rows(row, calls, label, rules)) if gives_args and found.tool_ok and calls else []
        scored = {
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
        yield scored, checks


def check_rows(
    row: Mapping[str, Any], calls: Sequence[Call], label: LabelRow, rules: Mapping[str, Rules]
) -> Iterator[dict[str, Any]]:
    """Give the rows of a choice's arguments."""
    keys = {column.name: row[column.name] for column in ARGUMENT_CHECKS.columns if column.name in row}
    for index, (call, checks) in enumerate(zip(calls, field_checks(calls, label, rules), strict=True)):
        for check in checks:
            yield {
                **keys,
                "call_index": index,
                "tool": call.tool,
                "field": check.field,
                "rule": check.rule,
                "is_declared": check.is_declared,
                "is_ok": check.ok,
                "problem": check.problem,
                "want": as_json(check.want),
                "have": as_json(check.have),
                "shift_minutes": check.shift_minutes,
                "reason": check.reason,
            }


def as_json(value: Any) -> str | None:
    """Write a value for a table, at most its first 500 characters; nothing for a value that is not there."""
    try:
        return None if value is MISSING else json.dumps(value, ensure_ascii=False)[:500]
    except RecursionError:
        return '"(nested too deep to be shown)"'
