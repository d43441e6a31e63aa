"""The graph, in the order a decision travels. Nothing is computed here.

1 traces, 2 samples, 3 labels, 4 catalogues, 5 replays, 6 scores, 7 reports, 8 verdict. The study is the one that
TOOLSEL_STUDY names (a directory or a shipped example), its data lies where TOOLSEL_DATA says; `toolsel` sets both.
"""

import dagster as dg

import toolsel_assets.catalogues.assets
import toolsel_assets.catalogues.checks
import toolsel_assets.catalogues.sensors
import toolsel_assets.labels.assets
import toolsel_assets.labels.checks
import toolsel_assets.labels.sensors
import toolsel_assets.replays.assets
import toolsel_assets.replays.checks
import toolsel_assets.reports.assets
import toolsel_assets.reports.checks
import toolsel_assets.samples.assets
import toolsel_assets.samples.checks
import toolsel_assets.scores.assets
import toolsel_assets.scores.checks
import toolsel_assets.traces.assets
import toolsel_assets.traces.checks
import toolsel_assets.verdict.assets
import toolsel_assets.verdict.checks
from toolsel_assets.graph import PREPARE, REPLAY_RUNG, REPORT, SAMPLE
from toolsel_assets.resources import workspace_from_environment

ASSETS = [
    toolsel_assets.traces.assets,
    toolsel_assets.samples.assets,
    toolsel_assets.labels.assets,
    toolsel_assets.catalogues.assets,
    toolsel_assets.replays.assets,
    toolsel_assets.scores.assets,
    toolsel_assets.reports.assets,
    toolsel_assets.verdict.assets,
]
CHECKS = [
    toolsel_assets.traces.checks,
    toolsel_assets.samples.checks,
    toolsel_assets.labels.checks,
    toolsel_assets.catalogues.checks,
    toolsel_assets.replays.checks,
    toolsel_assets.scores.checks,
    toolsel_assets.reports.checks,
    toolsel_assets.verdict.checks,
]

defs = dg.Definitions(
    assets=dg.load_assets_from_modules(ASSETS),
    asset_checks=dg.load_asset_checks_from_modules(CHECKS),
    jobs=[SAMPLE, PREPARE, REPLAY_RUNG, REPORT],
    sensors=[
        toolsel_assets.labels.sensors.sample_is_stale,
        toolsel_assets.catalogues.sensors.catalogue_sources_polled,
        toolsel_assets.catalogues.sensors.catalogue_changed,
    ],
    resources={"workspace": workspace_from_environment()},
    # A step in a process of its own imports dagster again: 15 empty assets took 6 s in one process and 99 s in many.
    executor=dg.in_process_executor,
)
