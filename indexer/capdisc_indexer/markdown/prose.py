"""The lines of a Markdown text that are not code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# What goes on in indented lines: an item of a list, a footnote.
_ITEM = re.compile(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)|\[\^[^\]]+\]:)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_SPAN = re.compile(r"`[^`\n]+`")
_FENCE = re.compile(r" {0,3}(```+|~~~+)(.*)")


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside fenced code, each with its number."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = _FENCE.match(line)
        if fence:
            closes = match and match[1].startswith(fence) and not match[2].strip()
            fence = "" if closes else fence
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            yield number, line


def without_code(text: str) -> str:
    """The text with blanks in the place of fenced code and code spans, so that every other letter keeps its place.

    >>> without_code("Say `hi` now")
    'Say      now'
    """
    lines = [" " * len(line) for line in text.split("\n")]
    for number, line in prose(text):
        lines[number - 1] = _SPAN.sub(lambda span: " " * len(span[0]), line) if "`" in line else line
    return "\n".join(lines)


def without_indented(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Those of the lines that are no indented code: four blanks deep below an empty line, and in no item of a list."""
    before = 0  # the last line that was no code and not empty
    in_item = False
    for number, line in lines:
        below_text = number == before + 1 and before > 0
        if not line.strip():
            continue
        if _INDENTED.match(line) and not below_text and not in_item:
            continue
        is_lazy = below_text or line.startswith((" ", "\t"))
        in_item = _ITEM.match(line) is not None or (in_item and is_lazy)
        before = number
        yield number, line
