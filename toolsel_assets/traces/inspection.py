"""What a newcomer asks of trace files first: which format, how many decisions, what is missing, what that will cost.

What belongs here: the counts of one reading, and the sentences about what is missing. What does not: reading itself
(ingest.py), the command line (cli/).
"""

import tempfile
from pathlib import Path
from typing import Any

from toolsel_assets import store
from toolsel_assets.traces.ingest import Ingest, TraceFile
from toolsel_assets.traces.loading import Joined, build_tables, load_tables
from toolsel_assets.traces.redact import Redactor
from toolsel_assets.traces.sources import find
from toolsel_assets.vocabulary.problem import BadInput

COUNTS = """
select string_agg(distinct source_format, ', ' order by source_format) as format, count(*) as files,
       sum(n_records) as records, sum(n_decisions) as decisions, sum(n_merged) as merged, sum(n_rejects) as rejects,
       sum(n_no_tool) as no_tool, sum(n_redacted) as redacted
from traces.ingest_files
"""
RUNS = """
select count(distinct run_id) as runs, count(distinct run_id) filter (run_truncated) as runs_truncated,
       count(distinct run_id) filter (parent_run_id is not null) as sub_agent_runs
from traces.decisions
"""
GROUPS = {
    "by_status": "select status as name, count(*) as n from traces.decisions group by 1 order by n desc, 1",
    "merged_by_reason": """select reason as name, sum(n_units) as n from traces.ingest_merged
                           group by 1 order by n desc, 1""",
    "rejects_by_reason": """select reason as name, count(*) as n from traces.ingest_rejects
                            group by 1 order by n desc, 1""",
    "tools": """select tool as name, count(*) as n
                from (select unnest(string_split(action, '|')) as tool from traces.decisions where status = 'called')
                group by 1 order by n desc, 1""",
    "run_id_source": """select run_id_source as name, count(distinct run_id) as n from traces.decisions
                        group by 1 order by n desc, 1""",
    "context_problems": """select context_problem as name, count(*) as n from traces.decisions
                           where context_problem is not null group by 1 order by n desc, 1""",
}
MISSING = """
select count(*) filter (catalogue_source = 'unknown') as catalogue,
       count(*) filter (catalogue_source = 'names_only') as definitions,
       count(*) filter (input_tokens is null) as tokens, count(*) filter (stop_reason is null) as stop_reasons,
       count(*) filter (decided_at is null) as times, count(*) filter (not context_complete) as context,
       count(*) filter (client_id is null) as clients, count(*) filter (not args_complete) as arguments
from traces.decisions
"""
#: What is missing, and what that costs later.
COSTS = {
    "catalogue": "the tools that the model was shown: name a catalogue in study.yaml, or no rung can be replayed",
    "definitions": "definitions of the tools, only names are there: name a catalogue with the same names in study.yaml",
    "context": "messages that the model saw: these count in volumes, and are never sampled, labelled or replayed",
    "stop_reasons": "stop reasons: a stop is concluded from a complete message without a call",
    "tokens": "token counts: costs of the logged agent cannot be told",
    "times": "times: give collected: in study.yaml, or freshness cannot be judged",
    "clients": "who called the agent: catalogues cannot be joined and retired names not counted by client",
    "arguments": "arguments of a streamed call: its arguments are not scored",
}


def inspect(path: str, format_name: str | None = None) -> dict[str, Any]:
    """Read files without a study and give what was found, JSON-ready; `BadInput` when there is no file."""
    files = find(path, Path.cwd())
    if not files:
        raise BadInput(path, "no such file", "a file, a directory, a glob or a url of traces")
    traces = [TraceFile("traces", file.place, file.shown_as, format_name) for file in files]
    with tempfile.TemporaryDirectory(prefix="toolsel") as name:
        folder = Path(name)
        kept = Ingest(folder / "read", lambda: Redactor([])).read(traces)
        with store.connect(folder / "inspect.duckdb") as con:
            load_tables(con, folder, kept, Joined())
            build_tables(con, folder)
            return _found(con)


def _found(con: store.Connection) -> dict[str, Any]:
    counts, runs = store.rows(con, COUNTS)[0], store.rows(con, RUNS)[0]
    groups = {name: {row["name"]: int(row["n"]) for row in store.rows(con, query)} for name, query in GROUPS.items()}
    missing = {name: int(n) for name, n in store.rows(con, MISSING)[0].items() if n}
    found = {"format": counts.pop("format"), **{name: int(n) for name, n in {**counts, **runs}.items()}, **groups}
    rejects = store.rows(con, "select source_file, position, reason, detail from traces.ingest_rejects limit 5")
    return {**found, "missing": missing, "first_rejects": rejects}


def as_text(found: dict[str, Any]) -> str:
    """Say what was found, for people."""
    n = found["decisions"]
    lines = [
        ("format", found["format"] + (f" ({found['files']} files)" if found["files"] > 1 else "")),
        (
            "records",
            f"{found['records']:,} = {n:,} decisions + {found['merged']:,} merged + {found['rejects']:,} rejected",
        ),
        ("runs", f"{found['runs']:,}, of which {found['runs_truncated']:,} end on a call" + _sub_agents(found)),
        ("statuses", _listed(found["by_status"])),
        ("no tool", f"{found['no_tool']:,} of {n:,} decisions" + (f" ({_share(found['no_tool'], n)})" if n else "")),
        ("tools", f"{len(found['tools']):,} called: {_listed(found['tools'], 8)}" if found["tools"] else "none called"),
        ("merged", _listed(found["merged_by_reason"])),
        ("rejected", _listed(found["rejects_by_reason"])),
    ]
    shown = [f"{name:<10} {text}" for name, text in lines if text]
    for reject in found["first_rejects"]:
        shown.append(
            f"           {reject['source_file']}, {reject['position']}: {reject['reason']}, {reject['detail']}"
        )
    for name, text in COSTS.items():
        if count := found["missing"].get(name):
            shown.append(f"{'missing':<10} {text} ({count:,} of {n:,} decisions)")
    if found["context_problems"]:
        shown.append(f"{'':<10} incomplete contexts: {_listed(found['context_problems'])}")
    return "\n".join(shown)


def _sub_agents(found: dict[str, Any]) -> str:
    return f"; {found['sub_agent_runs']:,} are sub-agents'" if found["sub_agent_runs"] else ""


def _listed(counts: dict[str, int], most: int = 99) -> str:
    shown = [f"{name} {n:,}" for name, n in list(counts.items())[:most]]
    return ", ".join(shown) + (", ..." if len(counts) > most else "")


def _share(n: int, total: int) -> str:
    return f"{100 * n / total:.1f} %"
