"""Formats told by what a file begins with, where its name says little."""

from __future__ import annotations

import re

from capdisc_indexer.sources import SOURCES, Source
from capdisc_indexer.sources.opening import read_head

HEAD_BYTES = 256
LOOK_BYTES = 4_096
# The endings whose files are opened for it during a scan.
HEADED = (".json", ".yaml", ".yml", ".db")

_OPENAPI = re.compile(
    rb"""(?:^(?:\xef\xbb\xbf)?|[{,])\s*["']?(?:openapi["']?\s*:\s*["']?3|swagger["']?\s*:\s*["']?2)""", re.MULTILINE
)
_SQLITE = b"SQLite format 3\0"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")
_FUNCTIONS = re.compile(rb'"type"\s*:\s*"function"|"input_schema"|"function_?declarations"', re.I)
_TOOLS = re.compile(rb'"tools"\s*:\s*\[|"inputSchema"')


def by_head(name: str, path: str) -> Source | None:
    """The format of a file whose name does not tell: an API description or a database, by its first bytes."""
    return _of_head(read_head(path, HEAD_BYTES)) if name.lower().endswith(HEADED) else None


def by_look(path: str) -> Source | None:
    """The same for a file that somebody named, which may be a list of tools or functions too."""
    head = read_head(path, LOOK_BYTES)
    if (source := _of_head(head)) or not _JSON.match(head):
        return source
    if _FUNCTIONS.search(head):
        return SOURCES["functions"]
    return SOURCES["mcp"] if _TOOLS.search(head) else None


def _of_head(head: bytes) -> Source | None:
    if head.startswith(_SQLITE):
        return SOURCES["sqlite"]
    return SOURCES["openapi"] if _OPENAPI.search(head) else None
