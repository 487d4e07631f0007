"""A root that comes, goes, or turns into another while it is watched."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from skill_trees import equal_after, write
from watched import Watched, until


def moved(move: Callable[[Path], None], root: Path, index_dir: Path, work: Path) -> float | None:
    if move is _appears:
        shutil.rmtree(root)
    elif move is _retargeted:
        write(root.with_name("one"), 0, "one")
        root.rmdir()
        root.symlink_to("one")
    else:
        write(root, 0, "first")
    with Watched(root, "--index-dir", index_dir, "--debounce", "0.2") as watched:
        assert until(lambda: watched.turns)
        move(root)
        started = time.monotonic()
        first = equal_after(index_dir, [root], work, 5)
        # And it hears what happens there from now on.
        write(root, 7, "afterwards")
        later = equal_after(index_dir, [root], work, 5)
        return None if first is None or later is None else time.monotonic() - started


def _appears(root: Path) -> None:
    write(root, 1, "it appears")


def _made_again_at_once(root: Path) -> None:
    shutil.rmtree(root)
    write(root, 1, "made again")


def _made_again_later(root: Path) -> None:
    shutil.rmtree(root)
    time.sleep(2)
    write(root, 1, "made again")


def _renamed_and_back(root: Path) -> None:
    root.rename(root.with_name("away"))
    time.sleep(2)
    root.with_name("away").rename(root)
    write(root, 1, "back again")


def _exchanged(root: Path) -> None:
    write(root.with_name("other"), 1, "the other one")
    root.rename(root.with_name("away"))
    root.with_name("other").rename(root)


def _retargeted(root: Path) -> None:
    write(root.with_name("two"), 1, "the second target")
    fresh = root.with_name("link")
    fresh.symlink_to("two")
    fresh.replace(root)


def _outer_moved(root: Path) -> None:
    """The folder around the root goes, and another comes in its place."""
    outer = root.parent
    outer.rename(outer.with_name("outer-away"))
    write(root, 1, "in another outer folder")


MOVES = (
    _appears,
    _made_again_at_once,
    _made_again_later,
    _renamed_and_back,
    _exchanged,
    _retargeted,
    _outer_moved,
)
