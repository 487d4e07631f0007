"""Fixes for fields that are not written as the Agent Skills format has them: values without
quotes, mistakes of YAML, misspelt keys, lists of tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.field_reader import (
    AMBIGUOUS_SCALAR,
    split_outside,
    squeeze_key,
)
from capdisc_indexer.sources.readers.yaml_nodes import Entry, ListNode, MapNode, Node, TextNode
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.readers.yaml_repair import repair_block
from capdisc_indexer.validation.fixes.field_region import (
    FieldRegion,
    capability_mappings,
    entries_at,
    field_region,
)
from capdisc_indexer.validation.skill_rules import OF_THE_FORMAT


def quote_values(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with the ambiguous values of these fields in quotes, so that every reader takes
    them for text.

    >>> quote_values("name: no\\nhidden: no\\n", frozenset({(1, 1)}))
    'name: "no"\\nhidden: no\\n'
    """
    fields = field_region(text)
    return _quote_ambiguous(fields, (entry.value for entry in entries_at(fields, places)))


def quote_metadata(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with every ambiguous value of its metadata in quotes; lists and mappings inside
    stay as they are.
    """
    fields = field_region(text)
    inner = [
        entry
        for node in capability_mappings(fields)
        for field_entry in node.entries.values()
        for entry in _metadata_entries(field_entry)
    ]
    has_finding = any((entry.line, entry.column) in places for entry in inner)
    return _quote_ambiguous(fields, (entry.value for entry in inner)) if has_finding else text


def _metadata_entries(entry: Entry) -> Iterable[Entry]:
    if squeeze_key(entry.key) == "metadata" and isinstance(entry.value, MapNode):
        return entry.value.entries.values()
    return ()


def _quote_ambiguous(fields: FieldRegion, nodes: Iterable[Node]) -> str:
    ambiguous = [
        node
        for node in nodes
        if isinstance(node, TextNode) and node.is_plain and _is_ambiguous(node)
    ]
    # From the last to the first, so that a change moves no other.
    for node in sorted(ambiguous, key=lambda node: (node.line, node.column), reverse=True):
        number, column = node.line - 1, node.column - 1
        line = fields.line(number)
        if line.startswith(node.value, column):  # false for a value of several lines
            after = line[column + len(node.value) :]
            fields = fields.replace_lines(
                number,
                number,
                [line[:column] + json.dumps(node.value, ensure_ascii=False) + after],
            )
    return fields.text


def _is_ambiguous(node: TextNode) -> bool:
    return AMBIGUOUS_SCALAR.fullmatch(node.value) is not None


_HASH = re.compile(r"(?:^|[ \t])#")


def write_repaired(text: str, places: frozenset[tuple[int, int]], slip: str) -> str:
    """The text with each field that has the YAML mistake `slip` written as the lenient reader
    understood it.

    >>> write_repaired("---\\ndescription: Use when: asked\\n---\\n", frozenset({(2, 1)}), "yaml-unquoted-colon")
    '---\\ndescription: "Use when: asked"\\n---\\n'
    """
    fields = field_region(text)
    repaired, findings = repair_block(
        fields.block, first_line=fields.start + 1, slips=frozenset({slip})
    )
    lines = repaired.split("\n")
    lines_to_fix = {line for line, _ in places}
    for finding in sorted(findings, key=lambda finding: -finding.line):
        if finding.line in lines_to_fix:
            fields = _write_field(fields, lines, finding)
    return fields.text


def _write_field(fields: FieldRegion, repaired: list[str], finding: Finding) -> FieldRegion:
    first = finding.line - 1
    line = repaired[first - fields.start]
    if finding.code == "yaml-tab":
        return fields.replace_lines(first, first, [line])
    last_line = _last_field_line(fields, repaired, first)
    if any(_HASH.search(line) for line in fields.lines[first : last_line + 1]):
        return fields  # a comment or a part of the value: only the author knows
    return fields.replace_lines(first, last_line, _block_lines(line))


def _last_field_line(fields: FieldRegion, repaired: list[str], first: int) -> int:
    """The last line of the value. The repair emptied all its lines but the first."""
    last_line = first
    for number in range(first + 1, fields.end):
        if repaired[number - fields.start]:
            break
        if fields.lines[number].strip():
            last_line = number
    return last_line


def _block_lines(line: str) -> list[str]:
    """A repaired line as a block of several lines if that means the same, else as it is."""
    head, quote, remainder = line.partition(' "')
    value = str(json.loads(quote.strip() + remainder))
    lines = value.split("\n")
    is_plain = all(part == part.strip() and part for part in lines)
    if len(lines) == 1 or not is_plain:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()) + 2)
    return [f"{head} |-", *(indent + part for part in lines)]


_FIELDS = {squeeze_key(name): name for name in OF_THE_FORMAT}
_SEPARATORS = ", \n\t"


def rename_keys(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with these keys spelt as in the format.

    >>> rename_keys("---\\nName: a\\n---\\n", frozenset({(2, 1)}))
    '---\\nname: a\\n---\\n'
    """
    fields = field_region(text)
    for entry in entries_at(fields, places):
        number, column = entry.line - 1, entry.column - 1
        line, name = fields.line(number), _FIELDS.get(squeeze_key(entry.key), entry.key)
        if line.startswith(f"{entry.key}:", column):
            fields = fields.replace_lines(
                number, number, [line[:column] + name + line[column + len(entry.key) :]]
            )
    return fields.text


def join_tools(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with a list of allowed tools as one text. A list with comments stays, since they
    would be lost.

    >>> join_tools("---\\nallowed-tools: [Read, Bash(ls -l)]\\n---\\n", frozenset({(2, 1)}))
    '---\\nallowed-tools: Read Bash(ls -l)\\n---\\n'
    """
    fields = field_region(text)
    for entry in entries_at(fields, places):
        tools = _joined_tools(entry)
        first, last_line = entry.line - 1, _last_entry_line(fields, entry)
        old = fields.lines[first : last_line + 1]
        is_whole = (
            old
            and old[0][entry.column - 1 :].startswith(f"{entry.key}:")
            and not any("#" in line for line in old)
        )
        if tools and is_whole:
            fields = fields.replace_lines(
                first,
                last_line,
                [old[0][: entry.column - 1] + f"{entry.key}: {_tools_value(tools)}"],
            )
    return fields.text


def _joined_tools(entry: Entry) -> str:
    """The tools with blanks between them; "" where a reader would split that into other tools."""
    node = entry.value
    if isinstance(node, TextNode):
        items = split_outside(node.value, _SEPARATORS)
    elif isinstance(node, ListNode) and all(isinstance(item, TextNode) for item in node.items):
        items = [" ".join(item.value.split()) for item in node.items if isinstance(item, TextNode)]
    else:
        return ""
    joined = " ".join(items)
    return joined if split_outside(joined, _SEPARATORS) == items else ""


def _tools_value(tools: str) -> str:
    """The tools as a plain YAML value where a reader gets the same text back, else in quotes."""
    documents = read_yaml(f"x: {tools}").documents
    node = (
        documents[0].entries["x"].value
        if documents and isinstance(documents[0], MapNode)
        else None
    )
    is_plain = (
        isinstance(node, TextNode)
        and node.value == tools
        and not AMBIGUOUS_SCALAR.fullmatch(tools)
    )
    return tools if is_plain else json.dumps(tools, ensure_ascii=False)


def _last_entry_line(fields: FieldRegion, entry: Entry) -> int:
    """The last line of the entry: the lines after it are blank, indented no deeper than its key,
    or outside the fields.
    """
    last_line = entry.line - 1
    for number in range(entry.line, fields.end):
        line = fields.line(number)
        text = line.strip()
        deeper = len(line) - len(line.lstrip(" ")) >= entry.column
        if (
            text
            and not deeper
            and not (text.startswith("-") and line[: entry.column - 1].strip() == "")
        ):
            break
        if text:
            last_line = number
    return last_line
