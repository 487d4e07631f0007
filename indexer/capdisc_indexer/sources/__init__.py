"""Sources of capabilities: look-ups in the table of formats by file name and by declaration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.sources.registry import ALL_FORMATS
from capdisc_indexer.sources.registry import SourceFormat as SourceFormat

SOURCES: Mapping[str, SourceFormat] = MappingProxyType(
    {source.format: source for source in ALL_FORMATS}
)
DECLARED = tuple(sorted({source.declared for source in ALL_FORMATS if source.declared}))
# The largest file that is read at once, also to show findings in it.
MAX_READ_BYTES = max(source.limit_bytes for source in ALL_FORMATS if source.reads)

_BY_NAME = {name.lower(): source for source in ALL_FORMATS for name in source.filenames}
_BY_ENDING = tuple((ending, source) for source in ALL_FORMATS for ending in source.endings)
_ENDINGS = tuple(ending for ending, _ in _BY_ENDING)


def source_for(filename: str) -> SourceFormat | None:
    """The format of a file of this name, or None."""
    name = filename.lower()
    if named := _BY_NAME.get(name):
        return named
    if not name.endswith(_ENDINGS):
        return None
    return next(source for ending, source in _BY_ENDING if name.endswith(ending))


def manifest_for(filename: str) -> SourceFormat | None:
    """The format of a file of this name, if it is also read in the folder of a skill; else None."""
    source = source_for(filename)
    return source if source and source.everywhere else None


def declared_source(word: str, filename: str) -> SourceFormat | None:
    """The format that a declaration means by this word for a file of this name, or None.

    >>> declared_source("openapi", "shop.yaml").format, declared_source("openapi", "notes.md")
    ('openapi', None)
    """
    formats = of_declaration(word)
    return next((source for source in formats if filename.lower().endswith(source.suffixes)), None)


def of_declaration(word: str) -> tuple[SourceFormat, ...]:
    """The formats that share this word for a declaration."""
    return tuple(source for source in ALL_FORMATS if source.declared == word)
