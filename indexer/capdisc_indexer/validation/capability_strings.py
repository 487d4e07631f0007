"""What rules see of a capability: its texts with their places, which the content rules check; the
lines of files that findings are about; and a record for the rules across files, small enough to
keep one for every file of a large collection.

Paths are plain text here: they may hold bytes that are not text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import capdisc_guard
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import MAX_READ_BYTES
from capdisc_indexer.sources.formats.naming_rules import IdClaim, scripts
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.readers.file_bytes import read_path
from capdisc_indexer.sources.readers.yaml_nodes import (
    Entry,
    Json,
    ListNode,
    MapNode,
    Node,
    TextNode,
)
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words

if TYPE_CHECKING:
    from capdisc_indexer.validation.competing_descriptions import ListedWords

# ruff: noqa: PTH112, PTH120

_MAX_REMEMBERED = 4
_Value = TypeVar("_Value")
# Of the smallest hashes of a description's words; near copies share them all.
_MAX_HASHES = 6
# Descriptions with fewer words and a number each ("Opens valve 12") belong to a family, and are no
# copies of each other.
_MIN_WORDS = 5


def capability_texts(part: ParsedCapability, path: str) -> Iterator[capdisc_guard.CapabilityText]:
    """Every key and value of the fields, in the order of the file, then the schema and the long
    texts.
    """
    for key, entry in part.node.entries.items():
        yield _text_at(entry, key, key, path)
        if key not in part.long_keys:
            yield from _node_texts(entry.value, key, path)
    for value in _schema_strings(dict(part.schema or {})):
        yield capdisc_guard.CapabilityText(
            value=value, path=part.schema_path, line=1, field="schema", one_line=True
        )
    for body in part.longs:
        yield capdisc_guard.CapabilityText(
            value=body.value, path=body.path, line=body.line, one_line=body.in_place
        )


def _schema_strings(value: Json) -> Iterator[str]:
    """Every text of a JSON value, keys too. Recursive, since the reader allows 32 levels."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _schema_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _schema_strings(inner)


def _node_texts(node: Node, field: str, path: str) -> Iterator[capdisc_guard.CapabilityText]:
    """The scalars below a node. Recursive, since the reader allows 32 levels."""
    if isinstance(node, TextNode):
        yield _text_at(node, node.value, field, path)
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from _node_texts(item, field, path)
    elif isinstance(node, MapNode):
        for entry in node.entries.values():
            yield _text_at(entry, entry.key, field, path)
            yield from _node_texts(entry.value, field, path)


def _text_at(
    node: Entry | TextNode, value: str, field: str, path: str
) -> capdisc_guard.CapabilityText:
    return capdisc_guard.CapabilityText(
        value=value, path=path, line=node.line, column=node.column, field=field, one_line=True
    )


class Place(Protocol):
    """A place in a file; the column is 1 where only the line is known."""

    @property
    def line(self) -> int:
        """The line, from 1."""
        ...


FILE_START = (1, 1)  # where a finding about a whole file stands


def finding_at(
    place: Place | tuple[int, int],
    path: str,
    code: str,
    message: str,
    hint: str,
    severity: Severity = Severity.WARNING,
) -> Finding:
    """A finding at the place, given as such or as line and column."""
    line, column = place if isinstance(place, tuple) else (place.line, getattr(place, "column", 1))
    return Finding(
        code=code,
        severity=severity,
        message=message,
        hint=hint,
        path=path,
        line=line,
        column=column,
    )


def readable_text(data: bytes) -> str:
    """The text whose lines findings count: without a byte order mark, every line end a `\\n`."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")


class SourceLines:
    """Reads the texts and lines of files on demand, and remembers the last few. Reads nothing
    outside the roots, whatever a path says: a finding about a link that leads out must not show
    what lies behind it.

    `known_texts` are texts by path that need no reading.
    """

    def __init__(self, roots: Sequence[str], known_texts: Mapping[str, str] | None = None) -> None:
        folders = (root if os.path.isdir(root) else os.path.dirname(root) for root in roots)
        self._roots = [system.realpath(folder) for folder in folders]
        self._known_texts = known_texts or {}
        self._texts: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def text(self, path: str) -> str:
        """The text of a file with `\\n` as its only line end and a replacement for what is no
        UTF-8; "" for a file that cannot be read.
        """
        if path in self._known_texts:
            return self._known_texts[path]
        if path not in self._texts:
            _remember(self._texts, path, readable_text(self._read(path)))
        return self._texts[path]

    def line(self, path: str, number: int) -> str:
        """Line `number`, counted from 1, with its keys masked; "" where there is none."""
        if path not in self._lines:
            _remember(self._lines, path, capdisc_guard.mask_keys(self.text(path)).split("\n"))
        lines = self._lines[path]
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def _read(self, path: str) -> bytes:
        resolved = system.realpath(path)
        data = (
            read_path(path, resolved, MAX_READ_BYTES) if is_inside(resolved, self._roots) else b""
        )
        return data if isinstance(data, bytes) else b""


def _remember(values_by_path: dict[str, _Value], path: str, value: _Value) -> None:
    """Add a value and drop the oldest. Findings come file by file, so that a few files are enough;
    all of a large collection are gigabytes.
    """
    if len(values_by_path) >= _MAX_REMEMBERED:
        del values_by_path[next(iter(values_by_path))]
    values_by_path[path] = value


@frozen(kw_only=True)
class Need:
    """The names under one key of a capability (`requires`, `related`, …), and the place of the
    key.
    """

    key: str
    targets: tuple[str, ...]
    line: int
    column: int


@frozen(kw_only=True)
class CatalogueMember:
    """One capability of a collection, without its texts: 1 KB where a parsed file takes 58.

    `root_order` is the number of its root, `line` and `column` are those of its name.
    `description_digest` is equal for descriptions that say nearly the same, and empty for one of
    few words.
    """

    id: str
    name: str
    kind: str
    category: str
    path: str
    root_order: int
    content_hash: str
    is_declared: bool
    has_mixed_scripts: bool
    description_digest: bytes
    listed: ListedWords
    needs: tuple[Need, ...]
    line: int
    column: int

    @property
    def requires(self) -> tuple[str, ...]:
        """The capabilities that it cannot be used without, as written."""
        return next((need.targets for need in self.needs if need.key == "requires"), ())

    @property
    def claim(self) -> IdClaim:
        """What the file claims for its id."""
        return IdClaim(self.path, self.content_hash, self.root_order, self.is_declared)

    def finding(
        self,
        code: str,
        message: str,
        hint: str,
        severity: Severity = Severity.WARNING,
        place: Place | None = None,
    ) -> Finding:
        """A finding at the capability's name, or at the place."""
        return finding_at(place or self, self.path, code, message, hint, severity)


def members_of(file: FoundFile, loaded: LoadedFile) -> Iterator[CatalogueMember]:
    """The capabilities of a file that have no error."""
    # Late, since a build reads no member.
    from capdisc_indexer.validation.competing_descriptions import read_listed_words

    path = printable_path(file.path)
    for part in loaded.parts:
        descriptor = part.descriptor
        if descriptor:
            line, column = _place(part, "name")
            yield CatalogueMember(
                id=descriptor.id,
                name=descriptor.name,
                kind=descriptor.kind,
                category=descriptor.category,
                path=path,
                root_order=file.root_order,
                content_hash=descriptor.source.content_hash,
                is_declared=descriptor.source.format == "capability",
                has_mixed_scripts=len(scripts(descriptor.title)) > 1,
                description_digest=_description_digest(descriptor.description),
                listed=read_listed_words(descriptor),
                needs=tuple(_needs(part, descriptor)),
                line=line,
                column=column,
            )


def _needs(part: ParsedCapability, descriptor: Descriptor) -> Iterator[Need]:
    for key, targets in (
        ("requires", descriptor.requires),
        ("composedWith", descriptor.composed_with),
        ("related", descriptor.related),
        ("edges", tuple(edge.target for edge in descriptor.edges)),
    ):
        if targets:
            line, column = _place(part, key)
            yield Need(key=key, targets=targets, line=line, column=column)


def _place(part: ParsedCapability, key: str) -> tuple[int, int]:
    entries = part.node.entries
    place = entries.get(key) or entries.get("id") or part.node
    return place.line, place.column


def _description_digest(description: str) -> bytes:
    words = sorted(
        {word.lower() for word in simple_words(description) if not any(map(str.isdigit, word))}
    )
    if sum(word not in STOP_WORDS for word in words) < _MIN_WORDS:
        return b""
    blake2b = lazy_imports.blake2b()
    hashes = sorted(blake2b(word.encode(), digest_size=8).digest() for word in words)
    digest: bytes = blake2b(b"".join(hashes[:_MAX_HASHES]), digest_size=16).digest()
    return digest
