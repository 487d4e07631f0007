"""Read and parse at most once what the scan shows as new or different. Content decides, time only hints."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.check.changes import CODE
from capdisc_indexer.frozen import frozen
from capdisc_indexer.hands import Hands
from capdisc_indexer.records import as_bytes
from capdisc_indexer.sources import MAX_READ_BYTES, SOURCES
from capdisc_indexer.sources.file_bytes import read_bytes
from capdisc_indexer.sources.files import GRAIN_NS, FileStat, FoundFile, printable
from capdisc_indexer.sources.given import digest, given
from capdisc_indexer.spool import Spool, Stored
from capdisc_indexer.state import Claim, FileState
from capdisc_indexer.types import Finding, Severity

# The finding about a file that may be half written, so that its last version still counts.
UNFINISHED = "path-unfinished"
_UNREADABLE = "unreadable"
TRANSIENT = frozenset({"path-unreadable", "vanished"})
# A definition that was held back may have been approved since, of which the file knows nothing.
_READ_AGAIN = TRANSIENT | {CODE}


@frozen(kw_only=True)
class Read:
    """A file's digest, what is wrong with it, and its capabilities, each with its id and as a record."""

    content_hash: str
    findings: tuple[Finding, ...]
    records: tuple[tuple[str, bytes], ...] = ()


class Reader:
    """Reads and parses at most once what the scan shows as new or different.

    A file that fails to parse keeps its last version for `grace_s` seconds after it was written to: someone may be
    writing still. `unfinished` names those files; they keep their old stamps, so that the next scan looks again.
    """

    def __init__(
        self,
        old: Mapping[str, FileState],
        spool: Spool,
        scanned_at_ns: int,
        verify: bool = False,
        grace_s: float = 0.0,
    ) -> None:
        self._old, self._spool, self._scanned_at, self._verify = old, spool, scanned_at_ns, verify
        self._grace_ns = int(grace_s * 1e9)
        self._loaded: dict[str, tuple[Stored, ...]] = {}
        self._new: set[str] = set()
        self._ahead: Iterator[Read] = iter(())
        self.unfinished: list[Finding] = []
        self.parsed = self.hashed = 0

    def states(self, files: Sequence[FoundFile], hands: Hands) -> Iterator[FileState]:
        """How the files are now, by as little work as is safe; those that must be read anyway are read by the hands."""
        new = [file for file in files if self._is_new(file)]
        self._new = {file.path for file in new}
        self._ahead = hands.map(read, new, len(new))
        yield from map(self._state, files)

    def _is_new(self, file: FoundFile) -> bool:
        known = self._old.get(file.path)
        return self._verify or known is None or _elsewhere(known, file) or _unread(known)

    def has(self, path: str) -> bool:
        """Whether the file had to be parsed."""
        return path in self._loaded

    @property
    def parsed_files(self) -> Mapping[str, tuple[Stored, ...]]:
        """Where the capabilities of each file lie that had to be parsed."""
        return self._loaded

    def stored(self, file: FoundFile) -> tuple[Stored, ...]:
        """Where the file's capabilities lie in the spool; parses it when its own state did not call for that."""
        if file.path not in self._loaded:
            self._parse(file, _stat(file))
        return self._loaded[file.path]

    def _state(self, file: FoundFile) -> FileState:
        known, stat = self._old.get(file.path), _stat(file)
        if known is None or file.path in self._new:
            return self._kept(file, stat, next(self._ahead))
        if known.stat == stat and self._settled(stat):
            return known
        self.hashed += 1
        if known.content_hash == _content_hash(file):
            return known._replace(stat=stat)
        fresh = self._parse(file, stat)
        return self._as_before(known) if self._half_written(known, fresh) else fresh

    def _half_written(self, known: FileState, fresh: FileState) -> bool:
        """Whether the file lost capabilities to an error so soon after a change that more of it may be on its way."""
        lost = {claim.id for claim in known.claims} - {claim.id for claim in fresh.claims}
        # The stamp of the last change to the inode: unlike that of its content, no program sets it back.
        age_ns = time.time_ns() - max(fresh.stat[2::4])
        failed = any(each.severity is Severity.ERROR for each in fresh.findings)
        return bool(lost) and failed and 0 <= age_ns < self._grace_ns

    def _as_before(self, known: FileState) -> FileState:
        del self._loaded[known.path]
        self.unfinished.append(_unfinished(known.path))
        return known

    def _settled(self, stat: tuple[int, ...]) -> bool:
        return max(stat[1::4] + stat[2::4]) < self._scanned_at - GRAIN_NS

    def _parse(self, file: FoundFile, stat: tuple[int, ...]) -> FileState:
        return self._kept(file, stat, read(file))

    def _kept(self, file: FoundFile, stat: tuple[int, ...], found: Read) -> FileState:
        self.parsed += 1
        self.hashed += 1
        self._loaded[file.path] = tuple(self._spool.put(name, record) for name, record in found.records)
        return FileState(
            path=file.path,
            root=file.root,
            stat=stat,
            content_hash=found.content_hash,
            claims=tuple(Claim(id=name) for name, _ in found.records),
            findings=found.findings,
            read_as=_read_as(file),
        )


def read(file: FoundFile) -> Read:
    """What is in the file now."""
    # Its rules take 40 ms to load, and a run that reads no file has no use for them.
    from capdisc_indexer.check.examine import examine
    from capdisc_indexer.check.keyless import keyless
    from capdisc_indexer.check.secret_keys import may_quote_a_key
    from capdisc_indexer.check.sourcetext import SourceText, readable

    data = given(file)
    if isinstance(data, Finding):
        return Read(content_hash=_UNREADABLE, findings=(data,))
    loaded = examine(file, SOURCES[file.format].load(file, data), data)
    records = tuple((each.id, as_bytes(each)) for each in loaded.descriptors)
    findings = loaded.findings
    if any(may_quote_a_key(one.message + one.hint) for one in findings):
        findings = tuple(keyless(findings, SourceText([], {file.path: readable(data)})))
    return Read(content_hash=_content_hash(file, data), findings=findings, records=records)


def _unread(known: FileState) -> bool:
    """Whether something could not be read or taken in the last time, so that it is tried again whatever the stamps
    say."""
    failed = known.findings and any(each.code in _READ_AGAIN for each in known.findings)
    return bool(failed) or known.content_hash == _UNREADABLE


def _unfinished(path: str) -> Finding:
    return Finding(
        code=UNFINISHED,
        severity=Severity.INFO,
        message="does not parse, and was changed a moment ago; its last version is kept for now",
        hint="finish writing the file",
        path=printable(path),
    )


def _stat(file: FoundFile) -> tuple[int, ...]:
    own = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
    if not file.companions and not file.lost:
        return own
    beside = tuple(n for each in file.companions for n in (each.size, each.mtime_ns, each.ctime_ns, each.inode))
    return own + beside + ((len(file.lost),) if file.lost else ())


def _elsewhere(known: FileState, file: FoundFile) -> bool:
    return known.root != file.root or known.read_as != _read_as(file)


def _read_as(file: FoundFile) -> str:
    """What a declaration says of the file, "" for one that is told by itself."""
    if not file.is_declared:
        return ""
    alone = ":alone" if file.name and file.is_alone else ""
    secrets = ":secrets" if file.allows_secrets else ""
    return f"{file.format}:{file.name}:{dict(file.options)}{alone}{secrets}"


def _content_hash(file: FoundFile, data: bytes | None = None) -> str:
    """One digest over the file and its companions; a word that is no digest when it cannot be read itself."""
    # A companion may be a SKILL.md, which may be larger than the manifest that it belongs to.
    beside = [read_bytes(each, MAX_READ_BYTES) for each in file.companions]
    stats = zip(file.companions, beside, strict=True)
    marks = [_mark(stat) if isinstance(each, Finding) else each for stat, each in stats]
    marks += [f"{one.code}\0{one.path}".encode("utf-8", "replace") for one in file.lost]
    found = digest(file, marks, data)
    return _UNREADABLE if isinstance(found, Finding) else found


def _mark(companion: FileStat) -> bytes:
    """What stands for a companion that cannot be read: which one it is, and how it looks."""
    return f"{_UNREADABLE}\0{companion.path}\0{companion.size}\0{companion.mtime_ns}".encode("utf-8", "replace")
