"""What a build knows before it writes, whether that is worth a generation, and its report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import capdisc_guard
from capdisc_indexer import encoders
from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.indexing.build_request import (
    ABOUT_NAMES,
    BuildRequest,
    SelectedEncoder,
    describe_reranker,
)
from capdisc_indexer.indexing.changes import Changes, ScannedTree
from capdisc_indexer.indexing.file_reader import must_read_again
from capdisc_indexer.indexing.id_resolution import find_collisions
from capdisc_indexer.indexing.missing_folders import list_devices
from capdisc_indexer.indexing.previous_build import (
    PreviousBuild,
    ScanFinding,
    make_scan_record,
    repeat_scan_record,
    save_later_scan,
    stored_limits,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import ScanRecord
from capdisc_indexer.model.types import (
    BuildReport,
    DeclaredSource,
    Finding,
    Generation,
    PassageLimits,
    Severity,
)
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.store import generation
from capdisc_indexer.store.file_states import HELD, FileState, is_stale


@frozen(kw_only=True)
class BuildPlan:
    """All that a build knows before it writes: the request, what may be reused of the last build,
    what it looked at, what changed since, and the encoder.
    """

    request: BuildRequest
    previous: PreviousBuild
    tree: ScannedTree
    changes: Changes
    selected: SelectedEncoder

    def scan_record(self, builder_id: str) -> ScanRecord:
        """What the generation stores of the scan."""
        if self.tree.is_part and self.previous.scan is not None:
            return repeat_scan_record(self.previous.scan, self.tree.scanned_at_ns)
        known = self.previous.devices
        return make_scan_record(
            self.request.root_names,
            self.tree.scanned_at_ns,
            builder_id,
            self.changes.findings,
            self.request.coverage,
            list_devices(
                self.request.options.places, {path: known[path] for path in self.tree.missing}
            ),
            self.tree.missing,
            self.request.options.workspace,
        )

    @property
    def reranker_name(self) -> str:
        """The encoder that reorders hits: from the options, else that of the last build; "" for
        none.
        """
        name = self.request.options.reranker or self.previous.reranker
        return "" if name == encoders.NO_RERANKER else name

    @property
    def passage_limits(self) -> PassageLimits:
        """The limits of passages: from the options, else those of the last build."""
        return self.request.options.passage_limits or stored_limits(self.previous.generation)


@frozen(kw_only=True)
class WrittenGeneration:
    """The generation that a build ended with, which may be the last one, and how many texts were
    encoded for it. `reranker_problem` is what the reranker could not encode, and why.
    """

    generation: Generation
    embedded_count: int = 0
    reranker_problem: str = ""


def is_unchanged(plan: BuildPlan) -> bool:
    """Whether the build would give the generation that is already published."""
    previous, changes = plan.previous, plan.changes
    if (
        previous.generation is None
        or previous.is_seed
        or previous.roots != plan.request.root_names
        or previous.coverage != plan.request.coverage
        or previous.missing != plan.tree.missing
        or previous.generation.fingerprint != plan.selected.fingerprint
        or previous.generation.reranker != plan.reranker_name
    ):
        return False
    return (
        not changes.descriptors
        and changes.changed.keys() == changes.last.keys()
        and changes.guidance == previous.guidance
        and all(
            _published_part(state) == _published_part(changes.last[path])
            for path, state in changes.changed.items()
        )
    )


def _published_part(state: FileState) -> tuple[object, ...]:
    """The parts of a file's state that a generation depends on: all but its stamps and ids. A new
    declaration (`read_as`) may leave out everything that was read before.
    """
    return state.content_hash, state.root, state.findings, state.read_as


def keep_generation(plan: BuildPlan) -> WrittenGeneration:
    """The published generation as the result of a build that found no change.

    The scan is written down with the new stamps of files, so that the next run reads even less.
    """
    previous, changes = plan.previous, plan.changes
    assert previous.generation is not None and previous.scan is not None
    if changes.hashed_count:
        stats = {path: state.stat for path, state in changes.changed.items()}
        record = plan.scan_record(previous.generation.builder_id)
        save_later_scan(
            plan.request.index_dir,
            previous.generation.number,
            record,
            {**previous.scan["stats"], **stats},
        )
    return WrittenGeneration(generation=previous.generation)


def summarise_build(
    plan: BuildPlan, written: WrittenGeneration, known_errors: Sequence[Finding] | None
) -> BuildReport:
    """The report of a build that ended with this generation. Where it looked at a part of the
    tree, `known_errors` are those of everything else.
    """
    request, previous, changes = plan.request, plan.previous, plan.changes
    if previous.is_seed:  # what else the other index has was never in this one
        changes = replace(changes, last={})
        plan = replace(plan, changes=changes)
    review = changes.review
    changed_ids = _changed_ids(plan, written)
    return BuildReport(
        generation=written.generation,
        published=written.generation is not previous.generation,
        counts=_count_changes(plan, written, changed_ids) | {"embedded": written.embedded_count},
        findings=_collect_findings(plan)
        if known_errors is None
        else _mask(request, _collect_partly(plan, known_errors)),
        degraded=(
            *previous.notices,
            *plan.selected.notices,
            *describe_reranker(written.generation, written.reranker_problem),
            *review.notices,
        ),
        roots=request.root_names,
        dropped_roots=tuple(
            root
            for root in previous.roots
            if root not in request.root_names and root not in plan.tree.missing
        ),
        held_definitions=review.held_definitions,
        changed_definitions=review.changed_ids,
        changed_ids=changed_ids,
        dropped_sources=_find_dropped_sources(changes, request.options.sources),
        missing=plan.tree.missing,
    )


def _collect_findings(plan: BuildPlan) -> tuple[Finding, ...]:
    """The findings of the scan, of the files and about ids that the options ask for, with secrets
    masked.
    """
    request, changes, previous = plan.request, plan.changes, plan.previous
    of_scan: Iterable[Finding] = changes.findings
    of_files = [finding for state in changes.files.values() for finding in state.findings]
    about_ids: Iterable[Finding] = find_collisions(changes.files)
    if request.options.only_new_findings:
        of_scan = [row for row in of_scan if not _is_known_name(row, previous.scan_findings)]
        of_files = _new_findings_of_files(plan)
        known = set(find_collisions(previous.files))
        about_ids = [row for row in about_ids if _is_error(row) or row not in known]
    return _mask(request, (*of_scan, *of_files, *about_ids))


def _collect_partly(plan: BuildPlan, known_errors: Sequence[Finding]) -> Iterator[Finding]:
    """The findings where a part of the tree was looked at, given all errors of before."""
    changes = plan.changes
    changed_paths = {printable_path(path) for path in (*changes.changed, *changes.last)}
    yield from (finding for finding in known_errors if finding.path not in changed_paths)
    yield from _new_findings_of_files(plan)
    yield from filter(_is_error, find_collisions(changes.changed))


def _new_findings_of_files(plan: BuildPlan) -> list[Finding]:
    """The findings of files that the last build did not have, and all errors."""
    return [
        finding
        for state in plan.changes.files.values()
        if state.findings
        for finding in state.findings
        if _is_error(finding) or not _is_known(state, plan.previous.files)
    ]


def _mask(request: BuildRequest, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with secrets masked."""
    places = (
        *request.root_names,
        *(fixed_part(source.path)[0] for source in request.options.sources),
    )
    # Late: most builds change nothing, and have no findings to print.
    from capdisc_indexer.validation.capability_strings import SourceLines

    return tuple(capdisc_guard.redact_findings(findings, SourceLines(places).text))


def _is_known_name(finding: Finding, known: Collection[ScanFinding]) -> bool:
    """Whether a finding about a name, which waits for nothing, is one of these."""
    return (
        finding.code in ABOUT_NAMES
        and not _is_error(finding)
        and (str(finding.severity), finding.code, finding.path) in known
    )


def _is_known(state: FileState, old_states: Mapping[str, FileState]) -> bool:
    """Whether the last build said the same about a file with the same content, and the next one
    need not read it again.
    """
    old_state = old_states.get(state.path)
    return (
        old_state is not None
        and old_state.content_hash == state.content_hash
        and old_state.findings == state.findings
        and not is_stale(state)
        and not must_read_again(state)
    )


def _count_changes(
    plan: BuildPlan, written: WrittenGeneration, changed_ids: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """What a build did, in numbers: first of files, then of capabilities."""
    from capdisc_indexer.store.state_database import StateDatabase

    changes, counts = plan.changes, written.generation.counts
    state = StateDatabase(_written_folder(plan, written))
    statuses = state.count_statuses()
    return {
        "files": counts["files"],
        "parsed": changes.parsed_count,
        "failed": state.count_failed(),
        "stale": state.count_stale(),
        "unchanged": counts["files"] - changes.parsed_count,
        "removed_files": len(changes.removed),
        "capabilities": counts["capabilities"],
        **{name: len(ids) for name, ids in changed_ids.items()},
        "copies": statuses.get("copy", 0),
        "shadowed": statuses.get("shadowed", 0),
        "held": statuses.get(HELD, 0),
    }


def _written_folder(plan: BuildPlan, written: WrittenGeneration) -> Path:
    return generation.generation_folder(plan.request.index_dir, written.generation.number)


def _changed_ids(plan: BuildPlan, written: WrittenGeneration) -> dict[str, tuple[str, ...]]:
    changes = plan.changes
    old_ids, new_ids = changes.last_ids, changes.ids
    if plan.previous.is_seed:
        from capdisc_indexer.store.state_database import StateDatabase

        new_ids = set(StateDatabase(_written_folder(plan, written)).ids())
    return {
        "added": tuple(sorted(new_ids - old_ids)),
        "updated": tuple(sorted(key for key in changes.descriptors if key in old_ids)),
        "removed": tuple(sorted(old_ids - new_ids)),
    }


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _find_dropped_sources(changes: Changes, sources: Iterable[DeclaredSource]) -> tuple[str, ...]:
    """The files that a declaration brought in before, and that are left out now since they lie
    outside of the folders that sources are kept to.
    """
    allowed_places = {place for source in sources for place in source.within}
    if not allowed_places:
        return ()
    return tuple(
        path
        for path in changes.removed
        if changes.last[path].read_as and not is_inside(path, allowed_places)
    )
