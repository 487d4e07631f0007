"""Stores the state of each file in its generation, so that the next build reads only what changed.

A state says how the file looked, which capabilities it declared, and its findings.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from capdisc_indexer.model.frozen import field, frozen, shallow_dict
from capdisc_indexer.model.json_types import CapabilityCard, JsonObject
from capdisc_indexer.model.types import Finding, Severity

_dump_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=shallow_dict
).encode
TextHashesById = Mapping[str, Sequence[str]]
# The status of a capability whose definition changed: it is left out until a person accepts it.
HELD = "held"


# NamedTuples, which json writes as lists: a build has one for every file, changed or not, and
# frozen values took a third of a build that finds a change.


class DeclaredId(NamedTuple):
    """One capability that a file declares.

    `id` is as in the file, `resolved_id` as in the index ("" when it is not indexed). `texts` are
    the hashes of its embedding texts, `digest` is that of its record, `card` its fields for an
    overview.
    """

    id: str
    resolved_id: str = ""
    status: str = "indexed"
    other_path: str = ""
    texts: tuple[str, ...] = ()
    digest: str = ""
    card: CapabilityCard | None = None


class FileState(NamedTuple):
    """One scanned file: its stat and hash, the ids that it declares, and its findings.

    `read_as` is the format and name of the declaration that covers it, and the links to it.
    """

    path: str
    root: str
    stat: tuple[int, ...]
    content_hash: str
    declared_ids: tuple[DeclaredId, ...] = ()
    findings: tuple[Finding, ...] = ()
    read_as: str = ""

    def with_declared_ids(self, declared_ids: Iterable[DeclaredId]) -> FileState:
        """The same file with other declared ids; the same object where they are equal."""
        new_ids = tuple(declared_ids)
        return self if new_ids == self.declared_ids else self._replace(declared_ids=new_ids)


@frozen(kw_only=True)
class SavedStates:
    """The states of a file on disk by path, and the line of each."""

    roots: Sequence[str] = ()
    files: Mapping[str, FileState] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)


def save_states(path: Path, files: Mapping[str, FileState], previous: SavedStates) -> None:
    """Write the states as lines of JSON: the roots first, then a line for each file.

    A state of the `previous` build keeps its line: of 10,000 files that saves 70 of 80 ms.
    """
    roots = list(dict.fromkeys(state.root for state in files.values()))
    root_numbers = {root: number for number, root in enumerate(roots)}
    old, lines = previous.files if roots == previous.roots else {}, previous.lines
    rows = [
        lines[key] if old.get(key) is state else _format_line(state, root_numbers)
        for key, state in files.items()
    ]
    path.write_bytes("\n".join([_dump_json(roots), *rows]).encode("utf-8", "surrogatepass"))


def _format_line(state: FileState, root_numbers: Mapping[str, int]) -> str:
    return _dump_json((state.path, root_numbers[state.root], *state[2:]))


def load_states(path: Path) -> SavedStates:
    """The states that `save_states` wrote. Raises OSError, ValueError or TypeError for other
    content.
    """
    first, *lines = path.read_bytes().decode("utf-8", "surrogatepass").split("\n")
    roots, parse = json.loads(first), json.JSONDecoder().raw_decode
    states = [_parse_state(roots, *parse(line)[0]) for line in lines]
    paths = [state.path for state in states]
    return SavedStates(
        roots=roots,
        files=dict(zip(paths, states, strict=True)),
        lines=dict(zip(paths, lines, strict=True)),
    )


class StateLines:
    """The states of a file on disk as its lines, of which a build with few changes reads and
    replaces few: to read all of 10,000 takes 0.2 s.
    """

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        end = self._data.find(b"\n")
        self._first = end if end >= 0 else len(self._data)
        self._roots: Sequence[str] = json.loads(self._data[: self._first])

    def find(self, path: str) -> FileState | None:
        """The state of the file of this path."""
        line = self._line_of(path)
        return None if line is None else self._parse(*line)

    def find_all_with(self, text: str) -> Iterator[FileState]:
        """The states in whose lines this string stands as a whole value, with repetitions."""
        for line in self._lines_with(text):
            yield self._parse(*line)

    def find_by_id(self, resolved_id: str) -> FileState | None:
        """The state of the file whose capability has this id in the index."""
        place = self._data.find(b',%b,"indexed",' % _encode_string(resolved_id))
        return None if place < 0 else self._parse(*self._line_at(place))

    def is_named_elsewhere(self, text: str, paths: Iterable[str]) -> bool:
        """Whether a line other than those of these files holds this string as a whole value."""
        starts = tuple(b"[%b," % _encode_string(path) for path in paths)
        return any(not self._data.startswith(starts, start) for start, _ in self._lines_with(text))

    def _line_of(self, path: str) -> tuple[int, int] | None:
        start = b"\n[%b," % _encode_string(path)
        for number in range(len(self._roots)):  # a few steps, where lines are in order
            place = self._find_place(number, path)
            if self._data.startswith(start, place):
                return self._line_at(place + 1)
        place = self._data.find(start)
        return None if place < 0 else self._line_at(place + 1)

    def _lines_with(self, text: str) -> Iterator[tuple[int, int]]:
        part, place = _encode_string(text), -1
        while (place := self._data.find(part, place + 1)) >= 0:
            yield self._line_at(place)

    def _line_at(self, place: int) -> tuple[int, int]:
        end = self._data.find(b"\n", place)
        return self._data.rfind(b"\n", 0, place) + 1, end if end >= 0 else len(self._data)

    def _parse(self, start: int, end: int) -> FileState:
        return _parse_state(self._roots, *json.loads(self._data[start:end]))

    def write(
        self, target: Path, states: Iterable[FileState], removed_paths: Collection[str] = ()
    ) -> None:
        """Write all states with these instead of the stored ones of the same files, or at their
        places, and without those of the removed files: byte for byte as `save_states` would where
        the stored ones are in the order of roots and paths.

        Raises ValueError for a file of a root that has none so far, and for a removed file without
        a stored state. A root that has no file any more is left to `save_states`.
        """
        root_numbers = {root: number for number, root in enumerate(self._roots)}
        edits = [self._edit_line(state, root_numbers) for state in states]
        edits += map(self._remove_line, removed_paths)
        data, done = memoryview(self._data), 0
        with target.open("wb") as file:
            for edit in sorted(edits):
                file.write(data[done : edit.start])
                file.write(edit.line)
                done = edit.end
            file.write(data[done:])

    def _edit_line(self, state: FileState, root_numbers: Mapping[str, int]) -> _LineEdit:
        if state.root not in root_numbers:
            raise ValueError(f"no file was in this root: {state.root}")
        line = b"\n" + _format_line(state, root_numbers).encode("utf-8", "surrogatepass")
        place = self._line_of(state.path)
        if place is None:
            start = self._find_place(root_numbers[state.root], state.path)
            return _LineEdit(start, state.path, start, line)
        return _LineEdit(place[0] - 1, state.path, place[1], line)

    def _remove_line(self, path: str) -> _LineEdit:
        place = self._line_of(path)
        if place is None:
            raise ValueError(f"no stored state: {path}")
        return _LineEdit(place[0] - 1, path, place[1], b"")

    def count_files(self, root: str) -> int:
        """How many files of a root have a state."""
        number = self._roots.index(root)
        start, end = self._find_place(number, ""), self._find_place(number + 1, "")
        return self._data.count(b"\n", start, end)

    def _find_place(self, root_number: int, path: str) -> int:
        """Where the line of a file begins, or would begin, with the line break before it."""
        low, high = self._first, len(self._data)
        while low < high:
            start = self._data.rfind(b"\n", low, (low + high) // 2 + 1)
            line_start, line_end = self._line_at(start + 1)
            other_path, other_root, *_ = json.loads(self._data[line_start:line_end])
            if (other_root, other_path) < (root_number, path):
                low = line_end
            else:
                high = start
        return low


class _LineEdit(NamedTuple):
    """Another line for a file, or none, in place of what is between `start` and `end`; a line with
    the line break before it.
    """

    start: int
    path: str
    end: int
    line: bytes


def _encode_string(text: str) -> bytes:
    return _dump_json(text).encode("utf-8", "surrogatepass")


def _parse_state(
    roots: Sequence[str],
    path: str,
    root: int,
    stat: Any,
    content_hash: str,
    id_rows: Any,
    findings: Any,
    read_as: str,
) -> FileState:
    declared_ids = tuple([_parse_declared_id(*row) for row in id_rows])
    return FileState(
        path,
        roots[root],
        tuple(stat),
        content_hash,
        declared_ids,
        tuple(map(parse_finding, findings)),
        read_as,
    )


def _parse_declared_id(
    name: str, resolved_id: str, status: str, other_path: str, texts: Any, digest: str, card: Any
) -> DeclaredId:
    return DeclaredId(name, resolved_id, status, other_path, tuple(texts), digest, card)


def parse_finding(row: JsonObject) -> Finding:
    """The finding of a row of JSON."""
    return Finding(**{**row, "severity": Severity(row["severity"])})


def content_hashes_by_id(files: Mapping[str, FileState]) -> dict[str, str]:
    """The content hash behind every indexed id."""
    return {
        declared_id.resolved_id: state.content_hash
        for state in files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id
    }


def text_hashes_by_id(files: Mapping[str, FileState]) -> TextHashesById:
    """The text hashes of every indexed id in the order of the ids, as the matrix has its rows."""
    hashes_by_id = {
        declared_id.resolved_id: declared_id.texts
        for state in files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id
    }
    return {key: hashes_by_id[key] for key in sorted(hashes_by_id)}
