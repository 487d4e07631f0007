"""Where the roots are just now. A root may be missing, come back as another folder, or be a link that moves."""

# ruff: noqa: PTH112, PTH116, PTH120

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Place:
    """The real folder to listen to for a root, and what tells it from another one at the same path. With `every`, all
    of its files count, whatever their names."""

    folder: str
    whole: bool
    identity: tuple[int, ...]
    every: bool = False


Places = Mapping[Path, Place | None]


def locate(roots: Iterable[Path], declared: Collection[Path] = ()) -> Places:
    """The place of each root and declared source; None for one that is not there. A file stands for its folder, without
    those inside."""
    return {root: _place(root, root in declared) for root in dict.fromkeys((*roots, *declared))}


def _place(root: Path, every: bool) -> Place | None:
    try:
        resolved = os.path.realpath(root, strict=True)
        whole = os.path.isdir(resolved)
        folder = resolved if whole else os.path.dirname(resolved)
        status = os.stat(folder)
    except OSError:
        return None
    # The mode, since a folder that becomes readable has to be listened to anew.
    identity = (status.st_dev, status.st_ino, status.st_mode)
    return Place(folder=folder, whole=whole, identity=identity, every=every)


def news(before: Places | None, now: Places, optional: frozenset[Path]) -> list[str]:
    """What to say about roots that came or went; at the start (`before` is None) that one is missing."""
    if before == now:
        return []
    there = {root for root in now if before is None or before[root]}
    silent = optional if before is None else frozenset()
    gone = [root for root, place in now.items() if not place and root in there - silent]
    come = [root for root, place in now.items() if place and root not in there]
    said = [f"{root} is not there; waiting for it" for root in gone]
    said += [f"{root} is there now" for root in come]
    if not any(now.values()):
        said.append("none of the folders is there: what was indexed last stays until one is")
    return said
