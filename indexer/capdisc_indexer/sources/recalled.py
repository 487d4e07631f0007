"""A file that an earlier scan found, as it looks now."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.frozen import replace
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FileStat, FoundFile
from capdisc_indexer.sources.folder import found_file, stat_of
from capdisc_indexer.sources.tree import Folder


def recalled(folder: Folder, name: str, kind: str, companions: Sequence[str]) -> FoundFile | None:
    """The file of that name with these companions; None where one of them is no regular file any more."""
    status = stat_of(*folder.inside(name))
    if not isinstance(status, FileStat):
        return None
    file = found_file(folder, name, SOURCES[kind], status)
    return _with(folder, file, companions) if companions else file


def _with(folder: Folder, file: FoundFile, companions: Sequence[str]) -> FoundFile | None:
    found = [stat_of(*folder.inside(each)) for each in companions]
    beside = tuple(each for each in found if isinstance(each, FileStat))
    return replace(file, companions=beside) if len(beside) == len(found) else None
