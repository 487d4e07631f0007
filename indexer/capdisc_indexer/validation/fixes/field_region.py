"""The lines of a text that hold its fields: the front matter of a skill, or all of a manifest."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Entry, ListNode, MapNode, Node
from capdisc_indexer.sources.readers.yaml_repair import ALL_SLIPS, read_leniently
from capdisc_indexer.validation import hidden_text


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


# Fixes of single characters: the byte order mark, line ends.

# The block of fields brought to the top of the file.


def at_the_top(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text without the blank lines, or the code fence, around its front matter.

    >>> at_the_top("\n```yaml\n---\nname: a\n---\n```\nBody\n", frozenset())
    '---\nname: a\n---\nBody\n'
    """
    halves = split_front_matter(text)
    if halves.block is None:
        return text
    lines = text.split("\n")
    opening = halves.block_line - 2
    closing = opening + halves.block.count("\n") + 1
    return "\n".join([*lines[opening : closing + 1], *lines[halves.body_line - 1 :]])


# Characters that show nothing, taken out where that changes nothing else.

# Code may need what it holds: fences, and all from the first tick of a paragraph to its last. Only
# a fence of the same marks closes one, and no line of a fence is a part of a paragraph.
_FENCED = (
    r"^[ \t]*+(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)[^\n]*+(?:\n(?![ \t]*+(?P=fence)[`~]*+[ \t\r]*+$)[^\n]*+)*+"
    r"(?:\n[^\n]*+)?"
)
_TICKED = r"`[^\n]*(?:\n(?![ \t\r]*(?:\n|\Z|```|~~~))[^\n]*)*`"
_INDENTED = r"^(?: {4}| {0,3}\t)[^\n]*+"
# What stands before a letter of a script that has such characters may have come with it.
_NOTHING = f"(?P<nothing>(?:{hidden_text.STRAY})(?![{hidden_text.JOINING}])|{hidden_text.BLANK}|{hidden_text.LONE_SELECTORS})"
_OF_FIELD = re.compile(f"{_FENCED}|{_TICKED}|{_NOTHING}", re.MULTILINE)
_OF_BODY = re.compile(f"{_FENCED}|{_INDENTED}|{_TICKED}|{_NOTHING}", re.MULTILINE)
_ANYWHERE = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef]"
)


def without_invisible(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without the characters that the rule means, in the fields and the body that these
    findings are about.

    What a script, emoji or Braille needs stays, and so does everything in code.
    """
    fields = field_region(text)
    lines = list(fields.lines)
    for first, last_line, pattern in set(_parts(fields, {line - 1 for line, _ in places})):
        part = "\n".join(lines[first : last_line + 1])
        lines[first : last_line + 1] = pattern.sub(
            lambda match: "" if match["nothing"] else match[0], part
        ).split("\n")
    return "\n".join(lines)


def visible_part(text: str) -> str:
    """What two texts have in common that differ only by what the fix may take away."""
    return _ANYWHERE.sub("", text)


def _parts(fields: FieldRegion, lines: set[int]) -> Iterator[tuple[int, int, re.Pattern[str]]]:
    """First and last line of each part, counted from 0, that holds one of the lines."""
    starts = sorted({entry.line - 1 for entry in _entries(fields)})
    for line in lines:
        place = bisect_right(starts, line)
        if line >= fields.end:
            yield fields.end, len(fields.lines) - 1, _OF_BODY
        elif place:
            yield (
                starts[place - 1],
                (starts[place] if place < len(starts) else fields.end) - 1,
                _OF_FIELD,
            )


def _entries(fields: FieldRegion) -> Iterator[Entry]:
    return (entry for node in capability_mappings(fields) for entry in node.entries.values())


_LINE_END = re.compile(r"\r\n|\r|\n")


def without_mark(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without its byte order mark."""
    return text.removeprefix("\ufeff")


def line_ends(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text with the line end that most of its lines have.

    >>> line_ends("a\r\nb\nc\n", frozenset())
    'a\nb\nc\n'
    """
    windows = text.count("\r\n")
    return _LINE_END.sub("\r\n" if windows > text.count("\n") - windows else "\n", text)
