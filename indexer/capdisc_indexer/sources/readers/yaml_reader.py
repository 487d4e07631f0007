"""YAML from untrusted files as nodes. Nothing else reads YAML."""

from __future__ import annotations

from capdisc_indexer.sources.readers.yaml_nodes import (
    Entry,
    MapNode,
    TextNode,
    YamlLimits,
    YamlResult,
)
from capdisc_indexer.text.normalization import compile_late

# `key: value` on one line, in quotes without escapes or plain without anything that YAML reads as
# more than text. In six of ten front matters all lines are such.
_SIMPLE_FIELD = compile_late(
    r"""([A-Za-z_][A-Za-z0-9_.-]{0,63}):( +)"""
    r"""(?:"([^"\\]*)"|'([^']*)'|([^\W_](?:[^:#]|:(?! |$)|(?<! )#)*)) *"""
)
# All fields of so short a text are within the limits.
_SIMPLE_CHARACTERS = 32 * 1024
_DEFAULT_LIMITS = YamlLimits()


def read_yaml(
    text: str, path: str = "", first_line: int = 1, limits: YamlLimits = _DEFAULT_LIMITS
) -> YamlResult:
    """The documents of a text whose first line is line `first_line` of the file; every scalar is
    text as written.
    """
    if limits is _DEFAULT_LIMITS and (fields := _read_simple_fields(text, first_line)):
        return YamlResult(documents=(fields,))
    # PyYAML takes 7 ms to import, a tenth of `capdisc validate FILE`.
    from capdisc_indexer.sources.readers.yaml_events import read_events

    return read_events(text, path, first_line, limits)


def _read_simple_fields(text: str, first_line: int) -> MapNode | None:
    """The fields of a text that has nothing but simple ones; None for any other."""
    entries: dict[str, Entry] = {}
    rows = text.removesuffix("\n").split("\n") if len(text) < _SIMPLE_CHARACTERS else [""]
    for line, row in enumerate(rows, first_line):
        match = _SIMPLE_FIELD.fullmatch(row) if row.isprintable() else None
        if match is None or match[1] in entries:
            return None
        key, gap, double, single, plain = match.groups()
        value = double or single or (plain or "").rstrip(" ")
        node = TextNode(value, plain is not None, line, len(key) + len(gap) + 2)
        entries[key] = Entry(key, node, line, 1)
    return MapNode(entries, first_line, 1)
