"""The checks of stage 5: one change a rung, enough orders of the tools, and every choice there."""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.ladder import FEWEST_SEEDS


def _none_found(workspace: Workspace, query: str) -> dg.AssetCheckResult:
    """Pass when a query for offending rungs finds none and there are rungs at all."""
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, query)
        n_rungs = store.count(con, "replays.rungs")
    metadata = {f"{row['ladder']}.{row['rung']}": str(row) for row in found}
    return dg.AssetCheckResult(passed=n_rungs > 0 and not found, metadata={"n_rungs": n_rungs, **metadata})


@dg.asset_check(asset=key("replays.rungs"), blocking=True)
def one_change_per_rung(workspace: Workspace) -> dg.AssetCheckResult:
    """Every rung above the first differs from its neighbour in exactly one respect."""
    return _none_found(workspace, "select * from replays.rungs where rung_order > 0 and n_changes <> 1")


@dg.asset_check(asset=key("replays.rungs"), blocking=True)
def at_least_three_order_seeds(workspace: Workspace) -> dg.AssetCheckResult:
    """Every rung whose agent is asked anew is asked in at least three orders of the tools."""
    return _none_found(workspace, f"select * from replays.rungs where is_asked and n_seeds < {FEWEST_SEEDS}")


@dg.asset_check(asset=key("replays.rung_runs"), blocking=True)
def choices_are_complete(workspace: Workspace) -> dg.AssetCheckResult:
    """Every rung has one choice per request, seed and draw: none missing, none twice."""
    query = "select * from replays.rung_runs where n_choices <> n_expected or n_distinct <> n_expected"
    return _none_found(workspace, query)


@dg.asset_check(asset=key("replays.rung_runs"))
def few_choices_are_undecided(workspace: Workspace) -> dg.AssetCheckResult:
    """At most max_unscorable_share of a rung's choices ended in a status that cannot be scored."""
    limit = workspace.study().spec.max_unscorable_share
    query = f"select * from replays.rung_runs where n_undecided > {limit!r} * (n_expected - n_not_served)"
    return _none_found(workspace, query)
