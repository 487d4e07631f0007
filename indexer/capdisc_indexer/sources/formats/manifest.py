"""CAPABILITY.yaml: one capability or several, field by field, with the relations that they
declare, their long texts, and the files next to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import (
    OVERLAY_FIELDS,
    Descriptor,
    Edge,
    Finding,
    LoadedFile,
    Overlay,
    Severity,
    SourceRef,
    has_errors,
)
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.identity_fields import read_identity
from capdisc_indexer.sources.formats.long_text_file import (
    Companions,
    read_companions,
    text_or_file,
)
from capdisc_indexer.sources.formats.parsed_capability import (
    LongText,
    ParsedCapability,
    clip_content,
    join_loaded,
    load_part,
    read_parameters,
)
from capdisc_indexer.sources.readers.field_reader import MAX_DESCRIPTION, Fields
from capdisc_indexer.sources.readers.file_bytes import decode, mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import ListNode, MapNode, Node, TextNode
from capdisc_indexer.sources.readers.yaml_reader import CERTAIN_SLIPS, read_leniently
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH120

DEFAULT_CATEGORY = "general"
# What a capability of the kind is, where its author names no category.
CATEGORY_OF_KIND = {"channel": "communication"}
# Relations are declared as `edges: [{target, type, weight}]`.
EDGE_KINDS = ("REQUIRES", "COMPOSED_WITH", "RELATED", "REFERS_TO", "TAGGED_WITH", "SAME_CATEGORY")
# Names of other programs for the same relations.
_EDGE_KIND_ALIASES = {"DEPENDS_ON": "REQUIRES"}
MAX_EDGES = 256
_EDGE_KEYS = {"target": ("target", "to", "id"), "type": ("type", "kind"), "weight": ("weight",)}
MAX_UNKNOWN = 20
_FIELDS_OF_OVERLAYS = {"overlay", "description"} | {
    field
    for target, _, places in field_plan("manifest").readers
    if target in OVERLAY_FIELDS
    for _, field in places
}
LONG_FIELDS = ("content", "guidance", "instructions")


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The file's capability, or those of its `capabilities:` list and of its documents, and the
    findings about them.

    A capability with an error is left out, and the others of the file stay. The files next to the
    manifest belong to its only capability; if there are several, they are part of the digest and
    of no capability.
    """
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return LoadedFile(findings=(text,))
    documents, findings = read_leniently(text, file.path, 1, CERTAIN_SLIPS)
    about_file = [*mark_finding(data, file.path), *casing_findings(file), *findings]
    nodes = [node for document in documents for node in _capabilities(document)]
    if not nodes:
        if not has_errors(about_file):
            message = "the file holds no capability"
            hint = "write name, kind and description, each on a line of its own"
            finding = Finding("yaml-empty", Severity.ERROR, message, hint, file.path)
            about_file.append(finding)
        return LoadedFile(findings=tuple(about_file))
    companions = read_companions(file)
    source = source_ref(file, content_hash(data, companions.data))
    if len(nodes) == 1:
        parts = [_load_capability(nodes[0], file, source, companions)]
        about_file += companions.findings
    else:
        parts = [
            _load_capability(node, file, replace(source, pointer=str(index)), Companions())
            for index, node in enumerate(nodes)
        ]
    loaded = join_loaded(*parts, before=about_file)
    if len(nodes) == 1 and not loaded.overlays:
        return loaded
    return replace(loaded, findings=(*loaded.findings, *_warn_of_unused_files(file)))


def _capabilities(document: Node) -> Iterator[Node]:
    """The document itself, or the items of its `capabilities` list."""
    if isinstance(document, MapNode):
        entry = document.entries.get("capabilities")
        if entry and isinstance(entry.value, ListNode):
            yield from entry.value.items
            return
    yield document


def _load_capability(
    node: Node, file: FoundFile, source: SourceRef, companions: Companions
) -> LoadedFile:
    if not isinstance(node, MapNode):
        message, hint = "a capability is not a mapping of fields", "write lines such as name: ..."
        code = "yaml-not-mapping"
        finding = Finding(code, Severity.ERROR, message, hint, file.path, node.line)
        return LoadedFile(findings=(finding,))
    fields = field_plan("manifest").open(node, file.path)
    if fields.value("overlay"):
        overlay = read_overlay(fields, source.path)
        part = ParsedCapability(node=node, descriptor=None)
        return replace(load_part(part, fields.findings), overlays=(overlay,) if overlay.id else ())
    capability = build_descriptor(fields, file, source, companions)
    # A schema that cannot be read costs a capability that runs nothing the schema alone.
    is_refused = fields.has_error or has_errors(
        finding
        for finding in companions.findings
        if capability.run or not finding.path.endswith(".json")
    )
    part = ParsedCapability(
        node=node,
        descriptor=None if is_refused else capability,
        longs=_long_texts(fields, capability, file, companions),
        long_keys=frozenset(fields.key(field) for field in LONG_FIELDS),
        schema=companions.schema,
        schema_path=companions.schema_path,
    )
    return load_part(part, fields.findings)


def _warn_of_unused_files(file: FoundFile) -> Iterator[Finding]:
    message = "not used, since the manifest next to it holds several capabilities or an overlay"
    hint = "give the capability that it belongs to a folder of its own"
    for companion in file.companions:
        yield Finding("companion-unused", Severity.INFO, message, hint, companion.path)


def _long_texts(
    fields: Fields, capability: Descriptor, file: FoundFile, companions: Companions
) -> tuple[LongText, ...]:
    """Content, guidance and instructions, each with the place where it is written: in the
    manifest, in a file that it names, or next to it.
    """
    texts = []
    for field in LONG_FIELDS:
        value = str(getattr(capability, field))
        node = fields.value(field)
        if isinstance(node, TextNode):
            texts.append(_locate_text(value, node, file))
        elif value:
            texts.append(
                LongText(value=value, path=companions.body_path, line=companions.body_line)
            )
    return tuple(text for text in texts if text.value)


def _locate_text(value: str, node: TextNode, file: FoundFile) -> LongText:
    written = node.value.strip()
    if value and not written.startswith(value[:200].strip()):  # so it is the name of a file
        return LongText(value=value, path=system.join(os.path.dirname(file.path), written))
    is_block = not node.is_plain and "\n" in node.value
    return LongText(
        value=value or written, path=file.path, line=node.line + is_block, in_place=not is_block
    )


def build_descriptor(
    fields: Fields,
    file: FoundFile,
    source: SourceRef,
    companions: Companions,
    identity: str = "",
    prefix: str = "",
) -> Descriptor:
    """The capability, which is not to be used if `fields` has an error afterwards.

    `identity` is the id, for formats with a rule of their own for it; in the id of others,
    `prefix` stands before the name.
    """
    content = _content(fields, file, companions)
    values = field_plan("manifest").read(fields)
    base = read_identity(fields, file, source, values.pop("title"), content, identity, prefix)
    schema = fields.mapping("schema") or companions.schema
    _warn_of_unknown(fields)
    values["category"] = values["category"] or CATEGORY_OF_KIND.get(base.kind, DEFAULT_CATEGORY)
    return replace(
        base,
        **values,
        parameters=read_parameters(schema),
        schema=schema,
        edges=tuple(_edges(fields, base.id)),
        content=content or _long_description(fields),
        guidance=_file_text(fields, "guidance", file),
    )


def read_overlay(fields: Fields, origin: str) -> Overlay:
    """What a manifest with the key `overlay` adds to others, with a finding about it, and one
    about each other field.
    """
    _warn_of_unknown(fields)
    for name in sorted(fields.entries.keys() - _FIELDS_OF_OVERLAYS):
        message = f"{fields.key(name)} is not read in an overlay"
        fields.warn(name, "unknown-key", message, f"an overlay has {', '.join(OVERLAY_FIELDS)}")
    hint = "write the id of what it adds to, such as tool:github.*"
    overlay = Overlay(
        id=fields.required_text("overlay", hint),
        origin=origin,
        description=fields.text("description"),
        **field_plan("manifest").read(fields, OVERLAY_FIELDS),
    )
    added = ", ".join(name for name in OVERLAY_FIELDS if getattr(overlay, name))
    if overlay.id:
        message = f"an overlay: adds {added or 'nothing'} to {overlay.id}"
        fields.note("overlay", Severity.INFO, "overlay", message)
    return overlay


def _warn_of_unknown(fields: Fields) -> None:
    """Adds a warning for each unknown key, with the nearest known one."""
    known_keys = [key for keys in field_plan("manifest").names[""].values() for key in keys]
    for key, entry in list(fields.others.items())[:MAX_UNKNOWN]:
        message = f"unknown key {key[:64]!r}; not read"
        fields.warn_at(entry, "unknown-key", message, _suggestion(key, known_keys))


def _suggestion(key: str, known_keys: Sequence[str]) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(key[:64], known_keys, n=1, cutoff=0.7)
    return f"did you mean {matches[0]}?" if matches else "put other facts below metadata"


def _long_description(fields: Fields) -> str:
    """A description that is too long to be one: it becomes the content."""
    text = fields.quiet_text("description")
    return clip_content(text) if len(text) > MAX_DESCRIPTION else ""


def _content(fields: Fields, file: FoundFile, companions: Companions) -> str:
    # A line of a catalogue has its text in a field; a manifest has or names a file next to it.
    companion_text = fields.text("text") or companions.body.strip("\n")
    inline = fields.value("content")
    if isinstance(inline, TextNode) and not inline.value.strip():
        message = f"{fields.key('content')} is empty"
        fields.warn("content", "field-empty", message, "name a file, or leave the key out")
        inline = None
    text = _file_text(fields, "content", file) if inline else companion_text
    clipped = clip_content(text)
    if len(clipped) < len(text):
        message = f"the content has {len(text):,} characters; the first {len(clipped):,} are kept"
        hint = "split it into files that it points to"
        fields.note("content", Severity.INFO, "content-cut", message, hint)
    return clipped


def _file_text(fields: Fields, field: str, file: FoundFile) -> str:
    value = text_or_file(fields.text(field), file)
    if isinstance(value, Finding):
        fields.place(field, value)
        return ""
    return value


def _edges(fields: Fields, source: str) -> Iterator[Edge]:
    """The declared edges from `source`, without those that have no target."""
    node = fields.value("edges")
    if node is not None and not isinstance(node, ListNode):
        hint = "write a list of target, type and weight"
        fields.warn("edges", "field-type", "edges is not a list", hint)
    for item in node.items[:MAX_EDGES] if isinstance(node, ListNode) else ():
        parts = fields.within(item, _EDGE_KEYS)
        if target := parts.text("target"):
            kind, weight = _edge_kind(parts), _weight(parts)
            yield Edge(kind=kind, source=source, target=target, weight=weight)
        else:
            hint = "name the capability that it leads to"
            fields.warn("edges", "field-missing", "an edge has no target", hint)


def _edge_kind(parts: Fields) -> str:
    kind = parts.text("type").upper().replace("-", "_").replace(" ", "_") or "RELATED"
    kind = _EDGE_KIND_ALIASES.get(kind, kind)
    if kind in EDGE_KINDS:
        return kind
    message = f"{kind[:64]} is not a type of edge; read as RELATED"
    parts.warn("type", "field-value", message, f"use one of {', '.join(EDGE_KINDS)}")
    return "RELATED"


def _weight(parts: Fields) -> float:
    value = parts.number("weight")
    if value is None or 0.0 <= value <= 1.0:
        return 1.0 if value is None else value
    message = "the weight of an edge is not between 0 and 1"
    parts.warn("weight", "field-value", message, "write a number from 0 to 1")
    return min(1.0, max(0.0, value))
