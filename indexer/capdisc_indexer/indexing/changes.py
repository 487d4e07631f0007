"""What changed on disk since the last build.

A file changed when its content did; a capability changed when the digest of its record did.
Changed definitions of tools are reviewed before their ids are resolved, since a capability that is
held back still owns its id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TypeAlias

from capdisc_indexer.indexing.file_reader import FileReader, SpooledDescriptors, SpooledRecord
from capdisc_indexer.indexing.previous_build import (
    GuidanceByCategory,
    PreviousBuild,
)
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.records import digest_descriptor
from capdisc_indexer.model.types import Finding, HeldDefinition
from capdisc_indexer.sources.scan.file_scan import ScanResult
from capdisc_indexer.sources.scan.scanned_files import FileStat
from capdisc_indexer.store.file_states import FileState, content_hashes_by_id

StatesByPath: TypeAlias = Mapping[str, FileState]


@frozen(kw_only=True)
class ScannedTree:
    """What a build looks at, and when it was scanned: all folders, or (`is_part`) those in which
    the stamps show a change; then `gone` are the paths in them that no longer exist.

    `missing` are covered folders that are gone, with the time since when.
    """

    scan: ScanResult
    scanned_at_ns: int
    is_part: bool = False
    gone: frozenset[str] = frozenset()
    missing: Mapping[str, float] = field(default_factory=dict)


@frozen(kw_only=True)
class Review:
    """What became of the changed definitions: the states of files in which one is held back, the
    definitions held back, the ids of the others that changed, and notices for the user.
    """

    files: StatesByPath = field(default_factory=dict)
    held_definitions: tuple[HeldDefinition, ...] = ()
    changed_ids: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@frozen(kw_only=True)
class Changes:
    """The files that were looked at as they are now, and the descriptors that differ from the last
    build's, by final id, with the digests of their records.

    `changed` are those of the files whose state is another one than before, `last` the last states
    of these and of files that are gone. `findings` are those that belong to no file's state.
    """

    files: StatesByPath
    changed: StatesByPath
    last: StatesByPath
    descriptors: SpooledDescriptors
    digests: Mapping[str, str]
    findings: tuple[Finding, ...]
    parsed_count: int
    hashed_count: int
    guidance: GuidanceByCategory
    review: Review

    @property
    def removed(self) -> Sequence[str]:
        """The paths of the files that are gone."""
        return [path for path in self.last if path not in self.changed]

    @property
    def last_ids(self) -> Set[str]:
        """The ids that the index had from files that changed or are gone."""
        return content_hashes_by_id(self.last).keys()

    @property
    def ids(self) -> Set[str]:
        """The ids that it has from files that changed."""
        return content_hashes_by_id(self.changed).keys()

    @property
    def outdated_ids(self) -> Sequence[str]:
        """The ids of the last build that have another document now, or none."""
        last_ids, ids = self.last_ids, self.ids
        return sorted(key for key in last_ids if key not in ids or key in self.descriptors)


def collect_changes(
    tree: ScannedTree,
    states: Mapping[str, FileState],
    reader: FileReader,
    previous: PreviousBuild,
    review: Review,
) -> Changes:
    """The capabilities whose documents must be written again, given states with resolved ids of
    the files of the tree.

    A file that was not parsed is parsed here when another file's change gave its capabilities
    other ids.
    """
    scan, previous_states = tree.scan, previous.files
    files_by_path = {file.path: file for file in scan.files}
    files = dict(states)
    records: dict[str, SpooledRecord] = {}
    for path, state in states.items():
        if reader.was_parsed(path) or _has_new_ids(state, previous_states.get(path)):
            file_records = _records_by_id(state, reader.stored_records(files_by_path[path]))
            records.update(file_records)
            # A file that changed again since the scan keeps only what it still declares.
            files[path] = state.with_declared_ids(
                declared
                for declared in state.declared_ids
                if not declared.resolved_id or declared.resolved_id in file_records
            )
    descriptors = SpooledDescriptors(reader.spool, records)
    digests = {key: _record_digest(key, record, descriptors) for key, record in records.items()}
    changed = [key for key, digest in digests.items() if _last_digest(previous, key) != digest]
    guidance, guidance_findings = (
        (previous.guidance, ()) if tree.is_part else _load_guidance(scan.guidance)
    )
    changed_states = {
        path: state for path, state in files.items() if previous_states.get(path) is not state
    }
    gone = tree.gone if tree.is_part else previous_states.keys() - files.keys()
    return Changes(
        files=files,
        changed=changed_states,
        last={
            path: previous_states[path]
            for path in (*changed_states, *sorted(gone))
            if path in previous_states
        },
        descriptors=SpooledDescriptors(reader.spool, {key: records[key] for key in changed}),
        digests={key: digests[key] for key in changed},
        findings=(
            *scan.findings,
            *reader.unfinished_findings,
            *reader.overlay_findings,
            *guidance_findings,
        ),
        parsed_count=reader.parsed_count,
        hashed_count=reader.hashed_count,
        guidance=guidance,
        review=review,
    )


def _last_digest(previous: PreviousBuild, identifier: str) -> str:
    declared = previous.state.find_declared(identifier) if previous.state else None
    return declared.digest if declared else ""


def _load_guidance(
    files: Sequence[FileStat],
) -> tuple[GuidanceByCategory, Sequence[Finding]]:
    if not files:
        return {}, ()
    # Brings the rules for what a prompt may show.
    from capdisc_indexer.validation.content_rules import load_guidance

    return load_guidance(files)


def _has_new_ids(state: FileState, old_state: FileState | None) -> bool:
    if old_state is state:
        return False
    return old_state is None or _resolved_ids(state) != _resolved_ids(old_state)


def _resolved_ids(state: FileState) -> list[str]:
    return [declared.resolved_id for declared in state.declared_ids]


def _records_by_id(state: FileState, records: Sequence[SpooledRecord]) -> dict[str, SpooledRecord]:
    """The records of a file by final id, without those that have none."""
    # A file that changed between two reads may have other capabilities than its state says.
    pairs = zip(state.declared_ids, records, strict=False)
    return {
        declared.resolved_id: record
        for declared, record in pairs
        if declared.id == record.id and declared.resolved_id
    }


def _record_digest(key: str, record: SpooledRecord, descriptors: SpooledDescriptors) -> str:
    """The digest of the record under its final id."""
    return record.digest if record.id == key else digest_descriptor(descriptors[key])
