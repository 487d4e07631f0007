"""The definitions of tools that came from elsewhere, held against those that were accepted before.

The first definition of a tool is accepted as it is (trust on first use). A change is compared with
what the state folder remembers; where that knows nothing of the tool, with the last generation. A
suspicious one is left out of the index until somebody has looked at it. The old one is not left in
its place: the program behind it has changed as well, and a yes to the old one would let calls of
the new one through. The memory is written before the generation is published: after a kill it may
know more than the index, never less.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capdisc_indexer.indexing.descriptor_spool import DescriptorSpool, SpooledRecord
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import DefinitionGuard, Finding, HeldDefinition
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.store.definition_memory import (
    Accepted,
    DamagedMemoryError,
    DefinitionMemory,
    Pending,
    changing,
    set_aside,
)
from capdisc_indexer.store.file_states import HELD, DeclaredId, FileState
from capdisc_indexer.validation.changes.comparison import (
    definition_lines,
    held_back_finding,
    suspicious_changes,
)
from capdisc_indexer.validation.changes.definition import (
    Definition,
    definition_of,
    digest_of,
    from_text,
    to_text,
    told_of,
)

# Lists that programs answer or publish, wherever they lie; and what says in words how an agent is
# to act, where it is neither the user's own nor in the workspace. Tables and documents are data.
_LISTS = frozenset({"mcp", "mcp-servers", "functions", "openapi"})
_PROSE = frozenset({"skill", "capability", "catalogue"})
_FORGOTTEN = "it was held back before, and the memory of what it had been is gone"

Values = Mapping[str, Any]
# The records of the capabilities with these ids in the last generation, as far as it has them.
Published = Callable[[Sequence[str]], Mapping[str, Values]]


@frozen(kw_only=True)
class Review:
    """The files whose state is another for it, what is held back, the ids of other definitions
    that changed, and what people should know.
    """

    files: Mapping[str, FileState] = field(default_factory=dict)
    held: tuple[HeldDefinition, ...] = ()
    changed: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@frozen(kw_only=True)
class ParsedFiles:
    """The files that a build parsed: as they were found, where their records lie, their states now
    and in the last build.
    """

    files: Sequence[FoundFile]
    stored: Mapping[str, tuple[SpooledRecord, ...]]
    now: Mapping[str, FileState]
    old: Mapping[str, FileState]
    spool: DescriptorSpool


def is_guarded(file: FoundFile, own_places: Iterable[str]) -> bool:
    """Whether changes of what the file declares are looked at: it lists tools, or is none of the
    user's own texts.
    """
    return file.format in _LISTS or (
        file.format in _PROSE and not is_inside(file.resolved, own_places)
    )


def review_definitions(parsed: ParsedFiles, guard: DefinitionGuard, published: Published) -> Review:
    """What has to be held back, and what else changed. A memory that cannot be used is said, and
    the last generation is compared with alone. Raises BusyError when another process keeps the
    memory.
    """
    guarded = [
        file
        for file in parsed.files
        if file.path in parsed.stored and is_guarded(file, guard.own_places)
    ]
    if not guarded:
        return Review()
    notices: list[str] = []
    path = Path(guard.memory)
    for _ in range(2):
        try:
            with changing(path) as memory:
                return _reviewed(guarded, parsed, memory, published, notices)
        except DamagedMemoryError as error:
            notices.append(
                f"{error.message}; it was moved to {path}.damaged, and is begun anew from the last index"
            )
            try:
                set_aside(path)
            except InputError as problem:
                notices[-1] = _unusable(problem)
                break
        except InputError as error:
            notices.append(_unusable(error))
            break
    return _reviewed(guarded, parsed, None, published, notices)


def _unusable(error: InputError) -> str:
    what = "definitions of tools cannot be remembered, and are compared with the last index alone"
    return f"{what}: {error.message} ({error.hint})"


def _reviewed(
    guarded: Sequence[FoundFile],
    parsed: ParsedFiles,
    memory: DefinitionMemory | None,
    published: Published,
    notices: Sequence[str],
) -> Review:
    reviewer = _Reviewer(parsed, memory, published)
    for file in guarded:
        reviewer.review(file)
    if memory and reviewer.has_written:
        memory.tidy()
    return Review(
        files=reviewer.files,
        held=tuple(reviewer.held),
        changed=tuple(sorted(set(reviewer.changed))),
        notices=tuple(notices),
    )


@frozen(kw_only=True)
class _Version:
    """One definition: what is remembered of it, its record ({}: not known any more), and, where
    that is all that is known, what is compared of it.
    """

    accepted: Accepted
    values: Values = field(default_factory=dict)
    definition: Definition | None = None

    @property
    def digest(self) -> str:
        """Over all that is told of it."""
        return self.accepted.digest


def _version(values: Values, told: str, seen: str, is_prose: bool) -> _Version:
    return _Version(
        accepted=Accepted(digest_of(told), to_text(values, told, is_prose), seen), values=values
    )


class _Reviewer:
    """One review under way, file by file."""

    def __init__(
        self, parsed: ParsedFiles, memory: DefinitionMemory | None, published: Published
    ) -> None:
        self._parsed, self._memory, self._published = parsed, memory, published
        self._today = datetime.now(UTC).isoformat(timespec="seconds")
        self.files: dict[str, FileState] = {}
        self.held: list[HeldDefinition] = []
        self.changed: list[str] = []
        self.has_written = False

    def review(self, file: FoundFile) -> None:
        """Looks at each definition of a file; of several with one id, at the first."""
        accepted = self._memory.of_file(file.path) if self._memory else {}
        waiting = self._memory.held(file.path) if self._memory else {}
        old = self._parsed.old.get(file.path)
        last = _LastGeneration(old, self._published)
        is_prose = file.format in _PROSE
        held_before = (
            {claim.id for claim in old.declared_ids if claim.status == HELD} if old else frozenset()
        )
        reasons: dict[str, tuple[str, ...]] = {}
        fresh: dict[str, Accepted] = {}
        for place in self._parsed.stored[file.path]:
            identifier = place.id
            if identifier in fresh or identifier in reasons:
                continue
            values = _joined(json.loads(self._parsed.spool.get(place).decode()))
            told, row = told_of(values), accepted.get(identifier)
            if row and row.digest == digest_of(told):
                continue  # as it was: all that most definitions ever are
            now = _version(values, told, self._today, is_prose)
            before = self._before(identifier, row, is_prose, last)
            why = _reasons(before, now, is_prose, is_held=identifier in held_before)
            if why:
                reasons[identifier] = why
                self._hold(file, identifier, now, before, why, waiting.get(identifier))
                if row is None and before:
                    fresh[identifier] = before.accepted
                continue
            is_same = before is not None and before.digest == now.digest
            fresh[identifier] = before.accepted if before and is_same else now.accepted
            if before and not is_same:
                self.changed.append(identifier)
        self._write(file, fresh, waiting.keys() - reasons.keys())
        if reasons:
            self.files[file.path] = _with_held(self._parsed.now[file.path], reasons)

    def _before(
        self, identifier: str, row: Accepted | None, is_prose: bool, last: _LastGeneration
    ) -> _Version | None:
        """The definition to compare with: of this file, of a file that is gone and had the id, or
        of the last build.
        """
        row = row or (self._memory.moved(identifier) if self._memory else None)
        published = last.values(identifier)
        if row and (recalled := from_text(row.definition, is_prose)):
            definition, values = recalled
            if not values and published and digest_of(told_of(published)) == row.digest:
                values = published
            return _Version(accepted=row, values=values, definition=definition)
        return _version(published, told_of(published), self._today, is_prose) if published else None

    def _write(
        self, file: FoundFile, fresh: Mapping[str, Accepted], released: Iterable[str]
    ) -> None:
        if self._memory is None:
            return
        if fresh:
            self._memory.accept(file.path, fresh)
            self.has_written = True
        for identifier in released:
            self._memory.release(file.path, identifier)
            self.has_written = True

    def _hold(
        self,
        file: FoundFile,
        identifier: str,
        now: _Version,
        before: _Version | None,
        why: tuple[str, ...],
        waiting: Pending | None,
    ) -> None:
        accepted = before.accepted.seen if before else ""
        self.held.append(
            HeldDefinition(
                id=identifier, path=printable_path(file.path), reasons=why, accepted=accepted
            )
        )
        if self._memory is None or (waiting and waiting.digest == now.digest):
            return
        pending = Pending(
            path=file.path,
            id=identifier,
            digest=now.digest,
            seen=now.accepted.seen,
            accepted=accepted,
            reasons=why,
            before=definition_lines(before.values) if before and before.values else (),
            now=definition_lines(now.values),
        )
        self._memory.hold(pending, now.accepted.definition)
        self.has_written = True


class _LastGeneration:
    """What the last generation has of a file's capabilities, read once it is asked for."""

    def __init__(self, old: FileState | None, published: Published) -> None:
        self._finals = (
            {
                claim.id: claim.resolved_id
                for claim in reversed(old.declared_ids)
                if claim.resolved_id
            }
            if old
            else {}
        )
        self._published = published
        self._records: Mapping[str, Values] | None = None

    def values(self, identifier: str) -> Values:
        """The record of a capability by the id that its file gives it; empty where there is
        none.
        """
        if identifier not in self._finals:
            return {}
        if self._records is None:
            self._records = self._published(list(self._finals.values()))
        return self._records.get(self._finals[identifier], {})


def _reasons(
    before: _Version | None, now: _Version, is_prose: bool, is_held: bool
) -> tuple[str, ...]:
    if before is None:
        return (_FORGOTTEN,) if is_held else ()
    known = before.definition or definition_of(before.values, is_prose)
    return suspicious_changes(known, now.values, is_prose) if before.digest != now.digest else ()


def _joined(record: Sequence[Values]) -> Values:
    head, body = record
    return {**head, **body}


def _with_held(state: FileState, reasons: Mapping[str, tuple[str, ...]]) -> FileState:
    path = printable_path(state.path)
    findings: list[Finding] = [
        held_back_finding(identifier, path, why, f"capdisc trust {shlex.quote(identifier)}")
        for identifier, why in reasons.items()
    ]
    claims: list[DeclaredId] = [
        claim._replace(status=HELD) if claim.id in reasons else claim
        for claim in state.declared_ids
    ]
    return state._replace(declared_ids=tuple(claims), findings=(*state.findings, *findings))
