"""Descriptors as stored bytes: `head` (what lists, filters and summaries need) and `body` (the long parts)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.frozen import defaults, fields, is_value, shallow
from capdisc_indexer.types import Descriptor, Edge, Parameter, SourceRef

# What a capability without a category is filed under, everywhere: overview, filters, lists.
UNCATEGORISED = "general"
_LONG = ("content", "schema", "output_schema", "instructions", "guidance", "extract", "run", "extra")
_EMPTY: tuple[Any, ...] = ((), {}, None)
_DEFAULTS = dict.fromkeys(fields(Descriptor)) | dict(defaults(Descriptor))


def to_record(descriptor: Descriptor) -> tuple[dict[str, Any], dict[str, Any]]:
    """Head and body of a descriptor as JSON values, fields with their default value left out."""
    given = {key: value for key, default in _DEFAULTS.items() if (value := getattr(descriptor, key)) != default}
    values = {key: plain for key, value in given.items() if (plain := _plain(value)) not in _EMPTY}
    body = {key: values.pop(key) for key in _LONG if key in values}
    return values, body


def _plain(value: Any) -> Any:
    """The value as JSON has it. Not `asdict`, which copies every schema deeply: a quarter of a build."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return shallow(value) if is_value(value) else value


def from_record(head: Mapping[str, Any], body: Mapping[str, Any] | None = None) -> Descriptor:
    """The descriptor that the record was made from; without a body its long parts are empty."""
    values = {key: value for key, value in {**head, **(body or {})}.items() if key in _DEFAULTS}
    for key, value in values.items():
        if isinstance(value, list):
            values[key] = tuple(value)
    values["source"] = SourceRef(**head["source"])
    values["parameters"] = tuple(Parameter(**each) for each in head.get("parameters", ()))
    values["edges"] = tuple(Edge(**each) for each in head.get("edges", ()))
    return Descriptor(**values)


def as_bytes(descriptor: Descriptor) -> bytes:
    """Head and body in one."""
    return to_bytes(to_record(descriptor))


def from_bytes(record: bytes) -> Descriptor:
    """The descriptor of such a record, equal to what a reader of the index gets."""
    head, body = json.loads(record)
    return from_record(head, body)


def record_digest(descriptor: Descriptor) -> str:
    """Thirty-two digits over everything that is stored of a descriptor."""
    return digest_of(as_bytes(descriptor))


def digest_of(record: bytes) -> str:
    """The same of its record as bytes."""
    import hashlib

    return hashlib.sha256(record).hexdigest()[:32]


def to_bytes(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
