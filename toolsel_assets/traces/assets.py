"""The assets of stage 1: one pass over the trace files gives four tables."""

from collections.abc import Iterator

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import materialised, newest_decision, table_spec
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study
from toolsel_assets.traces import formats
from toolsel_assets.traces.decisions import Ingest, Joined, TraceFile
from toolsel_assets.traces.tables import DECISIONS, INGEST_FILES, INGEST_REJECTS, MESSAGES, TABLES
from toolsel_assets.vocabulary.problem import BadInput, known_names


@dg.multi_asset(
    specs=[
        table_spec(DECISIONS, []),
        table_spec(MESSAGES, [], kind="parquet"),
        table_spec(INGEST_FILES, []),
        table_spec(INGEST_REJECTS, []),
    ]
)
def ingest(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Read every trace file of the study once."""
    study, folder = workspace.study(), workspace.folder("traces")
    with store.row_files(folder, TABLES) as files:
        Ingest(
            write=lambda table, row: files[table].write(row),
            joined=Joined(study.name, study.catalogues[study.spec.catalogue].hash, study.spec.sample.seed),
        ).read(trace_files(study))
    with workspace.tables() as con:
        for table in (DECISIONS, INGEST_FILES, INGEST_REJECTS):
            store.load(con, table, [folder / f"{table.name}.parquet"])
        newest = newest_decision(con, "select max(decided_at) from traces.decisions")
        for table in (DECISIONS, INGEST_FILES, INGEST_REJECTS):
            yield materialised(con, table, data_time=newest)
    yield dg.MaterializeResult(asset_key=dg.AssetKey(list(MESSAGES.key)))


def trace_files(study: Study) -> list[TraceFile]:
    """Find the files of every trace source. A source without a file is an error: an empty glob is a typing mistake."""
    found = []
    for position, source in enumerate(study.spec.traces):
        where = f"{study.folder / 'study.yaml'}, traces.{position}"
        if source.format and source.format not in formats.names():
            known = known_names(source.format, formats.names())
            raise BadInput(f"{where}.format", f"unknown format {source.format!r}", known)
        base = study.folder
        paths = sorted(path for path in base.glob(source.path) if path.is_file())
        if not paths:
            raise BadInput(f"{where}.path", f"no file matches {source.path!r}", f"a file or a glob relative to {base}")
        decided_at = f"{source.collected.isoformat()} 00:00:00" if source.collected else None
        found += [
            TraceFile(source.name, path, path.relative_to(base).as_posix(), source.format, decided_at) for path in paths
        ]
    return found
