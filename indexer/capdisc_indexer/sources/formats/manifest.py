"""One capability of a CAPABILITY.yaml, field by field, with the relations that it declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import (
    OVERLAY_FIELDS,
    Descriptor,
    Edge,
    Finding,
    Overlay,
    Severity,
    SourceRef,
)
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.identity_fields import (
    MAX_DESCRIPTION,
    read_identity,
)
from capdisc_indexer.sources.formats.long_text_file import Companions, clip_content, text_or_file
from capdisc_indexer.sources.formats.parsed_capability import read_parameters
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.yaml_nodes import ListNode, TextNode
from capdisc_indexer.sources.scan.scanned_files import FoundFile

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
    """What a manifest with the key `overlay` adds to others; a finding says so, and one names each
    other field.
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
    # A line of a catalogue has its text in a field; a manifest names a file, or has one beside it.
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
