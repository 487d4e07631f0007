"""Commands as they are to be typed."""

from __future__ import annotations

import shlex
from pathlib import Path

from capdisc_indexer.previous import salvaged


def quoted(path: Path) -> str:
    """The path as a word of a shell."""
    return shlex.quote(str(path))


def index_command(index_dir: Path, *options: str) -> str:
    """What brings the index up to date with the folders that it was made of, as far as they are known and there."""
    roots = [Path(root) for root in salvaged(index_dir).roots]
    words = [*options, *(quoted(root) for root in roots if root.exists()), f"--index-dir {quoted(index_dir)}"]
    return f"capdisc index {' '.join(words)}"
