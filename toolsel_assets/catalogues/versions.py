"""Every state of a catalogue that was ever seen, as an append-only register in the data directory.

    catalogues/versions.jsonl                             one line per version, in the order seen
    catalogues/definitions/<hash>-<order>-<effects>.json  what its tools were, as MCP tools/list

What belongs here: when a catalogue is a new version, writing and reading the register. What does not: what changed
between two versions (changes.py). A catalogue that returns to an earlier state is a new version with the hashes of the
earlier one; its definitions are stored once. Definitions are written before the line that names them, and only whole
lines count, so that a process may be killed at any moment; two that register at once take turns.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from toolsel_assets.catalogues.snapshots import write_whole
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Catalogue, Tool, order_hash
from toolsel_assets.vocabulary.tool_lists import read_tool_list, tool_list

Origin = Literal["file", "mcp stdio", "mcp http"]

#: Seconds to wait for another process that registers: it takes milliseconds.
LOCK_WAIT = 30.0


@dataclass(frozen=True)
class State:
    """What makes two states of a catalogue the same: definitions, their order, and the effects that are declared."""

    catalogue_hash: str
    order_hash: str
    effects_hash: str

    @property
    def file_name(self) -> str:
        """Name the file of its definitions."""
        return f"{self.catalogue_hash}-{self.order_hash}-{self.effects_hash}.json"


class Version(BaseModel):
    """A line of the register."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    catalogue: str
    catalogue_hash: str
    order_hash: str
    effects_hash: str
    seen_at: AwareDatetime
    origin: Origin
    n_tools: int

    @property
    def state(self) -> State:
        """Give the hashes."""
        return State(self.catalogue_hash, self.order_hash, self.effects_hash)


@dataclass(frozen=True)
class Numbered:
    """A version with its number among those of its catalogue, from 1, and the earlier one that had the same state."""

    version: Version
    number: int
    returns_to: int | None


def state_of(catalogue: Catalogue) -> State:
    """Hash a catalogue. Its own hash is of what a model sees, whatever the order; effects are seen by no model."""
    effects = "\n".join(sorted(f"{tool.name} {tool.effect}" for tool in catalogue.tools))
    return State(catalogue.hash, order_hash(catalogue.tools), sha256(effects.encode()).hexdigest()[:12])


def register(
    folder: Path, catalogues: Mapping[str, Catalogue], origins: Mapping[str, Origin], seen_at: datetime
) -> list[Version]:
    """Add a version of each catalogue that is not as it was when it was last registered; give those added."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "versions.jsonl"
    try:
        with FileLock(folder / ".versions.lock", timeout=LOCK_WAIT):
            last = {version.catalogue: version.state for version in read_versions(folder)}
            added = []
            for name, catalogue in catalogues.items():
                state = state_of(catalogue)
                if last.get(name) == state:
                    continue
                _keep_definitions(folder, state, catalogue.tools)
                version = Version(
                    catalogue=name,
                    **vars(state),
                    seen_at=seen_at,
                    origin=origins.get(name, "file"),
                    n_tools=len(catalogue.tools),
                )
                added.append(version)
            _append(path, added)
    except Timeout as error:
        raise BadInput(str(path), "another process has held its lock for half a minute", "end it") from error
    return added


def read_versions(folder: Path) -> list[Version]:
    """Read the register, oldest first. A last line that was cut by a kill is none."""
    path = folder / "versions.jsonl"
    if not path.is_file():
        return []
    *lines, _cut = path.read_bytes().split(b"\n")
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(Version.model_validate_json(line))
        except ValidationError as error:
            said = f"{error.error_count()} mistakes, the first: {error.errors()[0]['msg']}"
            raise BadInput(f"{path}, line {number}", said, "the register is written by toolsel alone") from error
    return found


def numbered(versions: Iterable[Version]) -> Iterator[Numbered]:
    """Number the versions of each catalogue in the order seen."""
    seen: dict[str, list[State]] = {}
    for version in versions:
        earlier = seen.setdefault(version.catalogue, [])
        before = [number for number, state in enumerate(earlier, start=1) if state == version.state]
        earlier.append(version.state)
        yield Numbered(version, len(earlier), before[-1] if before else None)


def read_definitions(folder: Path, version: Version) -> tuple[Tool, ...]:
    """Read what a version's tools were."""
    path = folder / "definitions" / version.state.file_name
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(str(path), f"cannot be read: {error}", "the register is written by toolsel alone") from error
    tools = read_tool_list(document, str(path)).tools
    if state_of(Catalogue(version.catalogue, tools)) != version.state:
        raise BadInput(str(path), "is not what was registered", "the register is written by toolsel alone")
    return tools


def _keep_definitions(folder: Path, state: State, tools: tuple[Tool, ...]) -> None:
    path = folder / "definitions" / state.file_name
    if not path.exists():
        write_whole(path, json.dumps(tool_list(tools), indent=1))


def _append(path: Path, versions: Iterable[Version]) -> None:
    """Add lines at the end, after the last whole line; the caller holds the lock."""
    text = "".join(version.model_dump_json() + "\n" for version in versions).encode()
    if not text:
        return
    with path.open("ab") as file:
        whole = path.read_bytes().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
