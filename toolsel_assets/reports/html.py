"""The report: one HTML page made of published rows. No script, nothing is fetched, all text is escaped.

What belongs here: which rows go where. What does not: shapes (charts.py), wording and layout (report.html.j2),
figures (sql/).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from toolsel_assets.reports import charts
from toolsel_assets.vocabulary.decision import BUCKETS
from toolsel_assets.vocabulary.figure import half_up, percent, points
from toolsel_assets.vocabulary.kind import MEANING, OWNER

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Tables:
    """The tables that the page shows, by name."""

    by_name: Mapping[str, Sequence[Row]]

    def where(self, table: str, **values: object) -> list[Row]:
        """Give the rows of a table in which columns have these values."""
        return [row for row in self.by_name[table] if all(row[name] == value for name, value in values.items())]


STATES = {
    "accept": "ACCEPT",
    "reject": "REJECT",
    "not_enough_data": "NOT ENOUGH DATA",
    "not_applicable": "not applicable",
    "inadmissible": "INADMISSIBLE",
    "incomplete": "INCOMPLETE",
}


def render(tables: Tables) -> str:
    """Give the page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("toolsel_assets.reports", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(points=points, half_up=half_up)
    environment.globals.update(percent=percent, states=STATES)
    ladders = [ladder_view(tables, verdict) for verdict in tables.where("verdicts", is_candidate=True)]
    return environment.get_template("report.html.j2").render(
        study=tables.by_name["rungs"][0]["study"],
        ladders=ladders,
        strata=sorted(tables.by_name["strata"], key=lambda row: (BUCKETS.index(row["bucket"]), row["part"])),
        parts=any(row["part"] for row in tables.by_name["strata"]),
        no_tool_shares=tables.by_name["no_tool_shares"],
        production=tables.by_name["production_rates"],
        agreement=tables.where("agreement", labellers="all"),
        drift=tables.by_name["drift"],
        bridge=tables.by_name["bridge"],
        label_sets=tables.by_name["label_sets"],
        files=tables.by_name["ingest_files"],
        repeated=[row for row in tables.by_name["repeated_calls"] if row["n_same"] or row["n_wider"]],
        undecided=[
            row for row in tables.by_name["argument_coverage"] if row["status"] != "declared" and row["n_compared"]
        ],
        n_called_tools=len(tables.by_name["repeated_calls"]),
        kinds=[(kind, MEANING[kind], OWNER[kind]) for kind in MEANING],
    )


def ladder_view(tables: Tables, verdict: Row) -> dict[str, Any]:
    """Gather what the page shows of one ladder: its candidate, beside the first rung where there is one."""
    here = {"ladder": verdict["ladder"], "rung": verdict["rung"]}
    slices = sorted({row["slice"] for row in tables.where("aggregate", **here)})
    return {
        "verdict": verdict,
        "rungs": tables.where("rungs", ladder=verdict["ladder"]),
        "runs": tables.where("rung_runs", ladder=verdict["ladder"]),
        "needless": tables.where("needless_cost", **here),
        "others": [row for row in tables.where("verdicts", ladder=verdict["ladder"]) if not row["is_candidate"]],
        "findings": [row for row in tables.where("findings", **here) if row["state"] != "not_applicable"],
        "slices": [slice_view(tables, verdict["ladder"], verdict["rung"], name) for name in slices],
    }


def slice_view(tables: Tables, ladder: str, rung: str, slice_name: str) -> dict[str, Any]:
    """Gather the figures of one slice. Slices are never put together."""
    here = {"ladder": ladder, "rung": rung, "slice": slice_name}
    spread = tables.where("seed_spread", ladder=ladder, slice=slice_name)
    tools = tools_beside_first(tables, ladder, here)
    compares = bool(first_rung(tables, "aggregate", ladder, here))
    return {
        "name": slice_name,
        "compares": compares,
        "aggregate": tables.where("aggregate", **here)[0],
        "averages": tables.where("averages", **here)[0],
        "classes": class_order(tables.where("per_class", **here)),
        "class_chart": Markup(class_chart(tables, ladder, here)),
        "spread": tables.where("seed_spread", **here)[0],
        "draws": tables.where("draw_spread", **here)[0],
        "breakdown": tables.where("no_tool_breakdown", **here),
        "kinds": tables.where("kinds", **here),
        "reach": tables.where("misroute_reach", **here),
        "arguments": tables.where("argument_scores", **here),
        "bad_arguments": tables.where("argument_failures", **here),
        "places": tables.where("position_effect", **here) if asks(tables, ladder) else [],
        "prefixes": tables.where("by_prefix", **here),
        "ladder_chart": Markup(ladder_chart(spread)) if compares else None,
        "tools": tools,
        "pairs": tables.where("confused_pairs", **here)[:12],
        "n_pairs": len(tables.where("confused_pairs", **here)),
        "flips": {name: len(tables.where("flips", **here, direction=name)) for name in ("loss", "gain", "moved")},
    }


def asks(tables: Tables, ladder: str) -> bool:
    """Say whether the agent of a ladder is asked anew, so that places in the list are ours."""
    return any(row["is_asked"] for row in tables.where("rungs", ladder=ladder))


def class_order(rows: Sequence[Row]) -> list[Row]:
    """Order class rows as the essay does: single, several, none."""
    return sorted(rows, key=lambda row: ("single", "several", "none").index(row["row_class"]))


CLASS_NAMES = {"single": "one tool is right", "several": "several tools are right", "none": "no tool is right"}


def class_chart(tables: Tables, ladder: str, here: Mapping[str, str]) -> str:
    """Draw the classes of a rung, with the first rung's rates as ticks."""
    first = {row["row_class"]: row for row in first_rung(tables, "per_class", ladder, here)}

    def before(row: Row) -> float | None:
        found = first.get(row["row_class"])
        return found["rate"] if found and found["n"] == row["n"] else None  # other requests are no comparison

    rows = [
        charts.Bar(
            CLASS_NAMES[row["row_class"]],
            row["n_correct"],
            row["n"],
            row["low"],
            row["high"],
            before(row),
        )
        for row in class_order(tables.where("per_class", **here))
    ]
    return charts.bars(f"Rate by class, {here['ladder']} {here['rung']}, slice {here['slice']}", rows)


def ladder_chart(spread: Sequence[Row]) -> str:
    """Draw the rungs of a ladder."""
    rungs = [charts.Rung(row["rung"], row["mean_rate"], row["lowest"], row["highest"]) for row in spread]
    return charts.ladder(f"Rate by rung, {spread[0]['ladder']}, slice {spread[0]['slice']}", rungs)


def first_rung(tables: Tables, table: str, ladder: str, here: Mapping[str, str]) -> list[Row]:
    """Give the first rung's rows of a slice; none when this is the first rung, or the requests test something new."""
    if here["slice"] != "existing":
        return []
    found = tables.where(table, ladder=ladder, slice=here["slice"], rung_order=0)
    return [row for row in found if row["rung"] != here["rung"]]


def tools_beside_first(tables: Tables, ladder: str, here: Mapping[str, str]) -> list[dict[str, Any]]:
    """Give the tools of a rung, largest loss first, each with the first rung's counts."""
    first = {row["expected"]: row for row in first_rung(tables, "per_tool", ladder, here)}
    found = []
    for row in tables.where("per_tool", **here):
        before = first.get(row["expected"])
        same = before is not None and before["n"] == row["n"]
        change = row["rate"] - before["rate"] if before is not None and same else None
        found.append({**row, "before": before if same else None, "change": change})
    return sorted(found, key=lambda row: (row["change"] or 0, -row["n"], row["expected"]))
