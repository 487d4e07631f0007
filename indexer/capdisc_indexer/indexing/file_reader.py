"""The state of every scanned file, by reading and parsing as few files as is safe; and the spool
on disk that holds the descriptors until the build ends, since those of a large catalogue do not
fit into memory.

Time stamps only hint: a file whose stamps changed, or are too young to be believed, is hashed, and
parsed when its content differs. No file is parsed twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import IO

import capdisc_guard
from capdisc_indexer.indexing.build_request import Progress
from capdisc_indexer.indexing.previous_build import PreviousBuild, load_published
from capdisc_indexer.indexing.worker_pool import WorkerPool
from capdisc_indexer.model.errors import ENDING_ERRORS, ManyChangesError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.records import (
    decode_descriptor,
    digest_record,
    encode_descriptor,
    from_record,
)
from capdisc_indexer.model.types import (
    BuildOptions,
    Descriptor,
    Finding,
    Overlay,
    Severity,
)
from capdisc_indexer.sources.format_table import MAX_READ_BYTES, SOURCES
from capdisc_indexer.sources.readers.file_bytes import content_digest, read_bytes, read_input
from capdisc_indexer.sources.scan.scanned_files import (
    GRAIN_NS,
    INTERNAL,
    FileStat,
    FoundFile,
    internal_finding,
    printable_path,
)
from capdisc_indexer.store.file_states import STALE, DeclaredId, FileState, is_stale

# The finding about a file that may be half written, so that its last version still counts.
UNFINISHED = "path-unfinished"
_UNREADABLE = "unreadable"
TRANSIENT = frozenset({"path-unreadable", "vanished"})
# The errors of a file that its author is still writing. Whatever else refuses a file (a secret, a
# link that leads out, hidden text) takes its capabilities away.
_SLIPS = frozenset(
    "file-empty toml-syntax python-syntax graphql-schema tools-shape agent-card-shape "
    "server-card-shape postman-shape servers-shape openapi-version encoding invalid-unicode "
    "field-missing field-empty field-type field-value field-too-long too-many-items "
    f"document-empty {INTERNAL}".split()
)
_SLIP_PREFIXES = ("yaml-", "json", "frontmatter-", "name-", "description-")
# A definition that was held back may have been approved since; its file does not show that.
HELD_BACK = "changed-definition"
# An overlay is needed by every build, and stored by none.
_READ_AGAIN = TRANSIENT | {HELD_BACK, "overlay"}
# The descriptors of a few thousand capabilities stay in memory.
_MAX_MEMORY_BYTES = 32 * 1024 * 1024


@frozen(kw_only=True)
class ParsedFile:
    """What one file holds: its digest, its findings, its capabilities as declared id and record,
    and its overlays.
    """

    content_hash: str
    findings: tuple[Finding, ...]
    records: tuple[tuple[str, bytes], ...] = ()
    overlays: tuple[Overlay, ...] = ()


# Up to this number of files are read to see whether one with other stamps has another content: a
# switch of branches forth and back leaves many such files.
_MAX_COMPARED = 500


def require_few_changes(
    files: Sequence[FoundFile],
    gone: Iterable[str] | None,
    previous: PreviousBuild,
    max_changes: int | None,
) -> None:
    """Raises ManyChangesError where more than `max_changes` files (None: any number) are new, gone
    (None: those that are not among these), or other than in the last build.
    """
    if max_changes is None:
        return
    if previous.is_seed:
        gone = ()
    if gone is None:
        gone = previous.files.keys() - {file.path for file in files}
    gone_paths = sorted(path for path in gone if path in previous.files)
    suspects = [
        file
        for file in files
        if (state := previous.files.get(file.path)) is None or state.stat != _file_stamps(file)
    ]
    if len(suspects) + len(gone_paths) <= max_changes:
        return
    if len(suspects) <= _MAX_COMPARED:
        suspects = [file for file in suspects if not _has_content_of(previous, file)]
    changed_paths = [*(file.path for file in suspects), *gone_paths]
    if len(changed_paths) > max_changes:
        # Whatever a seed has, this index has none of it yet.
        raise ManyChangesError(
            [file.path for file in files] if previous.is_seed else changed_paths
        )


def _has_content_of(previous: PreviousBuild, file: FoundFile) -> bool:
    state = previous.files.get(file.path)
    return state is not None and state.content_hash == hash_content(file)


class FileReader:
    """Reads the files of one build, each at most once, and puts their records into the spool.

    Of a file that gives nothing but errors the capabilities of the last build are kept, marked as
    stale, until the file is mended or gone: an author's slip must not take a tool from an agent.
    A file that fails to parse keeps its last version for `options.grace_s` seconds after it was
    written to: its author may still be writing. `unfinished_findings` names those files. They keep
    their old stamps, so that the next scan reads them again. Of `unusable` files nothing can be
    made: their findings stand for what they hold. `overlays` are those of the options and of the
    files that were read; `keeps_overlays` where one of these files gives nothing but errors now.
    """

    def __init__(
        self,
        previous: PreviousBuild,
        spool: DescriptorSpool,
        options: BuildOptions,
        unusable: Mapping[str, Finding] = MappingProxyType({}),
    ) -> None:
        self.spool = spool
        self._previous = previous
        self._old, self._scanned_at = previous.files, previous.scanned_at_ns
        self._verify, self._grace_ns = options.verify, int(options.grace_s * 1e9)
        self._unusable = unusable
        self._records: dict[str, tuple[SpooledRecord, ...]] = {}
        self._new: set[str] = set()
        self._parsed_files: Iterator[ParsedFile] = iter(())
        self.unfinished_findings: list[Finding] = []
        self.overlays = list(options.overlays)
        self.overlay_findings: list[Finding] = []
        self.keeps_overlays = False
        self.parsed_count = self.hashed_count = 0

    def read_states(
        self, files: Sequence[FoundFile], workers: WorkerPool, progress: Progress
    ) -> dict[str, FileState]:
        """The states of the files now, by path, in the order of the scan. Workers parse the files
        that must be parsed whatever their content.
        """
        new = [file for file in files if self._is_new(file)]
        self._new = {file.path for file in new}
        self._parsed_files = workers.map(read_file, new, len(new))
        states: dict[str, FileState] = {}
        for done, state in enumerate(map(self._read_state, files), 1):
            states[state.path] = state
            progress("Reading", done, len(files))
        return states

    def _is_new(self, file: FoundFile) -> bool:
        old_state = self._old.get(file.path)
        return not file.is_missing and (
            self._verify
            or old_state is None
            or _has_moved(old_state, file)
            or must_read_again(old_state)
            or file.path in self._unusable
        )

    def was_parsed(self, path: str) -> bool:
        """Whether the file had to be parsed."""
        return path in self._records

    @property
    def parsed_files(self) -> Mapping[str, tuple[SpooledRecord, ...]]:
        """Where the records of each parsed file lie in the spool, by path."""
        return self._records

    def stored_records(self, file: FoundFile) -> tuple[SpooledRecord, ...]:
        """Where the file's records lie in the spool; parses the file if it was not parsed yet."""
        if file.path not in self._records and file.is_missing:
            self._records[file.path] = self._spool_last_records(self._old[file.path])
        elif file.path not in self._records:
            self._parse_file(file, _file_stamps(file))
        return self._records[file.path]

    def revise_records(self, file: FoundFile, revise: Callable[[bytes], bytes]) -> None:
        """Puts what `revise` makes of each record of the file in its place."""
        self._records[file.path] = tuple(
            self.spool.append(spooled.id, revise(self.spool.read(spooled)))
            for spooled in self.stored_records(file)
        )

    def _read_state(self, file: FoundFile) -> FileState:
        old_state, stat = self._old.get(file.path), _file_stamps(file)
        if old_state is None or file.path in self._new:
            return self._store_file(file, stat, next(self._parsed_files))
        if file.is_missing or (old_state.stat == stat and self._is_settled(stat)):
            return old_state
        self.hashed_count += 1
        if old_state.content_hash == hash_content(file):
            return old_state._replace(stat=stat)
        new_state = self._parse_file(file, stat)
        return (
            self._keep_state(old_state)
            if self._is_half_written(old_state, new_state)
            else new_state
        )

    def _is_half_written(self, old_state: FileState, new_state: FileState) -> bool:
        """Whether the file lost capabilities to an error so soon after a change that its author
        may still be writing.
        """
        missing_ids = {declared.id for declared in old_state.declared_ids} - {
            declared.id for declared in new_state.declared_ids
        }
        # The time of the last change to the inode: programs set the time of the content back, but
        # never this one.
        age_ns = time.time_ns() - max(new_state.stat[2::4])
        failed = any(finding.severity is Severity.ERROR for finding in new_state.findings)
        is_new_failure = is_stale(new_state) and not is_stale(old_state)
        is_lost = (missing_ids and failed) or is_new_failure
        return bool(is_lost) and 0 <= age_ns < self._grace_ns

    def _keep_state(self, old_state: FileState) -> FileState:
        del self._records[old_state.path]
        message = "does not parse, and was changed a moment ago; its last version is kept for now"
        self.unfinished_findings.append(
            _note(UNFINISHED, old_state.path, message, "finish writing the file")
        )
        return old_state

    def _is_settled(self, stat: tuple[int, ...]) -> bool:
        return max(stat[1::4] + stat[2::4]) < self._scanned_at - GRAIN_NS

    def _parse_file(self, file: FoundFile, stat: tuple[int, ...]) -> FileState:
        return self._store_file(file, stat, read_file(file))

    def _store_file(
        self, file: FoundFile, stat: tuple[int, ...], content: ParsedFile
    ) -> FileState:
        self.parsed_count += 1
        self.hashed_count += 1
        if finding := self._unusable.get(file.path):
            content = _unusable_file(finding)
        content = self._with_last_version(file, content)
        self.overlays += content.overlays
        content = self._note_broken_overlay(file, content)
        self._records[file.path] = tuple(
            self.spool.append(name, record) for name, record in content.records
        )
        return FileState(
            path=file.path,
            root=file.root,
            stat=stat,
            content_hash=content.content_hash,
            declared_ids=tuple(DeclaredId(id=name) for name, _ in content.records),
            findings=content.findings,
            read_as=_reading_key(file),
        )

    def _note_broken_overlay(self, file: FoundFile, content: ParsedFile) -> ParsedFile:
        """The content with the notes of the last build that the file is an overlay, where only
        errors are left of it: it would take back the risk that it gave a tool.
        """
        old_state = self._old.get(file.path)
        notes = [
            finding
            for finding in (old_state.findings if old_state else ())
            if finding.code == "overlay"
        ]
        is_broken = any(finding.severity is Severity.ERROR for finding in content.findings)
        if not notes or not is_broken or content.overlays or content.records:
            return content
        self.keeps_overlays = True
        return replace(content, findings=(*content.findings, *notes))

    def _with_last_version(self, file: FoundFile, content: ParsedFile) -> ParsedFile:
        """The content, with the capabilities of the last build where only errors are left of
        it.
        """
        old_state = self._old.get(file.path)
        codes = {
            finding.code for finding in content.findings if finding.severity is Severity.ERROR
        }
        if old_state is None or content.records or not all(map(_is_slip, codes)) or not codes:
            return content
        records = self._load_last_records(old_state, is_stale=True)
        if not records:
            return content
        message = "cannot be read any more; its last good version is kept, marked as stale"
        hint = "mend the file, or remove it to remove its capabilities"
        note = _note(STALE, file.path, message, hint)
        return replace(content, records=records, findings=(*content.findings, note))

    def _spool_last_records(self, old_state: FileState) -> tuple[SpooledRecord, ...]:
        """The records of a file that is gone, one for each declared id; without an id where the
        last generation has none.
        """
        last = dict(self._load_last_records(old_state, is_stale=False))
        return tuple(
            self.spool.append(
                declared.id if declared.id in last else "", last.get(declared.id, b"")
            )
            for declared in old_state.declared_ids
        )

    def _load_last_records(
        self, old_state: FileState, *, is_stale: bool
    ) -> tuple[tuple[str, bytes], ...]:
        """The capabilities that the last generation has of a file, as declared id and record."""
        ids = {
            declared.resolved_id: declared.id
            for declared in old_state.declared_ids
            if declared.resolved_id
        }
        versions = starmap(from_record, load_published(self._previous, list(ids)))
        return tuple(
            (
                ids[last.id],
                encode_descriptor(replace(last, id=ids[last.id], stale=is_stale or last.stale)),
            )
            for last in versions
        )


def _is_slip(code: str) -> bool:
    return code in _SLIPS or code.startswith(_SLIP_PREFIXES)


def read_file(file: FoundFile) -> ParsedFile:
    """The content of the file now, checked and with secrets masked in its findings; where capdisc
    itself fails on it, the finding that says so.
    """
    try:
        return _read_file(file)
    except ENDING_ERRORS:
        raise
    except BaseException as error:
        return _unusable_file(internal_finding(file.path, error))


def _unusable_file(finding: Finding) -> ParsedFile:
    return ParsedFile(content_hash=_UNREADABLE, findings=(finding,))


def _read_file(file: FoundFile) -> ParsedFile:
    # These rules take 40 ms to load: a run that reads no file does without them.
    from capdisc_indexer.validation.capability_strings import readable_text
    from capdisc_indexer.validation.content_rules import check_content

    data = read_input(file)
    if isinstance(data, Finding):
        return _unusable_file(data)
    loaded = check_content(file, SOURCES[file.format].load(file, data), data)
    records = tuple(
        (descriptor.id, encode_descriptor(descriptor)) for descriptor in loaded.descriptors
    )
    findings = capdisc_guard.redact_findings(
        loaded.findings, lambda path: readable_text(data) if path == file.path else ""
    )
    return ParsedFile(
        content_hash=hash_content(file, data),
        findings=tuple(findings),
        records=records,
        overlays=loaded.overlays,
    )


def must_read_again(old_state: FileState) -> bool:
    """Whether the last build could not read the file or held back a definition in it, or whether
    it adds to other files, so that it is read again whatever its stamps say.
    """
    failed = old_state.findings and any(
        finding.code in _READ_AGAIN for finding in old_state.findings
    )
    return bool(failed) or old_state.content_hash == _UNREADABLE


def _note(code: str, path: str, message: str, hint: str) -> Finding:
    path = printable_path(path)
    return Finding(code=code, severity=Severity.INFO, message=message, hint=hint, path=path)


def _file_stamps(file: FoundFile) -> tuple[int, ...]:
    """Size, mtime, ctime and inode of the file and of each companion; then, where companions are
    missing, their number.
    """
    file_stamps = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
    if not file.companions and not file.lost:
        return file_stamps
    companion_stamps = tuple(
        n
        for companion in file.companions
        for n in (companion.size, companion.mtime_ns, companion.ctime_ns, companion.inode)
    )
    return file_stamps + companion_stamps + ((len(file.lost),) if file.lost else ())


def _has_moved(old_state: FileState, file: FoundFile) -> bool:
    read_as = old_state.read_as.rpartition("\0")[2]
    return old_state.root != file.root or read_as != _reading_key(file)


def _reading_key(file: FoundFile) -> str:
    """How a declaration says that the file is to be read, and what links lead to it; "" for a file
    that was found by a scan, without links.
    """
    links = ":".join((file.link_target, *file.other_paths))
    linked = f":linked:{printable_path(links)}" if links else ""
    if not file.is_declared:
        return linked
    alone = ":alone" if file.name and file.is_alone else ""
    secrets = ":secrets" if file.allows_secrets else ""
    return f"{file.format}:{file.name}:{dict(file.options)}{alone}{secrets}{linked}"


def hash_content(file: FoundFile, data: bytes | None = None) -> str:
    """One digest over the file and its companions; _UNREADABLE when the file cannot be read."""
    # A companion may be a SKILL.md, which may be larger than the manifest that it belongs to.
    contents = [read_bytes(companion, MAX_READ_BYTES) for companion in file.companions]
    stats = zip(file.companions, contents, strict=True)
    marks = [
        _unreadable_mark(stat) if isinstance(content, Finding) else content
        for stat, content in stats
    ]
    marks += [
        f"{finding.code}\0{finding.path}".encode("utf-8", "replace") for finding in file.lost
    ]
    content_hash = content_digest(file, marks, data)
    return _UNREADABLE if isinstance(content_hash, Finding) else content_hash


def _unreadable_mark(companion: FileStat) -> bytes:
    """What the digest holds for a companion that cannot be read: its path and its stamps."""
    return f"{_UNREADABLE}\0{companion.path}\0{companion.size}\0{companion.mtime_ns}".encode(
        "utf-8", "replace"
    )


@frozen
class SpooledRecord:
    """Where a descriptor's record lies in the spool, with the id that its file gives it and the
    record's digest.
    """

    id: str
    start: int
    size: int
    digest: str


class DescriptorSpool:
    """Stores the records of descriptors until the build ends.

    What does not fit into memory lies in a file without a name in `folder`: it disappears with
    this process, however the process ends.
    """

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = SpooledTemporaryFile(_MAX_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115
        self._end = 0

    def __enter__(self) -> DescriptorSpool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, declared_id: str, record: bytes) -> SpooledRecord:
        """Where the record lies from now on; `declared_id` is the id in it."""
        self._file.seek(self._end)
        self._file.write(record)
        start, self._end = self._end, self._end + len(record)
        return SpooledRecord(declared_id, start, len(record), digest_record(record))

    def read(self, spooled: SpooledRecord) -> bytes:
        """The record that lies there."""
        self._file.seek(spooled.start)
        return self._file.read(spooled.size)


class SpooledDescriptors(Mapping[str, Descriptor]):
    """Descriptors by final id, each decoded from the spool on access."""

    def __init__(self, spool: DescriptorSpool, records: Mapping[str, SpooledRecord]) -> None:
        self._spool, self._records = spool, records

    def __getitem__(self, resolved_id: str) -> Descriptor:
        return decode_descriptor(self.record(resolved_id), resolved_id)

    def record(self, resolved_id: str) -> bytes:
        """The stored record, still with the id that its file gives it."""
        return self._spool.read(self._records[resolved_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)
