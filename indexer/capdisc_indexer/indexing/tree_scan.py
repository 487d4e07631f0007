"""A scan of all folders of a build, or of one, with the stamps of what it read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.indexing.build_plan import BuildRequest
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.scan.file_scan import ScanResult, open_folder, scan_roots
from capdisc_indexer.sources.scan.folder_files import FolderStamps
from capdisc_indexer.sources.scan.folder_tree import ScanFolder
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store.durable_files import Mount, find_mount


@frozen(kw_only=True)
class ScanSnapshot:
    """What a scan saw at one time, with the stamps of its folders."""

    at_ns: int
    scan: ScanResult
    stamps: FolderStamps


def scan_folders(request: BuildRequest) -> ScanSnapshot:
    """A scan of the roots and declared sources now.

    A root that the options confine is read only while it leads into one of its real folders.
    Raises InputError for a root that does not exist.
    """
    options = request.options
    stamps, now_ns = FolderStamps(_local_devices(request.roots)), time.time_ns()
    scan = scan_roots(
        request.roots, options.sources, stamps, options.confined, options.links, takes_data=True
    )
    return ScanSnapshot(at_ns=now_ns, scan=scan, stamps=stamps)


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
    stamps = FolderStamps(_local_devices([Path(folder.root.path)]))
    files, inner, findings = open_folder(folder, stamps)
    if not stamps.taken:
        return None
    return FolderView(
        stamp=stamps.taken[0][1],
        files=files,
        inner=inner,
        findings=findings,
        is_certain=not stamps.uncertain_count,
    )


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
