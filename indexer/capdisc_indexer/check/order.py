"""The order in which findings are told: the same however the files were dealt out to several runs."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from capdisc_indexer.check.profiles import judged
from capdisc_indexer.types import Finding


def ordered(findings: Iterable[Finding], profile: str, roots: Sequence[str] = ()) -> tuple[Finding, ...]:
    """The findings as bad as they are to the profile, each once: by root, then by path, line and column.

    With the root first, two roots give what one gives after the other.
    """
    rank = _ranks(roots)
    by_place = sorted(findings, key=lambda finding: (rank(finding.path), *_place(finding)))
    # Equal findings now stand together: a dictionary of all of them would take as much again.
    distinct = (finding for _, group in groupby(by_place, key=_place) for finding in dict.fromkeys(group))
    return tuple(known for finding in distinct if (known := judged(finding, profile)))


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.path, finding.line, finding.column, finding.code


def _ranks(roots: Sequence[str]) -> Callable[[str], int]:
    """The place of a path: a file that was named has its own, any other one that of the first folder around it."""
    named = {root: index for index, root in reversed(list(enumerate(roots)))}
    folders = [(root if os.path.isdir(root) else os.path.dirname(root)).rstrip("/") + "/" for root in roots]

    def rank(path: str) -> int:
        if path in named:
            return named[path]
        return next((index for index, folder in enumerate(folders) if path.startswith(folder)), len(roots))

    return rank
