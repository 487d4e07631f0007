"""Changes one place of a JSON text, and leaves every other byte of it as it is.

A path names a place from the root: a string is the name of a member, a number the index of an
item. What is added is laid out like its neighbours: their indentation, line ends and blanks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen

ValuePath: TypeAlias = tuple[str | int, ...]


class UneditableError(Exception):
    """The text is written in a way in which it cannot be changed without harm to the rest."""


_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")


@frozen
class _Member:
    """A member of an object or an item of an array: its key or index, and where it stands.

    A member begins at `start` with its key, an item with its value.
    """

    key: str | int
    start: int
    value_start: int
    end: int


@frozen
class _Container:
    """An object or array of the text; `closing` is the place of its last bracket."""

    start: int
    closing: int
    members: Sequence[_Member]

    def find_member(self, key: str | int) -> _Member | None:
        """The member with this key, the last of several, as every reader of JSON takes it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def insert_value(text: str, path: ValuePath, value: Any) -> str:
    """The text with the value at a path where none is: as the last member of its object or the
    last item of its array. Missing objects and arrays around it are added, too.
    """
    container, depth = _read_container(text, _skip_blanks(text, 0)), 0
    while member := container.find_member(path[depth]):
        container, depth = _read_container(text, member.value_start), depth + 1
    for key in reversed(path[depth + 1 :]):
        value = {key: value} if isinstance(key, str) else [value]
    return _append_member(text, container, path[depth], value)


def replace_value(text: str, path: ValuePath, value: Any) -> str:
    """The text with another value at a path where one is."""
    container = _find_container(text, path)
    member = container.find_member(path[-1])
    assert member is not None, path
    piece = _format_value(text, value, _line_indent(text, member.start), _is_one_line(text))
    return text[: member.value_start] + piece + text[member.end :]


def remove_value(text: str, path: ValuePath) -> str:
    """The text without the member or item at a path where one is."""
    container = _find_container(text, path)
    position = max(i for i, member in enumerate(container.members) if member.key == path[-1])
    if len(container.members) == 1:
        return text[: container.start + 1] + text[container.closing :]
    if position:
        start, end = container.members[position - 1].end, container.members[position].end
    else:
        start, end = container.members[0].start, container.members[1].start
    return text[:start] + text[end:]


def _find_container(text: str, path: ValuePath) -> _Container:
    """The object or array that holds the value at the path."""
    container = _read_container(text, _skip_blanks(text, 0))
    for key in path[:-1]:
        member = container.find_member(key)
        assert member is not None, path
        container = _read_container(text, member.value_start)
    return container


def _read_container(text: str, start: int) -> _Container:
    """The object or array that begins at `start`, of a text that is JSON."""
    members: list[_Member] = []
    position = _skip_blanks(text, start + 1)
    while text[position] not in "}]":
        key, value_start = len(members), position
        if text[start] == "{":
            key, key_end = _DECODER.raw_decode(text, position)
            value_start = _skip_blanks(text, _skip_blanks(text, key_end) + 1)
        _, end = _DECODER.raw_decode(text, value_start)
        members.append(_Member(key, position, value_start, end))
        position = _skip_blanks(text, end)
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)
    return _Container(start, position, members)


def _append_member(text: str, container: _Container, key: str | int, value: Any) -> str:
    if not container.members:
        return _fill_container(text, container, key, value)
    first_member, final_member = container.members[0], container.members[-1]
    gap = text[container.start + 1 : first_member.start]
    is_one_line = "\n" not in gap
    indent = gap.rpartition("\n")[2]
    piece = _format_member(text, key, value, indent, is_one_line)
    separator = _item_blank(text) if is_one_line else _line_end(text) + indent
    return f"{text[: final_member.end]},{separator}{piece}{text[final_member.end :]}"


def _fill_container(text: str, container: _Container, key: str | int, value: Any) -> str:
    """The text with the first member of an empty object or array."""
    before, after = text[: container.start + 1], text[container.closing :]
    if _is_one_line(text):
        return before + _format_member(text, key, value, "", True) + after
    outer = _line_indent(text, container.start)
    indent, line_end = outer + _indent_unit(text), _line_end(text)
    piece = _format_member(text, key, value, indent, False)
    return f"{before}{line_end}{indent}{piece}{line_end}{outer}{after}"


def _format_member(text: str, key: str | int, value: Any, indent: str, is_one_line: bool) -> str:
    piece = _format_value(text, value, indent, is_one_line)
    if isinstance(key, int):
        return piece
    colon = ":" if _is_minified(text) else ": "
    return json.dumps(key, ensure_ascii=False) + colon + piece


def _format_value(text: str, value: Any, indent: str, is_one_line: bool) -> str:
    """The value as JSON, with `indent` before all lines but the first."""
    if is_one_line:
        separators = (",", ":") if _is_minified(text) else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
    return (_line_end(text) + indent).join(lines)


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _is_one_line(text: str) -> bool:
    """Whether a document with content stands on one line; an empty one has no layout yet."""
    stripped = text.strip()
    return "\n" not in stripped and len(_BLANKS.sub("", stripped)) > 2


def _is_minified(text: str) -> bool:
    """Whether the document has no blank behind colons."""
    return _is_one_line(text) and not re.search(r'":[ \t]', text)


def _item_blank(text: str) -> str:
    return "" if _is_minified(text) else " "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, position: int) -> str:
    """The blanks at the beginning of the line of this position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """The blanks by which the members of the root are indented; two where it has no such line."""
    match = re.match(r"\s*\{[ \t]*\r?\n[\r\n]*([ \t]*)\S", text)
    return match[1] if match and match[1] else "  "
