"""Arguments taken out of the text of a shell: `[sh, -c, "echo {x}"]` gets `"$1"` and a word of its
own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import (
    ListNode,
    MapNode,
    TextNode,
    as_written,
    to_json,
)
from capdisc_indexer.validation.fixes.field_region import (
    FieldRegion,
    capability_mappings,
    field_region,
)
from capdisc_indexer.validation.program_text.rewriting import rewrite_shell_text

_ITEM = re.compile(r"(\s*-\s+)$")
_SEPARATOR = re.compile(r",[ \t]*$")


@frozen
class _Style:
    """How a scalar is written: its raw text, and what writes another one likewise."""

    raw: str
    write: Callable[[str], str]


def pass_values_apart(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text with the arguments of these shell texts as words of their own.

    >>> pass_values_apart('run: {command: ["sh","-c","echo {x}"]}\n', frozenset({(1, 27)}))
    'run: {command: ["sh","-c","echo \\"$1\\"","sh","{x}"]}\n'
    """
    fields = field_region(text)
    found = [
        (items, schema) for node in capability_mappings(fields) for items, schema in _commands(node)
    ]
    # The last of the file first, so that a change moves no other.
    for items, schema in reversed(found):
        if items.items and (items.items[-1].line, items.items[-1].column) in places:
            fields = _rewritten(fields, items, schema)
    return fields.text


def _commands(node: MapNode) -> list[tuple[ListNode, Mapping[str, Any] | None]]:
    entries = {squeeze_key(key): entry.value for key, entry in node.entries.items()}
    run, declared = entries.get("run"), entries.get("inputschema")
    command = run.entries.get("command") if isinstance(run, MapNode) else None
    if command is None or not isinstance(command.value, ListNode):
        return []
    schema = to_json(declared) if declared else None
    return [(command.value, schema if isinstance(schema, dict) else None)]


def _rewritten(fields: FieldRegion, items: ListNode, schema: JsonSchema | None) -> FieldRegion:
    rewritten = rewrite_shell_text(as_written(items), schema)
    first, last = items.items[0], items.items[-1]
    if rewritten is None or not isinstance(first, TextNode) or not isinstance(last, TextNode):
        return fields
    number, start = last.line - 1, last.column - 1
    line = fields.line(number)
    style = _style(line, start, last)
    if style is None:
        return fields
    new_text, following = rewritten
    first_style = _style(fields.line(first.line - 1), first.column - 1, first)
    name = first_style.write if first_style else json.dumps
    # A word that begins with a brace is a mapping to YAML unless it stands in quotes.
    value = style.write if style.raw[:1] in "\"'" else json.dumps
    written = [_written(word, name, value) for word in following]
    before, after = line[:start] + style.write(new_text), line[start + len(style.raw) :]
    if fields.line(items.line - 1)[items.column - 1 :].startswith("["):
        separator = match[0] if (match := _SEPARATOR.search(line[:start])) else ", "
        more = "".join(f"{separator}{word}" for word in written)
        return fields.replace_lines(number, number, [before + more + after])
    if dash := _ITEM.match(line[:start]):
        return fields.replace_lines(
            number, number, [before + after, *(dash[1] + word for word in written)]
        )
    return fields


def _written(word: str | list[str], name: Callable[[str], str], value: Callable[[str], str]) -> str:
    if isinstance(word, list):
        return f"[{', '.join(_written(inner, name, value) for inner in word)}]"
    return value(word) if word.startswith("{") else name(word)


def _style(line: str, start: int, node: TextNode) -> _Style | None:
    """How the scalar stands in its line; None where it goes on in the next one, or is written with
    escapes that would not come back the same."""
    for write in (_in_double_quotes, _in_single_quotes) if not node.is_plain else (str,):
        raw = write(node.value)
        if line.startswith(raw, start):
            return _Style(raw, write)
    return None


def _in_double_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _in_single_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
