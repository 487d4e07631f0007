"""CAPABILITY.yaml: one capability or several, with their long texts and the files beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import (
    Descriptor,
    Finding,
    LoadedFile,
    Severity,
    SourceRef,
    has_errors,
)
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.long_text_file import Companions, read_companions
from capdisc_indexer.sources.formats.manifest import build_descriptor, read_overlay
from capdisc_indexer.sources.formats.parsed_capability import (
    LongText,
    ParsedCapability,
    join_loaded,
    load_part,
)
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.file_bytes import decode, mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import ListNode, MapNode, Node, TextNode
from capdisc_indexer.sources.readers.yaml_repair import CERTAIN_SLIPS, read_leniently
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH120

LONG_FIELDS = ("content", "guidance", "instructions")


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The file's capability, or those of its `capabilities:` list and of its documents, and the
    findings about them.

    A capability with an error is left out, and the others of the file stay. The files beside the
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
    message = "not used, since the manifest beside it holds several capabilities or an overlay"
    hint = "give the capability that it belongs to a folder of its own"
    for companion in file.companions:
        yield Finding("companion-unused", Severity.INFO, message, hint, companion.path)


def _long_texts(
    fields: Fields, capability: Descriptor, file: FoundFile, companions: Companions
) -> tuple[LongText, ...]:
    """Content, guidance and instructions, each with the place where it is written: in the
    manifest, in a file that it names, or beside it.
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
