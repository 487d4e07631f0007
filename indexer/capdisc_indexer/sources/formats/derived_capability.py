"""Values and names that all formats share: the parsed capability, with its texts for the content
rules, and ids for capabilities that are derived from tables and documents.
"""

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

MAX_ID = 256

_NOT_IN_ID = re.compile(r"[^\w.-]+")


@frozen(kw_only=True)
class LongText:
    """A text of many lines, its file, and its first line there; with `in_place`, the lines of its
    other lines are unknown.
    """

    value: str
    path: str
    line: int = 1
    in_place: bool = False


@frozen(kw_only=True)
class ParsedCapability:
    """One capability as its file has it, for the content rules: the fields with their places, and
    every long text. `descriptor` is None if the capability was refused.

    `long_keys` are the keys that hold or name the long texts; `schema` comes from a schema.json
    beside the manifest.
    """

    node: MapNode
    descriptor: Descriptor | None
    longs: tuple[LongText, ...] = ()
    long_keys: frozenset[str] = frozenset()
    schema: Mapping[str, Json] | None = None
    schema_path: str = ""


def made_part(
    descriptor: Descriptor, fields: Mapping[str, Json] = {}, longs: tuple[LongText, ...] = ()
) -> ParsedCapability:
    """A derived capability with the texts for the content rules: its own, and those of
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
    """The name that a declaration gives this very file, else the file's name without its ending;
    it can be part of an id.
    """
    return (
        (plain_part(file.name) if file.is_alone else "")
        or plain_part(printable_path(PurePath(file.path).stem))
        or file.format
    )


def folder_of(file: FoundFile) -> str:
    """The name that a declaration gives, else that of the file's folder."""
    return (
        plain_part(file.name)
        or plain_part(printable_path(PurePath(file.path).parent.name))
        or file.format
    )


def plain_part(text: str) -> str:
    """The text with hyphens in place of all characters but letters, digits, dots and underscores,
    and none at its ends; at most 120 characters.

    >>> plain_part("Staff Handbook (2024)")
    'Staff-Handbook-2024'
    """
    return _NOT_IN_ID.sub("-", one_line(text)).strip("-.")[:120]


def sample_count(file: FoundFile) -> int:
    """The number of samples that the declaration of the file asks for; 0 by default."""
    count: int = file.options.get("samples", 0)
    return count


def changed_at(file: FoundFile) -> str:
    """The time of the last change of the file in UTC, or "" if its stamp is not a time."""
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
