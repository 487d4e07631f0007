"""Descriptors as stored bytes: `head` (what lists, filters and summaries need) and `body` (the
long parts).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from capdisc_indexer.model.frozen import defaults, fields, is_value, shallow_dict
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject, Requirements
from capdisc_indexer.model.types import Descriptor, Edge, Parameter, SourceRef

# What a capability cannot be used without: secrets, programs, an operating system.

# One of several programs is enough.
ANY_OF_SEPARATOR = "|"
# The names of systems, as Python's `sys.platform` has them, by those that skills use.
_SYSTEM_NAMES = {
    "linux": "linux",
    "darwin": "darwin",
    "macos": "darwin",
    "win32": "win32",
    "windows": "win32",
}


def parse_systems(words: Iterable[str]) -> tuple[str, ...]:
    """The systems that are meant; what is the name of none is passed over.

    >>> parse_systems(["macOS", "Linux", "ubuntu-latest"])
    ('darwin', 'linux')
    """
    return tuple(
        dict.fromkeys(
            _SYSTEM_NAMES[word.lower()] for word in words if word.lower() in _SYSTEM_NAMES
        )
    )


def any_of_name(programs: Iterable[str]) -> tuple[str, ...]:
    """The need of one of these programs, as one name."""
    alternatives = ANY_OF_SEPARATOR.join(programs)
    return (alternatives,) if alternatives else ()


def any_of_systems(systems: Iterable[str]) -> tuple[str, ...]:
    """How it is said that one of these systems is needed; nothing where any will do."""
    words = " or ".join(systems)
    return (words,) if words else ()


def missing_prerequisites(
    needs: Requirements, environ: Mapping[str, str], path: str | None, system: str
) -> tuple[str, ...]:
    """The secrets that are not set, the programs that are not on the path, and the systems that
    this is none of.
    """
    secrets = [name for name in needs.get("secrets", ()) if not environ.get(name)]
    return tuple(dict.fromkeys((*secrets, *missing_on_machine(needs, path, system))))


def missing_on_machine(needs: Requirements, path: str | None, system: str) -> tuple[str, ...]:
    """The same without secrets."""
    programs = [
        name
        for name in needs.get("bins", ())
        if not _is_on_path(path, name.split(ANY_OF_SEPARATOR))
    ]
    required_systems = needs.get("systems", ())
    return (
        *programs,
        *(any_of_systems(required_systems) if system not in required_systems else ()),
    )


def _is_on_path(path: str | None, programs: Sequence[str]) -> bool:
    from shutil import which  # which brings every archive format along

    return any(which(program, path=path) for program in programs)


# What a capability without a category is filed under, everywhere: overview, filters, lists.
UNCATEGORISED = "general"
_BODY_FIELDS = (
    "content",
    "schema",
    "output_schema",
    "instructions",
    "guidance",
    "extract",
    "run",
    "extra",
)
_EMPTY_VALUES: tuple[Any, ...] = ((), {}, None)
_DEFAULTS = dict.fromkeys(fields(Descriptor)) | dict(defaults(Descriptor))


def to_record(descriptor: Descriptor) -> tuple[CapabilityHeader, JsonObject]:
    """Head and body of a descriptor as JSON values, fields with their default value left out."""
    non_defaults = {
        key: value
        for key, default in _DEFAULTS.items()
        if (value := getattr(descriptor, key)) != default
    }
    values = {
        key: plain
        for key, value in non_defaults.items()
        if (plain := _to_json_value(value)) not in _EMPTY_VALUES
    }
    body = {key: values.pop(key) for key in _BODY_FIELDS if key in values}
    return cast("CapabilityHeader", values), body


def _to_json_value(value: Any) -> Any:
    """The value as JSON has it. Not `asdict`, which copies every schema deeply: a quarter of a
    build.
    """
    if isinstance(value, tuple):
        return tuple(map(_to_json_value, value))
    return shallow_dict(value) if is_value(value) else value


def from_record(header: CapabilityHeader, body: Mapping[str, Any] | None = None) -> Descriptor:
    """The descriptor that the record was made from; without a body its long parts are empty."""
    values = {key: value for key, value in {**header, **(body or {})}.items() if key in _DEFAULTS}
    for key, value in values.items():
        if isinstance(value, list):
            values[key] = tuple(value)
    values["source"] = SourceRef(**header["source"])
    values["parameters"] = tuple(Parameter(**row) for row in header.get("parameters", ()))
    values["edges"] = tuple(Edge(**row) for row in header.get("edges", ()))
    return Descriptor(**values)


def encode_descriptor(descriptor: Descriptor) -> bytes:
    """Head and body in one."""
    return encode_json(to_record(descriptor))


def decode_descriptor(record: bytes) -> Descriptor:
    """The descriptor of such a record, equal to what a reader of the index gets."""
    header, body = json.loads(record)
    return from_record(header, body)


def digest_descriptor(descriptor: Descriptor) -> str:
    """Thirty-two digits over everything that is stored of a descriptor."""
    return digest_record(encode_descriptor(descriptor))


def digest_record(record: bytes) -> str:
    """The same of its record as bytes."""
    import hashlib

    return hashlib.sha256(record).hexdigest()[:32]


def encode_json(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
