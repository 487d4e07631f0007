"""The few vectors that came after the vector store was written: kept beside it, since importing it takes a second.

hashes        n text hashes of 32 digits
rows.f32      n rows of dim float32, in their order

A build with many new vectors, or with many here, puts all into the store and leaves nothing here.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HASH = 32


def write(target: Path, hashes: Sequence[str], rows: bytes) -> None:
    """Write the rows, 32-bit floats one after the other, with the hashes of their texts; for none, nothing."""
    if not hashes:
        return
    target.mkdir()
    (target / "hashes").write_bytes("".join(hashes).encode("ascii"))
    (target / "rows.f32").write_bytes(rows)


def read(source: Path) -> tuple[list[str], Any]:
    """The hashes, and all rows as one buffer of floats. Raises OSError or ValueError when they cannot be read."""
    try:
        text = (source / "hashes").read_bytes().decode("ascii")
    except FileNotFoundError:
        return [], memoryview(array("f"))
    rows = memoryview((source / "rows.f32").read_bytes()).cast("f")
    return [text[at : at + _HASH] for at in range(0, len(text), _HASH)], rows
