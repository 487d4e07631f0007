"""Fixes of single characters: the byte order mark, line ends, characters that show nothing."""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n|\r|\n")
# What shows nothing wherever it stands. Joiners are honest parts of several scripts and of emoji, but not between
# Latin, Greek or Cyrillic letters.
_NOTHING = re.compile("[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u2800\u3164\ufeff\uffa0]")
_LETTER = "[A-Za-z\u00c0-\u024f\u0370-\u04ff]"
_JOINER = re.compile(f"(?<={_LETTER})[\u200c\u200d]+(?={_LETTER})")


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


def without_invisible(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without the characters that show nothing. All of them go: the finding names the first of each field."""
    return _JOINER.sub("", _NOTHING.sub("", text))


def visible_part(text: str) -> str:
    """What two texts have in common that differ only by what the fixes of this file may take away."""
    return without_invisible(text, frozenset())
