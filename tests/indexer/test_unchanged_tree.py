"""A build of an unchanged tree reads stamps alone, and every change of the tree is seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.indexing import build_stages, tree_scan
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport, DeclaredSource, Severity
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


def _rewrite(root: Path) -> None:
    path = root / "skills" / "skill-1" / "SKILL.md"
    before = path.stat()
    path.write_text(path.read_text().replace("one thing", "two thing"))
    os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))


def _add_skill(root: Path) -> None:
    (root / "skills" / "skill-9").mkdir()
    text = (root / "skills" / "skill-1" / "SKILL.md").read_text()
    (root / "skills" / "skill-9" / "SKILL.md").write_text(text.replace("skill-1", "skill-9"))


def _add_agent(root: Path) -> None:
    (root / "agents").mkdir()
    (root / "agents" / "packer.md").write_text(f"---\nname: packer\ndescription: {_TEXT}\n---\nA")


def _link_skill(root: Path) -> None:
    _add_skill(root)
    (root / "skills" / "skill-9").rename(root / "skill-9")
    (root / "skills" / "skill-9").symlink_to(root / "skill-9")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_rewrite, "updated"),
        (_add_skill, "added"),
        (_add_agent, "added"),
        (lambda root: (root / "skills" / "skill-2" / "SKILL.md").unlink(), "removed"),
        (lambda root: (root / "skills" / "skill-2").rename(root / "gone"), "removed"),
    ],
)
def test_each_change_is_seen(
    root: Path, options: BuildOptions, change: Callable[[Path], None], name: str
) -> None:
    """What is added, changed or deleted is so in the index (S206)."""
    _build(root, options)
    change(root)
    assert _build(root, options).counts[name] == 1
    assert _build(root, options).counts[name] == 0


def test_what_a_link_leads_to_is_looked_at_every_time(root: Path, options: BuildOptions) -> None:
    """Stamps of the folders of a tree do not tell what appears where its links lead."""
    (root / "skills" / "later").symlink_to(root / "skills" / ".later")
    _build(root, options)
    (root / "skills" / ".later").mkdir()
    os.utime(root / "skills", ns=(1, 1))
    pointer = (root / "index" / "CURRENT").read_text()
    assert not folder_stamps.read_report(root / "index", pointer)


def test_what_appears_beside_a_named_file_is_seen(root: Path, options: BuildOptions) -> None:
    path = root / "tool" / "CAPABILITY.yaml"
    path.parent.mkdir()
    path.write_text("name: one\nkind: tool\ndescription: Does one thing.\n")
    for _ in range(2):
        build_index([path], root / "other", options)
    (path.parent / "schema.json").write_text('{"type": "object", "properties": {"a": {}}}')
    assert build_index([path], root / "other", options).counts["updated"] == 1


def test_other_options_are_another_build(
    root: Path, options: BuildOptions, write_skill: Callable[..., Path]
) -> None:
    write_skill(root / "more", "skill-7", _TEXT)
    _build(root, options)
    report = build_index([root / "skills", root / "more"], root / "index", options)
    assert report.counts["added"] == 1
    assert _build(root, replace(options, rebuild=True)).published


def test_a_damaged_index_is_built_anew(root: Path, options: BuildOptions) -> None:
    _build(root, options)
    (states,) = (root / "index" / "gens").glob("*/meta/state")
    states.chmod(0o600)
    states.write_bytes(states.read_bytes()[:-10])
    assert _build(root, options).published


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
        tree_scan, "find_mount", lambda root: asked.append(root) or Mount(point="/", kind="ext4")
    )
    assert tree_scan._local_devices([hermetic, hermetic.parent, hermetic / "none"]) == {
        hermetic.stat().st_dev
    }
    assert len(asked) == 1
