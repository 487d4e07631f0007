"""The lines of a text that hold its fields: the front matter of a skill, or all of a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.sources.readers.frontmatter import (
    ALL_SLIPS,
    read_leniently,
    split_front_matter,
)
from capdisc_indexer.sources.readers.yaml_nodes import Entry, ListNode, MapNode, Node


@frozen
class FieldRegion:
    """Every line of the file, each with the carriage return that it may end with, and which of
    them hold fields: `start` counts from 0 and is the first of them, `end` is the first that is
    none.
    """

    lines: tuple[str, ...]
    start: int
    end: int

    @property
    def block(self) -> str:
        """The fields as a text whose line ends are all `\\n`."""
        return "\n".join(self.line(number) for number in range(self.start, self.end))

    def line(self, number: int) -> str:
        """One line, counted from 0, without its line end."""
        return self.lines[number].removesuffix("\r")

    def replace_lines(self, first: int, last_line: int, new: Iterable[str]) -> FieldRegion:
        """The same with lines `first` to `last`, counted from 0, replaced, and the line ends that
        stood there.
        """
        tail = self.lines[first][len(self.line(first)) :]
        lines = (*self.lines[:first], *(line + tail for line in new), *self.lines[last_line + 1 :])
        return FieldRegion(lines, self.start, self.end + len(lines) - len(self.lines))

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)


def field_region(text: str) -> FieldRegion:
    """The text by lines. A manifest that begins with `---` and ends with it is read as a skill's
    fields are.
    """
    lines = tuple(text.split("\n"))
    halves = split_front_matter(text)
    if halves.block is None:
        return FieldRegion(lines, 0, len(lines))
    start = halves.block_line - 1
    return FieldRegion(lines, start, start + halves.block.count("\n"))


def parse_documents(fields: FieldRegion) -> tuple[Node, ...]:
    """What the fields say, read leniently, with places that count as in the file."""
    return read_leniently(fields.block, "", fields.start + 1, ALL_SLIPS)[0]


def capability_mappings(fields: FieldRegion) -> Iterator[MapNode]:
    """Each capability of the text: the document itself, and the items of a list of
    capabilities.
    """
    for document in parse_documents(fields):
        if isinstance(document, MapNode):
            yield document
            listed = document.entries.get("capabilities")
            if listed and isinstance(listed.value, ListNode):
                yield from (item for item in listed.value.items if isinstance(item, MapNode))


def entries_at(fields: FieldRegion, places: frozenset[tuple[int, int]]) -> list[Entry]:
    """The fields whose keys stand at these places, the last of the file first, so that a change
    moves no other.
    """
    entries = [
        mapping_entry
        for node in capability_mappings(fields)
        for mapping_entry in node.entries.values()
        if (mapping_entry.line, mapping_entry.column) in places
    ]
    return sorted(entries, key=lambda entry: (entry.line, entry.column), reverse=True)
