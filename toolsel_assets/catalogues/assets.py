"""The assets of stage 4: the tools of the study's catalogues, the versions that were seen, and what is wrong."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg

from toolsel_assets import store
from toolsel_assets.catalogues.changes import changes
from toolsel_assets.catalogues.problems import problems
from toolsel_assets.catalogues.tables import (
    CATALOGUE_CHANGES,
    CATALOGUE_PROBLEMS,
    CATALOGUE_TOOLS,
    CATALOGUE_VERSIONS,
)
from toolsel_assets.catalogues.versions import (
    Numbered,
    Version,
    numbered,
    read_definitions,
    read_versions,
    register,
    state_of,
)
from toolsel_assets.graph import materialised, table_spec
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study

TABLES = (CATALOGUE_TOOLS, CATALOGUE_VERSIONS, CATALOGUE_CHANGES, CATALOGUE_PROBLEMS)


@dg.multi_asset(specs=[table_spec(table, []) for table in TABLES])
def catalogues(workspace: Workspace) -> Iterator[dg.MaterializeResult[None]]:
    """Load the study's catalogues, and register those that are not as they were when they were last seen."""
    study, folder = workspace.study(), workspace.folder("catalogues")
    register_catalogues(study, folder)
    found = list(numbered(read_versions(folder)))
    with store.row_files(folder, TABLES) as files:
        for row in tool_rows(study):
            files["catalogue_tools"].write(row)
        for row in version_rows(study, found):
            files["catalogue_versions"].write(row)
        for row in change_rows(study, folder, found):
            files["catalogue_changes"].write(row)
        for row in problem_rows(study):
            files["catalogue_problems"].write(row)
    with workspace.tables() as con:
        for table in TABLES:
            store.load(con, table, [folder / f"{table.name}.parquet"])
            yield materialised(con, table)


def register_catalogues(study: Study, folder: Path) -> list[Version]:
    """Add to the register what is new of the study's catalogues."""
    origins = {name: source.origin for name, source in study.sources.items()}
    return register(folder, study.catalogues, origins, datetime.now(UTC))


def tool_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Give the rows of catalogue_tools."""
    for name, catalogue in study.catalogues.items():
        keys = {"study": study.name, "catalogue": name, "catalogue_hash": catalogue.hash}
        for position, tool in enumerate(catalogue.tools):
            params = tool.input_schema.get("properties") or {}
            size = {"n_params": len(params), "n_chars": len(json.dumps(tool.definition()))}
            yield {**keys, "tool": tool.name, "position": position, "effect": tool.effect, **size}


def version_rows(study: Study, found: list[Numbered]) -> Iterator[dict[str, Any]]:
    """Give the rows of catalogue_versions."""
    last = {one.version.catalogue: one.number for one in found}
    current = {name: state_of(catalogue) for name, catalogue in study.catalogues.items()}
    for one in found:
        name, is_last = one.version.catalogue, one.number == last[one.version.catalogue]
        yield {
            "study": study.name,
            **one.version.model_dump(exclude={"seen_at"}),
            "version": one.number,
            "seen_at": utc(one.version),
            "is_current": is_last and current.get(name) == one.version.state,
            "returns_to": one.returns_to,
        }


def change_rows(study: Study, folder: Path, found: list[Numbered]) -> Iterator[dict[str, Any]]:
    """Give the rows of catalogue_changes."""
    retired = {name: rule.tool for name, rule in study.retired.items()}
    of_catalogue: Mapping[str, list[Numbered]] = {one.version.catalogue: [] for one in found}
    for one in found:
        of_catalogue[one.version.catalogue].append(one)
    for name, versions in of_catalogue.items():
        for before, after in pairwise(versions):
            keys = {"study": study.name, "catalogue": name, "catalogue_hash": after.version.catalogue_hash}
            place = {"from_version": before.number, "to_version": after.number, "seen_at": utc(after.version)}
            old, new = read_definitions(folder, before.version), read_definitions(folder, after.version)
            for change in changes(old, new, retired):
                yield {**keys, **place, **vars(change)}


def problem_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Give the rows of catalogue_problems."""
    for name, catalogue in study.catalogues.items():
        keys = {"study": study.name, "catalogue": name, "catalogue_hash": catalogue.hash}
        for problem in problems(catalogue, study.catalogue_problems.get(name, ())):
            yield {**keys, **vars(problem), "severity": problem.severity}


def utc(version: Version) -> datetime:
    """Give the time as the tables have it: UTC, without a zone."""
    return version.seen_at.astimezone(UTC).replace(tzinfo=None)
