"""What a build did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from capdisc_indexer.config.declared_sources import fixed_part
from capdisc_indexer.indexing.build_request import BuildRequest, SelectedEncoder
from capdisc_indexer.indexing.change_detection import Changes
from capdisc_indexer.indexing.id_resolution import find_collisions
from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.types import BuildReport, DeclaredSource, Finding, Generation, Severity
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.store.file_states import HELD, content_hashes_by_id
from capdisc_indexer.validation.redaction import redact_findings
from capdisc_indexer.validation.source_lines import SourceLines


def summarise_build(
    request: BuildRequest,
    previous: PreviousBuild,
    changes: Changes,
    selected: SelectedEncoder,
    published: Generation,
    embedded_count: int,
) -> BuildReport:
    """The report of a build that ended with the generation `published`, which may be the last
    one.
    """
    return BuildReport(
        generation=published,
        published=published is not previous.generation,
        counts=_count_changes(previous, changes) | {"embedded": embedded_count},
        findings=_collect_findings(request, changes),
        degraded=(*previous.notices, *selected.notices, *changes.notices),
        roots=request.root_names,
        dropped_roots=tuple(root for root in previous.roots if root not in request.root_names),
        held_definitions=changes.held_definitions,
        changed_definitions=changes.changed_definitions,
        dropped_sources=_find_dropped_sources(previous, changes, request.options.sources),
    )


def _collect_findings(request: BuildRequest, changes: Changes) -> tuple[Finding, ...]:
    of_files = [finding for state in changes.files.values() for finding in state.findings]
    places = (
        *request.root_names,
        *(fixed_part(source.path)[0] for source in request.options.sources),
    )
    return tuple(
        redact_findings(
            (*changes.findings, *of_files, *find_collisions(changes.files)), SourceLines(places)
        )
    )


def _count_changes(previous: PreviousBuild, changes: Changes) -> dict[str, int]:
    """What happened, in numbers: of files, then of capabilities."""
    states = Counter(
        declared_id.status for state in changes.files.values() for declared_id in state.declared_ids
    )
    old_hashes, new_hashes = (
        content_hashes_by_id(previous.files),
        content_hashes_by_id(changes.files),
    )
    failed = sum(
        1
        for state in changes.files.values()
        if not state.declared_ids and _has_error(state.findings)
    )
    return {
        "files": len(changes.files),
        "parsed": changes.parsed_count,
        "failed": failed,
        "unchanged": len(changes.files) - changes.parsed_count,
        "removed_files": len(previous.files.keys() - changes.files.keys()),
        "capabilities": len(new_hashes),
        "added": len(new_hashes.keys() - old_hashes.keys()),
        "removed": len(old_hashes.keys() - new_hashes.keys()),
        "updated": sum(1 for key in changes.descriptors if key in old_hashes),
        "copies": states["copy"],
        "shadowed": states["shadowed"],
        "held": states[HELD],
    }


def _find_dropped_sources(
    previous: PreviousBuild, changes: Changes, sources: Iterable[DeclaredSource]
) -> tuple[str, ...]:
    """The files that a declaration brought in before, and that were left out for lying outside of
    what is named.
    """
    declared_places = {place for source in sources for place in source.within}
    missing_paths = (
        path
        for path, state in previous.files.items()
        if state.read_as and path not in changes.files
    )
    return tuple(
        path for path in missing_paths if declared_places and not is_inside(path, declared_places)
    )


def _has_error(findings: Iterable[Finding]) -> bool:
    """A list that is empty has not failed."""
    return any(finding.severity is Severity.ERROR for finding in findings)
