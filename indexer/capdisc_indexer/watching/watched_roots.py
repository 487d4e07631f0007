"""Where the roots are just now. A root may be missing, come back as another folder, or be a link
that moves.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import BuildReport, Finding

# What watching is told, and what it tells.


@frozen(kw_only=True)
class WatchOptions:
    """How patient watching is, in seconds.

    Changes are taken up once nothing happened for `quiet_s`, at the latest `patience_s` after the
    first of them, so that a program that never stops writing cannot hold them back. Everything is
    looked at every `interval_s` (None: every minute; every other second without events from the
    kernel, which `poll` does without from the start). `optional` are the roots whose absence at
    the start is no news.
    """

    interval_s: float | None = None
    quiet_s: float = 0.5
    patience_s: float = 5.0
    poll: bool = False
    optional: frozenset[Path] = frozenset()


@frozen(kw_only=True)
class WatchUpdate:
    """Something worth telling: what a build did, the errors of files that the last turn did not
    have, and notices.

    Without a report there was no build, or one that changed nothing.
    """

    report: BuildReport | None = None
    errors: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()


# ruff: noqa: PTH112, PTH116, PTH120


@frozen(kw_only=True)
class WatchPlace:
    """The real folder to listen to for a root, and what tells it from another one at the same
    path. With `all_files`, all of its files count, whatever their names.
    """

    folder: str
    is_folder: bool
    identity: tuple[int, ...]
    all_files: bool = False


WatchPlaces = Mapping[Path, WatchPlace | None]


def locate_roots(roots: Iterable[Path], declared: Collection[Path] = ()) -> WatchPlaces:
    """The place of each root and declared source; None for one that is not there. A file stands
    for its folder, without those inside.
    """
    return {
        root: _locate_root(root, root in declared) for root in dict.fromkeys((*roots, *declared))
    }


def _locate_root(root: Path, all_files: bool) -> WatchPlace | None:
    try:
        resolved = os.path.realpath(root, strict=True)
        is_folder = os.path.isdir(resolved)
        folder = resolved if is_folder else os.path.dirname(resolved)
        status = os.stat(folder)
    except OSError:
        return None
    # The mode, since a folder that becomes readable has to be listened to anew.
    identity = (status.st_dev, status.st_ino, status.st_mode)
    return WatchPlace(folder=folder, is_folder=is_folder, identity=identity, all_files=all_files)


def describe_changes(
    before: WatchPlaces | None, now: WatchPlaces, optional: frozenset[Path]
) -> list[str]:
    """What to say about roots that came or went; at the start (`before` is None) that one is
    missing.
    """
    if before == now:
        return []
    present = {root for root in now if before is None or before[root]}
    silent = optional if before is None else frozenset()
    missing = [root for root, place in now.items() if not place and root in present - silent]
    appeared = [root for root, place in now.items() if place and root not in present]
    messages = [f"{root} is not there; waiting for it" for root in missing]
    messages += [f"{root} is there now" for root in appeared]
    if not any(now.values()):
        messages.append("none of the folders is there: what was indexed last stays until one is")
    return messages
