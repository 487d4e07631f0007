"""Changes one place of a TOML text, and leaves comments and order as they are.

A table that is added goes to the end of the text, and one that is removed is cut out with its
lines: tomlkit counts a comment in front of the next table to the table before it, and would put a
new table between the two, or remove the comment with its table. tomlkit changes values in place,
and tables that are written in braces. Whatever the way, the result is read again and compared
with what it should say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

from capdisc.setup.json_text import UneditableError, ValuePath
from capdisc_indexer.model.json_types import JsonObject


def insert_value(text: str, path: ValuePath, value: JsonObject) -> str:
    """The text with the table added at the path. Raises UneditableError where that is impossible."""
    expected = deepcopy(tomllib.loads(text))
    _set_value(expected, path, value)
    line_end = "\r\n" if "\r\n" in text else "\n"
    start = text if not text or text.endswith("\n") else text + line_end
    block = line_end.join([*([""] if start.strip() else []), *_table_lines(path, value), ""])
    if _has_values(start + block, expected):
        return start + block
    # The table around it is written in braces, or as `a.b = …`.
    return _edit_document(text, expected, lambda document: _set_value(document, path, value))


def replace_value(text: str, path: ValuePath, value: JsonObject) -> str:
    """The text with the values of the table at a path where one is."""
    expected = deepcopy(tomllib.loads(text))
    _set_value(expected, path, value)

    def change(document: Any) -> None:
        table = _get_value(document, path)
        for name in [name for name in table if name not in value]:
            del table[name]
        for name, new_value in value.items():
            if table.get(name) != new_value:
                table[name] = new_value

    return _edit_document(text, expected, change)


def remove_value(text: str, path: ValuePath) -> str:
    """The text without the table at the path. Raises UneditableError where that is impossible."""
    expected = deepcopy(tomllib.loads(text))
    _remove_value(expected, path)
    for shortened in _cut_tables(text, path):
        if _has_values(shortened, expected):
            return shortened
    return _edit_document(text, expected, lambda document: _remove_value(document, path))


def _table_lines(path: ValuePath, value: JsonObject) -> Iterator[str]:
    """The lines of a table with its values, and of the tables in it."""
    import tomlkit

    name = ".".join(key for key in path if isinstance(key, str))
    yield f"[[{name}]]" if isinstance(path[-1], int) else f"[{name}]"
    tables = {key: item for key, item in value.items() if _is_list_of_tables(item)}
    for key, item in value.items():
        if key not in tables:
            yield f"{key} = {tomlkit.item(item).as_string()}"
    for key, items in tables.items():
        for position, item in enumerate(items):
            yield ""
            yield from _table_lines((*path, key, position), item)


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _edit_document(text: str, expected: JsonObject, change: Callable[[Any], None]) -> str:
    """The text as tomlkit writes it after the change. Raises UneditableError where that would not
    be what it should say, or would change anything else.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        keeps_text = tomlkit.dumps(document) == text
        change(document)
        edited = tomlkit.dumps(document)
    except (TOMLKitError, LookupError, TypeError, ValueError, AttributeError):
        keeps_text, edited = False, ""
    if not keeps_text or not _has_values(edited, expected):
        raise UneditableError
    return edited


def _has_values(text: str, expected: JsonObject) -> bool:
    """Whether the text is TOML with these values; empty tables do not count."""
    try:
        return bool(_without_empty(tomllib.loads(text)) == _without_empty(expected))
    except tomllib.TOMLDecodeError:
        return False


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        items = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item not in ({}, [])}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


def _get_value(document: Any, path: ValuePath) -> Any:
    for key in path:
        document = document[key]
    return document


def _set_value(document: Any, path: ValuePath, value: JsonObject) -> None:
    for key, following in pairwise(path):
        if isinstance(key, str) and key not in document:
            document[key] = {} if isinstance(following, str) else []
        document = document[key]
    final_key = path[-1]
    if isinstance(final_key, int) and final_key == len(document):
        document.append(value)
    else:
        document[final_key] = value


def _remove_value(document: Any, path: ValuePath) -> None:
    del _get_value(document, path[:-1])[path[-1]]


def _cut_tables(text: str, path: ValuePath) -> Iterator[str]:
    """The text without the lines from the header of a table to its last value, with the tables in
    it and the blank line before it, for each line that looks like the header. Comments in front of
    the next table stay.
    """
    lines = text.splitlines(keepends=True)
    names = tuple(key for key in path if isinstance(key, str))
    headers = [
        (number, name) for number, line in enumerate(lines) if (name := _header_names(line))
    ]
    # The last one first: items of a list are taken out from its end.
    for start in [number for number, name in reversed(headers) if name == names]:
        following = [
            number
            for number, name in headers
            if number > start and (name == names or name[: len(names)] != names)
        ]
        end = following[0] if following else len(lines)
        while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
            end -= 1
        has_blank_before = start > 0 and not lines[start - 1].strip()
        yield "".join(lines[: start - has_blank_before] + lines[end:])


def _header_names(line: str) -> tuple[str, ...]:
    """The names in the header of a table or of an item of an array; () for any other line."""
    if not line.lstrip().startswith("["):
        return ()
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while value:
        value = value[0] if isinstance(value, list) else value
        for name, inner in value.items():
            names.append(name)
            value = inner
    return tuple(names)
