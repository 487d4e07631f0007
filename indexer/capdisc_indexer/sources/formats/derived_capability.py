"""Capabilities that no one wrote down as such: made of a table, a document, a section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, Severity
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, from_json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import one_line

# One capability as its file has it: what the checks look at, beside the descriptor that readers
# get.


@frozen(kw_only=True)
class LongText:
    """A text that may have many lines, the file that holds it, and its first line there;
    `in_place` says that the places of its other lines are not known.
    """

    value: str
    path: str
    line: int = 1
    in_place: bool = False


@frozen(kw_only=True)
class ParsedCapability:
    """The fields with their places, and every long text that readers get; `descriptor` is None
    when it was refused.

    `long_keys` are the keys that hold or name the long texts, `schema` is that of a schema.json
    beside the manifest.
    """

    node: MapNode
    descriptor: Descriptor | None
    longs: tuple[LongText, ...] = ()
    long_keys: frozenset[str] = frozenset()
    schema: Mapping[str, Json] | None = None
    schema_path: str = ""


MAX_ID = 256

_NO_NAME = re.compile(r"[^\w.-]+")


def made_part(
    descriptor: Descriptor, fields: Mapping[str, Json] = {}, longs: tuple[LongText, ...] = ()
) -> ParsedCapability:  # a literal that nobody writes to
    """The capability with the texts that the content rules look at: its own, and those of
    `fields`.
    """
    field_values: dict[str, Json] = {
        "name": descriptor.name,
        "title": descriptor.title,
        "description": descriptor.description,
    }
    node = from_json({**field_values, **fields}, 1)
    return ParsedCapability(
        node=node if isinstance(node, MapNode) else MapNode({}, 1, 1),
        descriptor=descriptor,
        longs=longs,
    )


def name_of(file: FoundFile) -> str:
    """The name that a declaration gives this very file, else its own without the ending; fit to be
    part of an id.
    """
    return (
        (plain_part(file.name) if file.is_alone else "")
        or plain_part(printable_path(PurePath(file.path).stem))
        or file.format
    )


def folder_of(file: FoundFile) -> str:
    """The name that a declaration gives, else that of the folder that the file lies in."""
    return (
        plain_part(file.name)
        or plain_part(printable_path(PurePath(file.path).parent.name))
        or file.format
    )


def plain_part(text: str) -> str:
    """The text with hyphens for all but letters, digits, dots and underscores; none at the ends.

    >>> plain_part("Staff Handbook (2024)")
    'Staff-Handbook-2024'
    """
    return _NO_NAME.sub("-", one_line(text)).strip("-.")[:120]


def sample_count(file: FoundFile) -> int:
    """How many samples the declaration of the file asks for; none unless it does."""
    count: int = file.options.get("samples", 0)
    return count


def changed_at(file: FoundFile) -> str:
    """When the file was last written to, in UTC."""
    try:
        return datetime.fromtimestamp(file.mtime_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return ""


def file_finding(
    file: FoundFile, severity: Severity, code: str, message: str, hint: str, line: int = 1
) -> Finding:
    """A finding about the file."""
    path = printable_path(file.path)
    return Finding(code=code, severity=severity, message=message, hint=hint, path=path, line=line)
