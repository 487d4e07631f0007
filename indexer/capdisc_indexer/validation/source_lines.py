"""The lines of the files that findings are about."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeVar

from capdisc_indexer.sources import MAX_READ_BYTES
from capdisc_indexer.sources.readers.file_bytes import read_path
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.validation.secret_keys import mask_keys

_REMEMBERED = 4
_Value = TypeVar("_Value")


class SourceLines:
    """Texts by path, each read when it is asked for; the last few are remembered. Nothing outside
    the roots is read, whatever a path says: a finding about a link that leads out must not show
    what lies behind it.
    """

    def __init__(self, roots: Sequence[str], given_texts: Mapping[str, str] | None = None) -> None:
        folders = (root if os.path.isdir(root) else os.path.dirname(root) for root in roots)
        self._roots = [os.path.realpath(folder) for folder in folders]
        self._given = given_texts or {}
        self._texts: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def text(self, path: str) -> str:
        """The text with `\\n` as its only line end; what is no UTF-8 is replaced. "" for what
        cannot be read.
        """
        if path in self._given:
            return self._given[path]
        if path not in self._texts:
            _remember(self._texts, path, readable_text(self._read(path)))
        return self._texts[path]

    def line(self, path: str, number: int) -> str:
        """Line `number`, counted from 1, with its keys masked; "" where there is none."""
        if path not in self._lines:
            _remember(self._lines, path, mask_keys(self.text(path)).split("\n"))
        lines = self._lines[path]
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def _read(self, path: str) -> bytes:
        resolved = os.path.realpath(path)
        data = (
            read_path(path, resolved, MAX_READ_BYTES) if is_inside(resolved, self._roots) else b""
        )
        return data if isinstance(data, bytes) else b""


def _remember(known: dict[str, _Value], path: str, value: _Value) -> None:
    """Findings are told file by file, so that a few files are enough; all of a large collection
    are gigabytes.
    """
    if len(known) >= _REMEMBERED:
        del known[next(iter(known))]
    known[path] = value


def readable_text(data: bytes) -> str:
    """The text as its findings count lines: without a byte order mark, every line end a `\\n`."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")
