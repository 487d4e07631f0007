"""A scan with remembered folders equals one without, and reads only what changed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_indexer.sources.scan import directory_cache
from capdisc_indexer.sources.scan.directory_cache import DirectoryCache
from capdisc_indexer.sources.scan.file_scan import ScanResult, scan_roots

LATER_NS = 10_000_000_000


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stamp is old enough to be believed."""
    now = time.time_ns
    monkeypatch.setattr(directory_cache.time, "time_ns", lambda: now() + LATER_NS)


@pytest.fixture
def skills(tmp_path: Path, write_skill: Callable[..., Path]) -> Path:
    root = tmp_path / "skills"
    for name in ("a", "b", "c"):
        write_skill(root / "group", name)
    return root


def _devices(root: Path) -> set[int]:
    return {root.stat().st_dev}


def _learned(root: Path) -> DirectoryCache:
    found = DirectoryCache({}, _devices(root))
    scan_roots([root], (), found)
    return found


def _again(root: Path, before: DirectoryCache) -> tuple[ScanResult, DirectoryCache]:
    now = DirectoryCache(before.all, _devices(root))
    return scan_roots([root], (), now), now


def test_a_folder_that_has_not_changed_is_not_read_again(
    skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _learned(skills)
    read: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: read.append(str(path)) or scandir(path))
    result, now = _again(skills, before)
    assert [file.relative for file in result.files] == [f"group/{name}/SKILL.md" for name in "abc"]
    assert (now.learned, now.miss_count) == ({}, 0)
    assert [path for path in read if not path.endswith("guidance")] == []


def test_a_file_that_was_edited_in_place_shows_it(skills: Path) -> None:
    before = _learned(skills)
    with (skills / "group/b/SKILL.md").open("a") as stream:
        stream.write("more")
    result, now = _again(skills, before)
    assert result == scan_roots([skills])
    assert now.learned == {}


def test_what_comes_goes_or_moves_is_found(skills: Path, write_skill: Callable[..., Path]) -> None:
    before = _learned(skills)
    time.sleep(0.02)
    write_skill(skills / "group", "d")
    (skills / "group/a/SKILL.md").unlink()
    (skills / "group/b").rename(skills / "moved")
    result, _ = _again(skills, before)
    assert result == scan_roots([skills])
    assert [file.relative for file in result.files] == [
        "group/c/SKILL.md",
        "group/d/SKILL.md",
        "moved/SKILL.md",
    ]


def test_a_change_of_a_moment_ago_is_not_believed_to_be_the_last(
    skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert _learned(skills).learned == {}


def test_on_a_device_that_is_not_of_this_machine_every_folder_is_read(skills: Path) -> None:
    found = DirectoryCache({}, ())
    scan_roots([skills], (), found)
    assert found.learned == {}


def test_folders_with_links_and_with_files_told_by_what_they_hold_are_read_each_time(
    skills: Path,
) -> None:
    (skills / "link").symlink_to(skills / "group/a")
    (skills / "group/api.json").write_text("{}")
    before = _learned(skills)
    assert sorted(Path(path).name for path in before.learned) == ["a", "b", "c"]
    (skills / "group/api.json").write_text('{"openapi": "3.1.0"}')
    result, _ = _again(skills, before)
    assert "group/api.json" in [file.relative for file in result.files]


def test_a_folder_that_no_longer_belongs_to_a_skill_is_read_again(skills: Path) -> None:
    inner = skills / "group/a/inner"
    inner.mkdir()
    (inner / "api.json").write_text('{"openapi": "3.1.0"}')
    before = _learned(skills)
    time.sleep(0.02)
    (skills / "group/a/SKILL.md").unlink()
    result, _ = _again(skills, before)
    assert "group/a/inner/api.json" in [file.relative for file in result.files]


def test_a_warning_about_the_way_to_a_folder_is_not_lost_where_that_way_was_no_part_of_the_path(
    skills: Path,
) -> None:
    (skills / "group").rename(skills / "we&ird")
    before = _learned(skills / "we&ird")
    assert len(before.learned) == 4
    result, _ = _again(skills, before)
    assert result == scan_roots([skills])
    assert {finding.code for finding in result.findings} == {"path-character"}


def test_what_takes_the_place_of_a_file_is_told_as_without_a_memory(skills: Path) -> None:
    before = _learned(skills)
    time.sleep(0.02)
    (skills / "group/a/SKILL.md").unlink()
    os.mkfifo(skills / "group/a/SKILL.md")
    result, _ = _again(skills, before)
    assert result == scan_roots([skills])
    assert [finding.code for finding in result.findings] == ["path-not-file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_no_longer_be_read_is_a_finding(skills: Path) -> None:
    before = _learned(skills)
    time.sleep(0.02)
    (skills / "group/a").chmod(0)
    result, _ = _again(skills, before)
    (skills / "group/a").chmod(0o700)
    assert [finding.code for finding in result.findings] == ["path-unreadable"]


def test_after_any_changes_it_finds_what_a_scan_without_memory_finds(skills: Path) -> None:
    chance, known = random.Random(7), DirectoryCache({}, _devices(skills))
    for _ in range(60):
        _change(skills, chance)
        time.sleep(0.006)  # a tick of the clock that stamps are taken from
        result, known = _again(skills, known)
        assert result == scan_roots([skills])


def _change(root: Path, chance: random.Random) -> None:
    folders = [
        root,
        *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink()),
    ]
    here, there = chance.choice(folders), chance.choice(folders)
    name = chance.choice(
        ["SKILL.md", "CAPABILITY.yaml", "api.json", "tools.json", "notes.md", "skill.md"]
    )
    match chance.randrange(5):
        case 0:
            (here / f"f{chance.randrange(9)}").mkdir(exist_ok=True)
        case 1 if not (here / name).exists():
            (here / name).write_text('{"openapi": "3.1.0"}' if chance.random() < 0.5 else "x")
        case 2 if (here / name).is_file():
            (here / name).unlink()
        case 3 if (
            here != root
            and here not in (there, *there.parents)
            and not (there / here.name).exists()
        ):
            here.rename(there / here.name)
        case _ if not (here / "link").exists() and chance.random() < 0.2:
            (here / "link").symlink_to(there)
