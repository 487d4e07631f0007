"""Fixes of single characters: the byte order mark, line ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Entry
from capdisc_indexer.validation import hidden_text
from capdisc_indexer.validation.fixes.field_region import (
    FieldRegion,
    capability_mappings,
    field_region,
)

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
