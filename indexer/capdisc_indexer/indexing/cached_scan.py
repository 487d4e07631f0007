"""A scan of all folders that skips what an earlier scan has already read, and the cache file that
makes this possible.

`folders.json` lies beside the generations and is replaced at any time: losing it costs one scan
that reads every folder. It is a line with the SHA-256 of the rest, and a line of JSON: a list of
the release that wrote it, the paths of the folders, their stamps one after the other (four for
each), the number of each folder's entry, and the distinct entries, of which a catalogue has few.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource, Finding, LinkRules
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.directory_cache import (
    CachedDirectories,
    DirectoryCache,
    DirectoryEntry,
)
from capdisc_indexer.sources.scan.file_scan import (
    NO_RULES,
    NOWHERE,
    ScanResult,
    open_folder,
    scan_roots,
)
from capdisc_indexer.sources.scan.folder_tree import ScanFolder
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store import durable_files
from capdisc_indexer.store.durable_files import Mount, find_mount
from capdisc_indexer.store.generation import SCHEMA_VERSION

_CACHE_FILE = "folders.json"
# The file is written anew once so many of its folders had to be read: a share of all, or this
# number in a small tree.
_MIN_CHANGED_SHARE, _MIN_CHANGED = 0.01, 20


@frozen(kw_only=True)
class ScanSnapshot:
    """What a scan saw at one time, with the cache that it used and filled."""

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
    links: LinkRules = NO_RULES,
) -> ScanSnapshot:
    """A scan of the roots and declared sources now, which reads only folders that changed since
    the `previous` scan, or since the one in the cache file; with `forget`, all folders.

    A root that `confined` names is read only while it leads into one of these real folders. Raises
    InputError for a root that does not exist.
    """
    cached: CachedDirectories = {}
    if previous:
        cached = previous.memory.all
    elif not forget:
        cached = _load_cache(index_dir / _CACHE_FILE)
    memory, now_ns = DirectoryCache(cached, _local_devices(roots)), time.time_ns()
    scan = scan_roots(roots, declared, memory, confined, links, takes_data=True)
    return ScanSnapshot(at_ns=now_ns, scan=scan, memory=memory)


@frozen(kw_only=True)
class FolderView:
    """One folder as it is now: its stamp, its capability files, the folders to enter, and the
    findings about its entries. Without `is_certain`, the stamps of the folder and its
    files do not tell everything about it.
    """

    stamp: tuple[int, int, int]
    files: Sequence[FoundFile]
    inner: Sequence[ScanFolder]
    findings: Sequence[Finding]
    is_certain: bool


def scan_folder(folder: ScanFolder) -> FolderView | None:
    """One folder below a root as a scan of everything sees it; None where it cannot be read."""
    memory = DirectoryCache({}, _local_devices([Path(folder.root.path)]))
    files, inner, findings = open_folder(folder, memory)
    if not memory.stamps:
        return None
    return FolderView(
        stamp=memory.stamps[0][1],
        files=files,
        inner=inner,
        findings=findings,
        is_certain=not memory.uncertain_count,
    )


def save_cache(index_dir: Path, memory: DirectoryCache) -> None:
    """Writes the cache file if the scan had to read enough folders to make it worth it."""
    if max(len(memory.learned), memory.miss_count) <= max(
        _MIN_CHANGED, int(_MIN_CHANGED_SHARE * memory.hit_count)
    ):
        return
    # A full disk must not fail a run over a file that it can do without.
    with suppress(OSError):
        durable_files.replace_file(index_dir / _CACHE_FILE, encode_cache(memory.all))


def _load_cache(path: Path) -> CachedDirectories:
    try:
        return decode_cache(path.read_bytes())
    except OSError:
        return {}


def _local_devices(roots: Sequence[Path]) -> set[int]:
    """The devices that hold the roots, as far as they are disks of this machine: only their stamps
    can be believed.
    """
    root_of_device: dict[int, Path] = {}
    for root in roots:
        with suppress(OSError):  # the scan reports it
            root_of_device.setdefault(root.stat().st_dev, root)
    return {device for device, root in root_of_device.items() if _is_local_disk(find_mount(root))}


def _is_local_disk(mount: Mount) -> bool:
    return bool(mount.kind) and not mount.is_shared and not mount.is_limited


# The format of the cache file.

_CACHE_RELEASE = f"{describe_release()} {SCHEMA_VERSION}"


def encode_cache(cached: CachedDirectories) -> bytes:
    """The content of the cache file."""
    numbers: dict[DirectoryEntry, int] = {}
    for _, entry in cached.values():
        numbers.setdefault(entry, len(numbers))
    rows = [
        _CACHE_RELEASE,
        list(cached),
        [stamp for folder_stamps, _ in cached.values() for stamp in folder_stamps],
        [numbers[entry] for _, entry in cached.values()],
        list(numbers),
    ]
    data = json.dumps(rows, separators=(",", ":")).encode("ascii")
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def decode_cache(content: bytes) -> CachedDirectories:
    """The entries in the cache file; none where it is damaged, or another release wrote it."""
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
    """Raises one of MALFORMED_DATA_ERRORS for rows that `encode_cache` does not write."""
    _expect({*map(type, paths)} <= {str} and {*map(type, stamps), *map(type, numbers)} <= {int})
    _expect(not numbers or min(numbers) >= 0)
    entries = [_decode_entry(*row) for row in rows]
    stamp = iter(stamps)
    folder_stamps = zip(stamp, stamp, stamp, stamp, strict=True)
    return {
        path: (stat_key, entries[number])
        for path, stat_key, number in zip(paths, folder_stamps, numbers, strict=True)
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
    """The names, checked to be plain entries of a folder: none leads out of it."""
    _expect(isinstance(names, list) and all(isinstance(name, str) for name in names))
    _expect(not any(name in {"", ".", ".."} or "/" in name or "\0" in name for name in names))
    return tuple(names)


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError
