"""What a build is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from capdisc_indexer.frozen import frozen
from capdisc_indexer.reconcile import Progress
from capdisc_indexer.types import BuildOptions


@frozen(kw_only=True)
class Task:
    """Bring the index in `index_dir` up to date with these folders, and say through `progress` how far it is."""

    roots: Sequence[Path]
    index_dir: Path
    options: BuildOptions
    progress: Progress

    @property
    def names(self) -> tuple[str, ...]:
        """The roots as text."""
        return tuple(map(str, self.roots))
