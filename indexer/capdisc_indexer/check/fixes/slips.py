"""The slips that a lenient reader puts right while it reads, put right in the file."""

from __future__ import annotations

import json
import re

from capdisc_indexer.check.fixes.region import Region, region
from capdisc_indexer.sources.repair import repair
from capdisc_indexer.types import Finding

_HASH = re.compile(r"(?:^|[ \t])#")


def mended(text: str, places: frozenset[tuple[int, int]], slip: str) -> str:
    """The text with each field that has this slip written as it was read.

    >>> mended("---\\ndescription: Use when: asked\\n---\\n", frozenset({(2, 1)}), "yaml-unquoted-colon")
    '---\\ndescription: "Use when: asked"\\n---\\n'
    """
    fields = region(text)
    repaired, findings = repair(fields.block, first_line=fields.start + 1, slips=frozenset({slip}))
    lines = repaired.split("\n")
    wanted = {line for line, _ in places}
    for finding in sorted(findings, key=lambda one: -one.line):
        if finding.line in wanted:
            fields = _written(fields, lines, finding)
    return fields.text


def _written(fields: Region, repaired: list[str], finding: Finding) -> Region:
    first = finding.line - 1
    line = repaired[first - fields.start]
    if finding.code == "yaml-tab":
        return fields.replaced(first, first, [line])
    last = _last(fields, repaired, first)
    if any(_HASH.search(each) for each in fields.lines[first : last + 1]):
        return fields  # a comment, or a part of the value: only its author can say
    return fields.replaced(first, last, _pretty(line))


def _last(fields: Region, repaired: list[str], first: int) -> int:
    """The last line of the value, whose lines were emptied but for the first."""
    last = first
    for number in range(first + 1, fields.end):
        if repaired[number - fields.start]:
            break
        if fields.lines[number].strip():
            last = number
    return last


def _pretty(line: str) -> list[str]:
    """A value of several lines as a block, if that says the same; else in quotes on one line, as it was repaired."""
    head, quote, rest = line.partition(' "')
    value = str(json.loads(quote.strip() + rest))
    lines = value.split("\n")
    is_plain = all(each == each.strip() and each for each in lines)
    if len(lines) == 1 or not is_plain:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()) + 2)
    return [f"{head} |-", *(indent + each for each in lines)]
