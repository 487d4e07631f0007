"""The memory of folders as a file: a line with the digest of the rest, and one of JSON.

That is a list of this release, the paths, their marks one after the other, the number of each one's shape, and the
shapes, of which a catalogue has few.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from capdisc_indexer import __version__
from capdisc_indexer.errors import BROKEN
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.memory import Known, Shape
from capdisc_indexer.store.generation import SCHEMA_VERSION

_RELEASE = f"{__version__} {SCHEMA_VERSION}"


def written(known: Known) -> bytes:
    """What the file is to hold."""
    shapes = {shape: number for number, shape in enumerate(dict.fromkeys(shape for _, shape in known.values()))}
    marks = [stamp for mark, _ in known.values() for stamp in mark]
    kept = [_RELEASE, list(known), marks, [shapes[shape] for _, shape in known.values()], list(shapes)]
    data = json.dumps(kept, separators=(",", ":")).encode("ascii")
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def parsed(content: bytes) -> Known:
    """What such a file holds; nothing for one that is damaged, of another release, or of another form."""
    digest, _, data = content.partition(b"\n")
    if hashlib.sha256(data).hexdigest().encode() != digest or not data.startswith(f'["{_RELEASE}",'.encode()):
        return {}
    try:
        return _known(*json.loads(data)[1:])
    except BROKEN:
        return {}


def _known(paths: Sequence[str], stamps: Sequence[int], numbers: Sequence[int], rows: Sequence[Any]) -> Known:
    """Raises one of BROKEN for what no scan has learned."""
    _expect({*map(type, paths)} <= {str} and {*map(type, stamps), *map(type, numbers)} <= {int})
    _expect(not numbers or min(numbers) >= 0)
    shapes = [_shape(*row) for row in rows]
    each = iter(stamps)
    marks = zip(each, each, each, each, strict=True)
    return {path: (mark, shapes[number]) for path, mark, number in zip(paths, marks, numbers, strict=True)}


def _shape(owned: bool, owns: bool, inner: Sequence[str], files: Sequence[Any]) -> Shape:
    _expect(isinstance(owned, bool) and isinstance(owns, bool))
    return Shape(owned, owns, _names(inner), tuple([_file(*each) for each in files]))


def _file(name: str, kind: str, companions: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    _expect(kind in SOURCES)
    return _names([name])[0], kind, _names(companions)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    """Those of entries of a folder: none leads out of it."""
    _expect(isinstance(names, list) and all(isinstance(name, str) for name in names))
    _expect(not any(name in {"", ".", ".."} or "/" in name or "\0" in name for name in names))
    return tuple(names)


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError
