"""Remembered folders are believed while whole and of this release, and never needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.indexing import cached_scan
from capdisc_indexer.indexing.cached_scan import scan_with_cache
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.sources.scan import directory_cache
from capdisc_indexer.store.durable_files import Mount

FILE = "folders.json"


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(directory_cache.time, "time_ns", lambda: now() + 10_000_000_000)
    monkeypatch.setattr(
        cached_scan, "_local_devices", lambda roots: {root.stat().st_dev for root in roots}
    )


@pytest.fixture
def built(hermetic: Path, write_skill: Callable[..., Path]) -> Path:
    for number in range(30):
        write_skill(hermetic / "skills", f"skill-{number}")
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    return hermetic


def _learned(root: Path, forget: bool = False) -> int:
    return len(
        scan_with_cache([root / "skills"], (), root / "index", forget=forget).memory.learned
    )


def test_the_next_look_reads_no_folder(built: Path) -> None:
    assert _learned(built) == 0


def test_where_it_is_gone_damaged_or_of_another_release_every_folder_is_read(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = built / "index" / FILE
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"skill-7", b"skill-8"))
    assert _learned(built) == 31
    path.write_bytes(b"")
    assert _learned(built) == 31
    path.unlink()
    assert _learned(built) == 31
    path.write_bytes(whole)
    assert _learned(built) == 0
    monkeypatch.setattr(cached_scan, "_CACHE_RELEASE", "0.0.0 0")
    assert _learned(built) == 31


def test_nothing_of_it_is_believed_where_every_file_is_to_be_read(built: Path) -> None:
    assert _learned(built, forget=True) == 31
    path = built / "index" / FILE
    path.write_bytes(b"")
    report = build_index([built / "skills"], built / "index", BuildOptions(verify=True))
    assert not report.published
    assert _learned(built) == 0


def test_it_is_not_written_anew_for_a_few_folders(
    built: Path, write_skill: Callable[..., Path]
) -> None:
    before = (built / "index" / FILE).read_bytes()
    time.sleep(0.02)
    write_skill(built / "skills", "one-more")
    report = build_index([built / "skills"], built / "index", BuildOptions())
    assert report.counts["added"] == 1
    assert (built / "index" / FILE).read_bytes() == before


def test_names_that_are_no_text_are_kept(built: Path) -> None:
    folder = bytes(built / "skills") + b"/odd-\xff"
    time.sleep(0.02)
    Path(folder.decode("utf-8", "surrogateescape")).mkdir()
    (built / "index" / FILE).unlink()
    build_index([built / "skills"], built / "index", BuildOptions())
    assert _learned(built) == 0


def test_a_root_that_is_a_ring_of_links_is_an_error_and_no_bug(
    process: Callable[..., Any], hermetic: Path
) -> None:
    (hermetic / "ring").symlink_to(hermetic / "ring")
    done = process("index", "ring")
    assert done.code == 3
    assert done.err.startswith(f"error: cannot find {hermetic}/ring: ")


def test_where_the_roots_lie_is_asked_once_a_disk(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    asked: list[Path] = []
    monkeypatch.setattr(
        cached_scan, "find_mount", lambda root: asked.append(root) or Mount(point="/", kind="ext4")
    )
    assert cached_scan._local_devices([hermetic, hermetic.parent, hermetic / "none"]) == {
        hermetic.stat().st_dev
    }
    assert len(asked) == 1
