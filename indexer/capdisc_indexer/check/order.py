"""The order in which findings are told: the same however the files were dealt out to several runs."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from capdisc_indexer.check.profiles import judged
from capdisc_indexer.types import Finding


def ordered(findings: Iterable[Finding], profile: str, roots: Sequence[str] = ()) -> tuple[Finding, ...]:
    """The findings as bad as they are to the profile, each once: by root, then by path, line and column.

    With the root first, two roots give what one gives after the other.
    """
    known = (one for each in dict.fromkeys(findings) if (one := judged(each, profile)))
    rank = _ranks(roots)
    return tuple(sorted(known, key=lambda one: (rank(one.path), one.path, one.line, one.column, one.code)))


def _ranks(roots: Sequence[str]) -> Callable[[str], int]:
    """The place of a path: a file that was named has its own, any other one that of the first folder around it."""
    named = {root: index for index, root in reversed(list(enumerate(roots)))}
    folders = [(root if os.path.isdir(root) else os.path.dirname(root)).rstrip("/") + "/" for root in roots]

    def rank(path: str) -> int:
        if path in named:
            return named[path]
        return next((index for index, folder in enumerate(folders) if path.startswith(folder)), len(roots))

    return rank
