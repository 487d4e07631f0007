"""Every capability file below the given folders, found by name; of some, the first bytes are
looked at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource, Finding, Severity
from capdisc_indexer.sources import manifest_for, source_for
from capdisc_indexer.sources.scan.declared_files import declared_files
from capdisc_indexer.sources.scan.directory_cache import DirectoryCache, StatKey
from capdisc_indexer.sources.scan.folder_files import (
    by_look,
    find_files,
    found_file,
    is_companion,
    stat_of,
)
from capdisc_indexer.sources.scan.folder_tree import (
    MAX_DEPTH,
    SKIPPED_FOLDERS,
    ScanFolder,
    ScanRoot,
    guidance_files,
    is_inside,
    resolve_link,
    stray_finding,
)
from capdisc_indexer.sources.scan.path_warnings import path_twins
from capdisc_indexer.sources.scan.scanned_files import (
    FileStat,
    FoundFile,
    not_a_file,
    printable_path,
    unreadable_finding,
)

# A file that somebody named, rather than found below a folder.

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118


def named_file(root: ScanRoot, folder: ScanFolder) -> FoundFile:
    """The file of a root, by its name or else by what it begins with. Raises InputError for any
    other.
    """
    name = os.path.basename(root.path)
    # A link may lead to its neighbours only: patterns of a shell name files that nobody chose.
    place = resolve_link(os.path.join(folder.resolved, name), [folder.resolved])
    status = place if isinstance(place, Finding) else stat_of(root.path, place)
    source = None if isinstance(place, Finding) else source_for(name) or by_look(place)
    if source is None or isinstance(status, Finding):
        hint = "name a folder, or a file such as SKILL.md, CAPABILITY.yaml, capabilities.jsonl or openapi.json"
        raise InputError(f"{printable_path(root.path)} is not a capability file", hint)
    return found_file(folder, name, source, status)


# Paths are plain text here: they may hold bytes that are no text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH100, PTH112, PTH118


__all__ = ["MAX_DEPTH", "SKIPPED_FOLDERS", "ScanResult", "scan_roots"]


@frozen(kw_only=True)
class ScanResult:
    """The files in a fixed order (root, then path), what could not be looked at, and the guidance
    beside them.
    """

    files: tuple[FoundFile, ...]
    findings: tuple[Finding, ...]
    guidance: tuple[FileStat, ...] = ()


NOWHERE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def scan_roots(
    roots: Sequence[Path],
    declared: Sequence[DeclaredSource] = (),
    memory: DirectoryCache | None = None,
    confined: Mapping[str, tuple[str, ...]] = NOWHERE,
) -> ScanResult:
    """Every capability file below `roots`, each once, under the first root that holds it, and
    those that are declared, which are what their declaration says wherever they lie. Folders that
    `memory` knows and that have not changed are not read again.

    Links are followed to anything inside any of the roots; a link that leads elsewhere is a
    finding. The real place of a file wins over a link to it. A root that `confined` names is left
    out where it leads into none of its real folders, since a link can have come in its place.
    Raises InputError for a root that is not there or is no capability file, and for a declaration
    that makes no sense.
    """
    named = [_root(order, path) for order, path in enumerate(roots)]
    strayed = [
        root
        for root in named
        if not is_inside(root.resolved, confined.get(root.path, (root.resolved,)))
    ]
    kept = [root for root in named if root not in strayed]
    walk = _Walk(
        [root._replace(order=order) for order, root in enumerate(kept)], memory or DirectoryCache()
    )
    walk.findings += [stray_finding(root.path) for root in strayed]
    walk.declare(declared)
    for root in walk.roots:
        walk.enter(root)
    walk.follow_links()
    files = sorted(walk.files.values(), key=lambda file: (file.root_order, file.relative))
    findings = sorted(set(walk.findings), key=lambda finding: (finding.path, finding.code))
    guidance = guidance_files([Path(root.path) for root in walk.roots])
    return ScanResult(files=tuple(files), findings=tuple(findings), guidance=guidance)


def _root(order: int, path: Path) -> ScanRoot:
    absolute = os.path.abspath(path)
    try:
        resolved = os.path.realpath(absolute, strict=True)
    except OSError as error:
        hint = "name a folder or a capability file that exists"
        raise InputError(
            f"cannot find {printable_path(str(path))}: {error.strerror}", hint
        ) from error
    return ScanRoot(order, absolute, resolved)


class _Walk:
    """One scan under way. A folder's real path is its identity: it holds no links, so each folder
    is entered once and a loop of links ends by itself, without a stat call per folder.
    """

    def __init__(self, roots: Sequence[ScanRoot], memory: DirectoryCache) -> None:
        self.roots, self._memory = roots, memory
        self.files: dict[str, FoundFile] = {}  # real path -> file
        self.findings: list[Finding] = []
        # A single file as root opens its folder to the links beside it, as if the folder had been
        # named; itself it may be no link to elsewhere: patterns of a shell name files that nobody
        # chose.
        self._allowed = [root.folder().resolved for root in roots]
        self._entered: set[str] = set()
        self._linked_files: list[FoundFile] = []
        self._linked_folders: list[ScanFolder] = []

    def enter(self, root: ScanRoot) -> None:
        """Adds what one root holds; what lies behind its links is left for later."""
        if os.path.isdir(root.resolved):
            self._walk(root.folder())
        else:
            self._single(root)

    def declare(self, declared: Sequence[DeclaredSource]) -> None:
        """Adds what is declared; comes first, since a declaration says more than a name."""
        for order, declaration in enumerate(declared, len(self.roots)):
            for result in declared_files(declaration, order):
                if isinstance(result, Finding):
                    self.findings.append(result)
                else:
                    self.files.setdefault(result.resolved, result)

    def follow_links(self) -> None:
        """Adds what only links lead to; comes last, so that the real place of a file wins."""
        while self._linked_folders:
            batch, self._linked_folders = self._linked_folders, []
            for folder in batch:
                self._walk(folder)
        for file in self._linked_files:
            self.files.setdefault(file.resolved, file)

    def _single(self, root: ScanRoot) -> None:
        """Adds one named file, or the manifest that it belongs to."""
        folder = root.folder()
        entries = [
            entry
            for entry in self._entries(folder)
            if manifest_for(entry.name) or is_companion(entry.name)
        ]
        files, findings = find_files(folder, entries, self._allowed)
        for file in files:
            if root.path in (file.path, *(companion.path for companion in file.companions)):
                self._keep(folder, file)
                return
        about = [finding for finding in findings if finding.path == printable_path(root.path)]
        if not about:
            self._keep(folder, named_file(root, folder))
        self.findings += about

    def _walk(self, start: ScanFolder) -> None:
        pending = [start]
        while pending:
            folder = pending.pop()
            if folder.depth > MAX_DEPTH:
                self.findings.append(_too_deep(folder.path))
            elif folder.resolved not in self._entered:
                self._entered.add(folder.resolved)
                pending += reversed(self._open(folder))

    def _open(self, folder: ScanFolder) -> list[ScanFolder]:
        """The folders directly inside; the folder's own files are kept on the way."""
        mark = self._memory.mark(folder)
        if mark and (remembered := self._memory.recall(folder, mark)):
            inner, files = remembered
            for file in files:
                self.files.setdefault(file.resolved, file)
            return inner
        return self._read(folder, mark)

    def _read(self, before: ScanFolder, mark: StatKey | None) -> list[ScanFolder]:
        known_findings, entries = len(self.findings), self._entries(before)
        folder = before.holding(entries)
        files, findings = find_files(folder, entries, self._allowed)
        self.findings += [*findings, *path_twins(folder.path, [entry.name for entry in entries])]
        for file in files:
            self._keep(folder, file)
        inner = [inner for entry in entries if (inner := self._inner(folder, entry))]
        if mark and len(self.findings) == known_findings and not any(file.lost for file in files):
            self._memory.learn(mark, before, folder, entries, inner, files)
        return inner

    def _inner(self, folder: ScanFolder, entry: os.DirEntry[str]) -> ScanFolder | None:
        if entry.is_dir(follow_symlinks=False):
            if manifest_for(entry.name):
                self.findings.append(not_a_file(os.path.join(folder.path, entry.name)))
            elif entry.name not in SKIPPED_FOLDERS:
                return folder.inner(entry.name)
        elif entry.is_symlink() and not source_for(entry.name) and not is_companion(entry.name):
            self._link(folder, entry)
        return None

    def _link(self, folder: ScanFolder, entry: os.DirEntry[str]) -> None:
        """Notes a link to a folder; a link to any other file is none of our business."""
        if entry.name in SKIPPED_FOLDERS or not os.path.isdir(entry.path):
            return
        inner = folder.inner(entry.name)
        # Installers do link whole folders, so that one left out is worth a warning; a link in a
        # file's place is wrong.
        resolved = resolve_link(inner.path, self._allowed, Severity.WARNING)
        if isinstance(resolved, Finding):
            self.findings.append(resolved)
        else:
            self._linked_folders.append(inner.at(resolved))

    def _keep(self, folder: ScanFolder, file: FoundFile) -> None:
        if file.resolved == os.path.join(folder.resolved, os.path.basename(file.path)):
            self.files.setdefault(file.resolved, file)
        else:
            self._linked_files.append(file)

    def _entries(self, folder: ScanFolder) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder.resolved) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.findings.append(unreadable_finding(folder.path, error))
            return []


def _too_deep(path: str) -> Finding:
    return Finding(
        code="path-too-deep",
        severity=Severity.ERROR,
        message=f"the folder is more than {MAX_DEPTH} levels below its root; not read",
        hint="scan it as a root of its own",
        path=printable_path(path),
    )
