"""Finds and replaces entries in the file of stamps, whose format `folder_stamps` describes."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store.folder_stamps import (
    FILE_NAME,
    OWNED_BLOCK_ENTRIES,
    OWNED_FOLDERS,
    STAMP_BYTES,
    EncodedBlock,
    Stamp,
    StampedPath,
    decode_block,
    encode_blocks,
    encode_file,
)


@frozen(kw_only=True)
class StampEdits:
    """Entries with other stamps, and new ones, by path with the number of their section; and the
    paths of those that are gone.
    """

    entries: Mapping[str, tuple[int, Stamp]]
    gone: Collection[str] = ()


class StampFile:
    """The whole file of stamps in memory."""

    def __init__(self, index_dir: Path) -> None:
        """Raises OSError or one of MALFORMED_DATA_ERRORS for a file that is missing or damaged."""
        self._data = (index_dir / FILE_NAME).read_bytes()
        line, _, _ = self._data.partition(b"\n")
        self._header, self._start = json.loads(line), len(line) + 1

    @property
    def awaited(self) -> frozenset[str]:
        """The paths that need not exist, and count as well."""
        return frozenset(self._header["awaited"])

    def entries_in(self, folder: str) -> set[str]:
        """The paths of the files and folders directly in a folder, as far as the scan read them."""
        start = len(folder.rstrip("/")) + 1
        return {path for path in self.entries_below(folder) if "/" not in path[start:]}

    def entries_below(self, folder: str) -> set[str]:
        """The same with all that is in those folders."""
        prefix = os.fsencode(folder.rstrip("/") + "/")
        return {
            os.fsdecode(path)
            for _, paths in self._path_lists(prefix)
            for path in paths
            if path.startswith(prefix)
        }

    def is_owned(self, folder: str) -> bool:
        """Whether the folder is or belongs to that of a capability."""
        name = os.fsencode(folder)
        return any(
            kind == OWNED_FOLDERS and name in paths for kind, paths in self._path_lists(name)
        )

    def _path_lists(self, part: bytes) -> Iterator[tuple[int, list[bytes]]]:
        """The section and the paths of each block in which these bytes occur."""
        for kind, count, offset, size in self._header["blocks"]:
            start = self._start + offset
            if self._data.find(part, start + count * STAMP_BYTES, start + size) >= 0:
                block = self._data[start + count * STAMP_BYTES : start + size]
                yield kind, block.split(b"\0")

    def apply_edits(self, pointer: str, edits: StampEdits, report: bytes) -> bytes:
        """The content of the file for another generation, with these edits and its report. Edited
        entries come first in their sections.
        """
        names = {os.fsencode(path) for path in (*edits.entries, *edits.gone)}
        blocks = [*_encode_sections(edits.entries)]
        for kind, count, offset, size in self._header["blocks"]:
            block = self._data[self._start + offset : self._start + offset + size]
            if names.isdisjoint(block[count * STAMP_BYTES :].split(b"\0")):
                blocks.append((kind, count, block))
                continue
            entries = zip(*decode_block(block, count), strict=True)
            others = [(os.fsdecode(path), stamp) for path, stamp in entries if path not in names]
            blocks += encode_blocks(kind, others)
        blocks = _join_small_blocks(sorted(blocks, key=lambda block: block[0]))
        return encode_file({**self._header, "pointer": pointer}, blocks, report)


def _encode_sections(entries: Mapping[str, tuple[int, Stamp]]) -> Iterator[EncodedBlock]:
    """The entries as blocks of their sections."""
    sections: dict[int, list[StampedPath]] = {}
    for path, (section, stamp) in entries.items():
        sections.setdefault(section, []).append((path, stamp))
    for section, section_entries in sections.items():
        yield from encode_blocks(section, section_entries)


def _join_small_blocks(blocks: Iterable[EncodedBlock]) -> list[EncodedBlock]:
    """The blocks, in which neighbours of one section that are small are one block."""
    joined: list[EncodedBlock] = []
    for kind, count, block in blocks:
        if joined and joined[-1][0] == kind and joined[-1][1] + count <= OWNED_BLOCK_ENTRIES:
            _, before, last = joined[-1]
            stamps = last[: before * STAMP_BYTES] + block[: count * STAMP_BYTES]
            paths = (last[before * STAMP_BYTES :], block[count * STAMP_BYTES :])
            joined[-1] = (kind, before + count, stamps + b"\0".join(paths))
        else:
            joined.append((kind, count, block))
    return joined
