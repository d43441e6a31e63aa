"""The assets of stage 1: each trace file is read once into Parquet, and sql/traces/ is made of all of them."""

import json
from collections.abc import Iterator

import dagster as dg

from toolsel_assets.graph import materialised, newest_decision, sql_assets, table_spec
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study
from toolsel_assets.traces import formats
from toolsel_assets.traces.ingest import Ingest, TraceFile
from toolsel_assets.traces.loading import AS_FILES, Joined, load_tables
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.traces.sources import find
from toolsel_assets.traces.tables import MODEL_CALLS, TABLES
from toolsel_assets.vocabulary.ladder import FROM_REQUEST
from toolsel_assets.vocabulary.problem import BadInput, known_names


@dg.multi_asset(specs=[table_spec(t, [], kind="parquet" if t is MODEL_CALLS else "duckdb") for t in TABLES])
def ingest(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Read every trace file of the study that was not read before."""
    study, folder = workspace.study(), workspace.folder("traces")
    kept = Ingest(folder / "read", lambda: redactor(study), repr(study.spec.redact)).read(trace_files(study))
    with workspace.tables() as con:
        load_tables(con, folder, kept, joined(study))
        newest = newest_decision(con, "select max(started_at) from traces.model_calls")
        for table in TABLES:
            yield materialised(con, table, data_time=newest)


build_traces = sql_assets("traces", as_files=AS_FILES)


def redactor(study: Study) -> Redactor:
    """Make what redacts a study's traces."""
    return Redactor([rule if isinstance(rule, str) else rule.model_dump() for rule in study.spec.redact])


def trace_files(study: Study) -> list[TraceFile]:
    """Find the files of every trace source. A source without a file is an error: an empty glob is a typing mistake."""
    found = []
    for position, source in enumerate(study.spec.traces):
        where = f"{study.folder / 'study.yaml'}, traces.{position}"
        if source.format and source.format not in formats.names():
            known = known_names(source.format, formats.names())
            raise BadInput(f"{where}.format", f"unknown format {source.format!r}", known)
        files = find(source.path, study.folder)
        if not files:
            accepted = f"a file, a directory or a glob relative to {study.folder}, or a url"
            raise BadInput(f"{where}.path", f"no file matches {source.path!r}", accepted)
        collected = source.collected.isoformat() if source.collected else None
        found += [TraceFile(source.name, file.place, file.shown_as, source.format, collected) for file in files]
    return found


def joined(study: Study) -> Joined:
    """Give what the study adds to its traces: catalogues by client and time, retired names, the sampling seed."""
    rules = (
        {
            "study": study.name,
            "priority": priority,
            "client_id": rule.client,
            "since": rule.since,
            "until": rule.until,
            "catalogue_hash": None if rule.catalogue == FROM_REQUEST else study.catalogues[rule.catalogue].hash,
            "sample_seed": study.spec.sample.seed,
        }
        for priority, rule in enumerate(study.spec.catalogue_rules)
    )
    retired = (
        {"retired": name, "tool": rule.tool, "args": json.dumps(rule.args)} for name, rule in study.retired.items()
    )
    return Joined(study.name, tuple(study.catalogues.values()), tuple(rules), tuple(retired))
