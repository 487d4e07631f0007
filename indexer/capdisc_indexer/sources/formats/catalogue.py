"""Catalogues (capabilities.jsonl, corpus.jsonl): one capability a line, as programs and data sets
write them.

A line has the keys of a CAPABILITY.yaml. It may also have any id, a flat list of parameters, and
its text as `content`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.identity_fields import (
    LEAD_CHARACTERS,
    UNKNOWN_KIND,
    typeable_id,
)
from capdisc_indexer.sources.formats.long_text_file import Companions
from capdisc_indexer.sources.formats.manifest import build_descriptor
from capdisc_indexer.sources.formats.naming_rules import MAX_ID, MAX_NAME
from capdisc_indexer.sources.formats.parsed_capability import (
    LongText,
    ParsedCapability,
    join_loaded,
    load_part,
)
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.file_bytes import mark_finding, wide_finding
from capdisc_indexer.sources.readers.json_reader import JsonLine, json_lines
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, map_node
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref
from capdisc_indexer.text.normalization import one_line

_LONG_KEYS = frozenset({"content", "text", "skillContent"})
_PARAMETER_KEYWORDS = ("type", "description", "enum", "items", "default")
# In a file that is not a catalogue, every line has an error.
MAX_FINDINGS = 100


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The capabilities of all lines that can be read, and a finding for each of the others.

    A line that stands there twice is read once; of different lines with the same id, the later
    ones are numbered. A capability's digest is that of its line, so that a changed line does not
    change the others.
    """
    if wide := wide_finding(data, file.path):
        return LoadedFile(findings=(wide,))
    entries = [
        LoadedFile(findings=(line,)) if isinstance(line, Finding) else _load_line(line, file)
        for line in json_lines(data, file.path)
    ]
    loaded = join_loaded(*_number_repeated_ids(entries, file.path))
    findings = sorted(loaded.findings, key=lambda finding: finding.line)
    if not loaded.descriptors and not findings:
        message, hint = "the file holds no capability", "write one on each line"
        findings = [Finding("jsonl-empty", Severity.ERROR, message, hint, file.path)]
    return replace(
        loaded,
        findings=(*mark_finding(data, file.path), *casing_findings(file), *cap_findings(findings)),
    )


def _load_line(line: JsonLine, file: FoundFile) -> LoadedFile:
    if not isinstance(line.value, dict):
        code, message = "jsonl-not-object", "the line is not an object"
        hint = 'write {"kind": ..., "name": ..., "description": ...}'
        finding = Finding(code, Severity.ERROR, message, hint, file.path, line.number)
        return LoadedFile(findings=(finding,))
    node = map_node(as_manifest_fields(line.value), line.number)
    fields = field_plan("catalogue").open(node, file.path)
    written_id, line_id = _declared_id(line.value, fields)
    source = source_ref(file, content_hash(line.raw), line_id)
    capability = build_descriptor(fields, file, source, Companions(), line_id)
    if written_id != line_id:
        names = (*capability.other_names, written_id)
        capability = replace(capability, other_names=names)
    return load_entry(node, fields, capability, file)


def load_entry(
    node: MapNode, fields: Fields, capability: Descriptor, file: FoundFile
) -> LoadedFile:
    """The capability of one entry of a list, unless `fields` has an error, and the findings."""
    text, path = capability.content, file.path
    part = ParsedCapability(
        node=node,
        descriptor=None if fields.has_error else capability,
        longs=(LongText(value=text, path=path, line=node.line, in_place=True),) if text else (),
        long_keys=_LONG_KEYS,
    )
    return load_part(part, fields.findings)


def _number_repeated_ids(entries: Sequence[LoadedFile], path: str) -> Iterator[LoadedFile]:
    """The entries, those that repeat the id of an earlier line with a number, without those that
    repeat the whole line; each of both with a finding.

    Equal ids that were made of kind and name stay: APIs have functions of one name, and equal ids
    are resolved as those of several files.
    """
    first_lines: dict[str, tuple[Descriptor, int]] = {}
    taken = {descriptor.id for entry in entries for descriptor in entry.descriptors}
    for entry in entries:
        descriptor = next(iter(entry.descriptors), None)
        if descriptor is None or not (declared := descriptor.source.pointer):
            yield entry
            continue
        part = entry.parts[0]
        first, line = first_lines.setdefault(declared, (descriptor, part.node.line))
        if first is descriptor:
            yield entry
            continue
        where = f"the id {declared} stands in line {line} already"
        if first.source.content_hash == descriptor.source.content_hash:
            message, hint = f"{where}, in the same words; not read", "remove one of the two"
            read = LoadedFile()
        else:
            new_id = _free_id(declared, taken)
            taken.add(new_id)
            source = replace(descriptor.source, pointer=new_id)
            renamed = replace(descriptor, id=new_id, source=source)
            message, hint = f"{where}; read as {new_id}", "give it an id of its own"
            read = load_part(replace(part, descriptor=renamed), ())
        repeated = Finding("duplicate-id", Severity.WARNING, message, hint, path, part.node.line)
        yield replace(read, findings=(*entry.findings, repeated))


def _free_id(identifier: str, taken: Collection[str]) -> str:
    """The id with the first number that no other has."""
    return next(
        candidate for number in count(2) if (candidate := f"{identifier}#{number}") not in taken
    )


def cap_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """At most MAX_FINDINGS findings, errors before others, in the order of the lines; then one
    with the number of the rest. A kind that many lines have is one finding.
    """
    findings = _merge_kind_findings(findings)
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    ranked = sorted(findings, key=lambda finding: finding.severity is not Severity.ERROR)
    reported, dropped = ranked[:MAX_FINDINGS], ranked[MAX_FINDINGS:]
    summary = replace(
        dropped[0],
        code="more-findings",
        message=f"{len(dropped):,} more findings about this file are left out",
        hint="mend the first ones, and run it again",
        column=1,
    )
    return (*sorted(reported, key=lambda finding: finding.line), summary)


def _merge_kind_findings(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with one for each unknown kind, which counts its lines."""
    counts = Counter(finding.message for finding in findings if finding.code == UNKNOWN_KIND)
    merged = []
    for finding in findings:
        lines = counts.pop(finding.message, 0) if finding.code == UNKNOWN_KIND else 1
        if lines == 1:
            merged.append(finding)
        elif lines:
            message = f"{finding.message}, in {lines:,} lines"
            merged.append(replace(finding, message=message))
    return merged


def as_manifest_fields(value: Mapping[str, Json]) -> dict[str, Json]:
    """The line with the keys of a manifest."""
    changed = {key: item for key, item in value.items() if key != "id"}
    if isinstance(listed := value.get("parameters"), list):
        changed["parameters"] = schema_of(listed)
    return _split_content(_with_description(changed))


def _declared_id(value: Mapping[str, Json], fields: Fields) -> tuple[str, str]:
    """The id of the line as written, and as it is used; "" if it has none. Where they differ,
    `fields` has a warning.
    """
    identifier = value.get("id")
    is_text = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    written = str(identifier) if is_text else ""
    used = typeable_id(written)
    if used != written or (identifier is not None and not used):
        read_as = f"it is read as {used[:MAX_NAME]!r}" if used else "kind and name take its place"
        hint = f"write up to {MAX_ID} letters, digits and signs on one line"
        fields.warn("id", "field-value", f"the id cannot be typed; {read_as}", hint)
    return written, used


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
