"""The register of versions: one line per seen state, never rewritten, whatever is killed and whoever writes at once."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from toolsel_assets.catalogues.versions import numbered, read_definitions, read_versions, register
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Catalogue, Tool

A, B = (Tool(name, f"does {name}", {"type": "object"}, "read") for name in "ab")
NOW = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)


def see(folder: Path, *tools: Tool, name: str = "shop") -> int:
    """Register a state and give the number of versions added."""
    return len(register(folder, {name: Catalogue(name, tools)}, {}, NOW))


def test_a_state_is_a_version_once_until_it_changes(tmp_path: Path) -> None:
    assert [see(tmp_path, A), see(tmp_path, A), see(tmp_path, A, B), see(tmp_path, A, B)] == [1, 0, 1, 0]
    first, second = read_versions(tmp_path)
    assert (first.n_tools, second.n_tools, first.origin, first.seen_at) == (1, 2, "file", NOW)
    assert first.catalogue_hash == Catalogue("", (A,)).hash != second.catalogue_hash
    assert read_definitions(tmp_path, first) == (A,) and read_definitions(tmp_path, second) == (A, B)


def test_the_order_alone_and_the_effects_alone_are_versions_of_the_same_content(tmp_path: Path) -> None:
    for tools in ((A, B), (B, A), (B, replace(A, effect="write"))):
        assert see(tmp_path, *tools) == 1
    versions = read_versions(tmp_path)
    assert len({version.catalogue_hash for version in versions}) == 1
    assert [len({getattr(one, part) for one in versions}) for part in ("order_hash", "effects_hash")] == [2, 2]
    assert read_definitions(tmp_path, versions[2]) == (B, replace(A, effect="write"))


def test_going_back_to_an_earlier_state_is_a_version_that_names_it(tmp_path: Path) -> None:
    for tools in ((A,), (A, B), (A,), (B,), (A,)):
        assert see(tmp_path, *tools) == 1
    found = list(numbered(read_versions(tmp_path)))
    assert [(one.number, one.returns_to) for one in found] == [(1, None), (2, None), (3, 1), (4, None), (5, 3)]
    assert len(list((tmp_path / "definitions").iterdir())) == 3


def test_catalogues_are_numbered_apart(tmp_path: Path) -> None:
    both = {"one": Catalogue("one", (A,)), "two": Catalogue("two", (A,))}
    register(tmp_path, both, {"two": "mcp http"}, NOW)
    see(tmp_path, B, name="two")
    found = [(one.version.catalogue, one.version.origin, one.number) for one in numbered(read_versions(tmp_path))]
    assert found == [("one", "file", 1), ("two", "mcp http", 1), ("two", "file", 2)]


def test_a_line_that_a_kill_cut_is_none_and_is_written_anew(tmp_path: Path) -> None:
    see(tmp_path, A)
    path = tmp_path / "versions.jsonl"
    whole = path.read_bytes()
    for cut in (1, 20, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        assert len(read_versions(tmp_path)) == 1
    assert see(tmp_path, A, B) == 1
    assert path.read_bytes().startswith(whole) and len(read_versions(tmp_path)) == 2


def test_what_is_in_the_register_is_never_rewritten(tmp_path: Path) -> None:
    texts = []
    for tools in ((A,), (B,), (B,), (A, B), (A,)):
        see(tmp_path, *tools)
        texts.append((tmp_path / "versions.jsonl").read_bytes())
    assert all(after.startswith(before) for before, after in pairwise(texts))


@pytest.mark.parametrize("damage", ["no JSON", '{"catalogue": "shop"}'])
def test_a_line_that_is_none_of_ours_is_named(tmp_path: Path, damage: str) -> None:
    see(tmp_path, A)
    path = tmp_path / "versions.jsonl"
    path.write_text(path.read_text() + damage + "\n")
    with pytest.raises(BadInput, match=r"versions.jsonl, line 2: .*written by toolsel alone"):
        see(tmp_path, B)


def test_definitions_that_somebody_changed_are_refused(tmp_path: Path) -> None:
    see(tmp_path, A)
    (path,) = (tmp_path / "definitions").iterdir()
    path.write_text(path.read_text().replace("does a", "does more"))
    (version,) = read_versions(tmp_path)
    with pytest.raises(BadInput, match="is not what was registered"):
        read_definitions(tmp_path, version)
    path.unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        read_definitions(tmp_path, version)


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from toolsel_assets.catalogues.versions import register
from toolsel_assets.vocabulary.tool import Catalogue, Tool

folder = Path(sys.argv[1])
(folder / sys.argv[2]).touch()
while len(list(folder.glob("writer_*"))) < 2:
    pass
for step in range(150):
    shared = Catalogue("shared", (Tool("shared", "d"),))
    own = Catalogue(sys.argv[2], (Tool(f"tool_{step}", "d"),))
    register(folder, {"shared": shared, own.name: own}, {}, datetime.now(UTC))
"""


def test_processes_that_register_at_once_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("writer_1", "writer_2")
    ]
    assert [process.wait(60) for process in running] == [0, 0]
    versions = read_versions(tmp_path)
    counts = {name: sum(one.catalogue == name for one in versions) for name in ("writer_1", "writer_2", "shared")}
    assert counts == {"writer_1": 150, "writer_2": 150, "shared": 1}
