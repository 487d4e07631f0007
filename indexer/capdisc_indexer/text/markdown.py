"""The links of a Markdown text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from capdisc_indexer.model.frozen import frozen

# The lines of a Markdown text that are not code.

# What goes on in indented lines: an item of a list, a footnote.
_LIST_ITEM = re.compile(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)|\[\^[^\]]+\]:)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_SPAN = re.compile(r"`[^`\n]+`")
_FENCE = re.compile(r" {0,3}(```+|~~~+)(.*)")


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
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
    """The text with blanks in the place of fenced code and code spans, so that every other letter
    keeps its place.

    >>> without_code("Say `hi` now")
    'Say      now'
    """
    lines = [" " * len(line) for line in text.split("\n")]
    for number, line in prose_lines(text):
        lines[number - 1] = (
            _SPAN.sub(lambda span: " " * len(span[0]), line) if "`" in line else line
        )
    return "\n".join(lines)


def drop_indented_code(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Those of the lines that are no indented code: four blanks deep below an empty line, and in
    no item of a list.
    """
    before = 0  # the last line that was no code and not empty
    in_item = False
    for number, line in lines:
        below_text = number == before + 1 and before > 0
        if not line.strip():
            continue
        if _INDENTED.match(line) and not below_text and not in_item:
            continue
        is_lazy = below_text or line.startswith((" ", "\t"))
        in_item = _LIST_ITEM.match(line) is not None or (in_item and is_lazy)
        before = number
        yield number, line


# The part of a Markdown text below one of its headings.

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


def find_section(text: str, anchor: str) -> str | None:
    """The text from the heading that `anchor` names, as GitHub names them, to the next one of its
    rank; None where there is no such heading.

    >>> section("# One\\n\\n## Second Part\\n\\nHere.\\n\\n# Three\\n", "second-part")
    '## Second Part\\n\\nHere.\\n'
    """
    lines = text.split("\n")
    headings = [(number, len(match[1]), match[2]) for number, match in _find_headings(text)]
    slug_counts: dict[str, int] = {}
    for position, (start, rank, title) in enumerate(headings):
        slug = _NOT_IN_SLUG.sub("", (title or "").strip(" \t#").lower()).replace(" ", "-")
        slug_counts[slug] = slug_counts.get(slug, -1) + 1
        if anchor == (f"{slug}-{slug_counts[slug]}" if slug_counts[slug] else slug):
            end = next(
                (number for number, next_rank, _ in headings[position + 1 :] if next_rank <= rank),
                len(lines) + 1,
            )
            return "\n".join(lines[start - 1 : end - 1]).rstrip("\n") + "\n"
    return None


def _find_headings(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in prose_lines(text):
        match = _HEADING.fullmatch(line)
        if match:
            yield number, match


# Of the words that carry a link; in nested brackets they repeat one another.
_MAX_TEXT = 200
_DEFINITION = re.compile(r" {0,3}\[([^\[\]]+)\]:[ \t]*(?:<([^<>]*)>|(\S+))")
_TICKS = re.compile(r"`+")
# What can begin, end or hide a link; the text between is passed over at once.
_MARK = re.compile(r"\\.|`+|!?\[|\]\(?|<(?=[a-z])|https?://", re.IGNORECASE)
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>", re.IGNORECASE)
_BARE_URL = re.compile(r"[^\s<>\"'`\])]+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@frozen(kw_only=True)
class MarkdownLink:
    """One link as it is written: the words that carry it, its target, and where it begins, line
    and column from 1.
    """

    text: str
    target: str
    line: int
    column: int = 1


def find_links(text: str) -> Iterator[MarkdownLink]:
    """Every inline link, reference definition, autolink and bare URL outside code, in order.
    Images are left out, and so are footnotes.
    """
    for number, line in drop_indented_code(prose_lines(text)):
        definition = _DEFINITION.match(line)
        if definition and not definition[1].startswith("^"):
            target, column = definition[2] or definition[3] or "", line.index("[") + 1
            yield MarkdownLink(text=definition[1], target=target, line=number, column=column)
        else:
            for words, target, at in _LinkScanner(line).links():
                yield MarkdownLink(
                    text=words, target=_ESCAPED.sub(r"\1", target), line=number, column=at + 1
                )


class _LinkScanner:
    """One line on the way through it. `_open` holds the places of brackets that are not closed
    yet.
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
        """To behind the next run of as many ticks; where there is none, these are ordinary
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
        """What stands in the round brackets, without a title; None where they never close.
        Whatever was looked at is behind us then, link or not.
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
