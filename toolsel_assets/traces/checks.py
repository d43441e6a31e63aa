"""The checks of stage 1: nothing is lost, and little could not be read."""

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import key
from toolsel_assets.resources import Workspace


@dg.asset_check(asset=key("traces.ingest_files"), blocking=True)
def every_record_is_accounted_for(workspace: Workspace) -> dg.AssetCheckResult:
    """The records of every file, counted without reading them, are its decisions, its merged units and its rejects."""
    query = """
    select coalesce(sum(abs(n_records - n_decisions - n_merged - n_rejects)), 0) as unaccounted_for,
           coalesce(sum(n_rejects), 0) - (select count(*) from traces.ingest_rejects) as rejects_missing,
           coalesce(sum(n_decisions), 0) - (select count(distinct decision_id) from traces.decisions)
               as decisions_missing,
           (select count(*) from traces.decisions) as n_decisions
    from traces.ingest_files
    """
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, query)[0]
    books = {name: int(value) for name, value in found.items()}
    passed = books.pop("n_decisions") > 0 and not any(books.values())
    return dg.AssetCheckResult(passed=passed, metadata=books)


@dg.asset_check(asset=key("traces.ingest_files"))
def few_records_are_unreadable(workspace: Workspace) -> dg.AssetCheckResult:
    """Few records are unreadable, few decisions have no scorable status, and few cannot be replayed: see study.yaml."""
    spec = workspace.study().spec
    query = """
    select rate(sum(n_rejects), sum(n_records)) as reject_share,
           rate(sum(n_unscorable), sum(n_decisions)) as unscorable_share,
           rate(sum(n_unreplayable), sum(n_decisions)) as unreplayable_share
    from traces.ingest_files
    """
    with workspace.tables(read_only=True) as con:
        found = store.rows(con, query)[0]
    limits = {
        "reject_share": spec.max_reject_share,
        "unscorable_share": spec.max_unscorable_share,
        "unreplayable_share": spec.max_unreplayable_share,
    }
    passed = all(found[name] is not None and found[name] <= limit for name, limit in limits.items())
    metadata = {**found, **{f"max_{name}": limit for name, limit in limits.items()}}
    return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)
