"""The lines of a Markdown text that are not code."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
