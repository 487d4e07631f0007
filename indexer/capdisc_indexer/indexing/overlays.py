"""What overlays add to the capabilities of a build, which are otherwise left as their files say.

An overlay is a table `[[overlay]]` of the settings, or a manifest with the key `overlay`. Which
ones fit a file's capabilities is part of its state, as a digest before `read_as`: where that
differs, the file is read again, and no other. What a record was without them stands in it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from capdisc_indexer.indexing.changes import ScannedTree, StatesByPath
from capdisc_indexer.indexing.file_reader import FileReader
from capdisc_indexer.lazy_imports import hex_sha256
from capdisc_indexer.model.errors import ManyChangesError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.records import decode_descriptor, encode_descriptor
from capdisc_indexer.model.risks import RISKS, counted_risk
from capdisc_indexer.model.types import (
    OVERLAY_FIELDS,
    BuildOptions,
    Descriptor,
    Finding,
    Overlay,
    Severity,
)
from capdisc_indexer.platforms import resolve_path
from capdisc_indexer.sources.formats.identity_fields import MAX_DESCRIPTION
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store.file_states import content_hashes_by_id
from capdisc_indexer.text.similar_names import suggest_names
from capdisc_indexer.validation.content_rules import REVIEW_CODES, text_findings


def apply_overlays(
    tree: ScannedTree,
    states: StatesByPath,
    reader: FileReader,
    options: BuildOptions,
) -> StatesByPath:
    """The states of the files with what adds to them; the reader gets findings about the overlays.
    The records of files on which other overlays lie than before are revised; a file that was not
    parsed is parsed for that. While an overlay does not parse, files keep those that they have.
    Raises ManyChangesError for more of these than `options` allows.
    """
    places = [resolve_path(options.workspace)] if options.workspace else []
    ids = content_hashes_by_id(states)
    overlays_by_id: dict[str, list[Overlay]] = {}
    for overlay in reader.overlays:
        # There may be one for each of many tables: only patterns are compared with all ids.
        fitting_ids = [overlay.id] if overlay.id in ids else fnmatch.filter(ids, overlay.id)
        problems = [*_find_problems(overlay)]
        if not (problems or fitting_ids or tree.is_part):
            problems = [
                _make_finding(overlay, "fits no capability", suggest_names(overlay.id, ids))
            ]
        reader.overlay_findings += problems
        for identifier in () if problems else fitting_ids:
            overlays_by_id.setdefault(identifier, []).append(overlay)
    new_states = dict(states)
    revisions: list[tuple[FoundFile, dict[str, list[Overlay]]]] = []
    for file in tree.scan.files:
        state = states[file.path]
        fitting = {
            declared.id: overlays_by_id[declared.resolved_id]
            for declared in state.declared_ids
            if declared.resolved_id in overlays_by_id
        }
        digest = hex_sha256(repr(fitting).encode("utf-8", "replace")) if fitting else ""
        last_digest, _, read_as = state.read_as.rpartition("\0")
        is_kept = reader.keeps_overlays and last_digest and not reader.was_parsed(file.path)
        if digest != last_digest and not is_kept:
            revisions.append((file, fitting))
            read_as = f"{digest}\0{read_as}" if digest else read_as
            new_states[file.path] = state._replace(read_as=read_as)
    unread_paths = [file.path for file, _ in revisions if not reader.was_parsed(file.path)]
    if options.max_changes is not None and len(unread_paths) > options.max_changes:
        raise ManyChangesError(unread_paths)
    for file, fitting in revisions:
        is_of_workspace = is_inside(file.resolved, places)
        reader.revise_records(
            file, partial(_revise, fitting, is_of_workspace, reader.overlay_findings)
        )
    return new_states


def _find_problems(overlay: Overlay) -> Iterator[Finding]:
    """A finding for each rule on content that objects to the text, which an agent will read as
    that of the capability, and for a description that is too long for one.
    """
    if (length := len(overlay.description)) > MAX_DESCRIPTION:
        problem = f"is not used: its description has {length:,} characters"
        yield _make_finding(overlay, problem, f"write at most {MAX_DESCRIPTION:,}")
    lists = ", ".join((*overlay.phrases, *overlay.tags, *overlay.requires))
    text = f"{overlay.description}\n{overlay.category}\n{lists}"
    for finding in text_findings(text, overlay.origin):
        if finding.severity is Severity.ERROR or finding.code in REVIEW_CODES:
            yield _make_finding(overlay, f"is not used: {finding.message}", finding.hint)


def _make_finding(overlay: Overlay, problem: str, hint: str) -> Finding:
    return Finding(
        code="overlay-unused",
        severity=Severity.WARNING,
        message=f"the overlay on {overlay.id} {problem}",
        hint=hint or "capdisc list --ids prints what there is",
        path=overlay.origin,
    )


def _revise(
    fitting: Mapping[str, Sequence[Overlay]],
    is_of_workspace: bool,
    findings: list[Finding],
    record: bytes,
) -> bytes:
    """The record with these overlays, by the id that its file gives it, and no others."""
    if not record:  # of a file that is gone, the last build has none
        return record
    descriptor = decode_descriptor(record)
    overlays = fitting.get(descriptor.id, ())
    if not descriptor.overlay and not overlays:
        return record
    bare = replace(descriptor, overlay={}, **descriptor.overlay.get("before", {}))
    # Encoded and decoded, its lists are tuples again.
    original = merged = decode_descriptor(encode_descriptor(bare))
    for overlay in overlays:
        merged = _merge(merged, overlay, is_of_workspace, findings)
    before = {
        name: getattr(original, name)
        for name in OVERLAY_FIELDS
        if getattr(original, name) != getattr(merged, name)
    }
    origins = tuple(dict.fromkeys(overlay.origin for overlay in overlays))
    note = {"from": origins, "before": before} if before else {}
    return encode_descriptor(replace(merged, overlay=note))


def _merge(
    descriptor: Descriptor, overlay: Overlay, is_of_workspace: bool, findings: list[Finding]
) -> Descriptor:
    """The capability with what the overlay says: one text replaces another, lists grow. A
    workspace lowers the risk of nothing but what comes from it: a clone must not say that your
    tools are safe.
    """
    values: dict[str, Any] = {}
    for name in OVERLAY_FIELDS:
        if isinstance(added := getattr(overlay, name), tuple):
            values[name] = tuple(dict.fromkeys((*getattr(descriptor, name), *added)))
        elif added:
            values[name] = added
    if overlay.risk and not (overlay.is_own or is_of_workspace):
        counted = counted_risk(descriptor.kind, descriptor.risk)
        if RISKS.index(overlay.risk) < RISKS.index(counted):
            del values["risk"]
            problem = f"does not lower the risk of {descriptor.id}, which counts as {counted}"
            findings.append(_make_finding(overlay, problem, "your own settings file may lower it"))
    return replace(descriptor, **values)
