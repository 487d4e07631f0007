"""A file of JSON lines, line by line: one that cannot be read costs itself and no other."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator

from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.sources.json_reader import read_json
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.types import Finding, Severity

# As much as a SKILL.md may have.
MAX_LINE_BYTES = 1024 * 1024

# What Windows-1252 becomes when it is taken for Latin-1. It stands in texts copied from the web, and means nothing.
_RAW_CONTROLS = re.compile("[\x7f-\x9f]")


@frozen
class Line:
    """The value of one line; `number` counts from 1, blank lines included."""

    number: int
    raw: bytes
    value: Json


def json_lines(data: bytes, path: str) -> Iterator[Line | Finding]:
    """The lines that are not blank, each as its value or as the reason why it has none, at its line of the file."""
    for number, raw in enumerate(data.removeprefix(BOM_UTF8).splitlines(), 1):
        if stripped := raw.strip():
            value = _value(stripped, path)
            yield replace(value, line=number) if isinstance(value, Finding) else Line(number, stripped, value)


def _value(raw: bytes, path: str) -> Json | Finding:
    if len(raw) > MAX_LINE_BYTES:
        message = f"the line is longer than {MAX_LINE_BYTES // 1024} KiB; not read"
        hint = "move long parts into files of their own"
        return Finding(code="line-too-long", severity=Severity.ERROR, message=message, hint=hint, path=path)
    text = decode(raw, path)
    return text if isinstance(text, Finding) else read_json(_RAW_CONTROLS.sub(" ", text), path)
