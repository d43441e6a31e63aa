"""The assets of stage 8: the register of criteria, the findings of their rules, and the verdicts."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.graph import FOLLOWS, materialised, table_asset, table_spec
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study, criteria_hash
from toolsel_assets.verdict.commitment import Registration, current, register, why_inadmissible
from toolsel_assets.verdict.evidence import Evidence, by_rung, requests_of
from toolsel_assets.verdict.rules import Finding, apply_rules, overall
from toolsel_assets.verdict.tables import CRITERIA_REGISTRY, FINDINGS, VERDICTS

Row = dict[str, Any]

#: The rungs that are judged: all above the first, or the only one of a ladder that compares nothing.
JUDGED = """
select runs.*, rungs.is_candidate, rungs.criteria,
       min(runs.first_chosen_at) over (partition by ladder) as ladder_began_at
from replays.rung_runs as runs join replays.rungs as rungs using (ladder, rung)
qualify runs.rung_order > 0 or count(*) over (partition by ladder) = 1
order by ladder, rung_order
"""

#: Scored rows of judged rungs beside what the same request, order and draw gave on the first rung.
PAIRED = """
select after.ladder, after.rung, after.slice, after.request_id, after.expected, after.row_class,
       after.chosen, after.kind, after.correct, before.correct as correct_before
from scores.scored_rows as after
left join (select ladder, request_id, seed, draw, correct from scores.scored_rows where rung_order = 0) as before
    on after.rung_order > 0 and after.ladder = before.ladder and after.request_id = before.request_id
    and after.seed = before.seed and after.draw = before.draw
"""

SPREAD = "select ladder, rung, slice, rung_order, range_pp from reports.seed_spread"
CORRELATION = "select ladder, rung, slice, rho from reports.request_correlation"
VOLUMES = "select tool, weight, n_all_decisions from reports.volume_weights"


@table_asset(CRITERIA_REGISTRY)
def criteria_registry(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Register the criteria as they stand now."""
    study, path = workspace.study(), workspace.folder("verdict", "criteria_registry.parquet")
    hashes = {name: criteria_hash(criteria) for name, criteria in study.criteria.items()}
    now = datetime.now(UTC).replace(tzinfo=None)
    found = register(workspace.folder("criteria_register.jsonl"), hashes, now)
    with store.RowFile(path, CRITERIA_REGISTRY) as file:
        for entry in found:
            in_force = entry is current(found, entry.criteria) and entry.criteria in study.criteria
            file.write({"study": study.name, **vars(entry), "is_current": in_force})
    with workspace.tables() as con:
        store.load(con, CRITERIA_REGISTRY, [path])
        return materialised(con, CRITERIA_REGISTRY)


READS = (
    "verdict.criteria_registry",
    "replays.rungs",
    "replays.rung_runs",
    "scores.scored_rows",
    "reports.seed_spread",
    "reports.request_correlation",
    "reports.volume_weights",
)


@dg.multi_asset(specs=[table_spec(table, READS, automation_condition=FOLLOWS) for table in (FINDINGS, VERDICTS)])
def judge(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Apply the criteria in force to every judged rung."""
    study, folder = workspace.study(), workspace.folder("verdict")
    tables = (FINDINGS, VERDICTS)
    with workspace.tables() as con:
        rungs, evidence = store.rows(con, JUDGED), gather(con)
        register_rows = store.rows(con, "select * from verdict.criteria_registry where is_current")
        registered = {row["criteria"]: Registration(row["criteria"], row["criteria_hash"], row["registered_at"])
                      for row in register_rows}  # fmt: skip
        with store.row_files(folder, tables) as files:
            for rung in rungs:
                found = findings(study, rung, evidence)
                for slice_name, finding in found:
                    files["findings"].write(finding_row(rung, slice_name, finding))
                verdict = verdict_row(rung, [finding for _, finding in found], registered.get(rung["criteria"]))
                files["verdicts"].write(verdict)
        for table in tables:
            store.load(con, table, [folder / f"{table.name}.parquet"])
            yield materialised(con, table)


def gather(con: store.Connection) -> dict[tuple[str, str], list[Evidence]]:
    """Gather the evidence of every rung, slice by slice."""
    spread = store.rows(con, SPREAD)
    base = {(row["ladder"], row["slice"]): row["range_pp"] for row in spread if row["rung_order"] == 0}
    ranges = {(row["ladder"], row["rung"], row["slice"]): row["range_pp"] for row in spread}
    rho = {(row["ladder"], row["rung"], row["slice"]): row["rho"] for row in store.rows(con, CORRELATION)}
    volumes = store.rows(con, VOLUMES)
    found: dict[tuple[str, str], list[Evidence]] = {}
    for place, rows in by_rung(store.rows(con, PAIRED)).items():
        ladder, rung, slice_name = place
        noise = [x for x in (ranges[place], base.get((ladder, slice_name))) if x is not None]
        evidence = Evidence(
            ladder=ladder,
            rung=rung,
            slice=slice_name,
            requests=requests_of(rows),
            volumes={row["tool"]: row["weight"] for row in volumes},
            n_volumes=int(volumes[0]["n_all_decisions"]) if volumes else 1,
            rho=rho[place],
            seed_range_pp=max(noise, default=None),
        )
        found.setdefault((ladder, rung), []).append(evidence)
    return found


def findings(study: Study, rung: Row, evidence: dict[tuple[str, str], list[Evidence]]) -> list[tuple[str, Finding]]:
    """Apply a rung's criteria slice by slice; slices are never put together."""
    criteria = study.criteria[rung["criteria"]]
    slices = sorted(evidence.get((rung["ladder"], rung["rung"]), []), key=lambda found: found.slice)
    return [(found.slice, finding) for found in slices for finding in apply_rules(found, criteria)]


def _keys(rung: Row) -> Row:
    names = ("study", "ladder", "rung", "rung_order", "label_set_version", "catalogue_hash", "model_served", "run_date")
    return {name: rung[name] for name in names}


def finding_row(rung: Row, slice_name: str, finding: Finding) -> Row:
    """Give the row of a finding."""
    return {**_keys(rung), "slice": slice_name, **vars(finding), "request_ids": "|".join(finding.request_ids)}


def verdict_row(rung: Row, found: list[Finding], registration: Registration | None) -> Row:
    """Give the verdict on a rung: inadmissible and incomplete come before anything that the findings say."""
    state, why = overall(found)
    late = why_inadmissible(registration.registered_at if registration else None, rung["ladder_began_at"])
    verdict = str(state)
    if late:
        verdict, why = "inadmissible", late
    elif rung["n_distinct"] < rung["n_expected"]:
        verdict, why = "incomplete", f"{rung['n_distinct']} of {rung['n_expected']} choices are there"
    counts = {f"n_{name}": sum(finding.state == name for finding in found) for name in ("accept", "reject")}
    return {
        **_keys(rung),
        "is_candidate": rung["is_candidate"],
        "state": verdict,
        "why": why,
        "criteria": rung["criteria"],
        "criteria_hash": registration.criteria_hash if registration else None,
        "registered_at": registration.registered_at if registration else None,
        "first_chosen_at": rung["ladder_began_at"],
        **counts,
        "n_not_enough_data": sum(finding.state == "not_enough_data" for finding in found),
    }
