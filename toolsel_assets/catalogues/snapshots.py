"""The lists of tools that were fetched from live sources: <data>/catalogues/sources/<name>.json, as MCP tools/list.

What belongs here: asking sources, judging what came, and writing it whole or not at all. What does not: speaking MCP
(mcp.py), reading a snapshot as a catalogue (study.py). A source that fails keeps the snapshot of its last success.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsel_assets.catalogues import mcp
from toolsel_assets.study import StudySpec, read_sources, read_yaml
from toolsel_assets.vocabulary.live_source import ENDING, LiveSource
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.tool_lists import Duplicates, read_tool_list


@dataclass(frozen=True)
class Fetched:
    """What came of asking some sources: the tools of each that answered, the changed among them, and the failures."""

    n_tools: Mapping[str, int]
    changed: tuple[str, ...]
    failures: tuple[BadInput, ...]

    def raise_failures(self) -> None:
        """Raise the failures as one mistake, if there is any."""
        if len(self.failures) == 1:
            raise self.failures[0]
        if self.failures:
            raise BadInput(f"{len(self.failures)} live sources", "; ".join(map(str, self.failures)))


def fetch(study: Path, snapshots: Path, only: str | None = None, most_s: float | None = None) -> Fetched:
    """Ask the study's live sources at once, or the only one, and save every list that came.

    `most_s` limits the time of each source further. Needs of the study its study.yaml and its sources alone, since
    the rest cannot be validated before the first snapshot.
    """
    duplicates = read_yaml(study / "study.yaml", StudySpec).duplicate_tools
    sources = read_sources(study)
    if only is not None:
        if only not in sources:
            raise BadInput(str(study / "catalogues"), f"no live source {only}", known_names(only, sources))
        sources = {only: sources[only]}
    if not sources:
        return Fetched({}, (), ())
    n_tools, changed, failures = {}, [], []
    for name, answer in mcp.fetch_all(sources, study, most_s).items():
        try:
            if isinstance(answer, BadInput):
                raise answer
            where = f"{study / 'catalogues' / name}{ENDING}"
            n_tools[name] = _judge(answer, sources[name], where, duplicates)
        except BadInput as problem:
            failures.append(problem)
        else:
            changed += [name] if _save(snapshots / f"{name}.json", answer) else []
    return Fetched(n_tools, tuple(changed), tuple(failures))


def _judge(answer: dict[str, Any], source: LiveSource, where: str, duplicates: Duplicates) -> int:
    """Refuse what could not be used as a catalogue, so that it never takes the place of what can; count the tools."""
    found = read_tool_list(answer, f"{where}, the server's answer", duplicates)
    if not found.tools and not source.may_be_empty:
        # A server that is still starting, or whose backend is gone, says so in this way.
        raise BadInput(where, "the server lists no tool", "may_be_empty: true, if that is so")
    return len(found.tools)


def _save(path: Path, answer: dict[str, Any]) -> bool:
    """Write a snapshot, unless it is there as it is; say whether it was written."""
    text = json.dumps(answer, indent=1) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    write_whole(path, text)
    return True


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
