"""Which events can matter to a scan. Most do not: a repository's own files, an index inside a root, other programs."""

from __future__ import annotations

from typing import Any

from capdisc_indexer.sources import source_for
from capdisc_indexer.sources.folder import is_companion
from capdisc_indexer.sources.guidance import is_guidance
from capdisc_indexer.sources.links import inside
from capdisc_indexer.sources.recognition import HEADED
from capdisc_indexer.sources.scan import SKIPPED

# The kinds of event that are asked for. Opening and reading are not among them: scans do that all the time.
KINDS = (
    "FileCreatedEvent FileModifiedEvent FileClosedEvent FileDeletedEvent FileMovedEvent FileAttribEvent "
    "DirCreatedEvent DirDeletedEvent DirMovedEvent DirAttribEvent"
).split()
_OF_CONTENT = frozenset({"modified", "closed", "attrib"})


def matters(event: Any, base: str, index_dir: str, every: bool = False) -> bool:
    """Whether a scan of the folder `base` could come out differently after this event; with `every`, any file there
    may be a source, whatever its name."""
    paths = [path for path in (event.src_path, event.dest_path) if path]
    return any(_within_scan(path, base, index_dir) and (every or _of_interest(event, path)) for path in paths)


def _within_scan(path: str, base: str, index_dir: str) -> bool:
    folders = path.removeprefix(base).split("/")
    return SKIPPED.isdisjoint(folders) and not inside(path, [index_dir])


def _of_interest(event: Any, path: str) -> bool:
    """Other files may come and go as links to folders do; what they hold is none of our business."""
    if event.is_directory or event.event_type not in _OF_CONTENT:
        return True
    name = path.rpartition("/")[2]
    known = name.lower().endswith(HEADED) or source_for(name) is not None or is_companion(name)
    return known or is_guidance(path)
