"""A look at all folders, with the memory of the one before.

The memory lies beside the generations and is replaced at will: losing it costs a look that reads every folder.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from capdisc_indexer import memory_file
from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.memory import Known, Memory
from capdisc_indexer.sources.scan import NOWHERE, ScanResult, scan
from capdisc_indexer.store import durable
from capdisc_indexer.store.filesystem import Mount, mount_of
from capdisc_indexer.types import DeclaredSource

_NAME = "folders.json"
# So many folders are read again every time before it is worth writing all of them: a share, or a few of a small tree.
_SHARE, _FEW = 0.01, 20


@frozen(kw_only=True)
class Look:
    """How the folders looked at one moment, and the memory of them."""

    at_ns: int
    scan: ScanResult
    memory: Memory


def look(
    roots: Sequence[Path],
    declared: Sequence[DeclaredSource],
    index_dir: Path,
    before: Look | None = None,
    forget: bool = False,
    confined: Mapping[str, tuple[str, ...]] = NOWHERE,
) -> Look:
    """The folders and declared sources as they are now; with `forget`, nothing of an earlier look is believed. Of the
    roots that are `confined`, none is read that leads out of its real folders.

    Raises InputError for a root that is not there.
    """
    known = before.memory.all if before else {} if forget else _load(index_dir / _NAME)
    memory, now_ns = Memory(known, _devices(roots)), time.time_ns()
    return Look(at_ns=now_ns, scan=scan(roots, declared, memory, confined), memory=memory)


def remember(index_dir: Path, memory: Memory) -> None:
    """Keep what a scan has learned, where that is worth the while."""
    if max(len(memory.learned), memory.gone) <= max(_FEW, int(_SHARE * memory.met)):
        return
    # A full disk must not fail a run over what it can do without.
    with suppress(OSError):
        durable.replace(index_dir / _NAME, memory_file.written(memory.all))


def _load(path: Path) -> Known:
    try:
        return memory_file.parsed(path.read_bytes())
    except OSError:
        return {}


def _devices(roots: Sequence[Path]) -> set[int]:
    """Those that hold the roots, as far as they are disks of this machine."""
    places: dict[int, Path] = {}
    for root in roots:
        with suppress(OSError):  # which the scan will tell
            places.setdefault(root.stat().st_dev, root)
    return {device for device, root in places.items() if _of_this_machine(mount_of(root))}


def _of_this_machine(mount: Mount) -> bool:
    return bool(mount.kind) and not mount.shared and not mount.plain
