"""The checks of stage 5: one change a rung, enough orders of the tools, and every choice there."""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.ladder import FEWEST_SEEDS

#: Tokens of a question from which a provider's prompt cache is expected to hold its beginning.
LARGE_QUESTION = 2048


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


@dg.asset_check(asset=key("replays.choices"), blocking=True)
def choices_are_of_the_catalogue_that_is_listed(workspace: Workspace) -> dg.AssetCheckResult:
    """Every rung was asked with the very catalogue that replays.rungs lists.

    A catalogue that changes while its rungs are asked (a file that is edited, a live server) is seen by the next run.
    """
    query = """
        select distinct rungs.ladder, rungs.rung, rungs.catalogue_hash as listed, choices.catalogue_hash as asked
        from replays.rungs join replays.choices using (ladder, rung) where listed <> asked"""
    return _none_found(workspace, query)


@dg.asset_check(asset=key("replays.rung_runs"))
def one_model_answered(workspace: Workspace) -> dg.AssetCheckResult:
    """In every rung whose agent was asked, the one model that was asked for answered, and no other.

    An identifier that the provider completes with a date is the same model.
    """
    query = """
        select runs.ladder, runs.rung, model_requested, model_served from replays.rung_runs as runs
        join replays.rungs using (ladder, rung)
        where is_asked and model_requested <> '' and n_models_served > 0
          and (n_models_served > 1 or not (model_served = model_requested
               or regexp_full_match(substr(model_served, length(model_requested) + 1), '[-@]\\d{8}')
                  and starts_with(model_served, model_requested)))"""
    return _none_found(workspace, query)


@dg.asset_check(asset=key("replays.rung_runs"))
def prompt_cache_was_used(workspace: Workspace) -> dg.AssetCheckResult:
    """In no rung was everything read at full price that was marked for the provider's prompt cache.

    Beginnings below the provider's smallest size are not kept (1,024 to 4,096 tokens): rungs with small questions are
    not expected to use it.
    """
    query = f"""
        select runs.ladder, runs.rung, n_answers, input_tokens, cache_read_tokens from replays.rung_runs as runs
        join replays.rungs using (ladder, rung)
        where caches and n_answers > n_seeds and input_tokens > {LARGE_QUESTION} * n_answers
          and coalesce(cache_read_tokens, 0) = 0"""
    found = _none_found(workspace, query)
    return dg.AssetCheckResult(passed=found.passed, metadata=found.metadata, severity=dg.AssetCheckSeverity.WARN)


@dg.asset_check(asset=key("replays.rung_runs"))
def few_choices_are_undecided(workspace: Workspace) -> dg.AssetCheckResult:
    """At most max_unscorable_share of a rung's choices ended in a status that cannot be scored."""
    limit = workspace.study().spec.max_unscorable_share
    query = f"select * from replays.rung_runs where n_undecided > {limit!r} * (n_expected - n_not_served)"
    return _none_found(workspace, query)
