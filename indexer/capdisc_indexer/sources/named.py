"""A file that somebody named, rather than found below a folder."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118

from __future__ import annotations

import os

from capdisc_indexer.errors import InputError
from capdisc_indexer.sources import source_for
from capdisc_indexer.sources.files import FoundFile, printable
from capdisc_indexer.sources.folder import found_file, stat_of
from capdisc_indexer.sources.links import target
from capdisc_indexer.sources.recognition import by_look
from capdisc_indexer.sources.tree import Folder, Root
from capdisc_indexer.types import Finding


def named_file(root: Root, folder: Folder) -> FoundFile:
    """The file of a root, by its name or else by what it begins with. Raises InputError for any other."""
    name = os.path.basename(root.path)
    # A link may lead to its neighbours only: patterns of a shell name files that nobody chose.
    place = target(os.path.join(folder.resolved, name), [folder.resolved])
    status = place if isinstance(place, Finding) else stat_of(root.path, place)
    source = None if isinstance(place, Finding) else source_for(name) or by_look(place)
    if source is None or isinstance(status, Finding):
        hint = "name a folder, or a file such as SKILL.md, CAPABILITY.yaml, capabilities.jsonl or openapi.json"
        raise InputError(f"{printable(root.path)} is not a capability file", hint)
    return found_file(folder, name, source, status)
