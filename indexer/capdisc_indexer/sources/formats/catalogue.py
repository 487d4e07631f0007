"""Catalogues (capabilities.jsonl, corpus.jsonl): one capability a line, as programs and data sets
write them.

A line has the keys of a CAPABILITY.yaml. It may also have any id, a flat list of parameters, and
its text as `content`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.long_text_file import Companions
from capdisc_indexer.sources.formats.manifest import build_descriptor
from capdisc_indexer.sources.formats.manifest_fields import MANIFEST_FIELDS
from capdisc_indexer.sources.formats.naming_rules import clean_name, is_plain_name
from capdisc_indexer.sources.formats.parsed_capability import LongText, ParsedCapability
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.file_bytes import mark_finding, wide_finding
from capdisc_indexer.sources.readers.json_reader import JsonLine, json_lines
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, from_json
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref
from capdisc_indexer.text.normalization import one_line

# `content` is the text itself here, never the name of a file: a generated text may look like one.
CATALOGUE_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**MANIFEST_FIELDS, "text": ("content",)}
)

# Ids are printed one a line and typed after `capdisc show`: no blanks at the ends, nothing
# invisible, no markup, no leading hyphen.
_ID = re.compile(r"\w[^<>`\"]{0,255}")
_NO_NAME = re.compile(r"[^\w./ -]+|\.\.+")
LEAD_CHARACTERS = 240  # of the content, if there is no description
_PARAMETER_KEYWORDS = ("type", "description", "enum", "items", "default")
# In a file that is not a catalogue, every line has an error; nobody reads more than so many.
MAX_FINDINGS = 100


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The capabilities of all lines that can be read, and a finding for each of the others.

    Of lines with the same id, the first counts. A capability's digest is that of its line, so that
    a changed line does not change the others.
    """
    if wide := wide_finding(data, file.path):
        return LoadedFile(findings=(wide,))
    parts = [
        parsed if isinstance(parsed, Finding) else _capability(parsed, file)
        for parsed in json_lines(data, file.path)
    ]
    entries = [parsed for parsed in parts if isinstance(parsed, _CatalogueEntry)]
    descriptors, repeated = _drop_repeated_ids(entries, file.path)
    findings = [
        finding
        for parsed in parts
        for finding in ([parsed] if isinstance(parsed, Finding) else parsed.findings)
    ]
    findings = sorted([*findings, *repeated], key=lambda finding: finding.line)
    if not descriptors and not findings:
        findings = [
            _finding(
                file.path,
                1,
                "jsonl-empty",
                "the file holds no capability",
                "write one on each line",
            )
        ]
    accepted = {id(descriptor) for descriptor in descriptors}
    return LoadedFile(
        descriptors=descriptors,
        findings=(*mark_finding(data, file.path), *casing_findings(file), *cap_findings(findings)),
        parts=tuple(
            _part(entry, file.path, accepted) for entry in entries if entry.node is not None
        ),
    )


def _part(entry: _CatalogueEntry, path: str, accepted: Collection[int]) -> ParsedCapability:
    node = entry.node or MapNode({}, entry.line, 1)
    text = entry.descriptor.content if entry.descriptor else ""
    return ParsedCapability(
        node=node,
        descriptor=entry.descriptor if id(entry.descriptor) in accepted else None,
        longs=(LongText(value=text, path=path, line=entry.line, in_place=True),) if text else (),
        long_keys=frozenset(
            key for key in ("content", "text", "skillContent") if key in node.entries
        ),
    )


@frozen
class _CatalogueEntry:
    """The capability of one line, or None and the reasons."""

    line: int
    descriptor: Descriptor | None
    findings: tuple[Finding, ...]
    node: MapNode | None = None


def _capability(line: JsonLine, file: FoundFile) -> _CatalogueEntry:
    node = from_json(as_manifest_fields(line.value), line.number)
    if not isinstance(node, MapNode):
        hint = 'write {"kind": ..., "name": ..., "description": ...}'
        wrong = _finding(
            file.path, line.number, "jsonl-not-object", "the line is not an object", hint
        )
        return _CatalogueEntry(line.number, None, (wrong,))
    fields = Fields(node, file.path, CATALOGUE_FIELDS)
    line_id = declared_id(line.value, fields)
    source = source_ref(file, content_hash(line.raw), line_id)
    capability = build_descriptor(fields, file, source, Companions(), line_id)
    return _CatalogueEntry(
        line.number, None if fields.has_error else capability, tuple(fields.findings), node
    )


def _drop_repeated_ids(
    entries: Sequence[_CatalogueEntry], path: str
) -> tuple[tuple[Descriptor, ...], list[Finding]]:
    """The capabilities without those whose id an earlier line has, and a finding for each that is
    left out.

    Equal ids that were made of kind and name stay: APIs have functions of one name, and equal ids
    are resolved as those of several files.
    """
    lines: dict[str, int] = {}
    descriptors: list[Descriptor] = []
    repeated: list[Finding] = []
    for entry in entries:
        if entry.descriptor is None:
            continue
        declared_id = entry.descriptor.source.pointer
        if declared_id and lines.setdefault(declared_id, entry.line) != entry.line:
            repeated.append(_repeated_id(path, entry.line, declared_id, lines[declared_id]))
        else:
            descriptors.append(entry.descriptor)
    return tuple(descriptors), repeated


def _repeated_id(path: str, line: int, identifier: str, first_line: int) -> Finding:
    message = f"the id {identifier} stands in line {first_line} already; not read"
    return _finding(
        path, line, "duplicate-id", message, "give it an id of its own, or remove one of the two"
    )


def cap_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """At most MAX_FINDINGS findings, errors before others, in the order of the lines; then one with
    the number of the rest.
    """
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    ranked = sorted(findings, key=lambda finding: finding.severity is not Severity.ERROR)
    reported, dropped = ranked[:MAX_FINDINGS], ranked[MAX_FINDINGS:]
    summary = Finding(
        code="more-findings",
        severity=dropped[0].severity,
        message=f"{len(dropped):,} more findings about this file are left out",
        hint="mend the first ones, and run it again",
        path=findings[0].path,
        line=dropped[0].line,
    )
    return (*sorted(reported, key=lambda finding: finding.line), summary)


def _finding(path: str, line: int, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, severity=Severity.ERROR, message=message, hint=hint, path=path, line=line
    )


def as_manifest_fields(value: Json) -> Json:
    """The line with the keys of a manifest; JSON other than an object stays as it is."""
    if not isinstance(value, dict):
        return value
    changed = {key: item for key, item in value.items() if key != "id"}
    if isinstance(listed := value.get("parameters"), list):
        changed["parameters"] = schema_of(listed)
    return _split_content(_with_description(_with_title(changed)))


def declared_id(value: Json, fields: Fields) -> str:
    """The id of the line; "" if it has none, and with a warning if the id cannot be used: kind and
    name make it then.
    """
    identifier = value.get("id") if isinstance(value, dict) else None
    is_text = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    text = str(identifier) if is_text else ""
    if _ID.fullmatch(text) and text.isprintable() and text == one_line(text):
        return text
    if identifier is not None:
        hint = "write up to 256 letters, digits and signs on one line"
        fields.warn(
            "id",
            "field-value",
            "the id cannot be typed; kind and name take its place",
            hint,
        )
    return ""


def schema_of(listed: list[Json]) -> Json:
    """A flat list of parameters as a JSON schema, without items that have no name.

    >>> schema_of([{"name": "to", "type": "string", "required": True}])
    {'type': 'object', 'properties': {'to': {'type': 'string'}}, 'required': ['to']}
    """
    named = {
        str(parameter["name"]): parameter
        for parameter in listed
        if isinstance(parameter, dict) and isinstance(parameter.get("name"), str)
    }
    properties: dict[str, Json] = {
        name: {key: parameter[key] for key in _PARAMETER_KEYWORDS if key in parameter}
        for name, parameter in named.items()
    }
    required: list[Json] = [
        name for name, parameter in named.items() if parameter.get("required") is True
    ]
    return {"type": "object", "properties": properties, "required": required}


def _with_title(value: dict[str, Json]) -> dict[str, Json]:
    """The line with a name that a manifest can have: any other becomes the title, and its usable
    part the name.
    """
    name = value.get("name")
    if not isinstance(name, str) or is_plain_name(clean_name(name)):
        return value
    plain = clean_name(_NO_NAME.sub(" ", clean_name(name))).lstrip("./ ")
    if not plain or name.strip().lstrip("~./ ") == plain:
        # A path upwards is left as it is, and refused later: it must not become the name that it
        # ends in.
        return value
    if not value.keys() & {"title", "displayName", "display_name"}:
        value = {"title": name, **value}
    return {**value, "name": plain}


def _with_description(value: dict[str, Json]) -> dict[str, Json]:
    """The line with the begin of its content as description, if it has none."""
    content, description = value.get("content"), value.get("description")
    if not isinstance(content, str) or (description is not None and description != ""):
        return value
    return {**value, "description": one_line(content, LEAD_CHARACTERS)}


def _split_content(value: dict[str, Json]) -> dict[str, Json]:
    """The line with the content of an intent as examples: it holds what people say, one sentence a
    line.
    """
    content, examples = value.get("content"), value.get("examples", [])
    if (
        value.get("kind") != "intent"
        or not isinstance(content, str)
        or not isinstance(examples, list)
    ):
        return value
    phrases: list[Json] = [line for line in content.splitlines() if line.strip()]
    return {key: item for key, item in value.items() if key != "content"} | {
        "examples": [*examples, *phrases]
    }
