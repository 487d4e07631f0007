"""One capability of a CAPABILITY.yaml, field by field, with the relations that it declares."""

from __future__ import annotations

from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.records import parse_systems
from capdisc_indexer.model.risks import RISK_CHOICES, UNKNOWN_RISK, risk_level
from capdisc_indexer.model.types import (
    OVERLAY_FIELDS,
    Descriptor,
    Edge,
    Finding,
    Overlay,
    Severity,
    SourceRef,
)
from capdisc_indexer.sources.formats.identity_fields import (
    MAX_DESCRIPTION,
    read_description,
    read_identity,
)
from capdisc_indexer.sources.formats.long_text_file import Companions, clip_content, text_or_file
from capdisc_indexer.sources.formats.manifest_fields import EXTRA_FIELDS, warn_of_unknown
from capdisc_indexer.sources.formats.naming_rules import is_secret_name
from capdisc_indexer.sources.formats.parsed_capability import read_parameters
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.yaml_nodes import (
    Json,
    ListNode,
    MapNode,
    Node,
    TextNode,
    to_json,
)
from capdisc_indexer.sources.scan.scanned_files import FoundFile

DEFAULT_CATEGORY = "general"
# What a capability of the kind is, where its author names no category.
CATEGORY_OF_KIND = {"channel": "communication"}
# Relations are declared as `edges: [{target, type, weight}]`.
EDGE_KINDS = ("REQUIRES", "COMPOSED_WITH", "RELATED", "REFERS_TO", "TAGGED_WITH", "SAME_CATEGORY")
# Names of other programs for the same relations.
_EDGE_KIND_ALIASES = {"DEPENDS_ON": "REQUIRES"}
MAX_EDGES = 256
# Each stands in every definition of the tool, and a model learns the form from a few.
MAX_EXAMPLES = 20
_EDGE_KEYS = {"target": ("target", "to", "id"), "type": ("type", "kind"), "weight": ("weight",)}


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
    names = read_identity(fields, file, content, identity, prefix)
    schema = fields.mapping("schema") or companions.schema
    warn_of_unknown(fields)
    return Descriptor(
        id=names.id,
        kind=names.kind,
        name=names.name,
        description=read_description(fields, content, names.name),
        source=source,
        title=names.title,
        category=fields.text("category") or CATEGORY_OF_KIND.get(names.kind, DEFAULT_CATEGORY),
        tags=_merge_lists(fields, "tags", "keywords"),
        phrases=_phrases(fields),
        not_for=fields.texts("not_for", ",;\n"),
        parameters=read_parameters(schema),
        requires=fields.texts("requires"),
        composed_with=fields.texts("composed_with"),
        related=fields.texts("related"),
        edges=read_edges(fields, names.id, file.path),
        secrets=_secrets(fields),
        bins=fields.texts("bins"),
        systems=parse_systems(fields.texts("systems")),
        risk=read_risk(fields),
        has_side_effects=fields.flag("has_side_effects", unreadable=True),
        confirm=fields.flag("confirm", unreadable=True),
        available=fields.flag("available", default=True),
        hidden=fields.flag("hidden"),
        schema=schema,
        output_schema=fields.mapping("output_schema"),
        input_examples=_input_examples(fields),
        content=content or _long_description(fields),
        usage_hint=fields.text("usage_hint"),
        guidance=_file_text(fields, "guidance", file),
        instructions=fields.text("instructions"),
        extract=fields.mapping("extract"),
        run=fields.mapping("run"),
        extra=_extra(fields),
        other_names=names.other_names,
    )


_FIELDS_OF_OVERLAYS = frozenset({"overlay", *OVERLAY_FIELDS, "keywords", "examples", "queries"})


def read_overlay(fields: Fields, origin: str) -> Overlay:
    """What a manifest with the key `overlay` adds to others; a finding says so, and one names each
    other field.
    """
    warn_of_unknown(fields)
    for name in sorted(fields.entries.keys() - _FIELDS_OF_OVERLAYS):
        message = f"{fields.key(name)} is not read in an overlay"
        fields.warn(name, "unknown-key", message, f"an overlay has {', '.join(OVERLAY_FIELDS)}")
    overlay = Overlay(
        id=fields.required_text(
            "overlay", "write the id of what it adds to, such as tool:github.*"
        ),
        origin=origin,
        description=fields.text("description"),
        phrases=_phrases(fields),
        tags=_merge_lists(fields, "tags", "keywords"),
        category=fields.text("category"),
        risk=read_risk(fields),
        requires=fields.texts("requires"),
    )
    added = ", ".join(name for name in OVERLAY_FIELDS if getattr(overlay, name))
    if overlay.id:
        message = f"an overlay: adds {added or 'nothing'} to {overlay.id}"
        fields.note("overlay", Severity.INFO, "overlay", message)
    return overlay


def _phrases(fields: Fields) -> tuple[str, ...]:
    return _merge_lists(fields, "phrases", "examples", "queries", separators="\n")


def _long_description(fields: Fields) -> str:
    """A description that is too long to be one: it becomes the content."""
    text = fields.quiet_text("description")
    return clip_content(text) if len(text) > MAX_DESCRIPTION else ""


def _merge_lists(fields: Fields, *names: str, separators: str = ",") -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for name in names for text in fields.texts(name, separators)))


def _secrets(fields: Fields) -> tuple[str, ...]:
    """The names of secrets. A text that is not a name may be a secret itself, so no message
    repeats it.
    """
    texts = fields.texts("secrets")
    names = tuple(text for text in texts if is_secret_name(text))
    if len(names) < len(texts):
        message = f"{fields.key('secrets')} holds something that is not the name of a secret"
        hint = "write names such as API_KEY; if a real secret stood here, revoke it"
        fields.error("secrets", "secret-value", message, hint)
    return names


def read_risk(fields: Fields) -> str:
    """The level of risk, "" where none is declared; a text that names none is the one of
    UNKNOWN_RISK, with a warning.
    """
    if fields.value("risk") is None:
        return ""
    level = risk_level(fields.text("risk"))
    if level:
        return level
    fields.warn(
        "risk",
        "field-value",
        f"{fields.key('risk')} is none of {', '.join(RISK_CHOICES)}; read as {UNKNOWN_RISK}",
        "use one of them",
    )
    return UNKNOWN_RISK


def _content(fields: Fields, file: FoundFile, companions: Companions) -> str:
    # A line of a catalogue has its text in a field; a manifest names a file, or has one beside it.
    companion_text = fields.text("text") or companions.body.strip("\n")
    inline = fields.value("content")
    if isinstance(inline, TextNode) and not inline.value.strip():
        fields.warn(
            "content",
            "field-empty",
            f"{fields.key('content')} is empty",
            "name a file, or leave the key out",
        )
        inline = None
    text = _file_text(fields, "content", file) if inline else companion_text
    clipped = clip_content(text)
    if len(clipped) < len(text):
        message = f"the content has {len(text):,} characters; the first {len(clipped):,} are kept"
        fields.note(
            "content",
            Severity.INFO,
            "content-cut",
            message,
            "split it into files that it points to",
        )
    return clipped


def _file_text(fields: Fields, field: str, file: FoundFile) -> str:
    value = text_or_file(fields.text(field), file)
    if isinstance(value, Finding):
        fields.place(field, value)
        return ""
    return value


def _input_examples(fields: Fields) -> tuple[JsonObject, ...]:
    """The arguments of example calls; an example that is not a mapping is left out, with a
    warning.
    """
    node = fields.value("input_examples")
    if node is None:
        return ()
    value = to_json(node)
    items = value if isinstance(value, list) else [value]
    examples = [item for item in items if isinstance(item, dict)]
    if len(examples) < len(items):
        fields.warn(
            "input_examples",
            "field-type",
            f"{fields.key('input_examples')} holds an example that is not a mapping",
            "write a list, each item with the arguments of one call",
        )
    if len(examples) > MAX_EXAMPLES:
        message = f"{fields.key('input_examples')} has {len(examples):,} items; the first {MAX_EXAMPLES:,} are read"
        fields.warn("input_examples", "too-many-items", message, "keep the telling ones")
    return tuple(examples[:MAX_EXAMPLES])


def _extra(fields: Fields) -> dict[str, Json]:
    extra: dict[str, Json] = {name: text for name in EXTRA_FIELDS if (text := fields.text(name))}
    metadata = fields.mapping("metadata", exact=True)
    return extra | ({"metadata": metadata} if metadata else {})


def read_edges(fields: Fields, source: str, path: str) -> tuple[Edge, ...]:
    """The declared edges from `source`, without those that have no target."""
    node = fields.value("edges")
    if node is None:
        return ()
    if not isinstance(node, ListNode):
        fields.warn(
            "edges", "field-type", "edges is not a list", "write a list of target, type and weight"
        )
        return ()
    edge_list: list[Edge] = []
    for item in node.items[:MAX_EDGES]:
        edge, findings = _edge(item, source, path)
        fields.findings += findings
        if edge is None:
            fields.warn(
                "edges",
                "field-missing",
                "an edge has no target",
                "name the capability that it leads to",
            )
        else:
            edge_list.append(edge)
    return tuple(edge_list)


def _edge(item: Node, source: str, path: str) -> tuple[Edge | None, list[Finding]]:
    if not isinstance(item, MapNode):
        return None, []
    parts = Fields(item, path, _EDGE_KEYS)
    target = parts.text("target")
    if not target:
        return None, parts.findings
    edge = Edge(kind=_edge_kind(parts), source=source, target=target, weight=_weight(parts))
    return edge, parts.findings


def _edge_kind(parts: Fields) -> str:
    kind = parts.text("type").upper().replace("-", "_").replace(" ", "_") or "RELATED"
    kind = _EDGE_KIND_ALIASES.get(kind, kind)
    if kind in EDGE_KINDS:
        return kind
    parts.warn(
        "type",
        "field-value",
        f"{kind[:64]} is not a type of edge; read as RELATED",
        f"use one of {', '.join(EDGE_KINDS)}",
    )
    return "RELATED"


def _weight(parts: Fields) -> float:
    value = parts.number("weight")
    if value is None:
        return 1.0
    if 0.0 <= value <= 1.0:
        return value
    parts.warn(
        "weight",
        "field-value",
        "the weight of an edge is not between 0 and 1",
        "write a number from 0 to 1",
    )
    return min(1.0, max(0.0, value))
