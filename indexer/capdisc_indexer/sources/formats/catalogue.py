"""corpus.jsonl, capabilities.jsonl: one capability a line, the way programs and data sets write
them.

A line has the keys of a CAPABILITY.yaml. It may also give any id, a flat list of parameters, and
its text as `content`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats import naming_rules
from capdisc_indexer.sources.formats.companion_files import Companions
from capdisc_indexer.sources.formats.derived_capability import LongText, ParsedCapability
from capdisc_indexer.sources.formats.manifest import DEFAULT_CATEGORY, build_descriptor
from capdisc_indexer.sources.formats.naming_rules import clean_name, is_plain_name
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.json_reader import JsonLine, json_lines
from capdisc_indexer.sources.readers.text_decoding import mark_finding, wide_finding
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, from_json
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref
from capdisc_indexer.text.normalization import one_line

# Which entries of a list a declaration takes, and what it files them under.


def is_wanted(name: str, options: Mapping[str, Any]) -> bool:
    """Whether the patterns of `include` (none: every name) and `exclude` let the name through.

    >>> is_wanted("sql_run", {"include": ["sql_*"]}), is_wanted("sql_drop", {"exclude": "*_drop"})
    (True, False)
    """
    include, exclude = _texts(options.get("include")), _texts(options.get("exclude"))
    is_in = not include or any(fnmatchcase(name, pattern) for pattern in include)
    return is_in and not any(fnmatchcase(name, pattern) for pattern in exclude)


def categorize_names(
    names: Sequence[str], options: Mapping[str, Any], server: str
) -> dict[str, str]:
    """What each name is filed under: the longest prefix of `categories` that it begins with, else
    its server; without a server the part before its first underscore, where another name begins
    with it too.
    """
    prefixes = sorted(_texts(options.get("categories")), key=len, reverse=True)
    shared = Counter(name.partition("_")[0] for name in names if "_" in name)

    def category(name: str) -> str:
        declared = next(
            (
                prefix
                for prefix in prefixes
                if name == prefix or name.startswith(f"{prefix.rstrip('_')}_")
            ),
            "",
        )
        first_word = name.partition("_")[0] if "_" in name else ""
        return (
            declared.rstrip("_")
            or server
            or (first_word if shared[first_word] > 1 else DEFAULT_CATEGORY)
        )

    return {name: category(name) for name in names}


def _texts(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [entry for entry in listed if isinstance(entry, str) and entry]


# What a line of a catalogue writes otherwise than a CAPABILITY.yaml, brought into the manifest's
# shape.

# `content` is the text itself here, never the name of a file: a generated text may look like one.
CATALOGUE_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**naming_rules.MANIFEST_FIELDS, "text": ("content",)}
)

# Ids are printed one a line and typed after `capdisc show`: no blanks at the ends, nothing hidden,
# no markup, no flag.
_ID = re.compile(r"\w[^<>`\"]{0,255}")
_NO_NAME = re.compile(r"[^\w./ -]+|\.\.+")
LEAD_CHARACTERS = 240  # of a content, in the place of a description that is missing
_OF_PARAMETER = ("type", "description", "enum", "items", "default")


def as_manifest_fields(value: Json) -> Json:
    """The line as a manifest would say it; what is no object stays as it is."""
    if not isinstance(value, dict):
        return value
    changed = {key: item for key, item in value.items() if key != "id"}
    if isinstance(listed := value.get("parameters"), list):
        changed["parameters"] = schema_of(listed)
    return _split_content(_with_description(_with_title(changed)))


def declared_id(value: Json, fields: Fields) -> str:
    """The id as the line gives it; "" with a warning where it cannot be one, so that kind and name
    make it.
    """
    declared_id = value.get("id") if isinstance(value, dict) else None
    text = (
        str(declared_id)
        if isinstance(declared_id, str | int) and not isinstance(declared_id, bool)
        else ""
    )
    if _ID.fullmatch(text) and text.isprintable() and text == one_line(text):
        return text
    if declared_id is not None:
        hint = "write up to 256 letters, digits and signs on one line"
        fields.warn(
            "id",
            "field-value",
            "the id is none that can be typed; kind and name take its place",
            hint,
        )
    return ""


def schema_of(listed: list[Json]) -> Json:
    """A flat list of parameters as a JSON schema; items without a name are no parameters.

    >>> schema_of([{"name": "to", "type": "string", "required": True}])
    {'type': 'object', 'properties': {'to': {'type': 'string'}}, 'required': ['to']}
    """
    named = {
        str(parameter["name"]): parameter
        for parameter in listed
        if isinstance(parameter, dict) and isinstance(parameter.get("name"), str)
    }
    properties: dict[str, Json] = {
        name: {key: parameter[key] for key in _OF_PARAMETER if key in parameter}
        for name, parameter in named.items()
    }
    required: list[Json] = [
        name for name, parameter in named.items() if parameter.get("required") is True
    ]
    return {"type": "object", "properties": properties, "required": required}


def _with_title(value: dict[str, Json]) -> dict[str, Json]:
    """A name that no manifest could have becomes the title, and what can be kept of it the
    name.
    """
    name = value.get("name")
    if not isinstance(name, str) or is_plain_name(clean_name(name)):
        return value
    plain = clean_name(_NO_NAME.sub(" ", clean_name(name))).lstrip("./ ")
    if name.strip().lstrip("~./ ") == plain:
        # a path that climbs is refused, lest it take the place of the name that it ends in
        return value
    titled = (
        value
        if value.keys() & {"title", "displayName", "display_name"}
        else {"title": name, **value}
    )
    return {**titled, "name": plain} if plain else value


def _with_description(value: dict[str, Json]) -> dict[str, Json]:
    """Without a description, the content begins with what there is to say."""
    content, description = value.get("content"), value.get("description")
    if not isinstance(content, str) or (description is not None and description != ""):
        return value
    return {**value, "description": one_line(content, LEAD_CHARACTERS)}


def _split_content(value: dict[str, Json]) -> dict[str, Json]:
    """What people say, one sentence a line, is the content of an intent: each becomes a phrase."""
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


# A file that is no catalogue at all has something wrong in every line; nobody reads more than
# this.
MAX_FINDINGS = 100


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The capabilities of all lines that can be read, and a finding, with its line, for each of
    the others.

    Of lines that give the same id, the first counts. A capability's digest is that of its line, so
    that a changed line leaves the others as they were.
    """
    if wide := wide_finding(data, file.path):
        return LoadedFile(findings=(wide,))
    parts = [
        parsed if isinstance(parsed, Finding) else _capability(parsed, file)
        for parsed in json_lines(data, file.path)
    ]
    entries = [parsed for parsed in parts if isinstance(parsed, _CatalogueEntry)]
    descriptors, repeated = _first_of_each(entries, file.path)
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
    kept_ids = {id(descriptor) for descriptor in descriptors}
    return LoadedFile(
        descriptors=descriptors,
        findings=(*mark_finding(data, file.path), *casing_findings(file), *cap_findings(findings)),
        parts=tuple(
            _part(entry, file.path, kept_ids) for entry in entries if entry.node is not None
        ),
    )


def _part(entry: _CatalogueEntry, path: str, kept_ids: Collection[int]) -> ParsedCapability:
    node = entry.node or MapNode({}, entry.line, 1)
    text = entry.descriptor.content if entry.descriptor else ""
    return ParsedCapability(
        node=node,
        descriptor=entry.descriptor if id(entry.descriptor) in kept_ids else None,
        longs=(LongText(value=text, path=path, line=entry.line, in_place=True),) if text else (),
        long_keys=frozenset(
            key for key in ("content", "text", "skillContent") if key in node.entries
        ),
    )


@frozen
class _CatalogueEntry:
    """What one line gave: a capability, or none and the reasons."""

    line: int
    descriptor: Descriptor | None
    findings: tuple[Finding, ...]
    node: MapNode | None = None


def _capability(line: JsonLine, file: FoundFile) -> _CatalogueEntry:
    node = from_json(as_manifest_fields(line.value), line.number)
    if not isinstance(node, MapNode):
        hint = 'write {"kind": ..., "name": ..., "description": ...}'
        wrong = _finding(file.path, line.number, "jsonl-not-object", "the line is no object", hint)
        return _CatalogueEntry(line.number, None, (wrong,))
    fields = Fields(node, file.path, CATALOGUE_FIELDS)
    line_id = declared_id(line.value, fields)
    source = source_ref(file, content_hash(line.raw), line_id)
    capability = build_descriptor(fields, file, source, Companions(), line_id)
    return _CatalogueEntry(
        line.number, None if fields.has_error else capability, tuple(fields.findings), node
    )


def _first_of_each(
    entries: Sequence[_CatalogueEntry], path: str
) -> tuple[tuple[Descriptor, ...], list[Finding]]:
    """The capabilities without those whose id an earlier line gives, and a finding for each that
    is left out.

    Where kind and name make the id, equal ones stay: APIs have functions of one name, told apart
    as those of files.
    """
    lines: dict[str, int] = {}
    descriptors: list[Descriptor] = []
    repeated: list[Finding] = []
    for entry in entries:
        if entry.descriptor is None:
            continue
        declared_id = entry.descriptor.source.pointer
        if declared_id and lines.setdefault(declared_id, entry.line) != entry.line:
            repeated.append(_twice(path, entry.line, declared_id, lines[declared_id]))
        else:
            descriptors.append(entry.descriptor)
    return tuple(descriptors), repeated


def _twice(path: str, line: int, identifier: str, first: int) -> Finding:
    message = f"the id {identifier} stands in line {first} already; not read"
    return _finding(
        path, line, "duplicate-id", message, "give it an id of its own, or remove one of the two"
    )


def cap_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, errors before others, in the order of the lines, and how many more there
    are.
    """
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    ranked = sorted(findings, key=lambda finding: finding.severity is not Severity.ERROR)
    reported, left = ranked[:MAX_FINDINGS], ranked[MAX_FINDINGS:]
    message, hint = (
        f"{len(left):,} more findings about this file are left out",
        "mend the first ones, and run it again",
    )
    summary = Finding(
        code="more-findings", severity=left[0].severity, message=message, hint=hint, path=findings[0].path,
        line=left[0].line,
    )  # fmt: skip
    return (*sorted(reported, key=lambda finding: finding.line), summary)


def _finding(path: str, line: int, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, severity=Severity.ERROR, message=message, hint=hint, path=path, line=line
    )
