"""A look at all folders, with the memory of the one before.

The memory lies beside the generations and is replaced at will: losing it costs a look that reads
every folder.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer import __version__
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.scan.directory_cache import (
    CachedDirectories,
    DirectoryCache,
    DirectoryEntry,
)
from capdisc_indexer.sources.scan.file_scan import NOWHERE, ScanResult, scan_roots
from capdisc_indexer.store import durable_files
from capdisc_indexer.store.durable_files import Mount, find_mount
from capdisc_indexer.store.generation import SCHEMA_VERSION

# The memory of folders as a file: a line with the digest of the rest, and one of JSON.
#
# That is a list of this release, the paths, their marks one after the other, the number of each
# one's shape, and the shapes, of which a catalogue has few.

_CACHE_RELEASE = f"{__version__} {SCHEMA_VERSION}"


def encode_cache(entries: CachedDirectories) -> bytes:
    """What the file is to hold."""
    shapes = {
        shape: number
        for number, shape in enumerate(dict.fromkeys(shape for _, shape in entries.values()))
    }
    marks = [stamp for mark, _ in entries.values() for stamp in mark]
    rows = [
        _CACHE_RELEASE,
        list(entries),
        marks,
        [shapes[shape] for _, shape in entries.values()],
        list(shapes),
    ]
    data = json.dumps(rows, separators=(",", ":")).encode("ascii")
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def decode_cache(content: bytes) -> CachedDirectories:
    """What such a file holds; nothing for one that is damaged, of another release, or of another
    form.
    """
    digest, _, data = content.partition(b"\n")
    if hashlib.sha256(data).hexdigest().encode() != digest or not data.startswith(
        f'["{_CACHE_RELEASE}",'.encode()
    ):
        return {}
    try:
        return _decode_entries(*json.loads(data)[1:])
    except MALFORMED_DATA_ERRORS:
        return {}


def _decode_entries(
    paths: Sequence[str], stamps: Sequence[int], numbers: Sequence[int], rows: Sequence[Any]
) -> CachedDirectories:
    """Raises one of BROKEN for what no scan has learned."""
    _expect({*map(type, paths)} <= {str} and {*map(type, stamps), *map(type, numbers)} <= {int})
    _expect(not numbers or min(numbers) >= 0)
    shapes = [_decode_entry(*row) for row in rows]
    stamp_iterator = iter(stamps)
    marks = zip(stamp_iterator, stamp_iterator, stamp_iterator, stamp_iterator, strict=True)
    return {
        path: (mark, shapes[number])
        for path, mark, number in zip(paths, marks, numbers, strict=True)
    }


def _decode_entry(
    owned: bool, owns: bool, inner: Sequence[str], files: Sequence[Any]
) -> DirectoryEntry:
    _expect(isinstance(owned, bool) and isinstance(owns, bool))
    return DirectoryEntry(
        owned, owns, _check_names(inner), tuple([_decode_file(*file_row) for file_row in files])
    )


def _decode_file(
    name: str, kind: str, companions: Sequence[str]
) -> tuple[str, str, tuple[str, ...]]:
    _expect(kind in SOURCES)
    return _check_names([name])[0], kind, _check_names(companions)


def _check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Those of entries of a folder: none leads out of it."""
    _expect(isinstance(names, list) and all(isinstance(name, str) for name in names))
    _expect(not any(name in {"", ".", ".."} or "/" in name or "\0" in name for name in names))
    return tuple(names)


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError


_CACHE_FILE = "folders.json"
# So many folders are read again every time before it is worth writing all of them: a share, or a
# few of a small tree.
_MIN_CHANGED_SHARE, _MIN_CHANGED = 0.01, 20


@frozen(kw_only=True)
class ScanSnapshot:
    """How the folders looked at one moment, and the memory of them."""

    at_ns: int
    scan: ScanResult
    memory: DirectoryCache


def scan_with_cache(
    roots: Sequence[Path],
    declared: Sequence[DeclaredSource],
    index_dir: Path,
    previous: ScanSnapshot | None = None,
    forget: bool = False,
    confined: Mapping[str, tuple[str, ...]] = NOWHERE,
) -> ScanSnapshot:
    """The folders and declared sources as they are now; with `forget`, nothing of an earlier look
    is believed. Of the roots that are `confined`, none is read that leads out of its real folders.

    Raises InputError for a root that is not there.
    """
    cache_entries = (
        previous.memory.all if previous else {} if forget else _load_cache(index_dir / _CACHE_FILE)
    )
    memory, now_ns = DirectoryCache(cache_entries, _local_devices(roots)), time.time_ns()
    return ScanSnapshot(
        at_ns=now_ns, scan=scan_roots(roots, declared, memory, confined), memory=memory
    )


def save_cache(index_dir: Path, memory: DirectoryCache) -> None:
    """Keep what a scan has learned, where that is worth the while."""
    if max(len(memory.learned), memory.miss_count) <= max(
        _MIN_CHANGED, int(_MIN_CHANGED_SHARE * memory.hit_count)
    ):
        return
    # A full disk must not fail a run over what it can do without.
    with suppress(OSError):
        durable_files.replace_file(index_dir / _CACHE_FILE, encode_cache(memory.all))


def _load_cache(path: Path) -> CachedDirectories:
    try:
        return decode_cache(path.read_bytes())
    except OSError:
        return {}


def _local_devices(roots: Sequence[Path]) -> set[int]:
    """Those that hold the roots, as far as they are disks of this machine."""
    places: dict[int, Path] = {}
    for root in roots:
        with suppress(OSError):  # which the scan will tell
            places.setdefault(root.stat().st_dev, root)
    return {device for device, root in places.items() if _is_local_disk(find_mount(root))}


def _is_local_disk(mount: Mount) -> bool:
    return bool(mount.kind) and not mount.is_shared and not mount.is_limited
