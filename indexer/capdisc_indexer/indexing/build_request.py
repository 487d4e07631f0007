"""What a build is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing.change_detection import Changes, Progress
from capdisc_indexer.indexing.id_resolution import find_collisions
from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import (
    BuildOptions,
    BuildReport,
    DeclaredSource,
    Finding,
    Generation,
    Severity,
)
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.store.file_states import HELD, content_hashes_by_id
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.masking import redact_findings

# Which encoder a build goes by.


@frozen(kw_only=True)
class SelectedEncoder:
    """An encoder by its name; None with a notice where it cannot be used."""

    name: str
    encoder: Encoder | None = None
    notices: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The encoder's, "" for none."""
        return self.encoder.fingerprint if self.encoder else ""


def select_encoder(name: str, required: bool) -> SelectedEncoder:
    """The encoder, checked to the last byte. Raises EncoderError when it cannot be used and is
    required.
    """
    try:
        encoder = encoders.load_encoder(name)
        encoder.check()
    except EncoderError as error:
        if required:
            raise
        notice = f"{error.message}; searching will go by words alone ({error.hint})"
        return SelectedEncoder(name=name, notices=(notice,))
    return SelectedEncoder(name=name, encoder=encoder)


@frozen(kw_only=True)
class BuildRequest:
    """Bring the index in `index_dir` up to date with these folders, and say through `progress` how
    far it is.
    """

    roots: Sequence[Path]
    index_dir: Path
    options: BuildOptions
    progress: Progress

    @property
    def root_names(self) -> tuple[str, ...]:
        """The roots as text."""
        return tuple(map(str, self.roots))


# What a build did.


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
