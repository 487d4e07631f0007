"""On which lines of a JSON text things stand: the reader keeps values only, and places are asked for by few."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_NAMES = re.compile(r'"name"\s*:\s*("(?:[^"\\\n]|\\.)*")')


class Lines:
    """The lines of places in a text, cheap where each is asked for after the ones before it."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def of(self, place: int) -> int:
        """The line of a place, counted from 1."""
        if place < self._at:
            self._at, self._line = 0, 1
        self._line += self._text.count("\n", self._at, place)
        self._at = place
        return self._line


def named_lines(text: str, names: Sequence[str]) -> list[int]:
    """For each name the line of `"name": NAME`, looked for from the place of the one before it on; the line of that one
    where there is none."""
    places = ((found.start(), found[1]) for found in _NAMES.finditer(text))
    lines = Lines(text)
    found: list[int] = []
    for name in names:
        written = (json.dumps(name, ensure_ascii=False), json.dumps(name))
        start = next((start for start, given in places if given in written), None) if name else None
        found.append(found[-1] if start is None and found else lines.of(start or 0))
    return found


def key_place(text: str, key: str, start: int) -> int:
    """Where the key stands next from `start` on; `start` where it does not."""
    written = json.dumps(key, ensure_ascii=False)
    found = re.compile(rf"{re.escape(written)}\s*:").search(text, start)
    return found.start() if found else start
