"""Capabilities of other programs' lists, brought into the shape of a manifest and read as one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources.catalogue import most
from capdisc_indexer.sources.catalogue_fields import FIELDS, shaped
from capdisc_indexer.sources.companions import Companions
from capdisc_indexer.sources.fields import Fields
from capdisc_indexer.sources.files import FoundFile, content_hash, source_ref
from capdisc_indexer.sources.manifest import descriptor
from capdisc_indexer.sources.nodes import Entry, Json, MapNode, TextNode, from_json
from capdisc_indexer.sources.parts import LongText, Part
from capdisc_indexer.types import Finding, Loaded

_SCHEMAS = ("inputSchema", "outputSchema")
_PLAIN = 16  # characters; a key that opens something is longer
_LONG_KEYS = frozenset({"content"})


@frozen(kw_only=True)
class Made:
    """One capability of a list: its fields as a manifest has them, the line it stands on, and how its id begins.

    `run` and `extra` hold what nobody writes into a manifest; `findings` is what was noted on the way here.
    """

    fields: Mapping[str, Json]
    line: int
    prefix: str
    run: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()


def loaded(made: Made, file: FoundFile) -> Loaded:
    """The capability, or what keeps it out. Its digest is its own: a change leaves the others of a list alone."""
    value = shaped(dict(made.fields))
    node = from_json(value, made.line)
    if not isinstance(node, MapNode) or not isinstance(value, dict):
        return Loaded(findings=made.findings)
    fields = Fields(node, file.path, FIELDS)
    name = value.get("name")
    digest = content_hash(json.dumps([value, made.run, made.extra], ensure_ascii=False).encode("utf-8", "replace"))
    source = source_ref(file, digest, str(name))
    capability = descriptor(fields, file, source, Companions(), f"{made.prefix}{name}")
    run, extra = made.run or capability.run, dict(made.extra or {})
    kept = None if fields.has_error else replace(capability, run=run, extra=extra)
    long = LongText(value=capability.content, path=file.path, line=made.line, in_place=True)
    part = Part(node=_told(node, value), descriptor=kept, longs=(long,) if long.value else (), long_keys=_LONG_KEYS)
    return Loaded(descriptors=(kept,) if kept else (), findings=(*made.findings, *fields.findings), parts=(part,))


def _told(node: MapNode, value: Mapping[str, Json]) -> MapNode:
    """The node with the words of each schema as one text: looked at one by one, they took two thirds of a build."""
    joined = {key: " | ".join(dict.fromkeys(_words(value[key]))) for key in _SCHEMAS if key in value}
    texts = {key: Entry(key, TextNode(text, False, node.line, 1), node.line, 1) for key, text in joined.items()}
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


def merged(parts: Iterable[Made | Finding], file: FoundFile, before: Sequence[Finding] = ()) -> Loaded:
    """All capabilities of a list, those that can be read; of very many findings, the first."""
    each = [Loaded(findings=(one,)) if isinstance(one, Finding) else loaded(one, file) for one in parts]
    return Loaded(
        descriptors=tuple(capability for one in each for capability in one.descriptors),
        findings=(*before, *most([found for one in each for found in one.findings])),
        parts=tuple(part for one in each for part in one.parts),
    )
