"""What changed on disk since an index was built, by the stamps of files and folders alone?

`stamps.bin` lies next to the generations and is replaced after every build. It belongs to the
generation that CURRENT named then: for another one it says nothing. Losing it costs one build that
finds no change.

The file is a line of JSON (the preamble), then blocks of entries. A block holds the stamps of its
entries, three numbers of eight bytes for each (time of the last change of the content, of the
inode, and size), then their paths, with a zero byte between. An entry that did not exist has the
stamp ABSENT; one that is too young to be trusted has UNSETTLED, which no real entry has.

A call of stat takes 1 to 3 µs, whatever the language, so that 100,000 of them take longer than a
query. Blocks are ordered by how likely they are to have changed: folders in which capabilities
may appear, files, and last the folders that belong to a capability, in each of these the newest
first. A look reads as many as it may, and of the remaining blocks different ones every second.
Where there are more files than it always reads, it continues for as long as a look may last.

After the blocks comes the report of a build that finds no change, if there is one. It holds while
all entries have the same stamps.
"""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS
from capdisc_indexer.model.frozen import field, frozen, shallow_dict
from capdisc_indexer.model.types import Coverage
from capdisc_indexer.platforms import system
from capdisc_indexer.store import durable_files

# Paths are bytes, as `os.stat` wants them.
# ruff: noqa: PTH116

# Time of the content, time of the inode, size.
Stamp: TypeAlias = tuple[int, int, int]
T = TypeVar("T")
# A path with its stamp.
StampedPath: TypeAlias = tuple[str, Stamp]
# The line of JSON; its `blocks` are rows of section, number of entries, offset and size.
Preamble: TypeAlias = Mapping[str, Any]

ABSENT: Stamp = (-1, -1, -1)
UNSETTLED: Stamp = (0, 0, 0)
FILE_NAME = "stamps.bin"
# Stamps move in steps of the kernel's clock, 10 ms at most, and on few file systems in whole
# seconds. What changes twice within a step looks unchanged.
_STEP_NS, _COARSE_STEP_NS = 10_000_000, 2_000_000_000
_VERSION = 2
FOLDERS, FILES, OWNED_FOLDERS = range(3)  # the numbers of the sections
_BLOCK_ENTRIES, OWNED_BLOCK_ENTRIES = 256, 64
_STAMP_BYTES = 24
_PREAMBLE_BYTES = 1 << 16
# Up to 18,000 files are all looked at, in 50 ms here; of more, this many entries in turn, and
# others until a look has used this much processor time, in which a desktop stats 50,000 files.
# Folders that belong to a capability get what is left, and at least a few: what appears in them
# is not a capability.
_MAX_ENTRIES, _MIN_ENTRIES, _OWNED_ENTRIES = 18_000, 1_500, 64
_LOOK_S = 0.05
# The share of the entries that every look reads; others take turns for the remainder.
_EVERY_LOOK = 0.75
# More changes than these are not counted.
MAX_CHANGES = 1_000

_read_stamp = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size")


@frozen(kw_only=True)
class StampedTree:
    """What a build read, by section: the folders in which capabilities may appear, the files, and
    the folders that belong to a capability. `awaited` are paths among the first that need not
    exist and count as well.

    `roots` are those of the build, which stand for its `coverage`; `missing` are covered folders
    that are gone, with the time since when. `report` is for the next build, b"" for none.
    """

    roots: Sequence[str]
    coverage: Coverage
    awaited: Sequence[str]
    sections: tuple[Sequence[StampedPath], Sequence[StampedPath], Sequence[StampedPath]]
    missing: Mapping[str, float] = field(default_factory=dict)
    report: bytes = b""


@frozen(kw_only=True)
class Look:
    """What a look at the disk found: the paths that changed, appeared or are gone. A folder has a
    slash at its end. Without `is_known`, nothing is known about the generation; `total` is the
    number of entries, of which `looked_at` were looked at.
    """

    is_known: bool = False
    roots: tuple[str, ...] = ()
    coverage: Coverage = Coverage()
    missing: Mapping[str, float] = field(default_factory=dict)
    awaited: frozenset[str] = frozenset()
    changed: tuple[str, ...] = ()
    looked_at: int = 0
    total: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every file was looked at."""
        return self.looked_at == self.total


def read_stamp(path: str | bytes) -> Stamp:
    """The stamp of a file or folder now; ABSENT where there is none."""
    try:
        stamp: Stamp = _read_stamp(os.stat(path))
    except (OSError, ValueError):
        return ABSENT
    return stamp


def settle(stamp: Stamp, read_at_ns: int) -> Stamp:
    """The stamp; UNSETTLED where it is so new that a change after `read_at_ns`, when the entry was
    read, could have the same one.

    >>> settle((5, 1_000_000_001, 7), 9_000_000_000), settle((5, 8_999_999_999, 7), 9_000_000_000)
    ((5, 1000000001, 7), (0, 0, 0))
    """
    changed_ns = max(stamp[:2])
    step_ns = _STEP_NS if changed_ns % _STEP_NS else _COARSE_STEP_NS
    return stamp if changed_ns < read_at_ns - step_ns else UNSETTLED


def save_stamps(index_dir: Path, pointer: str, tree: StampedTree) -> None:
    """Write the stamps of what the published generation was built from, if the disk has room."""
    preamble = {
        "version": _VERSION,
        "pointer": pointer,
        "roots": list(tree.roots),
        "covers": shallow_dict(tree.coverage),
        "missing": tree.missing,
        "awaited": list(tree.awaited),
    }
    awaited, rows, blocks, end = frozenset(tree.awaited), [], [], 0
    for section, entries in enumerate(tree.sections):
        size = OWNED_BLOCK_ENTRIES if section == OWNED_FOLDERS else _BLOCK_ENTRIES
        # The newest first, behind what is awaited.
        ordered = sorted(entries, key=lambda entry: (entry[0] not in awaited, -entry[1][0]))
        for start in range(0, len(ordered), size):
            block = _encode_entries(ordered[start : start + size])
            rows.append((section, min(size, len(ordered) - start), end, len(block)))
            blocks.append(block)
            end += len(block)
    preamble |= {"blocks": rows, "report": (end, len(tree.report))}
    data = b"".join([json.dumps(preamble).encode("ascii"), b"\n", *blocks, tree.report])
    with suppress(OSError):
        durable_files.replace_file(index_dir / FILE_NAME, data)


def read_tree(index_dir: Path) -> StampedTree:
    """What `save_stamps` wrote, without its report. Raises OSError or one of MALFORMED_DATA_ERRORS
    where it is missing or damaged.
    """
    data = (index_dir / FILE_NAME).read_bytes()
    start = data.index(b"\n") + 1
    preamble = json.loads(data[:start])
    folders: list[StampedPath] = []
    files: list[StampedPath] = []
    owned_folders: list[StampedPath] = []
    for section, count, offset, size in preamble["blocks"]:
        paths, stamps = _decode_block(data[start + offset : start + offset + size], count)
        entries = zip(map(os.fsdecode, paths), stamps, strict=True)
        (folders, files, owned_folders)[section].extend(entries)
    return StampedTree(
        roots=preamble["roots"],
        coverage=parse_coverage(preamble["covers"]),
        awaited=preamble["awaited"],
        sections=(folders, files, owned_folders),
        missing=preamble["missing"],
    )


def _decode_block(data: bytes, count: int) -> tuple[list[bytes], list[Stamp]]:
    """The paths of a block of `count` entries, and their stamps. Raises ValueError for damage."""
    numbers = memoryview(data)[: count * _STAMP_BYTES].cast("q").tolist()
    paths = data[count * _STAMP_BYTES :].split(b"\0")
    stamps = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
    if len(paths) != count or len(stamps) != count:
        raise ValueError("a block of another length")
    return paths, stamps


def _encode_entries(entries: Sequence[StampedPath]) -> bytes:
    stamps = array("q", chain.from_iterable(stamp for _, stamp in entries))
    return stamps.tobytes() + b"\0".join(os.fsencode(path) for path, _ in entries)


def look_at_disk(index_dir: Path, pointer: str) -> Look:
    """What changed on disk since the generation of this pointer was built."""
    return _read_stamps(index_dir, pointer, Look(), _look)


def read_report(index_dir: Path, pointer: str) -> bytes:
    """The report that lies with the stamps of this pointer; b"" where there is none."""

    def read(fd: int, preamble: Preamble, start: int) -> bytes:
        offset, size = preamble["report"]
        return system.read_at(fd, size, start + offset)

    return _read_stamps(index_dir, pointer, b"", read)


def find_changes(index_dir: Path, pointer: str, limit: int) -> tuple[str, ...] | None:
    """The paths of all files and folders whose stamps changed since the build of this pointer;
    None for more than `limit` of them, and where nothing is known of that build.
    """

    def look(fd: int, preamble: Preamble, start: int) -> tuple[str, ...] | None:
        changed: list[bytes] = []
        # Files first, the newest of them first of all: those are edited.
        for _, count, offset, size in sorted(preamble["blocks"], key=lambda row: row[0] != FILES):
            changed += _find_changed(system.read_at(fd, size, start + offset), count)
            if len(changed) > limit:
                return None
        return tuple(dict.fromkeys(map(os.fsdecode, changed)))

    return _read_stamps(index_dir, pointer, None, look)


def _read_stamps(
    index_dir: Path, pointer: str, unknown: T, read: Callable[[int, Preamble, int], T]
) -> T:
    """What `read` makes of the open file, its preamble, and the place where its blocks start;
    `unknown` where it is missing, damaged, or belongs to another generation.
    """
    try:
        fd = system.open_file(index_dir / FILE_NAME)
    except OSError:
        return unknown
    try:
        preamble, start = _read_preamble(fd)
        if preamble["version"] != _VERSION or preamble["pointer"] != pointer:
            return unknown
        return read(fd, preamble, start)
    except (OSError, *MALFORMED_DATA_ERRORS):
        return unknown
    finally:
        os.close(fd)


def _look(fd: int, preamble: Preamble, start: int) -> Look:
    changed: list[str] = []
    looked_at = 0
    blocks = preamble["blocks"]
    chosen, others = _choose_blocks(blocks, int(time.time()))
    ends_at = time.thread_time() + _LOOK_S
    for place, number in enumerate((*chosen, *others)):
        is_over = place >= len(chosen) and time.thread_time() > ends_at
        if is_over or len(changed) > MAX_CHANGES:
            break
        kind, count, offset, size = blocks[number]
        looked_at += count if kind < OWNED_FOLDERS else 0
        data = system.read_at(fd, size, start + offset)
        changed += [os.fsdecode(path) for path in _find_changed(data, count)]
    return Look(
        is_known=True,
        roots=tuple(preamble["roots"]),
        coverage=parse_coverage(preamble["covers"]),
        missing=preamble["missing"],
        awaited=frozenset(preamble["awaited"]),
        changed=tuple(_drop_known_folders(changed)),
        looked_at=looked_at,
        total=_count_entries(blocks),
    )


def parse_coverage(fields: Mapping[str, Any]) -> Coverage:
    """The coverage with these fields. Raises one of MALFORMED_DATA_ERRORS for others."""
    return Coverage(
        is_conventional=fields["is_conventional"] is True, added=tuple(map(str, fields["added"]))
    )


def _drop_known_folders(paths: Sequence[str]) -> Iterator[str]:
    """The paths without the folders that changed only because a changed file in them did: programs
    replace a file by a new one of the same name.
    """
    explained = {os.path.dirname(path) for path in paths if os.path.isfile(path)}  # noqa: PTH113, PTH120
    for path in dict.fromkeys(paths):
        is_folder = os.path.isdir(path)  # noqa: PTH112
        if not is_folder:
            yield path
        elif path not in explained:
            yield f"{path}/"


def _read_preamble(fd: int) -> tuple[Preamble, int]:
    """The preamble, and where the blocks start."""
    data, size = b"", _PREAMBLE_BYTES
    while b"\n" not in data:
        data = system.read_at(fd, size, 0)
        if len(data) < size and b"\n" not in data:
            raise ValueError("the preamble has no end")
        size *= 4
    line = data.partition(b"\n")[0]
    return json.loads(line), len(line) + 1


def _count_entries(blocks: Sequence[Sequence[int]]) -> int:
    """How many entries count for a whole look: all but the folders that belong to a capability."""
    return sum(count for kind, count, *_ in blocks if kind < 2)


def _choose_blocks(blocks: Sequence[Sequence[int]], turn: int) -> tuple[list[int], list[int]]:
    """The numbers of the blocks to look at now, as many as a look may read in any case: the first of
    them always, others in every turn. Then the other blocks of a whole look, in the order in which
    they are looked at while there is time.

    >>> blocks = [(1, 9_000, 0, 0)] * 4
    >>> _choose_blocks(blocks, 0), _choose_blocks(blocks, 1)
    (([0, 1], [2, 3]), ([0, 2], [3, 1]))
    """
    of_files = _count_entries(blocks)
    allowed = max(_MIN_ENTRIES, min(_MAX_ENTRIES, of_files + _OWNED_ENTRIES))
    is_all = sum(count for _, count, *_ in blocks) <= allowed
    for_all = allowed if is_all else int(allowed * _EVERY_LOOK)
    if of_files <= allowed:
        for_all = max(for_all, of_files)
    chosen: list[int] = []
    entries, waiting = 0, []
    for number, (_, count, *_) in enumerate(blocks):
        if entries + count <= for_all:
            chosen.append(number)
            entries += count
        else:
            waiting.append(number)
    per_turn = max(1, (allowed - entries) // blocks[waiting[0]][1]) if waiting else 1
    others = list(_rotate(waiting, turn * per_turn))
    while others and entries + blocks[others[0]][1] <= allowed:
        entries += blocks[others[0]][1]
        chosen.append(others.pop(0))
    return chosen, [number for number in others if blocks[number][0] < 2]


def _rotate(numbers: Sequence[int], turn: int) -> Iterator[int]:
    for place in range(len(numbers)):
        yield numbers[(turn + place) % len(numbers)]


def _find_changed(data: bytes, count: int) -> list[bytes]:
    """The paths of a block whose stamps have changed."""
    paths, stored = _decode_block(data, count)
    present: list[Stamp] = []
    remaining = iter(paths)
    while len(present) < count:
        try:
            # Everything in C: a loop of Python takes half as long again.
            present.extend(map(_read_stamp, map(os.stat, remaining)))
        except OSError:  # what came before it is in the list
            present.append(ABSENT)
    if present == stored:
        return []
    return [path for path, now, then in zip(paths, present, stored, strict=True) if now != then]
