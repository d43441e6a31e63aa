import gzip
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolsel_assets.traces import sources
from toolsel_assets.traces.records import Failure, Record, open_binary, records
from toolsel_assets.traces.sources import find, shown
from toolsel_assets.vocabulary.problem import BadInput


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in (
        "traces/b.jsonl",
        "traces/a.json",
        "traces/deep/er/c.ndjson.gz",
        "traces/deep/d.traj",
        "traces/deep/e.PARQUET",
        "traces/calls.log.1",
        "traces/calls.jsonl.2026-01-31",
        "traces/no_suffix",
        "traces/readme.md",
        "traces/picture.png",
        "traces/half.jsonl.tmp",
        "traces/.hidden.json",
        "traces/.cache/x.json",
        "other.json",
    ):
        (tmp_path / "study" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "study" / name).write_text("{}")
    return tmp_path / "study"


def names(pattern: str, base: Path) -> list[str]:
    return [found.shown_as for found in find(pattern, base)]


def test_a_directory_gives_every_file_below_it_that_may_hold_traces(base: Path) -> None:
    wanted = ["a.json", "b.jsonl", "calls.jsonl.2026-01-31", "calls.log.1"]
    wanted += ["deep/d.traj", "deep/e.PARQUET", "deep/er/c.ndjson.gz", "no_suffix"]
    assert names("traces", base) == names("traces/", base) == [f"traces/{name}" for name in wanted]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("other.json", ["other.json"]),
        ("traces/readme.md", ["traces/readme.md"]),
        (
            "traces/*.json*",
            ["traces/a.json", "traces/b.jsonl", "traces/calls.jsonl.2026-01-31", "traces/half.jsonl.tmp"],
        ),
        ("**/[ac].*json*", ["traces/a.json", "traces/deep/er/c.ndjson.gz"]),
        ("./other.json", ["other.json"]),
        ("../study/other.json", ["../study/other.json"]),
        ("traces/.hidden.json", ["traces/.hidden.json"]),
        ("nothing/*.json", []),
        ("nothing.json", []),
        ("nothing", []),
    ],
)
def test_a_file_or_a_glob_is_taken_as_it_is(base: Path, pattern: str, wanted: list[str]) -> None:
    assert names(pattern, base) == wanted


def test_an_absolute_path_is_shown_relative_to_the_study_where_it_lies_in_it(base: Path) -> None:
    assert names(str(base / "other.json"), base) == names(str(base / "*.json"), base) == ["other.json"]
    assert names(str(base / "other.json"), base / "traces") == [(base / "other.json").as_posix()]


def test_a_name_with_the_signs_of_a_glob_is_a_name_first(base: Path) -> None:
    (base / "run[1].json").write_text("{}")
    (base / "run1.json").write_text("{}")
    assert names("run[1].json", base) == ["run[1].json"]


def test_size_time_and_place_are_given(base: Path) -> None:
    (found,) = find("other.json", base)
    stat = (base / "other.json").stat()
    assert (found.place, found.size, found.mtime) == (base / "other.json", 2, stat.st_mtime)


def test_links_are_followed_to_files_and_broken_ones_left_out(base: Path) -> None:
    (base / "links").mkdir()
    (base / "links" / "good.json").symlink_to(base / "other.json")
    (base / "links" / "broken.json").symlink_to(base / "nothing")
    (base / "links" / "loop").symlink_to(base / "links")
    assert names("links", base) == names("links/*", base) == ["links/good.json"]


@pytest.mark.skipif(os.name != "posix", reason="only there may a name be no text")
def test_a_name_that_is_no_text_can_be_shown(base: Path) -> None:
    (base / os.fsdecode(b"bad\xff.json")).write_text("{}")
    (found,) = find("bad*.json", base)
    assert found.shown_as.encode() == b"bad\\udcff.json"
    assert [type(item) for item in records(found.place)] == [Record]


def test_storage_that_cannot_be_listed_is_an_error_and_not_an_empty_list(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Iterator[Any]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(BadInput, match="traces: cannot be reached: Permission denied"):
        find("traces", base)


# --- urls ---


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe({"/logs/b.jsonl": b'{"b": 1}\n', "/logs/deep/a.json.gz": gzip.compress(b'{"a": 1}\n')})
    system.pipe({"/logs/.hidden.json": b"", "/logs/note.md": b""})
    yield system
    system.rm("/logs", recursive=True)


def test_urls_are_found_and_read_like_paths(memory: Any, tmp_path: Path) -> None:
    assert names("memory://logs", tmp_path) == ["memory://logs/b.jsonl", "memory://logs/deep/a.json.gz"]
    assert names("memory://logs/*.jsonl", tmp_path) == ["memory://logs/b.jsonl"]
    (found,) = find("memory://logs/**/*.gz", tmp_path)
    assert [item.value for item in records(found.place) if isinstance(item, Record)] == [{"a": 1}]
    assert found.size == memory.info("/logs/deep/a.json.gz")["size"] and found.mtime is not None
    with open_binary("memory://logs/b.jsonl") as file:
        assert file.read() == b'{"b": 1}\n'


def test_a_url_without_a_file_is_an_empty_list_and_a_failure_when_it_is_read(memory: Any, tmp_path: Path) -> None:
    assert find("memory://logs/nothing.json", tmp_path) == find("memory://logs/x*", tmp_path) == []
    (failure,) = records("memory://logs/nothing.json")
    assert isinstance(failure, Failure) and failure.problem.reason == "unreadable_file"


def test_a_file_url_is_a_file(base: Path) -> None:
    pytest.importorskip("fsspec")
    (found,) = find(f"file://{base}/*.json", base)
    assert found.shown_as == f"file://{base}/other.json"
    assert len(list(records(found.place))) == 1


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("s3://bucket/a/b.json", "s3://bucket/a/b.json"),
        ("s3://key:secret@bucket/a@b.json", "s3://bucket/a@b.json"),
        ("ftp://user@host/x?.json", "ftp://host/x?.json"),
        ("https://host/x.json?sig=secret#part", "https://host/x.json"),
        ("abfs://container@account/x.json", "abfs://container@account/x.json"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, wanted: str) -> None:
    assert shown(url) == wanted


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def import_none(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", import_none)
    with pytest.raises(BadInput, match=r"^s3://b/x: s3:// needs.*fsspec.*pip install 'toolsel\[remote\]' s3fs\)$"):
        find("s3://u:p@b/x", tmp_path)


def test_a_missing_package_of_the_protocol_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "adlfs", None)  # as if it were not installed
    with pytest.raises(BadInput, match=r"pip install 'toolsel\[remote\]' adlfs"):
        find("abfs://container/x.json", tmp_path)


def test_an_unknown_protocol_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(BadInput, match="wxyz"):
        find("wxyz://a/b.json", tmp_path)


def test_storage_that_fails_tells_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Broken:
        def open(self, path: str, mode: str) -> Any:
            raise RuntimeError(f"no route to {path}")

        glob = isdir = open

    url = "https://host/*.json?sig=hidden"
    monkeypatch.setattr(sources, "_system", lambda url: (Broken(), url))
    (failure,) = records(url)
    assert isinstance(failure, Failure)
    assert failure.problem.detail == "RuntimeError: no route to https://host/*.json"
    monkeypatch.setattr(Broken, "glob", lambda self, path, detail: self.open(path, ""))
    with pytest.raises(
        BadInput, match=r"^https://host/\*\.json: cannot be reached: RuntimeError: no route to https://host/\*\.json$"
    ):
        find(url, tmp_path)
