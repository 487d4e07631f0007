"""The nodes of a parsed document, each with its line and column from 1, and their values as JSON;
and the limits of what is parsed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.text.normalization import compile_late

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@frozen
class TextNode:
    """A scalar as written. `is_plain` is False if it stood in quotes or as a block, and is text
    for sure.
    """

    value: str
    is_plain: bool
    line: int
    column: int


@frozen
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    line: int
    column: int


@frozen
class Entry:
    """One key with its value; line and column are those of the key. `is_commented_out` says that
    the value begins with `#`, so that YAML takes it for a comment.
    """

    key: str
    value: Node
    line: int
    column: int
    is_commented_out: bool = False


@frozen
class MapNode:
    """A mapping, in the order of the file."""

    entries: Mapping[str, Entry]
    line: int
    column: int


Node: TypeAlias = TextNode | ListNode | MapNode

MAX_DEPTH = 32
MAX_EVENTS = 20_000
# YAML ends a line at these, and no editor does: a field behind one could look like part of a
# comment.
LINE_BREAKS = compile_late("[\u2028\u2029\x85]")


@frozen
class YamlLimits:
    """The limits of a text; the defaults are far beyond what anyone writes by hand."""

    events: int = MAX_EVENTS
    depth: int = MAX_DEPTH


@frozen
class YamlResult:
    """The documents that are not empty, or the finding that says why the text is refused."""

    documents: tuple[Node, ...] = ()
    finding: Finding | None = None


class RefusedTextError(ValueError):
    """A text is not read. `finding` says why, with the place in the text, and without a path."""

    def __init__(self, code: str, message: str, hint: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.finding = Finding(code, Severity.ERROR, message, hint, "", line, column)


# The scalars of the YAML 1.2 core schema. Dates, `no` and `12:30` are text there, unlike in YAML
# 1.1.
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = compile_late(r"[-+]?[0-9]+")
_BASED = compile_late(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = compile_late(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# Digits that fit into a 64-bit integer; longer numbers stay text instead of losing digits.
_LONGEST_NUMBER = 18


def is_null(node: Node) -> bool:
    """Whether the node is an unquoted null, or empty."""
    return isinstance(node, TextNode) and node.is_plain and node.value in _NULLS


def as_written(node: Node) -> Json:
    """The node as JSON with every scalar as the text that the author wrote."""
    if isinstance(node, TextNode):
        return node.value
    if isinstance(node, ListNode):
        return [as_written(item) for item in node.items]
    return {key: as_written(entry.value) for key, entry in node.entries.items()}


def to_json(node: Node, *, exact: bool = False) -> Json:
    """The node as JSON with unquoted scalars typed by the core schema.

    With `exact`, a number that does not print as written (`1.10`, `0777`, `1e3`) stays text, since
    it is a version or a code.
    """
    if isinstance(node, TextNode):
        return _scalar(node.value, exact) if node.is_plain else node.value
    if isinstance(node, ListNode):
        return [to_json(item, exact=exact) for item in node.items]
    return {key: to_json(entry.value, exact=exact) for key, entry in node.entries.items()}


def from_json(value: Json, line: int) -> Node:
    """The nodes of a JSON value that stands on one line of its file."""
    if isinstance(value, dict):
        return map_node(value, line)
    if isinstance(value, list):
        return ListNode(tuple(from_json(item, line) for item in value), line, 1)
    if isinstance(value, str):
        return TextNode(value, False, line, 1)
    return TextNode(json.dumps(value), True, line, 1)


def map_node(value: Mapping[str, Json], line: int = 1) -> MapNode:
    """The nodes of a JSON object that stands on one line of its file."""
    entries = {key: Entry(key, from_json(item, line), line, 1) for key, item in value.items()}
    return MapNode(entries, line, 1)


def plain_value(value: object) -> Json:
    """A value of TOML as JSON has it: dates become text."""
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def place_in_text(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def place_of(node: Node, path: Sequence[str | int] = ()) -> tuple[int, int]:
    """Line and column of the key or list item at `path`, or of the last part of it that exists."""
    line, column = node.line, node.column
    for step in path:
        if isinstance(node, MapNode) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node, line, column = entry.value, entry.line, entry.column
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            line, column = node.line, node.column
        else:
            break
    return line, column


def _scalar(text: str, exact: bool) -> Json:
    if text in _NULLS:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    number = _number(text)
    return text if number is None or (exact and str(number) != text) else number


def _number(text: str) -> int | float | None:
    if len(text) <= _LONGEST_NUMBER:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _BASED.fullmatch(text):
            return int(text, 0)
    is_short = len(text) <= 2 * _LONGEST_NUMBER
    if is_short and not text.lstrip("+-").isdigit() and _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else None
    return None
