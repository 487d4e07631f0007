"""The links and the code of a Markdown text, found by walking through its lines once.

This is not a parser of Markdown: links that span lines and headings that are underlined are not
seen. Nothing is read twice, so that every text takes time in proportion to its length.
docs/internals/why-not-a-library.md compares it with markdown-it-py.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import compress
from operator import not_

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import compile_late

# List items and footnotes continue in indented lines.
_LIST_ITEM = compile_late(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)|\[\^[^\]]+\]:)")
_INDENTED = compile_late(r" {4}| {0,3}\t")
_SPAN = compile_late(r"`[^`\n]+`")
_FENCE = compile_late(r" {0,3}(```+|~~~+)(.*)")
# Of a link's text; texts of nested brackets contain one another.
_MAX_TEXT = 200
_DEFINITION = compile_late(r" {0,3}\[([^\[\]]+)\]:[ \t]*(?:<([^<>]*)>|(\S+))")
_TICKS = compile_late(r"`+")
# Characters that can begin, end or hide a link; the text between is skipped in one step.
_MARK = compile_late(r"\\.|`+|!?\[|\]\(?|<(?=[a-z])|https?://", re.IGNORECASE)
_AUTOLINK = compile_late(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>", re.IGNORECASE)
_BARE_URL = compile_late(r"[^\s<>\"'`\])]+")
_ESCAPED = compile_late(r"\\([!-/:-@\[-`{-~])")


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside fenced code, with their numbers from 1."""
    lines = text.split("\n")
    numbered = enumerate(lines, 1)
    if "```" not in text and "~~~" not in text:
        return numbered
    return compress(numbered, map(not_, _are_code(lines)))


def _are_code(lines: Iterable[str]) -> Iterator[bool]:
    """Whether each line belongs to fenced code, its fences included."""
    fence = ""
    for line in lines:
        # Few lines hold such a mark, and to look for it takes a third of the expression's time.
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if match:
            fence_before = fence
            fence = next_fence(fence, match[1], match[2])
            yield bool(fence or fence_before)
        else:
            yield bool(fence)


def next_fence(fence: str, marks: str, behind: str) -> str:
    """The marks of the fence that is open behind a line that begins with such marks, "" for none;
    `fence` was open before, `behind` is the rest of the line.
    """
    if fence:
        return "" if marks.startswith(fence) and not behind.strip() else fence
    return "" if marks[0] == "`" and "`" in behind else marks


@lru_cache(maxsize=2)  # several rules look at one text in turn
def without_code(text: str) -> str:
    """The text with blanks in place of fenced code and code spans, so that all other characters
    keep their places.

    >>> without_code("Say `hi` now")
    'Say      now'
    """
    if "`" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    return "\n".join(
        " " * len(line) if is_code else _blank_spans(line) if "`" in line else line
        for line, is_code in zip(lines, _are_code(lines), strict=True)
    )


def _blank_spans(line: str) -> str:
    return _SPAN.sub(lambda span: " " * len(span[0]), line)


def drop_indented_code(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines without empty ones and indented code, which is four blanks deep, below an empty
    line and not in a list item.
    """
    last_prose = 0  # the number of the last line that was yielded
    in_item = False
    for number, line in lines:
        below_text = number == last_prose + 1 and last_prose > 0
        if not line.strip():
            continue
        if _INDENTED.match(line) and not below_text and not in_item:
            continue
        is_lazy = below_text or line.startswith((" ", "\t"))
        in_item = _LIST_ITEM.match(line) is not None or (in_item and is_lazy)
        last_prose = number
        yield number, line


@frozen(kw_only=True)
class MarkdownLink:
    """One link as written: its text, its target, and the line and column of its begin, from 1."""

    text: str
    target: str
    line: int
    column: int = 1


def find_links(text: str) -> Iterator[MarkdownLink]:
    """Every inline link, reference definition, autolink and bare URL outside code, in order,
    without images and footnotes.
    """
    for number, line in drop_indented_code(prose_lines(text)):
        definition = _DEFINITION.match(line)
        if definition and not definition[1].startswith("^"):
            target, column = definition[2] or definition[3] or "", line.index("[") + 1
            yield MarkdownLink(text=definition[1], target=target, line=number, column=column)
        else:
            for link_text, raw_target, offset in _LinkScanner(line).links():
                target = _ESCAPED.sub(r"\1", raw_target)
                yield MarkdownLink(text=link_text, target=target, line=number, column=offset + 1)


class _LinkScanner:
    """Scans one line. `_open` holds the brackets that are not closed yet: the offset behind each,
    and whether it begins an image.
    """

    def __init__(self, line: str) -> None:
        self._line, self._at = line, 0
        self._open: list[tuple[int, bool]] = []
        self._ticks: dict[int, list[int]] = {}
        for run in _TICKS.finditer(line):
            self._ticks.setdefault(len(run[0]), []).append(run.start())

    def links(self) -> Iterator[tuple[str, str, int]]:
        """Text, target and offset of every link in the line."""
        while mark := _MARK.search(self._line, self._at):
            self._at = mark.end()
            link = self._scan_mark(mark[0], mark.start())
            if link:
                yield link

    def _scan_mark(self, mark: str, start: int) -> tuple[str, str, int] | None:
        if mark[0] == "`":
            self._skip_code(len(mark))
        elif mark in ("[", "!["):
            self._open.append((self._at, mark == "!["))
        elif mark[0] == "]":
            return self._close_bracket(mark, start)
        elif mark == "<":
            match = _AUTOLINK.match(self._line, start)
            self._at = match.end() if match else self._at
            return (match[1], match[1], start) if match else None
        elif mark[0] != "\\":
            return self._scan_url(start)
        return None

    def _skip_code(self, length: int) -> None:
        """Moves behind the next run of equally many ticks; without one, these are ordinary
        characters.
        """
        runs = self._ticks.get(length, [])  # an escaped tick shortens the run that it begins
        closing = bisect_right(runs, self._at - 1)
        if closing < len(runs):
            self._at = runs[closing] + length

    def _close_bracket(self, mark: str, end: int) -> tuple[str, str, int] | None:
        start, is_image = self._open.pop() if self._open else (-1, False)
        if mark == "]" or start < 0:
            return None
        target = self._read_destination()
        if target is None or is_image:
            return None
        return self._line[start : min(end, start + _MAX_TEXT)], target, start - 1

    def _scan_url(self, start: int) -> tuple[str, str, int] | None:
        match = _BARE_URL.match(self._line, start)
        url = match[0].rstrip(".,;:!?*_~") if match else ""
        self._at = start + max(len(url), 1)
        return (url, url, start) if url.partition("://")[2] else None

    def _read_destination(self) -> str | None:
        """The target in the round brackets, without a title; None if they never close.

        What was read is not read again, whether it is a link or not.
        """
        line, start = self._line, self._at
        while start < len(line) and line[start] in " \t":
            start += 1
        if line[start : start + 1] == "<":
            end = line.find(">", start)
            self._at = end + 1 if end > 0 else len(line)
            return line[start + 1 : end] if end > 0 else None
        depth, end = 0, start
        while end < len(line) and not line[end].isspace():
            depth += (line[end] == "(") - (line[end] == ")")
            if depth < 0:
                break
            end += 2 if line[end] == "\\" else 1
        self._at = end
        return line[start:end] if end < len(line) else None
