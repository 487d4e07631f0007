"""The first words of a long text, which stand for it in lists."""

from __future__ import annotations

import re

# As long as a description may be before it counts as a text of its own.
SHORT = 500
LONGEST = 1_000
_TELLING = 60  # a first paragraph below this is a heading or a greeting
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"[.!?](?=\s)")


def lead(text: str) -> tuple[str, str]:
    """What to list a text by, and the whole text where that is not all of it.

    >>> lead("Merges files.")
    ('Merges files.', '')
    """
    text = text.strip()
    if len(text) <= SHORT:
        return text, ""
    first = ""
    for paragraph in _PARAGRAPH.split(text):
        first = f"{first}\n{paragraph.strip()}".strip()
        if len(first) >= _TELLING:
            break
    return _cut(first), text


def _cut(text: str) -> str:
    """At most LONGEST characters, ending where a sentence does if one ends in the second half of them."""
    if len(text) <= LONGEST:
        return text
    ends = [found.end() for found in _SENTENCE.finditer(text, LONGEST // 2, LONGEST)]
    return text[: ends[-1]] if ends else text[:LONGEST].rpartition(" ")[0] + " ..."
