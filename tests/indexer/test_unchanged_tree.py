"""A build of an unchanged tree reads stamps alone, and every change of the tree is seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_indexer.indexing import build_stages, tree_scan
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import (
    BuildOptions,
    BuildReport,
    DeclaredSource,
    Finding,
    Severity,
)
from capdisc_indexer.sources.readers import file_bytes
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.scanned_files import FoundFile, unreadable_finding
from capdisc_indexer.store import folder_stamps
from capdisc_indexer.store.durable_files import Mount

_TEXT = "Does one thing well. Use when asked."


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every disk is one of this machine."""
    monkeypatch.setattr(
        tree_scan, "_local_devices", lambda roots: {root.stat().st_dev for root in roots}
    )


@pytest.fixture
def options(hermetic: Path) -> BuildOptions:
    agents = DeclaredSource(
        format="agent", path=str(hermetic / "agents"), is_conventional=True, trusted=True
    )
    return BuildOptions(only_new_findings=True, sources=(agents,))


@pytest.fixture
def root(hermetic: Path, write_skill: Callable[..., Path], options: BuildOptions) -> Path:
    for number in range(3):
        write_skill(hermetic / "skills", f"skill-{number}", _TEXT)
    (hermetic / "skills" / "broken").mkdir()
    (hermetic / "skills" / "broken" / "SKILL.md").write_text("---\nname: [\n---\n")
    _build(hermetic, options)
    return hermetic


def _build(place: Path, options: BuildOptions) -> BuildReport:
    return build_index([place / "skills"], place / "index", options)


def test_nothing_but_stamps_is_read_where_nothing_changed(
    root: Path, options: BuildOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = _build(root, replace(options, only_new_findings=False))
    monkeypatch.setattr(build_stages, "load_previous_build", _fail)
    quick = _build(root, options)
    errors = [finding for finding in slow.findings if finding.severity is Severity.ERROR]
    assert errors
    assert list(quick.findings) == errors
    assert quick.counts == slow.counts
    assert (quick.generation, quick.published) == (slow.generation, False)


def _fail(*_: object) -> None:
    raise AssertionError("the last build was read")


def test_what_a_link_leads_to_is_looked_at_every_time(root: Path, options: BuildOptions) -> None:
    """Stamps of the folders of a tree do not tell what appears where its links lead."""
    (root / "skills" / "later").symlink_to(root / "skills" / ".later")
    _build(root, options)
    (root / "skills" / ".later").mkdir()
    os.utime(root / "skills", ns=(1, 1))
    pointer = (root / "index" / "CURRENT").read_text()
    assert not folder_stamps.read_report(root / "index", pointer)


def test_where_the_roots_lie_is_asked_once_a_disk(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    asked: list[Path] = []
    monkeypatch.setattr(
        tree_scan, "find_mount", lambda root: asked.append(root) or Mount(point="/", kind="ext4")
    )
    assert tree_scan._local_devices([hermetic, hermetic.parent, hermetic / "none"]) == {
        hermetic.stat().st_dev
    }
    assert len(asked) == 1


def test_a_file_that_could_not_be_read_once_is_tried_again(
    root: Path, options: BuildOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    unread = str(root / "skills" / "skill-1" / "SKILL.md")

    def refuse(file: FoundFile, limit: int) -> bytes | Finding:
        problem = OSError(24, "Too many open files")
        is_refused = file.path == unread
        return unreadable_finding(unread, problem) if is_refused else read_bytes(file, limit)

    with monkeypatch.context() as patch:
        patch.setattr(file_bytes, "read_bytes", refuse)
        assert _build(root, replace(options, rebuild=True)).counts["failed"] == 2
    assert _build(root, options).counts["failed"] == 1
