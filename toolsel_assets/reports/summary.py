"""The short summary that `toolsel run` prints: verdicts, classes, averages, worst tools, worst pairs.

What belongs here: published rows to a few lines of text. What does not: the page (html.py), the figures (sql/).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolsel_assets.reports.html import STATES, Tables, class_order, tools_beside_first
from toolsel_assets.vocabulary.figure import half_up, percent, points

Row = Mapping[str, Any]

WORST = 3


def summary(tables: Tables) -> str:
    """Give the summary of every ladder's candidate."""
    blocks = []
    for verdict in tables.where("verdicts", is_candidate=True):
        blocks.append("\n".join(_ladder(tables, verdict)))
    return "\n\n".join(blocks)


def _ladder(tables: Tables, verdict: Row) -> Iterator[str]:
    ladder, rung = verdict["ladder"], verdict["rung"]
    rungs = tables.where("rungs", ladder=ladder)
    yield f"{ladder}: {' > '.join(row['rung'] for row in rungs)}"
    for row in tables.where("aggregate", ladder=ladder, rung=rung):
        yield from _slice(tables, {"ladder": ladder, "rung": rung, "slice": row["slice"]}, row)
    yield f"  {STATES[verdict['state']]}: {verdict['why']}"


def _slice(tables: Tables, here: dict[str, str], aggregate: Row) -> Iterator[str]:
    yield f"  {here['rung']}, slice {here['slice']}: {aggregate['n_requests']} requests, {aggregate['n']} scored rows"
    for row in class_order(tables.where("per_class", **here)):
        interval = f"{half_up(100 * row['low'])} to {half_up(100 * row['high'])} %"
        counts = f"{row['n_correct']:>4} of {row['n']:<4}"
        yield f"    {row['row_class']:<14}{counts}{percent(row['n_correct'], row['n']):>9}   {interval}"
    averages = tables.where("averages", **here)[0]
    micro, macro = half_up(averages["micro_pct"]), half_up(averages["macro_pct"])
    yield f"    micro-average {micro:>20} %   macro-average {macro} %"
    if aggregate["n_args_scored"]:
        n, d = aggregate["n_args_correct"], aggregate["n_args_scored"]
        yield f"    name and arguments {n:>4} of {d:<4}{percent(n, d):>8}"
    yield from _worst_tools(tables, here)
    yield from _worst_pairs(tables, here)


def _worst_tools(tables: Tables, here: dict[str, str]) -> Iterator[str]:
    found = tools_beside_first(tables, here["ladder"], here)
    dropped = [row for row in found if row["change"] is not None and row["change"] < 0][:WORST]
    for row in dropped:
        before = row["before"]
        change = f"{points(row['change'])} points"
        yield (
            f"    worst tool     {row['expected']}: {before['n_correct']} of {before['n']} on the first rung, "
            f"{row['n_correct']} now ({change})"
        )
    if not dropped:
        for row in sorted(found, key=lambda row: (row["rate"], -row["n"]))[:WORST]:
            if row["n_correct"] < row["n"]:
                yield f"    worst tool     {row['expected']}: {row['n_correct']} of {row['n']}"


def _worst_pairs(tables: Tables, here: dict[str, str]) -> Iterator[str]:
    for row in tables.where("confused_pairs", **here)[:WORST]:
        share = percent(row["n_failures"], row["n_all_failures"])
        yield f"    worst pair     {row['expected']} -> {row['chosen']}: {row['n_failures']} failures ({share})"
