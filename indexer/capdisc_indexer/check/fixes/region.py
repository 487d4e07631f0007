"""The lines of a text that hold its fields: the front matter of a skill, or all of a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.frontmatter import split
from capdisc_indexer.sources.nodes import Entry, ListNode, MapNode, Node
from capdisc_indexer.sources.repair import ANY, read_leniently


@frozen
class Region:
    """Every line of the file, each with the carriage return that it may end with, and which of them hold fields:
    `start` counts from 0 and is the first of them, `end` is the first that is none."""

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

    def replaced(self, first: int, last: int, new: Iterable[str]) -> Region:
        """The same with lines `first` to `last`, counted from 0, replaced, and the line ends that stood there."""
        tail = self.lines[first][len(self.line(first)) :]
        lines = (*self.lines[:first], *(line + tail for line in new), *self.lines[last + 1 :])
        return Region(lines, self.start, self.end + len(lines) - len(self.lines))

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)


def region(text: str) -> Region:
    """The text by lines. A manifest that begins with `---` and ends with it is read as a skill's fields are."""
    lines = tuple(text.split("\n"))
    halves = split(text)
    if halves.block is None:
        return Region(lines, 0, len(lines))
    start = halves.block_line - 1
    return Region(lines, start, start + halves.block.count("\n"))


def documents(fields: Region) -> tuple[Node, ...]:
    """What the fields say, read leniently, with places that count as in the file."""
    return read_leniently(fields.block, "", fields.start + 1, ANY)[0]


def mappings(fields: Region) -> Iterator[MapNode]:
    """Each capability of the text: the document itself, and the items of a list of capabilities."""
    for document in documents(fields):
        if isinstance(document, MapNode):
            yield document
            listed = document.entries.get("capabilities")
            if listed and isinstance(listed.value, ListNode):
                yield from (item for item in listed.value.items if isinstance(item, MapNode))


def entries_at(fields: Region, places: frozenset[tuple[int, int]]) -> list[Entry]:
    """The fields whose keys stand at these places, the last of the file first, so that a change moves no other."""
    found = [one for node in mappings(fields) for one in node.entries.values() if (one.line, one.column) in places]
    return sorted(found, key=lambda one: (one.line, one.column), reverse=True)
