"""The lines of a text that hold its fields (the front matter of a skill, or all of a manifest),
and the fixes that move or remove characters: byte order mark, line ends, fences, invisible
characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import capdisc_guard
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Entry, ListNode, MapNode, Node
from capdisc_indexer.sources.readers.yaml_repair import ALL_SLIPS, read_leniently


@frozen
class FieldRegion:
    """The lines of a file, each with the carriage return that may end it. Those from `start` up to
    but without `end`, counted from 0, hold its fields.
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
        """The region with lines `first` to `last_line`, counted from 0, replaced; the new lines
        get the line end of the first one.
        """
        tail = self.lines[first][len(self.line(first)) :]
        lines = (*self.lines[:first], *(line + tail for line in new), *self.lines[last_line + 1 :])
        return FieldRegion(lines, self.start, self.end + len(lines) - len(self.lines))

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)


def field_region(text: str) -> FieldRegion:
    """The region of the fields in a text. A manifest between two `---` counts as a front matter."""
    lines = tuple(text.split("\n"))
    halves = split_front_matter(text)
    if halves.block is None:
        return FieldRegion(lines, 0, len(lines))
    start = halves.block_line - 1
    return FieldRegion(lines, start, start + halves.block.count("\n"))


def parse_documents(fields: FieldRegion) -> tuple[Node, ...]:
    """The YAML documents of the fields, read leniently, with places as in the file."""
    return read_leniently(fields.block, "", fields.start + 1, ALL_SLIPS)[0]


def capability_mappings(fields: FieldRegion) -> Iterator[MapNode]:
    """Each capability of the text: the document itself, or the items of its list `capabilities`."""
    for document in parse_documents(fields):
        if isinstance(document, MapNode):
            yield document
            inner = document.entries.get("capabilities")
            if inner and isinstance(inner.value, ListNode):
                yield from (item for item in inner.value.items if isinstance(item, MapNode))


def entries_at(fields: FieldRegion, places: frozenset[tuple[int, int]]) -> list[Entry]:
    """The fields whose keys stand at these places, from the last of the file to the first, so that
    a change moves no other.
    """
    entries = [entry for entry in _field_entries(fields) if (entry.line, entry.column) in places]
    return sorted(entries, key=lambda entry: (entry.line, entry.column), reverse=True)


def _field_entries(fields: FieldRegion) -> Iterator[Entry]:
    return (entry for node in capability_mappings(fields) for entry in node.entries.values())


_LINE_END = re.compile(r"\r\n|\r|\n")


def remove_byte_order_mark(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without its byte order mark."""
    return text.removeprefix("\ufeff")


def unify_line_ends(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text with the line end that most of its lines have.

    >>> unify_line_ends("a\r\nb\nc\n", frozenset())
    'a\nb\nc\n'
    """
    windows = text.count("\r\n")
    return _LINE_END.sub("\r\n" if windows > text.count("\n") - windows else "\n", text)


def move_front_matter_up(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text without the blank lines, or the code fence, around its front matter.

    >>> move_front_matter_up("\n```yaml\n---\nname: a\n---\n```\nBody\n", frozenset())
    '---\nname: a\n---\nBody\n'
    """
    halves = split_front_matter(text)
    if halves.block is None:
        return text
    lines = text.split("\n")
    opening = halves.block_line - 2
    closing = opening + halves.block.count("\n") + 1
    return "\n".join([*lines[opening : closing + 1], *lines[halves.body_line - 1 :]])


# Code may need its invisible characters: fenced blocks, and all from the first tick of a paragraph
# to its last. Only a fence of the same marks closes one, and no line of a fence is part of a
# paragraph. Its lines are an atomic group: before 3.11.5, Python matches a possessive group beyond
# its end.
_FENCED_CODE = (
    r"^[ \t]*+(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)[^\n]*+"
    r"(?>(?:\n(?![ \t]*+(?P=fence)[`~]*+[ \t\r]*+$)[^\n]*+)*)(?:\n[^\n]*+)?"
)
_CODE_SPAN = r"`[^\n]*(?:\n(?![ \t\r]*(?:\n|\Z|```|~~~))[^\n]*)*`"
_INDENTED_CODE = r"^(?: {4}| {0,3}\t)[^\n]*+"
_INVISIBLE = f"(?P<invisible>{capdisc_guard.REMOVABLE})"
_IN_FIELD = re.compile(f"{_FENCED_CODE}|{_CODE_SPAN}|{_INVISIBLE}", re.MULTILINE)
_IN_BODY = re.compile(f"{_FENCED_CODE}|{_INDENTED_CODE}|{_CODE_SPAN}|{_INVISIBLE}", re.MULTILINE)
_REMOVABLE = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef]"
)


def remove_invisible(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without invisible characters in the fields and the body that these findings are
    about. Characters that a script, an emoji or Braille needs stay, and so does all code.
    """
    fields = field_region(text)
    lines = list(fields.lines)
    for first, last_line, pattern in set(
        _parts_with_lines(fields, {line - 1 for line, _ in places})
    ):
        part = "\n".join(lines[first : last_line + 1])
        lines[first : last_line + 1] = pattern.sub(
            lambda match: "" if match["invisible"] else match[0], part
        ).split("\n")
    return "\n".join(lines)


def visible_part(text: str) -> str:
    """The text without any character that `remove_invisible` may take away."""
    return _REMOVABLE.sub("", text)


def _parts_with_lines(
    fields: FieldRegion, lines: set[int]
) -> Iterator[tuple[int, int, re.Pattern[str]]]:
    """First and last line, counted from 0, and pattern of each part that holds one of the lines."""
    starts = sorted({entry.line - 1 for entry in _field_entries(fields)})
    for line in lines:
        place = bisect_right(starts, line)
        if line >= fields.end:
            yield fields.end, len(fields.lines) - 1, _IN_BODY
        elif place:
            yield (
                starts[place - 1],
                (starts[place] if place < len(starts) else fields.end) - 1,
                _IN_FIELD,
            )
