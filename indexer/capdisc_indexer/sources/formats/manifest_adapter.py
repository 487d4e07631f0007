"""Capabilities of other programs' lists, brought into the shape of a manifest and read as one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, LoadedFile
from capdisc_indexer.sources.formats.catalogue import (
    CATALOGUE_FIELDS,
    as_manifest_fields,
    cap_findings,
)
from capdisc_indexer.sources.formats.companion_files import Companions
from capdisc_indexer.sources.formats.derived_capability import LongText, ParsedCapability
from capdisc_indexer.sources.formats.manifest import build_descriptor
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.yaml_nodes import Entry, Json, MapNode, TextNode, from_json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref

_SCHEMAS = ("inputSchema", "outputSchema")
_PLAIN = 16  # characters; a key that opens something is longer
_LONG_KEYS = frozenset({"content"})


@frozen(kw_only=True)
class CapabilityDraft:
    """One capability of a list: its fields as a manifest has them, the line it stands on, and how
    its id begins.

    `run` and `extra` hold what nobody writes into a manifest; `findings` is what was noted on the
    way here.
    """

    fields: Mapping[str, Json]
    line: int
    prefix: str
    run: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()


def load_draft(draft: CapabilityDraft, file: FoundFile) -> LoadedFile:
    """The capability, or what keeps it out. Its digest is its own: a change leaves the others of a
    list alone.
    """
    value = as_manifest_fields(dict(draft.fields))
    node = from_json(value, draft.line)
    if not isinstance(node, MapNode) or not isinstance(value, dict):
        return LoadedFile(findings=draft.findings)
    fields = Fields(node, file.path, CATALOGUE_FIELDS)
    name = value.get("name")
    digest = content_hash(
        json.dumps([value, draft.run, draft.extra], ensure_ascii=False).encode("utf-8", "replace")
    )
    source = source_ref(file, digest, str(name))
    capability = build_descriptor(fields, file, source, Companions(), f"{draft.prefix}{name}")
    run, extra = draft.run or capability.run, dict(draft.extra or {})
    accepted = None if fields.has_error else replace(capability, run=run, extra=extra)
    long = LongText(value=capability.content, path=file.path, line=draft.line, in_place=True)
    part = ParsedCapability(
        node=_with_joined_texts(node, value),
        descriptor=accepted,
        longs=(long,) if long.value else (),
        long_keys=_LONG_KEYS,
    )
    return LoadedFile(
        descriptors=(accepted,) if accepted else (),
        findings=(*draft.findings, *fields.findings),
        parts=(part,),
    )


def _with_joined_texts(node: MapNode, value: Mapping[str, Json]) -> MapNode:
    """The node with the words of each schema as one text: looked at one by one, they took two
    thirds of a build.
    """
    joined = {
        key: " | ".join(dict.fromkeys(_words(value[key]))) for key in _SCHEMAS if key in value
    }
    texts = {
        key: Entry(key, TextNode(text, False, node.line, 1), node.line, 1)
        for key, text in joined.items()
    }
    return MapNode({**node.entries, **texts}, node.line, node.column)


def _words(value: Json) -> Iterator[str]:
    """Every text of a schema, keys too, but for short plain words, which hide nothing."""
    if isinstance(value, str):
        if len(value) > _PLAIN or not value.isalnum():
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _words(key)
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def merge_drafts(
    parts: Iterable[CapabilityDraft | Finding], file: FoundFile, before: Sequence[Finding] = ()
) -> LoadedFile:
    """All capabilities of a list, those that can be read; of very many findings, the first."""
    loaded_parts = [
        LoadedFile(findings=(part,)) if isinstance(part, Finding) else load_draft(part, file)
        for part in parts
    ]
    return LoadedFile(
        descriptors=tuple(
            capability for result in loaded_parts for capability in result.descriptors
        ),
        findings=(
            *before,
            *cap_findings([finding for result in loaded_parts for finding in result.findings]),
        ),
        parts=tuple(part for result in loaded_parts for part in result.parts),
    )
