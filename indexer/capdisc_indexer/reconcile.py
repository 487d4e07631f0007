"""What changed on disk since the last build. Content decides, time only hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FoundFile, content_hash, read_bytes
from capdisc_indexer.sources.scan import scan
from capdisc_indexer.state import Claim, FileState
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor, Finding, Severity

# A file changed again within its time stamp's grain looks unchanged; only older stamps are believed.
GRAIN_NS = 2_000_000_000

_UNREADABLE = "unreadable"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The files as they are now, and the descriptors that had to be read for it."""

    files: dict[str, FileState]
    descriptors: dict[str, Descriptor]
    findings: tuple[Finding, ...]
    parsed: int
    hashed: int


def reconcile(
    roots: Sequence[Path], old: Mapping[str, FileState], scanned_at_ns: int, verify: bool, progress: Progress
) -> Changes:
    """Every file's state now; `descriptors` holds, by final id, those whose document must be written again."""
    found = scan(roots)
    reader = _Reader(old, scanned_at_ns, verify)
    files: dict[str, FileState] = {}
    for done, file in enumerate(found.files, 1):
        files[file.path] = reader.state(file)
        progress("Reading", done, len(found.files))
    _assign(files, found.files)
    by_path = {file.path: file for file in found.files}
    descriptors = {}
    for path, state in files.items():
        if reader.has(path) or _renamed(state, old.get(path)):
            now = _final(state, reader.descriptors(by_path[path]))
            descriptors.update(now)
            # A file that changed again since it was looked at keeps only what it still declares.
            files[path] = state.with_claims(c for c in state.claims if not c.final or c.final in now)
    return Changes(
        files=files, descriptors=descriptors, findings=found.findings, parsed=reader.parsed, hashed=reader.hashed
    )


class _Reader:
    """Reads and parses at most once what the scan shows as new or different."""

    def __init__(self, old: Mapping[str, FileState], scanned_at_ns: int, verify: bool) -> None:
        self._old, self._scanned_at, self._verify = old, scanned_at_ns, verify
        self._loaded: dict[str, tuple[Descriptor, ...]] = {}
        self.parsed = self.hashed = 0

    def has(self, path: str) -> bool:
        return path in self._loaded

    def descriptors(self, file: FoundFile) -> tuple[Descriptor, ...]:
        """The file's capabilities; parses it when its own state did not call for that."""
        if file.path not in self._loaded:
            self._parse(file, _stat(file))
        return self._loaded[file.path]

    def state(self, file: FoundFile) -> FileState:
        known, stat = self._old.get(file.path), _stat(file)
        if self._verify or known is None or known.root != file.root or known.content_hash == _UNREADABLE:
            return self._parse(file, stat)
        if known.stat == stat and self._settled(stat):
            return known
        self.hashed += 1
        return replace(known, stat=stat) if known.content_hash == _content_hash(file) else self._parse(file, stat)

    def _settled(self, stat: tuple[int, ...]) -> bool:
        return all(stamp < self._scanned_at - GRAIN_NS for stamp in (*stat[1::4], *stat[2::4]))

    def _parse(self, file: FoundFile, stat: tuple[int, ...]) -> FileState:
        self.parsed += 1
        self.hashed += 1
        source = SOURCES[file.format]
        data = read_bytes(file, source.limit_bytes)
        if isinstance(data, Finding):
            self._loaded[file.path] = ()
            return FileState(path=file.path, root=file.root, stat=stat, content_hash=_UNREADABLE, findings=(data,))
        loaded = source.load(file, data)
        self._loaded[file.path] = loaded.descriptors
        claims = tuple(Claim(id=descriptor.id) for descriptor in loaded.descriptors)
        return FileState(
            path=file.path,
            root=file.root,
            stat=stat,
            content_hash=_content_hash(file, data),
            claims=claims,
            findings=loaded.findings,
        )


def _stat(file: FoundFile) -> tuple[int, ...]:
    own = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
    return own + tuple(n for each in file.companions for n in (each.size, each.mtime_ns, each.ctime_ns, each.inode))


def _content_hash(file: FoundFile, data: bytes | None = None) -> str:
    """One digest over the file and its companions; a word that is no digest when one of them cannot be read."""
    limit = SOURCES[file.format].limit_bytes
    content = read_bytes(file, limit) if data is None else data
    if isinstance(content, Finding):
        return _UNREADABLE
    # A companion may be a SKILL.md, which may be larger than the manifest that it belongs to.
    beside = [read_bytes(each, max(source.limit_bytes for source in SOURCES.values())) for each in file.companions]
    if any(isinstance(each, Finding) for each in beside):
        return _UNREADABLE
    return content_hash(content, [each for each in beside if isinstance(each, bytes)])


def _assign(files: dict[str, FileState], order: Sequence[FoundFile]) -> None:
    """Decide which file owns each id: earlier roots win over later ones; inside one root both stay, told apart.

    Collections of skills use the same name in several folders, so there the later one is qualified by its folder.
    """
    owners: dict[str, tuple[FileState, Claim]] = {}
    for file in order:
        state = files[file.path]
        claims = [_decide(claim, state, file.relative, owners) for claim in state.claims]
        files[file.path] = state.with_claims(claims)


def _decide(claim: Claim, state: FileState, relative: str, owners: dict[str, tuple[FileState, Claim]]) -> Claim:
    owner = owners.get(claim.id)
    if owner is None:
        final = replace(claim, final=claim.id, status="indexed", other="")
    elif owner[0].root != state.root:
        return replace(claim, final="", status="shadowed", other=owner[0].path)
    elif owner[0].content_hash == state.content_hash and owner[0].path != state.path:
        return replace(claim, final="", status="copy", other=owner[0].path)
    else:
        final = replace(claim, final=_qualified(claim.id, relative, owners), status="indexed", other=owner[0].path)
    owners[final.final] = (state, final)
    return final


def _qualified(identifier: str, relative: str, owners: Mapping[str, object]) -> str:
    folder = PurePosixPath(relative).parent
    where = one_line(str(folder.parent if folder.name == identifier.partition(":")[2] else folder))
    candidate = f"{identifier}@{where}" if where != "." else f"{identifier}@2"
    number = 2
    while candidate in owners:
        number += 1
        candidate = f"{identifier}@{where}#{number}"
    return candidate


def _renamed(state: FileState, known: FileState | None) -> bool:
    return known is None or [claim.final for claim in state.claims] != [claim.final for claim in known.claims]


def _final(state: FileState, descriptors: Sequence[Descriptor]) -> dict[str, Descriptor]:
    pairs = zip(state.claims, descriptors, strict=False)
    return {claim.final: replace(descriptor, id=claim.final) for claim, descriptor in pairs if claim.final}


def collisions(files: Mapping[str, FileState]) -> list[Finding]:
    """A finding for every capability whose id was taken: shadowed by an earlier root, or kept under a longer id."""
    found = []
    for state in files.values():
        for claim in state.claims:
            if claim.status == "shadowed":
                found.append(
                    _collision(
                        "shadowed-id",
                        state,
                        claim,
                        f"{claim.id} is already defined by {claim.other}",
                        "rename one of them, or remove the one that is not wanted",
                    )
                )
            elif claim.other and claim.status == "indexed":
                found.append(
                    _collision(
                        "duplicate-id",
                        state,
                        claim,
                        f"{claim.id} is also defined by {claim.other}",
                        f"this one is indexed as {claim.final}",
                    )
                )
    return found


def _collision(code: str, state: FileState, claim: Claim, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.WARNING, message=message, hint=hint, path=state.path)
