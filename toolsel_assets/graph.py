"""What the assets of every stage have in common: how a table appears in the graph.

What belongs here: a table's asset spec, the metadata of its materialisation, the one step that builds a schema of sql/,
the partitions and the jobs. What does not: what a table holds (the stages), where it lies (store.py).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.resources import Workspace

OWNERS = ["team:evaluation"]

#: One partition per rung, `<ladder>.<rung>`. Order seeds and draws live inside the step.
RUNGS = dg.DynamicPartitionsDefinition(name="rungs")


#: With a daemon running, a table with this condition is made again when a sensor has asked a rung anew, once
#: nothing that it reads is missing.
FOLLOWS = dg.AutomationCondition.eager()

_PARTITIONED = dg.AssetSelection.assets(["replays", "choices_by_rung"])
_LISTS = (
    "replays/rungs",
    "replays/tool_positions",
    "replays/rung_tools",
    "scores/kind_meanings",
    "scores/argument_rules",
)
_BEFORE = dg.AssetSelection.groups("traces", "samples", "labels", "catalogues") | dg.AssetSelection.assets(
    *(name.split("/") for name in (*_LISTS, "verdict/criteria_registry"))
)

# Partitioned and unpartitioned assets do not share a run: `toolsel run` runs these three in turn.
PREPARE = dg.define_asset_job("prepare", _BEFORE, description="Everything that must stand before an agent is asked.")
SAMPLE = dg.define_asset_job(
    "sample",
    dg.AssetSelection.groups("traces", "samples"),
    description="Read the traces and draw the sample: before the first label, and again when traffic has moved.",
)
REPLAY_RUNG = dg.define_asset_job("replay_rung", _PARTITIONED, description="Ask one rung; one partition a rung.")
REPORT = dg.define_asset_job(
    "report",
    dg.AssetSelection.all() - _BEFORE - _PARTITIONED,
    description="Load all choices, judge, report, publish.",
)


def key(full_name: str) -> dg.AssetKey:
    """Give the asset key of `schema.table`."""
    return dg.AssetKey(full_name.split("."))


def table_spec(table: store.Named, deps: Iterable[str], *, kind: str = "duckdb", **more: Any) -> dg.AssetSpec:
    """Describe a table as an asset: its comment is the description, its schema the group."""
    if isinstance(table, store.SqlTable):
        more["code_version"] = sha256(table.select.encode()).hexdigest()[:12]
    return dg.AssetSpec(
        key=dg.AssetKey(list(table.key)),
        deps=[key(name) for name in deps],
        description=table.doc,
        group_name=table.schema,
        kinds={kind, "sql" if isinstance(table, store.SqlTable) else "python"},
        owners=OWNERS,
        **more,
    )


def materialised(
    con: store.Connection,
    table: store.Named,
    metadata: Mapping[str, Any] | None = None,
    data_time: datetime | None = None,
) -> dg.MaterializeResult[None]:
    """Report a table with its rows and columns, and the time of its newest data, which is not that of the run."""
    docs = table.column_docs if isinstance(table, store.SqlTable) else {}
    if isinstance(table, store.Table):
        docs = {column.name: column.doc for column in table.columns}
    schema = dg.TableSchema(
        [dg.TableColumn(name, kind, description=docs.get(name)) for name, kind in store.describe(con, table.full_name)]
    )
    found: dict[str, Any] = {
        "dagster/row_count": store.count(con, table.full_name),
        "dagster/column_schema": dg.MetadataValue.table_schema(schema),
        **(metadata or {}),
    }
    if data_time is not None:
        found["dagster/last_updated_timestamp"] = dg.MetadataValue.timestamp(data_time.replace(tzinfo=UTC).timestamp())
    return dg.MaterializeResult(asset_key=dg.AssetKey(list(table.key)), metadata=found)


def table_asset(
    table: store.Table, deps: Iterable[str] = (), **more: Any
) -> Callable[[Callable[..., dg.MaterializeResult[None]]], dg.AssetsDefinition]:
    """Make an asset of one table that Python fills."""
    made: Callable[[Callable[..., dg.MaterializeResult[None]]], dg.AssetsDefinition] = dg.asset(
        key=list(table.key),
        deps=[key(name) for name in deps],
        description=table.doc,
        group_name=table.schema,
        kinds={"duckdb", "python"},
        owners=OWNERS,
        **more,
    )
    return made


def sql_assets(schema: str, *, as_files: Iterable[str] = (), **spec: Any) -> dg.AssetsDefinition:
    """Make one step of the tables in sql/<schema>/, in the order of what they read.

    One step opens the warehouse once. Any subset can be materialised; each table is an asset of its own. Those named in
    `as_files` are Parquet files in the stage's folder, and views of these.
    """
    tables = store.sql_tables(schema)
    specs = [table_spec(table, sorted(table.reads), skippable=True, **spec) for table in tables]

    @dg.multi_asset(name=f"build_{schema}", specs=specs, can_subset=True)
    def build_tables(context: dg.AssetExecutionContext, workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
        with workspace.tables() as con:
            for table in tables:
                if dg.AssetKey(list(table.key)) in context.selected_asset_keys:
                    is_file = table.name in as_files
                    store.build(con, table, workspace.folder(schema, f"{table.name}.parquet") if is_file else None)
                    yield materialised(con, table)

    return build_tables


def newest_decision(con: store.Connection, query: str) -> datetime | None:
    """Give the one timestamp that a query selects."""
    found = con.execute(query).fetchall()
    return found[0][0] if found else None
