"""CAPABILITY.yaml: one capability or several, with their long texts and the files beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity, SourceRef
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.long_text_file import Companions, read_companions
from capdisc_indexer.sources.formats.manifest import build_descriptor, read_overlay
from capdisc_indexer.sources.formats.manifest_fields import MANIFEST_FIELDS
from capdisc_indexer.sources.formats.parsed_capability import LongText, ParsedCapability
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
        if not _has_errors(about_file):
            about_file.append(_no_capability(file.path))
        return LoadedFile(findings=tuple(about_file))
    companions = read_companions(file)
    source = source_ref(file, content_hash(data, companions.data))
    if len(nodes) == 1:
        loaded = _load_capability(nodes[0], file, source, companions)
        unused = _warn_of_unused_files(file) if loaded.overlays else ()
        findings = (*about_file, *companions.findings, *loaded.findings, *unused)
        return replace(loaded, findings=findings)
    parts = [
        _load_capability(node, file, replace(source, pointer=str(index)), Companions())
        for index, node in enumerate(nodes)
    ]
    return LoadedFile(
        descriptors=tuple(descriptor for entry in parts for descriptor in entry.descriptors),
        parts=tuple(part for entry in parts for part in entry.parts),
        overlays=tuple(overlay for entry in parts for overlay in entry.overlays),
        findings=(
            *about_file,
            *_warn_of_unused_files(file),
            *(finding for entry in parts for finding in entry.findings),
        ),
    )


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
        finding = _finding(file.path, Severity.ERROR, "yaml-not-mapping", message, hint, node.line)
        return LoadedFile(findings=(finding,))
    fields = Fields(node, file.path, MANIFEST_FIELDS)
    if fields.value("overlay"):
        overlay = read_overlay(fields, source.path)
        part = ParsedCapability(node=node, descriptor=None)
        overlays = (overlay,) if overlay.id else ()
        return LoadedFile(findings=tuple(fields.findings), parts=(part,), overlays=overlays)
    capability = build_descriptor(fields, file, source, companions)
    # A schema that cannot be read costs a capability that runs nothing the schema alone.
    is_refused = fields.has_error or _has_errors(
        finding
        for finding in companions.findings
        if capability.run or not finding.path.endswith(".json")
    )
    accepted = None if is_refused else capability
    part = ParsedCapability(
        node=node,
        descriptor=accepted,
        longs=_long_texts(fields, capability, file, companions),
        long_keys=frozenset(fields.key(field) for field in LONG_FIELDS),
        schema=companions.schema,
        schema_path=companions.schema_path,
    )
    return LoadedFile(
        descriptors=(accepted,) if accepted else (), findings=tuple(fields.findings), parts=(part,)
    )


def _has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def _no_capability(path: str) -> Finding:
    hint = "write name, kind and description, each on a line of its own"
    return _finding(path, Severity.ERROR, "yaml-empty", "the file holds no capability", hint, 1)


def _warn_of_unused_files(file: FoundFile) -> tuple[Finding, ...]:
    message = "not used, since the manifest beside it holds several capabilities or an overlay"
    hint = "give the capability that it belongs to a folder of its own"
    return tuple(
        _finding(companion.path, Severity.INFO, "companion-unused", message, hint, 1)
        for companion in file.companions
    )


def _finding(
    path: str, severity: Severity, code: str, message: str, hint: str, line: int
) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=path, line=line)


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
