"""Fixes of single characters: the byte order mark, line ends."""

from __future__ import annotations

import re

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
