"""Values put in quotes, so that every reader takes them for text."""

from __future__ import annotations

import json
from collections.abc import Iterable

from capdisc_indexer.check.fixes.region import Region, entries_at, mappings, region
from capdisc_indexer.sources.fields import AMBIGUOUS, squeezed
from capdisc_indexer.sources.nodes import Entry, MapNode, Node, TextNode


def quoted(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with the ambiguous values of these fields in quotes.

    >>> quoted("name: no\\nhidden: no\\n", frozenset({(1, 1)}))
    'name: "no"\\nhidden: no\\n'
    """
    fields = region(text)
    return _in_quotes(fields, (entry.value for entry in entries_at(fields, places)))


def quoted_metadata(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with every ambiguous value of its metadata in quotes; lists and mappings inside stay as they are."""
    fields = region(text)
    inner = [entry for node in mappings(fields) for one in node.entries.values() for entry in _metadata(one)]
    marked = any((entry.line, entry.column) in places for entry in inner)
    return _in_quotes(fields, (entry.value for entry in inner)) if marked else text


def _metadata(entry: Entry) -> Iterable[Entry]:
    is_metadata = squeezed(entry.key) == "metadata" and isinstance(entry.value, MapNode)
    return entry.value.entries.values() if is_metadata and isinstance(entry.value, MapNode) else ()


def _in_quotes(fields: Region, nodes: Iterable[Node]) -> str:
    ambiguous = [node for node in nodes if isinstance(node, TextNode) and node.is_plain and _is_ambiguous(node)]
    for node in sorted(ambiguous, key=lambda one: (one.line, one.column), reverse=True):
        number, column = node.line - 1, node.column - 1
        line = fields.line(number)
        if line.startswith(node.value, column):  # not so where it goes on in the next line
            after = line[column + len(node.value) :]
            fields = fields.replaced(
                number, number, [line[:column] + json.dumps(node.value, ensure_ascii=False) + after]
            )
    return fields.text


def _is_ambiguous(node: TextNode) -> bool:
    return AMBIGUOUS.fullmatch(node.value) is not None
