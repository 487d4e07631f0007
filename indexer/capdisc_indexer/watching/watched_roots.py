"""Where the roots are now, and the options and updates of watching. A root may be missing, come
back as another folder, or be a link that moves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import BuildReport, Finding
from capdisc_indexer.platforms import resolve_path

# `os.path` rather than Path, which costs more for each of many roots every second.
# ruff: noqa: PTH112, PTH116, PTH120


def _is_always_current() -> bool:
    return True


@frozen(kw_only=True)
class WatchOptions:
    """When to build, in seconds; whether to poll; and which roots may be missing.

    A build starts once nothing changed for `quiet_s`, and at the latest `patience_s` after the
    first change, so that a program that never stops writing cannot delay it. Everything is scanned
    every `interval_s` (None: every minute; with `poll`, or where the kernel gives no events, every
    other second). `optional` are the roots whose absence at the start is not reported.
    `is_current` is asked every second whether roots and options are still those that a caller
    would choose.
    """

    interval_s: float | None = None
    quiet_s: float = 0.5
    patience_s: float = 5.0
    poll: bool = False
    optional: frozenset[Path] = frozenset()
    is_current: Callable[[], bool] = _is_always_current


@frozen(kw_only=True)
class WatchUpdate:
    """What is new since the last update: the report of a build, errors of files that the last
    update did not have, and notices.

    Without a report there was no build, or one that changed nothing.
    """

    report: BuildReport | None = None
    errors: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()


@frozen(kw_only=True)
class WatchPlace:
    """The real folder to observe for a root, and its identity (device, inode, mode), which another
    folder at the same path does not have. With `all_files`, all of its files are sources, whatever
    their names.
    """

    folder: str
    is_folder: bool
    identity: tuple[int, ...]
    all_files: bool = False


# The place of each root; None for a root that does not exist.
WatchPlaces: TypeAlias = Mapping[Path, WatchPlace | None]


def locate_roots(roots: Iterable[Path], declared: Collection[Path] = ()) -> WatchPlaces:
    """The places of the roots and declared sources. The place of a file is its folder, without the
    folders inside.
    """
    return {
        root: _locate_root(root, root in declared) for root in dict.fromkeys((*roots, *declared))
    }


def _locate_root(root: Path, all_files: bool) -> WatchPlace | None:
    try:
        resolved = resolve_path(root, strict=True)
        is_folder = os.path.isdir(resolved)
        folder = resolved if is_folder else os.path.dirname(resolved)
        status = os.stat(folder)
    except OSError:
        return None
    # The mode, since a folder that becomes readable must be observed anew.
    identity = (status.st_dev, status.st_ino, status.st_mode)
    return WatchPlace(folder=folder, is_folder=is_folder, identity=identity, all_files=all_files)


def describe_changes(
    before: WatchPlaces | None, now: WatchPlaces, optional: frozenset[Path]
) -> list[str]:
    """The notices about roots that came or went; at the start (`before` is None), about roots that
    are missing.
    """
    if before == now:
        return []
    expected = {root for root in now if before is None or before[root]}
    if before is None:
        expected -= optional
    missing = [root for root, place in now.items() if not place and root in expected]
    appeared = [
        root for root, place in now.items() if place and before is not None and not before[root]
    ]
    messages = [f"{root} does not exist; waiting for it" for root in missing]
    messages += [f"{root} exists now" for root in appeared]
    if not any(now.values()):
        messages.append("none of the folders exists: the last index stays until one does")
    return messages
