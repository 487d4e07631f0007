"""Fields written as the Agent Skills format has them."""

from __future__ import annotations

import json

from capdisc_indexer.check.fixes.region import Region, entries_at, region
from capdisc_indexer.check.skill import OF_THE_FORMAT
from capdisc_indexer.sources.fields import AMBIGUOUS, split_outside, squeezed
from capdisc_indexer.sources.nodes import Entry, ListNode, MapNode, TextNode
from capdisc_indexer.sources.yaml_reader import read_yaml

_FIELDS = {squeezed(name): name for name in OF_THE_FORMAT}
_SEPARATORS = ", \n\t"


def spelt(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with these keys as the format spells them.

    >>> spelt("---\\nName: a\\n---\\n", frozenset({(2, 1)}))
    '---\\nname: a\\n---\\n'
    """
    fields = region(text)
    for entry in entries_at(fields, places):
        number, column = entry.line - 1, entry.column - 1
        line, name = fields.line(number), _FIELDS.get(squeezed(entry.key), entry.key)
        if line.startswith(f"{entry.key}:", column):
            fields = fields.replaced(number, number, [line[:column] + name + line[column + len(entry.key) :]])
    return fields.text


def one_text(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with a list of allowed tools as one text. A list that holds comments stays, since they would be lost.

    >>> one_text("---\\nallowed-tools: [Read, Bash(ls -l)]\\n---\\n", frozenset({(2, 1)}))
    '---\\nallowed-tools: Read Bash(ls -l)\\n---\\n'
    """
    fields = region(text)
    for entry in entries_at(fields, places):
        tools = _tools(entry)
        first, last = entry.line - 1, _last(fields, entry)
        old = fields.lines[first : last + 1]
        is_whole = (
            old and old[0][entry.column - 1 :].startswith(f"{entry.key}:") and not any("#" in each for each in old)
        )
        if tools and is_whole:
            fields = fields.replaced(first, last, [old[0][: entry.column - 1] + f"{entry.key}: {_value(tools)}"])
    return fields.text


def _tools(entry: Entry) -> str:
    """The tools with blanks between them; "" where they would not be read back as the same tools."""
    node = entry.value
    if isinstance(node, TextNode):
        items = split_outside(node.value, _SEPARATORS)
    elif isinstance(node, ListNode) and all(isinstance(item, TextNode) for item in node.items):
        items = [" ".join(item.value.split()) for item in node.items if isinstance(item, TextNode)]
    else:
        return ""
    joined = " ".join(items)
    return joined if split_outside(joined, _SEPARATORS) == items else ""


def _value(tools: str) -> str:
    """The text plain where that is what it says, else in quotes."""
    documents = read_yaml(f"x: {tools}").documents
    node = documents[0].entries["x"].value if documents and isinstance(documents[0], MapNode) else None
    is_plain = isinstance(node, TextNode) and node.value == tools and not AMBIGUOUS.fullmatch(tools)
    return tools if is_plain else json.dumps(tools, ensure_ascii=False)


def _last(fields: Region, entry: Entry) -> int:
    """The last line of the entry: what follows is blank, indented no deeper than its key, or not of the block."""
    last = entry.line - 1
    for number in range(entry.line, fields.end):
        line = fields.line(number)
        text = line.strip()
        deeper = len(line) - len(line.lstrip(" ")) >= entry.column
        if text and not deeper and not (text.startswith("-") and line[: entry.column - 1].strip() == ""):
            break
        if text:
            last = number
    return last
