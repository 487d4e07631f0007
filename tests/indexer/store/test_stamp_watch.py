"""The kernel's word on what changed is never better than a look at the stamps would be."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.types import Coverage
from capdisc_indexer.store import stamp_watch
from capdisc_indexer.store.folder_stamps import (
    StampedTree,
    look_at_disk,
    read_stamp,
    save_stamps,
)
from capdisc_indexer.store.stamp_watch import StampWatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
POINTER = "1"


@pytest.fixture
def place(tmp_path) -> Path:
    """`home/work/skills` with skills, one of them a link to `other/real/far`; `home/.client/skills`
    is awaited.
    """
    skills = tmp_path / "home" / "work" / "skills"
    for name in ("alpha", "beta", "group/gamma"):
        _write(skills / name / "SKILL.md", name)
    _write(tmp_path / "other" / "real" / "far" / "SKILL.md", "far")
    (skills / "linked").symlink_to(tmp_path / "other" / "real" / "far")
    (tmp_path / "file.md").write_text("one file")
    (skills / "single").mkdir()
    (skills / "single" / "SKILL.md").symlink_to(Path("..", "..", "..", "..", "file.md"))
    for name in ("notes.txt", "more.txt"):
        _write(skills / "alpha" / name, "nobody reads this")
    (tmp_path / "index").mkdir()
    return tmp_path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _stamp(place: Path) -> None:
    skills = place / "home" / "work" / "skills"
    below = [Path(folder) for folder, _, _ in os.walk(skills, followlinks=True)]
    files = [folder / "SKILL.md" for folder in below if (folder / "SKILL.md").exists()]
    awaited = [place / "home" / ".client" / "deep" / "skills", place / "home" / "settings.toml"]
    tree = StampedTree(
        roots=[str(skills)],
        coverage=Coverage(is_conventional=True),
        awaited=[str(path) for path in awaited],
        folders=[(str(path), read_stamp(str(path))) for path in below[:2]],
        files=[(str(path), read_stamp(str(path))) for path in files],
        owned_folders=[(str(path), read_stamp(str(path))) for path in below[2:]],
    )
    save_stamps(place / "index", POINTER, tree)


def _begin(place: Path, max_folders: int = 1_000) -> StampWatch:
    watch = StampWatch(place / "index", POINTER, max_folders)
    while watch.is_busy:
        assert watch.look() is None
        watch.work()
    return watch


@pytest.fixture
def watched(place) -> StampWatch:
    _stamp(place)
    watch = _begin(place)
    assert watch.look() == look_at_disk(place / "index", POINTER)
    yield watch
    watch.close()


def _rename_over(path: Path, text: str) -> None:
    path.with_name("new").write_text(text)
    path.with_name("new").rename(path)


def _map_and_write(path: Path) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"X"


def _replace_folder(path: Path) -> None:
    path.rename(path.with_name("old"))
    shutil.copytree(path.with_name("old"), path)


def _move_link(path: Path) -> None:
    target = path.resolve().with_name("elsewhere")
    shutil.copytree(path.resolve(), target)
    path.unlink()
    path.symlink_to(target)


SKILLS = Path("home", "work", "skills")
CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is edited in place": lambda place: (place / SKILLS / "beta/SKILL.md").write_text("x"),
    "a file is replaced": lambda place: _rename_over(place / SKILLS / "beta/SKILL.md", "x"),
    "a file is removed": lambda place: (place / SKILLS / "beta/SKILL.md").unlink(),
    "a file is mapped and written": lambda place: _map_and_write(place / SKILLS / "beta/SKILL.md"),
    "a file gets another time": lambda place: os.utime(place / SKILLS / "beta/SKILL.md", (1, 1)),
    "a file may not be read any more": lambda place: (place / SKILLS / "beta/SKILL.md").chmod(0),
    "a folder appears": lambda place: _write(place / SKILLS / "group/new/SKILL.md", "x"),
    "a folder is removed": lambda place: shutil.rmtree(place / SKILLS / "group/gamma"),
    "a folder is renamed": lambda place: (place / SKILLS / "alpha").rename(place / SKILLS / "a"),
    "a folder is replaced": lambda place: _replace_folder(place / SKILLS / "group"),
    "the root is replaced": lambda place: _replace_folder(place / SKILLS),
    "a folder above is replaced": lambda place: _replace_folder(place / "home"),
    "a folder above is renamed": lambda place: (place / "home").rename(place / "house"),
    "what a link leads to is edited": lambda place: (place / "other/real/far/SKILL.md").write_text(
        "x"
    ),
    "above what a link leads to": lambda place: (place / "other").rename(place / "others"),
    "a link leads elsewhere": lambda place: _move_link(place / SKILLS / "linked"),
    "a linked file is edited": lambda place: (place / "file.md").write_text("x"),
    "an awaited file appears": lambda place: (place / "home/settings.toml").write_text("x"),
    "an awaited folder appears": lambda place: (place / "home/.client/deep/skills").mkdir(
        parents=True
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_what_a_look_would_find_is_never_missed(place, watched, change) -> None:
    change(place)
    assert look_at_disk(place / "index", POINTER).changed
    assert watched.look() is None
    assert watched.has_ended
    assert not watched.problem


def test_an_awaited_folder_is_seen_below_a_folder_that_came_later(place) -> None:
    """The first folder on the way is an event; its watch begins anew, and sees the next one."""
    _stamp(place)
    (place / "home/.client").mkdir()
    watch = _begin(place)
    assert watch.look()
    (place / "home/.client/deep").mkdir()
    assert watch.look() is None
    watch = _begin(place)
    assert watch.look()
    (place / "home/.client/deep/skills").mkdir()
    assert watch.look() is None


def test_another_name_of_a_file_changes_it(place) -> None:
    os.link(place / SKILLS / "beta/SKILL.md", place / "twin")
    _stamp(place)
    watch = _begin(place)
    assert watch.look()
    (place / "twin").write_text("x")
    assert watch.look() is None


def test_what_no_look_would_find_costs_nothing(place, watched) -> None:
    (place / "log").write_text("beside everything")
    (place / "home" / "work" / "log").write_text("beside the root")
    (place / SKILLS / "alpha" / "notes.txt").write_text("a file that is no capability")
    (place / SKILLS / "alpha" / "SKILL.md").read_text()
    assert not look_at_disk(place / "index", POINTER).changed
    assert watched.look()


def test_a_change_while_the_watch_begins_is_not_missed(place) -> None:
    """Whenever it happens: each time, the file is changed after one slice more."""
    (place / SKILLS / "alpha" / "many").mkdir()
    slices = 0
    while True:
        _stamp(place)
        watch = StampWatch(place / "index", POINTER, 1_000)
        for _ in range(slices):
            watch.work()
        was_busy = watch.is_busy
        (place / SKILLS / "beta/SKILL.md").write_text("x" * (slices + 9))
        while watch.is_busy:
            watch.work()
        assert watch.look() is None
        if not was_busy:
            return
        slices += 1


def test_lost_events_count_as_a_change(place, watched) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 50_000:
        pytest.skip("a queue that takes too long to fill")
    for number in range(limit + 100):  # the kernel joins an event with one before that is alike
        os.utime(place / SKILLS / "alpha" / ("notes.txt", "more.txt")[number % 2])
    assert watched.look() is None


def test_random_changes_are_seen_as_a_look_sees_them(place) -> None:
    chance = random.Random(19)
    skills = place / SKILLS
    missed = 0
    for _ in range(40):
        _stamp(place)
        watch = _begin(place)
        assert watch.look()
        for _ in range(chance.randrange(1, 4)):
            _change_something(chance, skills)
        if watch.look() is not None:
            missed += bool(look_at_disk(place / "index", POINTER).changed)
        watch.close()
    assert not missed


def _change_something(chance: random.Random, skills: Path) -> None:
    folders = sorted(path for path in skills.rglob("*") if path.is_dir() and not path.is_symlink())
    files = sorted(path for path in skills.rglob("*") if path.is_file())
    kind = chance.randrange(7)
    name = f"n{chance.randrange(1_000)}"
    if kind == 0:
        _write(chance.choice([*folders, skills]) / name / "SKILL.md", name)
    elif kind == 1 and len(files) > 3:
        chance.choice(files).unlink()
    elif kind == 2 and files:
        chance.choice(files).write_text(name)
    elif kind == 3 and len(folders) > 3:
        chosen = chance.choice(folders)
        if not (chosen.parent / name).exists():
            chosen.rename(chosen.parent / name)
    elif kind == 4 and files:
        _rename_over(chance.choice(files), name)
    elif kind == 5 and len(folders) > 6:
        shutil.rmtree(chance.choice(folders))
    elif not (skills / name).exists():
        (skills / name).symlink_to(skills.parent.parent.parent / "other" / "real")


def test_more_folders_than_it_may_watch_are_compared(place) -> None:
    _stamp(place)
    watch = _begin(place, max_folders=5)
    assert watch.look() is None
    assert "fs.inotify.max_user_watches" in watch.problem
    assert watch.folders == 0


def test_a_kernel_that_refuses_is_said(place, monkeypatch) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(errno.ENOSPC)
        return -1

    _stamp(place)
    monkeypatch.setattr(lazy_imports.inotify(), "inotify_add_watch", refuse)
    watch = _begin(place)
    assert watch.look() is None
    assert watch.problem == "fs.inotify.max_user_watches is used up; raise it"


def test_a_file_system_that_others_change_is_not_trusted(place, monkeypatch) -> None:
    monkeypatch.setattr(stamp_watch, "_LOCAL_FILE_SYSTEMS", frozenset([b"ntfs3"]))
    _stamp(place)
    watch = _begin(place)
    assert watch.look() is None
    assert "may change without events" in watch.problem


def test_stamps_are_compared_now_and_then_beside_the_kernels_word(place, monkeypatch) -> None:
    """Against what has no event, as a name that a file gets after the watch began."""
    _stamp(place)
    watch = _begin(place)
    monkeypatch.setattr(stamp_watch, "COMPARE_INTERVAL_S", 0.0)
    twin = place / "twin"
    os.link(place / SKILLS / "beta/SKILL.md", twin)
    twin.write_text("x")
    watch.look()
    while watch.is_busy:
        watch.work()
    assert watch.look() is None


def test_no_descriptor_stays_open(place) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    _stamp(place)
    before = descriptors()
    for _ in range(5):
        watch = _begin(place)
        assert watch.look()
        watch.close()
        _begin(place, max_folders=3)
    assert descriptors() == before
