"""Where the comments of YAML begin. What looks like one inside a block or between quotes is text of a value.

No parser, since a file that is no YAML has comments too: each line is walked through once, with what the lines before
it left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_HASH = re.compile(r"(?:^|(?<=[ \t]))#")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}(?=[ \t]+#|[ \t]*$)")
_MARK = re.compile(r"[-?:](?=[ \t]|$)")
_KEY_END = re.compile(r":(?=[ \t]|$)|(?<=[ \t])#")
_FLOW_END = re.compile(r":(?=[ \t]|$)|(?<=[ \t])#|[\[\]{},]")
_UNTIL_CLOSED = {'"': re.compile(r'(?:[^"\\]|\\.)*+"'), "'": re.compile(r"(?:[^']|'')*+'")}


def comment_starts(lines: Iterable[str]) -> Iterator[int]:
    """For each line the offset of the `#` that begins its comment, -1 where it has none.

    >>> list(comment_starts(["a: b # c", "d: |  # e", "  # f", "g: 'h", "  # i' # j"]))
    [5, 6, -1, -1, 7]
    """
    walk = _Walk()
    return (walk.comment(line) for line in lines)


class _Walk:
    """What is open at the end of a line: a quote, brackets, or a text that goes on in the lines indented deeper than
    `_parent`, as a block, which holds no comment, or plain, which a comment ends."""

    def __init__(self) -> None:
        self._quote = self._text = ""
        self._depth = self._parent = 0
        self._key_seen = False  # in this line: what follows is a value up to its end

    def comment(self, line: str) -> int:
        """Where the comment of the next line begins."""
        if self._quote:
            return self._walked(line, self._closed(line, 0))
        deeper = not line.strip() or _indent(line) > self._parent
        if self._text and deeper:
            return -1 if self._text == "block" else self._ended(line)
        if not deeper:
            self._depth = 0  # brackets that nobody closed end with their field
        if not self._depth:
            self._parent, self._key_seen = _indent(line), False
        self._text = ""
        return self._walked(line, 0)

    def _ended(self, line: str) -> int:
        found = _HASH.search(line)
        self._text = "" if found else self._text
        return found.start() if found else -1

    def _walked(self, line: str, at: int) -> int:
        while 0 <= at < len(line):
            if _HASH.match(line, at):
                self._text = "" if self._text == "plain" else self._text
                return at
            at = self._next(line, at)
        return -1

    def _next(self, line: str, at: int) -> int:
        """The offset after what stands here; -1 where the next line goes on with it."""
        character = line[at]
        if mark := _MARK.match(line, at):
            self._marked(character, at)
            return mark.end()
        if character in "[{" or (self._depth and character in ",]}"):
            self._depth += (character in "[{") - (character in "]}")
            return at + 1
        if character in _UNTIL_CLOSED:
            self._quote = character
            return self._closed(line, at + 1)
        return at + 1 if character in " \t" else self._words(line, at)

    def _marked(self, character: str, at: int) -> None:
        self._key_seen = self._key_seen or character == ":"
        self._text = ""  # what was read was a key
        if character == "-" and not self._key_seen and not self._depth:
            self._parent = at

    def _words(self, line: str, at: int) -> int:
        if self._depth:
            found = _FLOW_END.search(line, at)
        elif block := _BLOCK.match(line, at):
            self._text = "block"
            return block.end()
        else:
            self._text = "plain"
            found = (_HASH if self._key_seen else _KEY_END).search(line, at)
        return found.start() if found else len(line)

    def _closed(self, line: str, at: int) -> int:
        """The offset after the quote that ends the open one."""
        found = _UNTIL_CLOSED[self._quote].match(line, at)
        self._quote = "" if found else self._quote
        return found.end() if found else -1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
