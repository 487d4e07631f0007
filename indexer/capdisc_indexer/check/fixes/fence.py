"""The block of fields brought to the top of the file."""

from __future__ import annotations

from capdisc_indexer.sources.frontmatter import split


def at_the_top(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text without the blank lines, or the code fence, around its front matter.

    >>> at_the_top("\n```yaml\n---\nname: a\n---\n```\nBody\n", frozenset())
    '---\nname: a\n---\nBody\n'
    """
    halves = split(text)
    if halves.block is None:
        return text
    lines = text.split("\n")
    opening = halves.block_line - 2
    closing = opening + halves.block.count("\n") + 1
    return "\n".join([*lines[opening : closing + 1], *lines[halves.body_line - 1 :]])
