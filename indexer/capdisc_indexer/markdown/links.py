"""The links of a Markdown text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from capdisc_indexer.frozen import frozen
from capdisc_indexer.markdown.prose import prose, without_indented

# Of the words that carry a link; in nested brackets they repeat one another.
_MAX_TEXT = 200
_DEFINITION = re.compile(r" {0,3}\[([^\[\]]+)\]:[ \t]*(?:<([^<>]*)>|(\S+))")
_TICKS = re.compile(r"`+")
# What can begin, end or hide a link; the text between is passed over at once.
_MARK = re.compile(r"\\.|`+|!?\[|\]\(?|<(?=[a-z])|https?://", re.IGNORECASE)
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>", re.IGNORECASE)
_BARE = re.compile(r"[^\s<>\"'`\])]+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@frozen(kw_only=True)
class MarkdownLink:
    """One link as it is written: the words that carry it, its target, and where it begins, line and column from 1."""

    text: str
    target: str
    line: int
    column: int = 1


def links(text: str) -> Iterator[MarkdownLink]:
    """Every inline link, reference definition, autolink and bare URL outside code, in order. Images are left out, and
    so are footnotes."""
    for number, line in without_indented(prose(text)):
        definition = _DEFINITION.match(line)
        if definition and not definition[1].startswith("^"):
            target, column = definition[2] or definition[3] or "", line.index("[") + 1
            yield MarkdownLink(text=definition[1], target=target, line=number, column=column)
        else:
            for words, target, at in _Line(line).links():
                yield MarkdownLink(text=words, target=_ESCAPED.sub(r"\1", target), line=number, column=at + 1)


class _Line:
    """One line on the way through it. `_open` holds the places of brackets that are not closed yet."""

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
            found = self._found(mark[0], mark.start())
            if found:
                yield found

    def _found(self, mark: str, start: int) -> tuple[str, str, int] | None:
        if mark[0] == "`":
            self._skip_code(len(mark))
        elif mark in ("[", "!["):
            self._open.append((self._at, mark == "!["))
        elif mark[0] == "]":
            return self._closed(mark, start)
        elif mark == "<":
            match = _AUTOLINK.match(self._line, start)
            self._at = match.end() if match else self._at
            return (match[1], match[1], start) if match else None
        elif mark[0] != "\\":
            return self._bare(start)
        return None

    def _skip_code(self, length: int) -> None:
        """To behind the next run of as many ticks; where there is none, these are ordinary characters."""
        runs = self._ticks.get(length, [])  # an escaped tick shortens the run that it begins
        closing = bisect_right(runs, self._at - 1)
        if closing < len(runs):
            self._at = runs[closing] + length

    def _closed(self, mark: str, end: int) -> tuple[str, str, int] | None:
        start, is_image = self._open.pop() if self._open else (-1, False)
        if mark == "]" or start < 0:
            return None
        target = self._destination()
        if target is None or is_image:
            return None
        return self._line[start : min(end, start + _MAX_TEXT)], target, start - 1

    def _bare(self, start: int) -> tuple[str, str, int] | None:
        match = _BARE.match(self._line, start)
        url = match[0].rstrip(".,;:!?*_~") if match else ""
        self._at = start + max(len(url), 1)
        return (url, url, start) if url.partition("://")[2] else None

    def _destination(self) -> str | None:
        """What stands in the round brackets, without a title; None where they never close. Whatever was looked at is
        behind us then, link or not."""
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
