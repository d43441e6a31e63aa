"""The assets of stage 7: every file of sql/reports/, and the published copies that BI tools and people open."""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import FOLLOWS, OWNERS, key, materialised, sql_assets, table_asset
from toolsel_assets.reports.html import Tables, render
from toolsel_assets.reports.production import JUDGED, STRATA, production_rows
from toolsel_assets.reports.tables import PRODUCTION_RATES
from toolsel_assets.resources import Workspace

#: The contract with BI: these tables, flat in `main` of published/bi.duckdb, and one Parquet file each.
PUBLISHED = (
    "traces.decisions",
    "traces.ingest_files",
    "traces.ingest_merged",
    "traces.ingest_rejects",
    "traces.retired_calls",
    "samples.strata",
    "labels.label_sets",
    "labels.label_rows",
    "labels.label_actions",
    "labels.label_changes",
    "labels.labeller_answers",
    "labels.adjudications",
    "labels.disagreements",
    "labels.agreement",
    "labels.drift",
    "labels.unlabelled_states",
    "catalogues.catalogue_tools",
    "catalogues.catalogue_versions",
    "catalogues.catalogue_changes",
    "catalogues.catalogue_problems",
    "replays.rungs",
    "replays.rung_runs",
    "replays.tool_positions",
    "replays.rung_tools",
    "replays.choices",
    "scores.scored_rows",
    "scores.bridged_rows",
    "scores.kind_meanings",
    "scores.argument_checks",
    "reports.aggregate",
    "reports.per_class",
    "reports.averages",
    "reports.per_tool",
    "reports.confused_pairs",
    "reports.flips",
    "reports.seed_spread",
    "reports.draw_spread",
    "reports.position_effect",
    "reports.by_prefix",
    "reports.argument_scores",
    "reports.argument_failures",
    "reports.argument_coverage",
    "reports.kinds",
    "reports.no_tool_breakdown",
    "reports.misroute_reach",
    "reports.needless_cost",
    "reports.repeated_calls",
    "reports.request_correlation",
    "reports.volume_weights",
    "reports.no_tool_shares",
    "reports.production_rates",
    "reports.bridge",
    "reports.comparisons",
    "verdict.criteria_registry",
    "verdict.findings",
    "verdict.verdicts",
)

#: What the page shows.
REPORTED = (
    "traces.ingest_files",
    "samples.strata",
    "labels.label_sets",
    "labels.agreement",
    "labels.drift",
    "replays.rungs",
    "replays.rung_runs",
    "reports.aggregate",
    "reports.per_class",
    "reports.averages",
    "reports.per_tool",
    "reports.confused_pairs",
    "reports.flips",
    "reports.seed_spread",
    "reports.draw_spread",
    "reports.position_effect",
    "reports.by_prefix",
    "reports.argument_scores",
    "reports.argument_failures",
    "reports.argument_coverage",
    "reports.kinds",
    "reports.no_tool_breakdown",
    "reports.misroute_reach",
    "reports.needless_cost",
    "reports.repeated_calls",
    "reports.no_tool_shares",
    "reports.production_rates",
    "reports.bridge",
    "verdict.findings",
    "verdict.verdicts",
)

report_tables = sql_assets("reports", automation_condition=FOLLOWS)


@table_asset(
    PRODUCTION_RATES, ["scores.scored_rows", "samples.sampled_states", "samples.strata"], automation_condition=FOLLOWS
)
def production_rates(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Weight the rates of all rungs back to the traffic."""
    path = workspace.folder("reports", "production_rates.parquet")
    with workspace.tables() as con:
        with store.RowFile(path, PRODUCTION_RATES) as file:
            for row in production_rows(store.rows(con, JUDGED), store.rows(con, STRATA)):
                file.write(row)
        store.load(con, PRODUCTION_RATES, [path])
        return materialised(con, PRODUCTION_RATES)


@dg.asset(
    key=["published", "bi"],
    deps=[key(name) for name in PUBLISHED],
    group_name="reports",
    kinds={"duckdb", "parquet"},
    owners=OWNERS,
    automation_condition=FOLLOWS,
)
def bi(workspace: Workspace) -> dg.MaterializeResult[None]:
    """One DuckDB file and one Parquet file per table, for BI tools and notebooks.

    `published/bi.duckdb` is written in a storage format that DuckDB 1.x clients open, and replaced by renaming: a
    client that stays connected never blocks a run, and a run never breaks a reader.
    """
    folder = workspace.folder("published")
    with workspace.tables() as con:
        counts = store.publish(con, PUBLISHED, folder)
    return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(folder / "bi.duckdb"), **counts})


@dg.asset(
    key=["published", "report"],
    deps=[key(name) for name in REPORTED],
    group_name="reports",
    kinds={"html"},
    owners=OWNERS,
    automation_condition=FOLLOWS,
)
def report(workspace: Workspace) -> dg.MaterializeResult[None]:
    """One HTML page: verdict, classes, averages, tools, pairs, and what the figures must not be used for."""
    path = workspace.folder("published", "report.html")
    tables = reported(workspace)
    temporary = path.with_name(".report.html.tmp")
    temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_text(render(tables), encoding="utf-8")
    temporary.replace(path)
    return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(path)})


def reported(workspace: Workspace) -> Tables:
    """Read the tables that the page and the summary show."""
    with workspace.tables(read_only=True) as con:
        return Tables({name.split(".")[1]: store.rows(con, f"select * from {name}") for name in REPORTED})
