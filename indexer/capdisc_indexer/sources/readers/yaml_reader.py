"""YAML from untrusted files as nodes, and a second try for a text that is not YAML: the usual slips
of authors are repaired, each with a warning. Nothing else reads YAML.

Nearly all broken front matter in public skills has one of two slips: an unquoted value that holds
a colon and a blank (4,895 of 15,365 failures in a census), and text on the line of a block mark
(9,018). Both can mean one thing only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, Severity, has_errors
from capdisc_indexer.sources.readers.frontmatter import FrontMatter
from capdisc_indexer.sources.readers.yaml_nodes import (
    LINE_BREAKS,
    Entry,
    MapNode,
    Node,
    TextNode,
    YamlLimits,
    YamlResult,
    place_in_text,
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

MAX_DEPTH = 8
MAX_FINDINGS = 50  # of one file; the next ones show when these are corrected
MAX_CHARACTERS = 64 * 1024  # each field is parsed on its own, which is not worth it for more

# A field or a list item: its indentation and key, and its value on this line.
_FIELD = compile_late(
    r"(?P<indent> *)(?P<head>-(?= )|[A-Za-z_][\w.-]*:)(?P<gap>[ \t]*)(?P<value>.*)"
)
_BLOCK_MARK = compile_late(r"(?P<mark>[|>])[+-]?[ \t]+(?P<text>[^#\s].*)")


@frozen
class _Slip:
    code: str
    message: str
    hint: str


_TAB = _Slip("yaml-tab", "is indented with a tab, which YAML does not allow", "indent with blanks")
_NO_BLANK = _Slip(
    "yaml-missing-blank", "has no blank after its colon", "write a blank after the colon"
)
_MARK = _Slip(
    "yaml-block-mark",
    "has text on the line of its block mark",
    "start the text on the next line, indented",
)
_QUOTE = _Slip(
    "yaml-unbalanced-quote",
    "has quotes that do not match",
    "quote the whole value, or nothing of it",
)
_START = _Slip(
    "yaml-reserved-start",
    "starts with a character that means something in YAML",
    "put the value in quotes",
)
_COLON = _Slip(
    "yaml-unquoted-colon", "holds a colon and a blank without quotes", "put the value in quotes"
)
_OTHER = _Slip(
    "yaml-repaired", "is not YAML and was read as plain text", "put the value in quotes"
)

# A template's mark ({{name}}) is YAML: a mapping that is the key of another one.
_REPAIRABLE = frozenset({"yaml-syntax", "yaml-key-type"})
_TEMPLATE = "{{"
# Slips that a half-written file cannot have; an unclosed quote or bracket may be one.
CERTAIN_SLIPS = frozenset({_COLON.code, _MARK.code})
ALL_SLIPS = CERTAIN_SLIPS | {slip.code for slip in (_TAB, _NO_BLANK, _QUOTE, _START, _OTHER)}


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


def read_leniently(
    text: str, path: str, first_line: int, slips: frozenset[str]
) -> tuple[tuple[Node, ...], tuple[Finding, ...]]:
    """The documents of a text, with these slips repaired if it is not YAML as written, and the
    findings about it.
    """
    breaks = _line_breaks(text, path, first_line)
    result = read_yaml(text, path, first_line)
    if result.finding is None:
        return result.documents, breaks
    if result.finding.code in _REPAIRABLE and len(text) <= MAX_CHARACTERS:
        repaired, findings = repair_block(text, path, first_line, slips)
        second_result = read_yaml(repaired, path, first_line)
        if second_result.finding is None:
            return second_result.documents, (*breaks, *findings)
    return (), (*breaks, result.finding)


def read_front_matter(
    halves: FrontMatter, path: str
) -> tuple[MapNode | None, tuple[Finding, ...]]:
    """The fields of the front matter, None if it cannot be read, and the findings about it."""
    documents, findings = read_leniently(halves.block or "", path, halves.block_line, ALL_SLIPS)
    node = documents[0] if documents else MapNode({}, halves.block_line, 1)
    if has_errors(findings):
        return None, findings
    if isinstance(node, MapNode) and len(documents) < 2:
        return node, findings
    message, hint = "the front matter is not a mapping of fields", "write lines such as name: ..."
    problem = Finding("yaml-not-mapping", Severity.ERROR, message, hint, path, halves.block_line)
    return None, (*findings, problem)


def _line_breaks(text: str, path: str, first_line: int) -> tuple[Finding, ...]:
    """A warning for a line separator that editors show as part of a line, but YAML takes for its
    end.
    """
    match = LINE_BREAKS.search(text)
    if not match:
        return ()
    message = (
        f"the character U+{ord(match[0]):04X}, at which some readers begin a new line; "
        "read as a blank"
    )
    line, column = place_in_text(text, match.start())
    code, line = "line-break-in-field", first_line + line - 1
    return (Finding(code, Severity.WARNING, message, "remove it", path, line, column),)


def repair_block(
    block: str, path: str = "", first_line: int = 1, slips: frozenset[str] = ALL_SLIPS
) -> tuple[str, tuple[Finding, ...]]:
    """The block with its broken fields repaired, every line in its place, and a finding for each
    repair.

    A field is changed only if it is not YAML on its own, so that one slip affects nothing else.

    >>> repair_block("name: a\\ndescription: Use when: asked\\n")[0]
    'name: a\\ndescription: "Use when: asked"\\n'
    """
    repair = _Repair(block.split("\n"), path, first_line, slips)
    if _TAB.code in slips:
        repair.replace_tabs()
    repair.repair_fields(0, len(repair.lines), "", 0)
    return "\n".join(repair.lines), tuple(repair.findings)


class _Repair:
    """Repairs the lines of one block in place."""

    def __init__(
        self, lines: list[str], path: str, first_line: int, slips: frozenset[str]
    ) -> None:
        self.lines = lines
        self.findings: list[Finding] = []
        self._path = path
        self._first_line = first_line
        self._slips = slips

    def replace_tabs(self) -> None:
        """Turns tabs at the start of lines into blanks."""
        for number, line in enumerate(self.lines):
            text = line.lstrip("\t ")
            indent = line[: len(line) - len(text)]
            if "\t" in indent and text:
                self.lines[number] = indent.replace("\t", "  ") + text
                self._note(_TAB, number, "the line")

    def repair_fields(self, start: int, end: int, indent: str, depth: int) -> None:
        """Repairs each field at this indentation; deeper lines belong to the field above them."""
        starts = [
            number for number in range(start, end) if _starts_field(self.lines[number], indent)
        ]
        for field_start, field_end in pairwise([*starts, end]):
            self._repair_field(field_start, field_end, depth)

    def _repair_field(self, start: int, end: int, depth: int) -> None:
        match = _FIELD.fullmatch(self.lines[start])
        result = read_yaml("\n".join(self.lines[start:end]))
        if match is None or (
            result.finding and not _is_repairable(result.finding, match["value"])
        ):
            return
        if result.finding is None:
            if not match["gap"] and match["value"] and isinstance(result.documents[0], TextNode):
                self._replace(start, end, match, _NO_BLANK, match["value"])
        elif match["value"]:
            self._replace(
                start, end, match, *_intended_text(match["value"], self.lines[start + 1 : end])
            )
        elif depth < MAX_DEPTH:
            self.repair_fields(start + 1, end, _indent(self.lines[start + 1 : end]), depth + 1)

    def _replace(self, start: int, end: int, match: re.Match[str], slip: _Slip, text: str) -> None:
        """Puts the value in quotes, which are the same in JSON and YAML; every line keeps its
        number.
        """
        if slip.code not in self._slips:
            return
        self.lines[start] = (
            f"{match['indent']}{match['head']} {json.dumps(text, ensure_ascii=False)}"
        )
        self.lines[start + 1 : end] = [""] * (end - start - 1)
        name = "the list item" if match["head"] == "-" else match["head"].removesuffix(":")
        self._note(slip, start, name, len(match["indent"]) + 1)

    def _note(self, slip: _Slip, number: int, name: str, column: int = 1) -> None:
        if len(self.findings) >= MAX_FINDINGS:
            return
        message = f"{name} {slip.message}; other readers will refuse the file"
        line = self._first_line + number
        self.findings.append(
            Finding(slip.code, Severity.WARNING, message, slip.hint, self._path, line, column)
        )


def _is_repairable(finding: Finding, value: str) -> bool:
    return finding.code == "yaml-syntax" or (
        finding.code in _REPAIRABLE and value.startswith(_TEMPLATE)
    )


def _starts_field(line: str, indent: str) -> bool:
    if line.startswith(("---", "...")):
        return not indent
    match = _FIELD.fullmatch(line)
    return match is not None and match["indent"] == indent and not match["value"].startswith("//")


def _indent(lines: Sequence[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip(" "))]


def _intended_text(value: str, continuation: Sequence[str]) -> tuple[_Slip, str]:
    """The slip in a value that is not YAML, and the text that its author meant."""
    stripped_lines = [line.strip() for line in continuation]
    if match := _BLOCK_MARK.fullmatch(value):
        separator = "\n" if match["mark"] == "|" else " "
        return _MARK, separator.join([match["text"], *stripped_lines]).strip()
    text = " ".join(part for part in [value.strip(), *stripped_lines] if part)
    if text[0] in "\"'":
        return _QUOTE, _without_quotes(text)
    if text[0] in "[]{}@`*&%!|>,?#":
        return _START, text
    return (_COLON if ": " in text or text.endswith(":") else _OTHER), text


def _without_quotes(text: str) -> str:
    quote = text[0]
    if len(text) > 1 and text.endswith(quote):
        return text[1:-1]
    return text[1:] if text.count(quote) == 1 else text
