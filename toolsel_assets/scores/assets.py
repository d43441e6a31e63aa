"""The asset of stage 6: every scorable choice, judged."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from toolsel_assets import INSTRUMENT_VERSION, store
from toolsel_assets.graph import FOLLOWS, materialised, table_asset
from toolsel_assets.resources import Workspace
from toolsel_assets.scores.arguments import Rules
from toolsel_assets.scores.classify import CONVENTION, score_action
from toolsel_assets.scores.tables import SCORED_ROWS
from toolsel_assets.vocabulary.action import calls_from_json
from toolsel_assets.vocabulary.label import LabelRow

CHOICES = """
select c.study, c.ladder, c.rung, c.rung_order, c.label_set_version, c.catalogue_hash, r.model_served, r.run_date,
       c.seed, c.draw, c.n_tools, c.request_id, c.slice, c.chosen_action, c.calls, c.gives_args,
       l.row_class, l.expected, l.label
from replays.choices as c
join replays.rung_runs as r using (ladder, rung)
join labels.label_rows as l on l.label_set_version = c.label_set_version and l.request_id = c.request_id
where c.status in ('called', 'stopped')
order by c.ladder, c.rung_order, c.seed, c.draw, c.request_id
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
