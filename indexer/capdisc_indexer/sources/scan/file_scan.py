"""Every capability file below the given folders, found by name or, for some, by its first bytes;
with the files that are declared.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.config.trust import TrustRequest
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource, Finding, LinkRules, Severity
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.sources.format_table import manifest_for, named_source, source_for
from capdisc_indexer.sources.scan.declared_files import declared_files
from capdisc_indexer.sources.scan.folder_files import (
    FolderStamps,
    by_look,
    find_files,
    found_file,
    guidance_files,
    is_companion,
    path_twins,
    sorted_entries,
    stat_of,
)
from capdisc_indexer.sources.scan.folder_tree import (
    MAX_DEPTH,
    MAX_LINKED_FOLDERS,
    SKIPPED_FOLDERS,
    LinkedPlace,
    LinkFollower,
    ScanFolder,
    ScanRoot,
    dangling_finding,
    is_inside,
    large_target_finding,
    stray_finding,
    with_other_paths,
)
from capdisc_indexer.sources.scan.scanned_files import (
    FileStat,
    FoundFile,
    not_a_file,
    printable_path,
    unreadable_finding,
)

# Paths are strings, since they may hold bytes that are not text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH110, PTH112, PTH116, PTH120

__all__ = ["MAX_DEPTH", "SKIPPED_FOLDERS", "ScanResult", "scan_roots"]


@frozen(kw_only=True)
class ScanResult:
    """The files in a fixed order (root, then path), findings about what could not be read, and the
    files of guidance.

    `outside_places` are the real folders and files outside of the roots that links led to, and
    `waiting` the requests for links and other users' folders that wait until the user trusts them.
    """

    files: tuple[FoundFile, ...]
    findings: tuple[Finding, ...]
    guidance: tuple[FileStat, ...] = ()
    outside_places: tuple[str, ...] = ()
    waiting: tuple[TrustRequest, ...] = ()


NOWHERE: Mapping[str, tuple[str, ...]] = MappingProxyType({})
NO_RULES = LinkRules()


def scan_roots(
    roots: Sequence[Path],
    declared: Sequence[DeclaredSource] = (),
    stamps: FolderStamps | None = None,
    confined: Mapping[str, tuple[str, ...]] = NOWHERE,
    links: LinkRules = NO_RULES,
    *,
    takes_data: bool = False,
) -> ScanResult:
    """Every capability file below `roots`, once, under the first root that holds it, and every
    declared file, which has the format of its declaration wherever it lies.

    `stamps` takes those of the folders. Links are followed to anything inside any of the roots,
    and elsewhere as `links` says; any other link is a finding. The real place of a file wins over
    a link to it. With `takes_data`, a root may be a file of data, such as a table or a page, which
    no scan of a folder reads. A root or declared folder in `confined` is left out if it leads into
    none of its real folders there, since a link may have replaced it. Raises InputError for a root
    that does not exist or is not a capability file, and for an invalid declaration.
    """
    accepted: list[ScanRoot] = []
    stray_findings: list[Finding] = []
    for root in map(_root, roots):
        if is_inside(root.resolved, confined.get(root.path, (root.resolved,))):
            accepted.append(root._replace(order=len(accepted)))
        else:
            stray_findings.append(stray_finding(root.path))
    walk = _Walk(accepted, stamps or FolderStamps(), links, confined, takes_data)
    walk.findings += stray_findings
    walk.declare(declared)
    for root in walk.roots:
        walk.enter(root)
    walk.follow_links()
    files = sorted(walk.files.values(), key=lambda file: (file.root_order, file.relative))
    findings = sorted(set(walk.findings), key=lambda finding: (finding.path, finding.code))
    return ScanResult(
        files=with_other_paths(files, walk.linked_places),
        findings=tuple(findings),
        guidance=tuple(
            file
            for root in walk.roots
            for file in guidance_files(root.path)
            if os.path.dirname(file.resolved) not in walk.refused
        ),
        outside_places=tuple(sorted(walk.links.outside_places)),
        waiting=tuple(sorted(set(walk.links.waiting), key=lambda request: request.value)),
    )


def open_folder(
    folder: ScanFolder, stamps: FolderStamps
) -> tuple[list[FoundFile], list[ScanFolder], list[Finding]]:
    """The capability files directly in one folder, the folders to enter, and findings about its
    entries; without what only links lead to.
    """
    walk = _Walk([folder.root], stamps, NO_RULES)
    inner = walk.open(folder)
    return list(walk.files.values()), inner, walk.findings


def _root(path: Path) -> ScanRoot:
    absolute = system.abspath(path)
    try:
        resolved = resolve_path(absolute, strict=True)
    except OSError as error:
        hint = "name a folder or a capability file that exists"
        raise InputError(
            f"cannot find {printable_path(path.as_posix())}: {error.strerror}", hint
        ) from error
    try:
        f"{absolute}{resolved}".encode()
    except UnicodeEncodeError as error:
        shown = printable_path(absolute)
        raise InputError(f"the name of {shown} is not UTF-8", "rename it") from error
    return ScanRoot(0, absolute, resolved)


def _named_file(
    root: ScanRoot, folder: ScanFolder, links: LinkFollower, takes_data: bool
) -> FoundFile:
    """The file that is a root, in the format of its name, of its ending if it is data, or else of
    its first bytes. Raises InputError for any other.
    """
    name = os.path.basename(root.path)
    # Patterns of a shell name files that nobody meant: a link counts as it does in a folder.
    followed = links.follow(folder, name)
    status = followed if isinstance(followed, Finding) else stat_of(root.path, followed.resolved)
    source = None
    if not isinstance(followed, Finding):
        data = named_source(name) if takes_data else None
        # A page may show the beginning of an API description, and lines of JSON may be tools.
        says_enough = data and not name.lower().endswith(".jsonl")
        source = source_for(name) or (None if says_enough else by_look(followed.resolved)) or data
    if source is None or isinstance(status, Finding):
        hint = (
            "name a folder, or a file such as "
            "SKILL.md, CAPABILITY.yaml, capabilities.jsonl or openapi.json"
        )
        raise InputError(f"{printable_path(root.path)} is not a capability file", hint)
    return found_file(folder, name, source, status, links.outside_of(folder, status.resolved))


class _Walk:
    """The state of one scan. Folders are identified by their real paths, so that each is entered
    once and a loop of links ends by itself, without a stat call for each folder.
    """

    def __init__(
        self,
        roots: Sequence[ScanRoot],
        stamps: FolderStamps,
        rules: LinkRules,
        confined: Mapping[str, tuple[str, ...]] = NOWHERE,
        takes_data: bool = False,
    ) -> None:
        self.roots, self._stamps, self._confined = roots, stamps, confined
        self._takes_data = takes_data
        self.refused: set[str] = set()  # real folders of other users
        self.files: dict[str, FoundFile] = {}  # real path -> file
        self.findings: list[Finding] = []
        # For a root that is a file, links may lead into its folder.
        folders = [root.folder() for root in roots]
        self.links = LinkFollower(rules, [folder.resolved for folder in folders])
        self.linked_places = [LinkedPlace(folder.path, folder.resolved) for folder in folders]
        self._entered: set[str] = set()
        self._manifests: dict[str, list[os.DirEntry[str]]] = {}
        # Real place outside -> folders entered there.
        self._outside_counts: Counter[str] = Counter()
        self._linked_files: list[FoundFile] = []
        self._linked_folders: list[ScanFolder] = []

    def enter(self, root: ScanRoot) -> None:
        """Adds the files of one root, without those behind links."""
        if os.path.isdir(root.resolved):
            self._walk(root.folder())
        else:
            self._single(root)

    def declare(self, declared: Sequence[DeclaredSource]) -> None:
        """Adds the declared files; called first, since a declaration says more than a name."""
        for order, declaration in enumerate(declared, len(self.roots)):
            places = self._confined.get(declaration.path, ())
            for result in declared_files(declaration, order, self.links, places):
                if isinstance(result, Finding):
                    self.findings.append(result)
                else:
                    self._keep_once(result)

    def follow_links(self) -> None:
        """Adds the files that only links lead to; called last, so that the real place of a file
        wins.
        """
        while self._linked_folders:
            batch, self._linked_folders = self._linked_folders, []
            for folder in batch:
                self._walk(folder)
        for file in self._linked_files:
            self._keep_once(file)

    def _keep_once(self, file: FoundFile) -> None:
        """Adds the file where it is the first with its real place, else its path."""
        if self.files.setdefault(file.resolved, file) is not file:
            self.linked_places.append(LinkedPlace(file.path, file.resolved))

    def _single(self, root: ScanRoot) -> None:
        """Adds one named file, or the manifest that it belongs to."""
        if root.resolved in self.files:  # a declaration has its format
            return
        folder = root.folder()
        # A pattern of a shell may name a thousand files of one folder.
        if folder.resolved not in self._manifests:
            self._manifests[folder.resolved] = [
                entry
                for entry in self._entries(folder)
                if manifest_for(entry.name) or is_companion(entry.name)
            ]
        files, findings = find_files(folder, self._manifests[folder.resolved], self.links)
        for file in files:
            if root.path in (file.path, *(companion.path for companion in file.companions)):
                self._keep(folder, file)
                return
        path = printable_path(root.path)
        about_root = [finding for finding in findings if finding.path == path]
        if not about_root:
            self._keep(folder, _named_file(root, folder, self.links, self._takes_data))
        self.findings += about_root

    def _walk(self, start: ScanFolder) -> None:
        pending = [start]
        while pending:
            folder = pending.pop()
            if folder.depth > MAX_DEPTH:
                self.findings.append(_too_deep(folder.path))
            elif folder.resolved not in self._entered and self._may_enter(folder):
                self._entered.add(folder.resolved)
                pending += reversed(self.open(folder))

    def _may_enter(self, folder: ScanFolder) -> bool:
        """Whether the scan enters the folder: it leaves out folders of another user in a root that
        the workspace chose, and folders beyond the limit behind one link. Each has a finding.
        """
        if folder.root.path in self._confined and (finding := self.links.refuse_owner(folder)):
            self.refused.add(folder.resolved)
            self.findings.append(finding)
            return False
        if not folder.outside:
            return True
        self._outside_counts[folder.outside] += 1
        count = self._outside_counts[folder.outside]
        if count == MAX_LINKED_FOLDERS + 1:
            self.findings.append(large_target_finding(folder.outside))
        return count <= MAX_LINKED_FOLDERS

    def open(self, folder: ScanFolder) -> list[ScanFolder]:
        """Adds the files of a folder, and gives the folders directly inside."""
        self._stamps.take(folder)
        entries = self._entries(folder)
        folder = folder.holding(entries)
        files, findings = find_files(folder, entries, self.links)
        self.findings += [*findings, *path_twins(folder.path, [entry.name for entry in entries])]
        for file in files:
            self._keep(folder, file)
        self._stamps.note_entries(folder, entries)
        return [inner for entry in entries if (inner := self._inner(folder, entry))]

    def _inner(self, folder: ScanFolder, entry: os.DirEntry[str]) -> ScanFolder | None:
        if system.is_folder(entry):
            if manifest_for(entry.name):
                self.findings.append(not_a_file(system.join(folder.path, entry.name)))
            elif entry.name not in SKIPPED_FOLDERS:
                return folder.inner(entry.name)
        elif system.is_link(entry) and not source_for(entry.name) and not is_companion(entry.name):
            self._link(folder, entry)
        return None

    def _link(self, folder: ScanFolder, entry: os.DirEntry[str]) -> None:
        """Notes a link to a folder; links to other files are ignored."""
        if entry.name in SKIPPED_FOLDERS:
            return
        if not os.path.isdir(entry.path):
            # In a skill, links to what is made later are common; editors lock files by such links.
            if not (folder.owned or entry.name.startswith(".") or os.path.exists(entry.path)):
                self.findings.append(_dangling(folder, entry))
            return
        # Installers do link whole folders, so that one that is left out is a warning; for a file
        # it is an error.
        followed = self.links.follow(folder, entry.name, Severity.WARNING)
        if isinstance(followed, Finding):
            self.findings.append(followed)
        elif not is_inside(folder.resolved, [followed.resolved]):  # else it closes a loop
            inner = folder.inner(entry.name).at(*followed)
            self.linked_places.append(LinkedPlace(inner.path, inner.resolved))
            self._linked_folders.append(inner)

    def _keep(self, folder: ScanFolder, file: FoundFile) -> None:
        if file.resolved == system.join(folder.resolved, os.path.basename(file.path)):
            self._keep_once(file)
        else:
            self._linked_files.append(file)

    def _entries(self, folder: ScanFolder) -> list[os.DirEntry[str]]:
        try:
            return sorted_entries(folder.resolved)
        except OSError as error:
            self.findings.append(unreadable_finding(folder.path, error))
            return []


def _dangling(folder: ScanFolder, entry: os.DirEntry[str]) -> Finding:
    path = system.join(folder.path, entry.name)
    try:
        os.stat(entry.path)
    except OSError as error:
        return dangling_finding(path, error, Severity.WARNING)
    return dangling_finding(path, OSError(), Severity.WARNING)  # it leads somewhere by now


def _too_deep(path: str) -> Finding:
    message = f"the folder is more than {MAX_DEPTH} levels below its root; not read"
    hint, place = "scan it as a separate root", printable_path(path)
    return Finding("path-too-deep", Severity.ERROR, message, hint, place)
