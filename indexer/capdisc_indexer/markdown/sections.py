"""The part of a Markdown text below one of its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.markdown.prose import prose

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


def section(text: str, anchor: str) -> str | None:
    """The text from the heading that `anchor` names, as GitHub names them, to the next one of its rank; None where
    there is no such heading.

    >>> section("# One\\n\\n## Second Part\\n\\nHere.\\n\\n# Three\\n", "second-part")
    '## Second Part\\n\\nHere.\\n'
    """
    lines = text.split("\n")
    headings = [(number, len(match[1]), match[2]) for number, match in _headings(text)]
    seen: dict[str, int] = {}
    for position, (start, rank, title) in enumerate(headings):
        slug = _NOT_IN_SLUG.sub("", (title or "").strip(" \t#").lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        if anchor == (f"{slug}-{seen[slug]}" if seen[slug] else slug):
            end = next((number for number, other, _ in headings[position + 1 :] if other <= rank), len(lines) + 1)
            return "\n".join(lines[start - 1 : end - 1]).rstrip("\n") + "\n"
    return None


def _headings(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in prose(text):
        match = _HEADING.fullmatch(line)
        if match:
            yield number, match
