"""The lines of a text that hold its fields (the front matter of a skill, or all of a manifest),
and the fixes for them: characters that are moved or removed, mistakes of YAML, and fields that are
not written as the Agent Skills format has them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeVar

import capdisc_guard
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.field_reader import (
    AMBIGUOUS_SCALAR,
    split_outside,
    squeeze_key,
)
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Entry, ListNode, MapNode, Node, TextNode
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.readers.yaml_repair import ALL_SLIPS, read_leniently, repair_block
from capdisc_indexer.validation.skill_rules import OF_THE_FORMAT

_Placed = TypeVar("_Placed", Entry, TextNode)

_LINE_END = re.compile(r"\r\n|\r|\n")

# Code may need its invisible characters: fenced blocks, and all from the first tick of a paragraph
# to its last. Only a fence of the same marks closes one, and no line of a fence is part of a
# paragraph. Its lines are an atomic group: before 3.11.5, Python matches a possessive group beyond
# its end.
_FENCED_CODE = (
    r"^[ \t]*+(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)[^\n]*+"
    r"(?>(?:\n(?![ \t]*+(?P=fence)[`~]*+[ \t\r]*+$)[^\n]*+)*)(?:\n[^\n]*+)?"
)
_CODE_SPAN = r"`[^\n]*(?:\n(?![ \t\r]*(?:\n|\Z|```|~~~))[^\n]*)*`"
_INDENTED_CODE = r"^(?: {4}| {0,3}\t)[^\n]*+"
_INVISIBLE = f"(?P<invisible>{capdisc_guard.REMOVABLE})"
_IN_FIELD = re.compile(f"{_FENCED_CODE}|{_CODE_SPAN}|{_INVISIBLE}", re.MULTILINE)
_IN_BODY = re.compile(f"{_FENCED_CODE}|{_INDENTED_CODE}|{_CODE_SPAN}|{_INVISIBLE}", re.MULTILINE)
_REMOVABLE = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef]"
)

_HASH = re.compile(r"(?:^|[ \t])#")

_FIELDS = {squeeze_key(name): name for name in OF_THE_FORMAT}
_SEPARATORS = ", \n\t"


@frozen
class FieldRegion:
    """The lines of a file, each with the carriage return that may end it. Those from `start` up to
    but without `end`, counted from 0, hold its fields.
    """

    lines: tuple[str, ...]
    start: int
    end: int

    @property
    def block(self) -> str:
        """The fields as a text whose line ends are all `\\n`."""
        return "\n".join(self.line(number) for number in range(self.start, self.end))

    def line(self, number: int) -> str:
        """One line, counted from 0, without its line end."""
        return self.lines[number].removesuffix("\r")

    def replace_lines(self, first: int, last_line: int, new: Iterable[str]) -> FieldRegion:
        """The region with lines `first` to `last_line`, counted from 0, replaced; the new lines
        get the line end of the first one.
        """
        tail = self.lines[first][len(self.line(first)) :]
        lines = (*self.lines[:first], *(line + tail for line in new), *self.lines[last_line + 1 :])
        return FieldRegion(lines, self.start, self.end + len(lines) - len(self.lines))

    def replace_text(self, place: Entry | TextNode, old: str, new: str) -> FieldRegion:
        """The region with `old` replaced where it stands at that place; elsewhere, and over
        several lines, nothing is.
        """
        number, column = place.line - 1, place.column - 1
        line = self.line(number)
        if not line.startswith(old, column):
            return self
        changed = line[:column] + new + line[column + len(old) :]
        return self.replace_lines(number, number, [changed])

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)


def field_region(text: str) -> FieldRegion:
    """The region of the fields in a text; a manifest between two `---` is like front matter."""
    lines = tuple(text.split("\n"))
    halves = split_front_matter(text)
    if halves.block is None:
        return FieldRegion(lines, 0, len(lines))
    start = halves.block_line - 1
    return FieldRegion(lines, start, start + halves.block.count("\n"))


def capability_mappings(fields: FieldRegion) -> Iterator[MapNode]:
    """Each capability of the text, read leniently, with places as in the file: the document
    itself, or the items of its list `capabilities`.
    """
    documents, _ = read_leniently(fields.block, "", fields.start + 1, ALL_SLIPS)
    for document in documents:
        if isinstance(document, MapNode):
            yield document
            inner = document.entries.get("capabilities")
            if inner and isinstance(inner.value, ListNode):
                yield from (item for item in inner.value.items if isinstance(item, MapNode))


def _field_entries(fields: FieldRegion) -> list[Entry]:
    return [entry for node in capability_mappings(fields) for entry in node.entries.values()]


def _entries_at(fields: FieldRegion, places: frozenset[tuple[int, int]]) -> list[Entry]:
    """The fields whose keys stand at these places, the last of the file first."""
    entries = _field_entries(fields)
    return _from_the_last([entry for entry in entries if (entry.line, entry.column) in places])


def _from_the_last(placed: list[_Placed]) -> list[_Placed]:
    """In an order in which a change moves no other."""
    return sorted(placed, key=lambda each: (each.line, each.column), reverse=True)


def remove_byte_order_mark(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without its byte order mark."""
    return text.removeprefix("\ufeff")


def unify_line_ends(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text with the line end that most of its lines have.

    >>> unify_line_ends("a\r\nb\nc\n", frozenset())
    'a\nb\nc\n'
    """
    windows = text.count("\r\n")
    return _LINE_END.sub("\r\n" if windows > text.count("\n") - windows else "\n", text)


def move_front_matter_up(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text without the blank lines, or the code fence, around its front matter.

    >>> move_front_matter_up("\n```yaml\n---\nname: a\n---\n```\nBody\n", frozenset())
    '---\nname: a\n---\nBody\n'
    """
    halves = split_front_matter(text)
    if halves.block is None:
        return text
    lines = text.split("\n")
    opening = halves.block_line - 2
    closing = opening + halves.block.count("\n") + 1
    return "\n".join([*lines[opening : closing + 1], *lines[halves.body_line - 1 :]])


def remove_invisible(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text without invisible characters in the fields and the body that these findings are
    about. Characters that a script, an emoji or Braille needs stay, and so does all code.
    """
    fields = field_region(text)
    lines = list(fields.lines)
    for first, last_line, pattern in set(
        _parts_with_lines(fields, {line - 1 for line, _ in places})
    ):
        part = "\n".join(lines[first : last_line + 1])
        lines[first : last_line + 1] = pattern.sub(
            lambda match: "" if match["invisible"] else match[0], part
        ).split("\n")
    return "\n".join(lines)


def visible_part(text: str) -> str:
    """The text without any character that `remove_invisible` may take away."""
    return _REMOVABLE.sub("", text)


def _parts_with_lines(
    fields: FieldRegion, lines: set[int]
) -> Iterator[tuple[int, int, re.Pattern[str]]]:
    """First and last line, from 0, and pattern of each part that holds one of the lines."""
    starts = sorted({entry.line - 1 for entry in _field_entries(fields)})
    for line in lines:
        place = bisect_right(starts, line)
        if line >= fields.end:
            yield fields.end, len(fields.lines) - 1, _IN_BODY
        elif place:
            yield (
                starts[place - 1],
                (starts[place] if place < len(starts) else fields.end) - 1,
                _IN_FIELD,
            )


# The fixes of fields that are not written as the format has them.


def quote_values(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with the ambiguous values of these fields in quotes, so that every reader takes
    them for text.

    >>> quote_values("name: no\\nhidden: no\\n", frozenset({(1, 1)}))
    'name: "no"\\nhidden: no\\n'
    """
    fields = field_region(text)
    return _quote_ambiguous(fields, _entries_at(fields, places))


def quote_metadata(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with every ambiguous value of its metadata in quotes; lists and mappings inside
    stay as they are.
    """
    fields = field_region(text)
    inner = [
        entry
        for field in _field_entries(fields)
        if squeeze_key(field.key) == "metadata" and isinstance(field.value, MapNode)
        for entry in field.value.entries.values()
    ]
    has_finding = any((entry.line, entry.column) in places for entry in inner)
    return _quote_ambiguous(fields, inner) if has_finding else text


def _quote_ambiguous(fields: FieldRegion, entries: Iterable[Entry]) -> str:
    values = (entry.value for entry in entries)
    texts = [value for value in values if isinstance(value, TextNode) and value.is_plain]
    for node in _from_the_last(texts):
        if AMBIGUOUS_SCALAR.fullmatch(node.value):
            quoted = json.dumps(node.value, ensure_ascii=False)
            fields = fields.replace_text(node, node.value, quoted)
    return fields.text


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


def rename_keys(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with these keys spelt as in the format.

    >>> rename_keys("---\\nName: a\\n---\\n", frozenset({(2, 1)}))
    '---\\nname: a\\n---\\n'
    """
    fields = field_region(text)
    for entry in _entries_at(fields, places):
        name = _FIELDS.get(squeeze_key(entry.key), entry.key)
        fields = fields.replace_text(entry, f"{entry.key}:", f"{name}:")
    return fields.text


def join_tools(text: str, places: frozenset[tuple[int, int]]) -> str:
    """The text with a list of allowed tools as one text. A list with comments stays, since they
    would be lost.

    >>> join_tools("---\\nallowed-tools: [Read, Bash(ls -l)]\\n---\\n", frozenset({(2, 1)}))
    '---\\nallowed-tools: Read Bash(ls -l)\\n---\\n'
    """
    fields = field_region(text)
    for entry in _entries_at(fields, places):
        tools = _joined_tools(entry.value)
        first, column = entry.line - 1, entry.column - 1
        last_line = _last_entry_line(fields, entry)
        old = fields.lines[first : last_line + 1]
        is_whole = old[0].startswith(f"{entry.key}:", column) and not any(
            "#" in line for line in old
        )
        if tools and is_whole:
            line = f"{old[0][:column]}{entry.key}: {_tools_value(tools)}"
            fields = fields.replace_lines(first, last_line, [line])
    return fields.text


def _joined_tools(value: Node) -> str:
    """The tools with blanks between them; "" where a reader would split that into other tools."""
    items: list[str] = []
    if isinstance(value, TextNode):
        items = split_outside(value.value, _SEPARATORS)
    elif isinstance(value, ListNode):
        texts = [item.value for item in value.items if isinstance(item, TextNode)]
        items = (
            [" ".join(text.split()) for text in texts] if len(texts) == len(value.items) else []
        )
    joined = " ".join(items)
    return joined if split_outside(joined, _SEPARATORS) == items else ""


def _tools_value(tools: str) -> str:
    """The tools as a plain YAML value where a reader gets the same text back, else in quotes."""
    for document in read_yaml(f"x: {tools}").documents[:1]:
        node = document.entries["x"].value if isinstance(document, MapNode) else None
        is_same = isinstance(node, TextNode) and node.value == tools
        if is_same and not AMBIGUOUS_SCALAR.fullmatch(tools):
            return tools
    return json.dumps(tools, ensure_ascii=False)


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
