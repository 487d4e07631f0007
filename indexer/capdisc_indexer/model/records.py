"""Converts descriptors to and from their stored form, and says which prerequisites are missing.

A record has two parts: the header, for lists, filters and summaries, and the body, with the long
fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from capdisc_indexer.model.frozen import defaults, fields, is_value, shallow_dict
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject, Requirements
from capdisc_indexer.model.types import LISTED_FIELDS, Descriptor, Edge, Parameter, SourceRef

# Between the names of programs of which one is enough.
ANY_OF_SEPARATOR = "|"
# The values of `sys.platform` by the names of systems that skills use.
_SYSTEM_NAMES = {
    "linux": "linux",
    "darwin": "darwin",
    "macos": "darwin",
    "win32": "win32",
    "windows": "win32",
}

# The category of capabilities that name none, everywhere: overview, filters, lists.
UNCATEGORISED = "general"
_BODY_FIELDS = (
    "content",
    "schema",
    "output_schema",
    "input_examples",
    "instructions",
    "guidance",
    "extract",
    "run",
    "extra",
    "overlay",
)
_EMPTY_VALUES: tuple[Any, ...] = ((), {}, None)
_DEFAULTS = dict.fromkeys(fields(Descriptor)) | dict(defaults(Descriptor))


def parse_systems(words: Iterable[str]) -> tuple[str, ...]:
    """The systems as `sys.platform` names them; other words are skipped.

    >>> parse_systems(["macOS", "Linux", "ubuntu-latest"])
    ('darwin', 'linux')
    """
    return tuple(
        dict.fromkeys(
            _SYSTEM_NAMES[word.lower()] for word in words if word.lower() in _SYSTEM_NAMES
        )
    )


def any_of_name(programs: Iterable[str]) -> tuple[str, ...]:
    """The requirement of one of these programs as one name, in a tuple; empty without programs."""
    alternatives = ANY_OF_SEPARATOR.join(programs)
    return (alternatives,) if alternatives else ()


def any_of_systems(systems: Iterable[str]) -> tuple[str, ...]:
    """The requirement of one of these systems in words, in a tuple; empty where any system will
    do.

    >>> any_of_systems(["darwin", "linux"])
    ('only on darwin or linux',)
    """
    words = " or ".join(systems)
    return (f"only on {words}",) if words else ()


def missing_prerequisites(
    needs: Requirements, environ: Mapping[str, str], path: str | None, system: str
) -> tuple[str, ...]:
    """The secrets that are not set, the programs that are not on `path`, and the systems, if
    `system` is not among them.
    """
    secrets = [name for name in needs.get("secrets", ()) if not environ.get(name)]
    return tuple(dict.fromkeys((*secrets, *missing_on_machine(needs, path, system))))


def missing_on_machine(needs: Requirements, path: str | None, system: str) -> tuple[str, ...]:
    """The missing programs and systems, as `missing_prerequisites` gives them, without secrets."""
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
    from shutil import which  # it imports every archive format

    return any(which(program, path=path) for program in programs)


def to_record(descriptor: Descriptor) -> tuple[CapabilityHeader, JsonObject]:
    """The header and body of a descriptor; fields with their default value are left out."""
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
    """The value as JSON writes it. Not `asdict`, which copies every schema deeply: that took a
    quarter of a build.
    """
    if isinstance(value, tuple):
        return tuple(map(_to_json_value, value))
    if isinstance(value, SourceRef):
        return _source_record(value)
    return shallow_dict(value) if is_value(value) else value


def _source_record(source: SourceRef) -> JsonObject:
    """The source, without what only links give it where no link leads to it."""
    record = shallow_dict(source)
    for name in ("other_paths", "link_target"):
        if not record[name]:
            del record[name]
    return record


def from_record(header: CapabilityHeader, body: JsonObject | None = None) -> Descriptor:
    """The descriptor that the record was made from; without a body its long parts are empty."""
    stored: JsonObject = {**header, **(body or {})}
    values = {key: value for key, value in stored.items() if key in _DEFAULTS}
    for key, value in values.items():
        if isinstance(value, list):
            values[key] = tuple(value)
    source = header["source"]
    values["source"] = SourceRef(
        **{**source, "other_paths": tuple(source.get("other_paths", ()))}  # type: ignore[arg-type]
    )
    values["parameters"] = tuple(Parameter(**row) for row in header.get("parameters", ()))
    values["edges"] = tuple(Edge(**row) for row in header.get("edges", ()))
    return Descriptor(**values)


def listed_fields(header: CapabilityHeader) -> JsonObject:
    """The fields that lists of capabilities print as JSON, also those with their default value."""
    stored: Mapping[str, object] = {**header}
    return {name: stored.get(name, _DEFAULTS[name]) for name in LISTED_FIELDS}


def encode_descriptor(descriptor: Descriptor) -> bytes:
    """The header and the body as one JSON array."""
    return encode_json(to_record(descriptor))


def decode_descriptor(record: bytes, resolved_id: str = "") -> Descriptor:
    """The descriptor of an encoded one, equal to that which a reader of the index gets; with the
    `resolved_id` in place of its own, if there is one.
    """
    header, body = json.loads(record)
    header["id"] = resolved_id or header["id"]
    return from_record(header, body)


def digest_descriptor(descriptor: Descriptor) -> str:
    """A digest of 32 hex digits over everything that is stored of a descriptor."""
    return digest_record(encode_descriptor(descriptor))


def digest_record(record: bytes) -> str:
    """The digest of an encoded descriptor."""
    import hashlib

    return hashlib.sha256(record).hexdigest()[:32]


def encode_json(value: Any) -> bytes:
    """The value as compact JSON in UTF-8; lone surrogates become `?`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
