"""What changed on disk since the last build."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capdisc_indexer.indexing.descriptor_spool import (
    DescriptorSpool,
    SpooledDescriptors,
    SpooledRecord,
)
from capdisc_indexer.indexing.file_reader import FileReader
from capdisc_indexer.indexing.id_resolution import resolve_ids
from capdisc_indexer.indexing.worker_pool import WorkerPool
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.records import digest_descriptor
from capdisc_indexer.model.types import BuildOptions, Finding, HeldDefinition
from capdisc_indexer.sources.scan.file_scan import ScanResult
from capdisc_indexer.sources.scan.scanned_files import FileStat
from capdisc_indexer.store.file_states import FileState

if TYPE_CHECKING:
    from capdisc_indexer.indexing.changed_definitions import Published, Review

Progress = Callable[[str, int, int], None]


def _nothing(ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    return {}


@frozen(kw_only=True)
class Changes:
    """The files as they are now, and the descriptors that differ from the last build's, with their
    digests; `guidance` is by category, as `check.guiding` gives it.
    """

    files: dict[str, FileState]
    descriptors: SpooledDescriptors
    digests: dict[str, str]
    findings: tuple[Finding, ...]
    parsed_count: int
    hashed_count: int
    guidance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    held_definitions: tuple[HeldDefinition, ...] = ()
    changed_definitions: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def detect_changes(
    scan: ScanResult,
    old: Mapping[str, FileState],
    scanned_at_ns: int,
    options: BuildOptions,
    spool: DescriptorSpool,
    workers: WorkerPool,
    progress: Progress,
    published: Published = _nothing,
) -> Changes:
    """Every file's state as it was `scan`; `descriptors` holds, by final id, those whose document
    must be written again; they lie in the spool. `published` gives records of the last generation
    by their ids.
    """
    reader = FileReader(old, spool, scanned_at_ns, options.verify, options.grace_s)
    files: dict[str, FileState] = {}
    for done, state in enumerate(reader.read_states(scan.files, workers), 1):
        files[state.path] = state
        progress("Reading", done, len(scan.files))
    review = _reviewed(scan, files, old, reader, options, spool, published)
    if review:
        files.update(review.files)
    if not _are_same_states(files, old):
        resolve_ids(files, scan.files)
    by_path = {file.path: file for file in scan.files}
    records: dict[str, SpooledRecord] = {}
    for path, state in files.items():
        if reader.was_parsed(path) or _has_new_ids(state, old.get(path)):
            new_records = _records_by_id(state, reader.stored_records(by_path[path]))
            records.update(new_records)
            # A file that changed again since it was looked at keeps only what it still declares.
            files[path] = state.with_declared_ids(
                c for c in state.declared_ids if not c.resolved_id or c.resolved_id in new_records
            )
    descriptors = SpooledDescriptors(spool, records)
    digests = {key: _find_digest(key, record, descriptors) for key, record in records.items()}
    old_digests = _record_digests(old) if digests else {}
    changed = [key for key, digest in digests.items() if old_digests.get(key) != digest]
    guidance, wrong = _load_guidance(scan.guidance)
    return Changes(
        files=files,
        descriptors=SpooledDescriptors(spool, {key: records[key] for key in changed}),
        digests={key: digests[key] for key in changed},
        findings=(*scan.findings, *reader.unfinished_findings, *wrong),
        parsed_count=reader.parsed_count,
        hashed_count=reader.hashed_count,
        guidance=guidance,
        held_definitions=review.held if review else (),
        changed_definitions=review.changed if review else (),
        notices=review.notices if review else (),
    )


def _reviewed(
    found: ScanResult,
    files: Mapping[str, FileState],
    old: Mapping[str, FileState],
    reader: FileReader,
    options: BuildOptions,
    spool: DescriptorSpool,
    published: Published,
) -> Review | None:
    if options.guard is None or not reader.parsed_files:
        return None
    # With SQLite and the rules on changes, which a run that parses nothing has no use for.
    from capdisc_indexer.indexing.changed_definitions import ParsedFiles, review_definitions

    parsed = ParsedFiles(
        files=found.files, stored=reader.parsed_files, now=files, old=old, spool=spool
    )
    return review_definitions(parsed, options.guard, published)


def _record_digests(files: Mapping[str, FileState]) -> dict[str, str]:
    return {
        declared_id.resolved_id: declared_id.digest
        for state in files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id
    }


def _load_guidance(
    files: Sequence[FileStat],
) -> tuple[Mapping[str, Mapping[str, str]], Sequence[Finding]]:
    if not files:
        return {}, ()
    from capdisc_indexer.validation.markup_rules import (
        load_guidance,  # with the rules for what a prompt may show
    )

    return load_guidance(files)


def _are_same_states(files: Mapping[str, FileState], old: Mapping[str, FileState]) -> bool:
    """Whether these are the very states of the last build, in their order: then every id stays
    whose it is.
    """
    return len(files) == len(old) and all(map(operator.is_, files.values(), old.values()))


def _has_new_ids(state: FileState, old_state: FileState | None) -> bool:
    if old_state is state:
        return False
    return old_state is None or [declared_id.resolved_id for declared_id in state.declared_ids] != [
        declared_id.resolved_id for declared_id in old_state.declared_ids
    ]


def _records_by_id(state: FileState, records: Sequence[SpooledRecord]) -> dict[str, SpooledRecord]:
    pairs = [
        (declared_id, record)
        for declared_id, record in zip(state.declared_ids, records, strict=False)
        if declared_id.id == record.id
    ]
    return {
        declared_id.resolved_id: record_of_id
        for declared_id, record_of_id in pairs
        if declared_id.resolved_id
    }


def _find_digest(resolved_id: str, record: SpooledRecord, descriptors: SpooledDescriptors) -> str:
    return (
        record.digest if record.id == resolved_id else digest_descriptor(descriptors[resolved_id])
    )
