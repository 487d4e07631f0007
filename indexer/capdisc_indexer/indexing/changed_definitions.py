"""Which changed definitions of tools are held back until their user has approved them.

The first definition of a tool is accepted as it is (trust on first use). A changed one is compared
with what the state folder remembers; where that knows nothing of the tool, with the last
generation. A suspicious change is left out of the index until its user approves it. The old
definition does not stay in its place: the program behind it has changed as well, and approving the
old definition would let calls of the new one through. The memory is written before the generation
is published: after a kill it may know more than the index, never less.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import capdisc_guard
from capdisc_indexer.indexing.changes import Review, StatesByPath
from capdisc_indexer.indexing.file_reader import HELD_BACK, DescriptorSpool, SpooledRecord
from capdisc_indexer.indexing.previous_build import LoadRecords, StoredRecord
from capdisc_indexer.model.errors import InputError, WiderChangeError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import DefinitionGuard, Finding, HeldDefinition, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.store.definition_memory import (
    Accepted,
    DamagedMemoryError,
    DefinitionMemory,
    Pending,
    changing,
    set_aside,
)
from capdisc_indexer.store.file_states import HELD, FileState
from capdisc_indexer.text.normalization import one_line

_FORGOTTEN = "it was held back before, and no earlier definition of it is remembered"


@frozen(kw_only=True)
class ParsedFiles:
    """The files to review, of a scan (`is_part`: of some folders); where the records of parsed
    files lie in the spool; and the states of all files now and in the last build.
    """

    files: Sequence[FoundFile]
    records: Mapping[str, tuple[SpooledRecord, ...]]
    states: StatesByPath
    previous_states: StatesByPath
    spool: DescriptorSpool
    is_part: bool = False


def review_definitions(
    parsed: ParsedFiles, guard: DefinitionGuard, load_records: LoadRecords
) -> Review:
    """Which definitions are held back, and which others changed; remembers the accepted ones.

    Where the memory cannot be used, a notice says so, and the last generation alone is compared
    with. Raises BusyError when another process keeps the memory; WiderChangeError where one of a
    part would be held back, and then nothing was remembered.
    """
    notices: list[str] = []
    path = Path(guard.memory)
    for _ in range(2):  # again, with an empty memory, where the first one was damaged
        try:
            with changing(path) as memory:
                return _review_files(parsed, memory, load_records, notices)
        except DamagedMemoryError as error:
            notices.append(
                f"{error.message}; it was moved to {path}.damaged, and a new one starts from the"
                " last index"
            )
            try:
                set_aside(path)
            except InputError as problem:
                notices[-1] = _unusable_notice(problem)
                break
        except InputError as error:
            notices.append(_unusable_notice(error))
            break
    return _review_files(parsed, None, load_records, notices)


def _unusable_notice(error: InputError) -> str:
    what = "definitions of tools cannot be remembered, and are compared with the last index alone"
    return f"{what}: {error.message} ({error.hint})"


def _review_files(
    parsed: ParsedFiles,
    memory: DefinitionMemory | None,
    load_records: LoadRecords,
    notices: Sequence[str],
) -> Review:
    reviewer = _Reviewer(parsed, memory, load_records)
    for file in parsed.files:
        reviewer.review(file)
    if parsed.is_part and reviewer.held_definitions:  # its id may be that of a file elsewhere
        raise WiderChangeError("a changed definition is held back")
    if memory and reviewer.has_written:
        memory.tidy()
    return Review(
        files=reviewer.files,
        held_definitions=tuple(reviewer.held_definitions),
        changed_ids=tuple(sorted(set(reviewer.changed_ids))),
        notices=tuple(notices),
    )


@frozen(kw_only=True)
class _Version:
    """One version of a definition: what is remembered of it, its record ({} where only the memory
    knows it), and then the part of it that is compared.
    """

    accepted: Accepted
    record: StoredRecord = field(default_factory=dict)
    definition: capdisc_guard.ToolDefinition | None = None

    @property
    def digest(self) -> str:
        """The digest of everything that an agent reads of it."""
        return self.accepted.digest


def _make_version(record: StoredRecord, first_seen: str, is_prose: bool) -> _Version:
    accepted = Accepted(*capdisc_guard.remember_definition(record, is_prose), first_seen)
    return _Version(accepted=accepted, record=record)


class _Reviewer:
    """One review in progress, file by file."""

    def __init__(
        self, parsed: ParsedFiles, memory: DefinitionMemory | None, load_records: LoadRecords
    ) -> None:
        self._parsed, self._memory, self._load_records = parsed, memory, load_records
        self._today = datetime.now(UTC).isoformat(timespec="seconds")
        self.files: dict[str, FileState] = {}
        self.held_definitions: list[HeldDefinition] = []
        self.changed_ids: list[str] = []
        self.has_written = False

    def review(self, file: FoundFile) -> None:
        """Reviews each definition of a file; of several with one id, the first."""
        accepted = self._memory.of_file(file.path) if self._memory else {}
        waiting = self._memory.held(file.path) if self._memory else {}
        old_state = self._parsed.previous_states.get(file.path)
        published = _PublishedFile(old_state, self._load_records)
        is_prose = SOURCES[file.format].is_prose
        reasons_by_id: dict[str, tuple[str, ...]] = {}
        newly_accepted: dict[str, Accepted] = {}
        for spooled in self._parsed.records[file.path]:
            identifier = spooled.id
            if identifier in newly_accepted or identifier in reasons_by_id:
                continue
            record = _join_record(json.loads(self._parsed.spool.read(spooled).decode()))
            remembered = accepted.get(identifier)
            if remembered and remembered.digest == capdisc_guard.digest_definition(record):
                continue  # unchanged, as nearly all definitions are
            now = _make_version(record, self._today, is_prose)
            before = self._find_before(identifier, remembered, is_prose, published)
            was_held = identifier in published.held_ids
            reasons = _find_reasons(before, now, is_prose, was_held)
            if reasons:
                reasons_by_id[identifier] = reasons
                self._hold(file, now, before, reasons, identifier, waiting.get(identifier))
                if remembered is None and before:
                    newly_accepted[identifier] = before.accepted
            elif before and before.digest == now.digest:
                newly_accepted[identifier] = before.accepted
            else:
                newly_accepted[identifier] = now.accepted
                if before:
                    self.changed_ids.append(identifier)
        self._remember(file, newly_accepted, waiting.keys() - reasons_by_id.keys())
        if reasons_by_id:
            state = self._parsed.states[file.path]
            self.files[file.path] = _with_held_ids(state, reasons_by_id)

    def _find_before(
        self,
        identifier: str,
        remembered: Accepted | None,
        is_prose: bool,
        published: _PublishedFile,
    ) -> _Version | None:
        """The version to compare with: the one remembered of this file, the one of a deleted file
        that had the id, or that of the last build.
        """
        remembered = remembered or (self._memory.moved(identifier) if self._memory else None)
        record = published.record(identifier)
        if remembered and (
            recalled := capdisc_guard.recall_definition(remembered.definition, is_prose)
        ):
            definition, recalled_record = recalled
            if (
                not recalled_record
                and record
                and capdisc_guard.digest_definition(record) == remembered.digest
            ):
                recalled_record = record
            return _Version(accepted=remembered, record=recalled_record, definition=definition)
        return _make_version(record, self._today, is_prose) if record else None

    def _remember(
        self, file: FoundFile, newly_accepted: Mapping[str, Accepted], released: Iterable[str]
    ) -> None:
        if self._memory is None:
            return
        if newly_accepted:
            self._memory.accept(file.path, newly_accepted)
            self.has_written = True
        for identifier in released:
            self._memory.release(file.path, identifier)
            self.has_written = True

    def _hold(
        self,
        file: FoundFile,
        now: _Version,
        before: _Version | None,
        reasons: tuple[str, ...],
        identifier: str,
        waiting: Pending | None,
    ) -> None:
        first_seen = before.accepted.seen if before else ""
        self.held_definitions.append(
            HeldDefinition(
                id=identifier,
                path=printable_path(file.path),
                reasons=reasons,
                accepted=first_seen,
            )
        )
        if self._memory is None or (waiting and waiting.digest == now.digest):
            return
        pending = Pending(
            path=file.path,
            id=identifier,
            digest=now.digest,
            seen=now.accepted.seen,
            accepted=first_seen,
            reasons=reasons,
            before=capdisc_guard.list_definition_lines(before.record)
            if before and before.record
            else (),
            now=capdisc_guard.list_definition_lines(now.record),
        )
        self._memory.hold(pending, now.accepted.definition)
        self.has_written = True


class _PublishedFile:
    """What the last generation has of a file's capabilities; its records are read on first use."""

    def __init__(self, old_state: FileState | None, load_records: LoadRecords) -> None:
        declared_ids = old_state.declared_ids if old_state else ()
        self.held_ids = {declared.id for declared in declared_ids if declared.status == HELD}
        # Reversed, so that of several with one id the first one counts.
        self._resolved_ids = {
            declared.id: declared.resolved_id
            for declared in reversed(declared_ids)
            if declared.resolved_id
        }
        self._load_records = load_records
        self._records: Mapping[str, StoredRecord] | None = None

    def record(self, declared_id: str) -> StoredRecord:
        """The record of the capability that the file gives this id; empty where there is none."""
        if declared_id not in self._resolved_ids:
            return {}
        if self._records is None:
            loaded = self._load_records(list(self._resolved_ids.values()))
            self._records = {header["id"]: {**header, **body} for header, body in loaded}
        record = self._records.get(self._resolved_ids[declared_id], {})
        # What its file said, without what overlays add; a record has no empty fields.
        before = record.get("overlay", {}).get("before", {})
        of_file = {**record, **before}
        return {key: value for key, value in of_file.items() if value or key not in before}


def _find_reasons(
    before: _Version | None, now: _Version, is_prose: bool, was_held: bool
) -> tuple[str, ...]:
    """Why the definition must be held back; empty where it need not be."""
    if before is None:
        return (_FORGOTTEN,) if was_held else ()
    if before.digest == now.digest:
        return ()
    return capdisc_guard.compare_definitions(
        before.definition or before.record, now.record, is_prose
    )


def _join_record(parts: Sequence[StoredRecord]) -> StoredRecord:
    header, body = parts
    return {**header, **body}


def _with_held_ids(state: FileState, reasons_by_id: Mapping[str, tuple[str, ...]]) -> FileState:
    """The state in which these ids are held back, with a finding for each."""
    path = printable_path(state.path)
    findings = [
        _held_back_finding(identifier, path, reasons)
        for identifier, reasons in reasons_by_id.items()
    ]
    declared_ids = tuple(
        declared._replace(status=HELD) if declared.id in reasons_by_id else declared
        for declared in state.declared_ids
    )
    return state._replace(declared_ids=declared_ids, findings=(*state.findings, *findings))


def _held_back_finding(identifier: str, path: str, reasons: Sequence[str]) -> Finding:
    return Finding(
        code=HELD_BACK,
        severity=Severity.ERROR,
        message=f"{one_line(identifier)} is held back, since its definition changed: "
        + "; ".join(reasons),
        hint=f"look at the change: capdisc trust {system.quote_word(identifier)}",
        path=path,
    )
