"""Scanned files, built by hand for tests of their readers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from capdisc_indexer.sources.scan.scanned_files import FoundFile


def found(path: Path, format: str = "", **changes: Any) -> FoundFile:
    """The file at this path, declared by itself unless `changes` say otherwise."""
    status = path.stat()
    values: dict[str, Any] = {
        "path": str(path),
        "resolved": os.path.realpath(path),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
        "inode": status.st_ino,
        "relative": path.name,
        "root": str(path.parent),
        "root_order": 0,
        "format": format,
        "is_alone": True,
    }
    return FoundFile(**{**values, **changes})
