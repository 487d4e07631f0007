"""The memory of folders beside the generations, replaced at will: losing it costs a scan that reads every folder.

a digest of all that follows, then this release, then a line a folder
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer import __version__
from capdisc_indexer.sources.memory import Known, Memory, Shape
from capdisc_indexer.store import durable
from capdisc_indexer.store.filesystem import mount_of
from capdisc_indexer.store.generation import SCHEMA_VERSION

_NAME = "folders.json"
# So many folders are read again every time before it is worth writing all of them: a share, or a few of a small tree.
_SHARE, _FEW = 0.01, 20
_RELEASE = f"{__version__} {SCHEMA_VERSION}"


def recall(index_dir: Path, roots: Sequence[Path], forget: bool = False) -> Memory:
    """What is known of the folders below these roots; with `forget`, or where it cannot be read, nothing."""
    return Memory({} if forget else _load(index_dir / _NAME), _devices(roots))


def remember(index_dir: Path, memory: Memory) -> None:
    """Keep what a scan has learned, where that is worth the while."""
    if max(len(memory.learned), memory.gone) <= max(_FEW, int(_SHARE * memory.met)):
        return
    known = memory.all
    shapes = {shape: number for number, shape in enumerate(dict.fromkeys(shape for _, shape in known.values()))}
    marks = [stamp for mark, _ in known.values() for stamp in mark]
    kept = [_RELEASE, list(known), marks, [shapes[shape] for _, shape in known.values()], list(shapes)]
    data = json.dumps(kept, separators=(",", ":")).encode("ascii")
    # A full disk must not fail a run over what it can do without.
    with suppress(OSError):
        durable.replace(index_dir / _NAME, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def _load(path: Path) -> Known:
    try:
        digest, _, data = path.read_bytes().partition(b"\n")
    except OSError:
        return {}
    if hashlib.sha256(data).hexdigest().encode() != digest or not data.startswith(f'["{_RELEASE}",'.encode()):
        return {}
    _, paths, stamps, numbers, rows = json.loads(data)
    shapes = [Shape(owned, owns, tuple(inner), tuple(map(_file, files))) for owned, owns, inner, files in rows]
    each = iter(stamps)
    marks = zip(each, each, each, each, strict=True)
    return {path: (mark, shapes[number]) for path, mark, number in zip(paths, marks, numbers, strict=True)}


def _file(row: Sequence[Any]) -> tuple[str, str, tuple[str, ...]]:
    name, kind, companions = row
    return name, kind, tuple(companions)


def _devices(roots: Sequence[Path]) -> set[int]:
    """Those that hold the roots, as far as they are disks of this machine."""
    found = set()
    for root in roots:
        mount = mount_of(root)
        if mount.kind and not mount.shared and not mount.plain:
            with suppress(OSError):
                found.add(root.stat().st_dev)
    return found
