"""The folders of a scan: roots, folders below them, and the folder of guidance in each root; which
symbolic links the scan follows, which folders of other users it enters, and by which other paths a
file is known.

People keep their skills in one place and link them into the folders of several clients, so links
are followed. A clone can bring links, too, so a link of a workspace leads out of it only where the
user said so.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from capdisc_indexer.config.trust import LINK, OWNER, TrustRequest
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Finding, LinkRules, Severity
from capdisc_indexer.platforms import resolve_path, system, to_nfc
from capdisc_indexer.sources.format_table import source_for
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path, refuse_file

# Paths are strings, since they may hold bytes that are not text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH112, PTH116, PTH120

MAX_DEPTH = 32
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})
# `guidance/<category>.md` of a root is guidance for a category, and is found without being read.
GUIDANCE_FOLDER, SUFFIX = "guidance", ".md"
LIMIT_BYTES = 64 * 1024
MAX_FILES = 500  # of one root
# Behind one link that leads out of the roots; a link to a whole home folder would have a million.
MAX_LINKED_FOLDERS = 5_000
# A library that every client links to is known by a dozen paths.
MAX_OTHER_PATHS = 32


class ScanRoot(NamedTuple):
    """A folder or single file to scan: its path as given, and with its links followed."""

    order: int
    path: str
    resolved: str

    def folder(self) -> ScanFolder:
        """The folder to start in: the root itself, or the folder of a single file."""
        if os.path.isdir(self.resolved):
            return ScanFolder(self, self.path, self.resolved)
        path = os.path.dirname(self.path)
        resolved = resolve_path(path)
        return ScanFolder(ScanRoot(self.order, path, resolved), path, resolved)


class ScanFolder(NamedTuple):
    """A folder below a root; `relative` is its path there, "" or with a slash at the end. An
    `owned` folder belongs to a skill or capability, so that files in it are not sources of their
    own. `outside` is the real folder outside of the scanned ones that a link led to, and that this
    one is or lies in; "" for a folder inside.
    """

    root: ScanRoot
    path: str
    resolved: str
    relative: str = ""
    depth: int = 0
    owned: bool = False
    outside: str = ""

    def inner(self, name: str) -> ScanFolder:
        """The folder of that name inside."""
        path, resolved = self.inside(name)
        return ScanFolder(
            self.root,
            path,
            resolved,
            f"{self.relative}{name}/",
            self.depth + 1,
            self.owned,
            self.outside,
        )

    def inside(self, name: str) -> tuple[str, str]:
        """The path of an entry, and its real path; by far the most frequent call of a scan."""
        path, resolved = self.path, self.resolved
        return (
            f"{path}{'' if path[-1] == '/' else '/'}{name}",
            f"{resolved}{'' if resolved[-1] == '/' else '/'}{name}",
        )

    def at(self, resolved: str, outside: str) -> ScanFolder:
        """The same folder, as a link that leads to `resolved`, which belongs to `outside`."""
        return self._replace(resolved=resolved, outside=outside)

    def holding(self, entries: Sequence[os.DirEntry[str]]) -> ScanFolder:
        """The same folder with these entries: owned, if one of them is a skill or capability."""
        if self.owned:
            return self
        sources = (source_for(entry.name) for entry in entries if not system.is_folder(entry))
        is_owner = any(source and source.owns_folder for source in sources)
        return self.as_owned() if is_owner else self

    def as_owned(self) -> ScanFolder:
        """The same folder, as part of a skill or capability."""
        return self._replace(owned=True)


def is_inside(resolved: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of `roots` or lies below one; all without links.

    >>> is_inside("/a/b", ["/a"]), is_inside("/ab", ["/a"])
    (True, False)
    """
    return any(resolved == root or resolved.startswith(root.rstrip("/") + "/") for root in roots)


def category_of(path: str) -> str:
    """The category that a file of guidance is for.

    >>> category_of("/skills/guidance/images.md")
    'images'
    """
    return to_nfc(os.path.basename(path)).removesuffix(SUFFIX)


def is_guidance(path: str) -> bool:
    """Whether a file of this path could be guidance.

    >>> is_guidance("/skills/guidance/images.md"), is_guidance("/skills/images.md")
    (True, False)
    """
    return path.endswith(SUFFIX) and os.path.basename(os.path.dirname(path)) == GUIDANCE_FOLDER


class FollowedLink(NamedTuple):
    """Where a link leads: its real place, and the `outside` folder or file that this place belongs
    to ("" for one inside the scanned places).
    """

    resolved: str
    outside: str


class LinkFollower:
    """Decides about each link of one scan and about folders of other users, and remembers those
    that wait for the user's trust and the places outside that the other links led to.
    """

    def __init__(self, rules: LinkRules, places: Iterable[str]) -> None:
        self._rules, self._places = rules, tuple(places)
        self.waiting: list[TrustRequest] = []
        self.outside_places: set[str] = set()

    def follow(
        self, folder: ScanFolder, name: str, severity: Severity = Severity.ERROR
    ) -> FollowedLink | Finding:
        """Where the link of this name leads, or the finding that says why it is not followed."""
        path, real_path = folder.inside(name)
        try:
            resolved = resolve_path(real_path, strict=True)
        except OSError as error:
            return dangling_finding(path, error, severity)
        if is_inside(resolved, (*self._places, folder.root.resolved)):
            return FollowedLink(resolved, "")
        if folder.outside and is_inside(resolved, [folder.outside]):
            return FollowedLink(resolved, folder.outside)
        request = TrustRequest(
            setting=LINK, value=real_path, place=resolved, origin=folder.root.path
        )
        if self._is_allowed(folder, resolved) or request.line in self._rules.trusted:
            self.outside_places.add(resolved)
            return FollowedLink(resolved, resolved)
        self.waiting.append(request)
        return _waiting_finding(path, resolved, severity)

    def refuse_owner(self, folder: ScanFolder) -> Finding | None:
        """The finding that a folder below its root belongs to another user, whom nobody has
        allowed; None for any other.
        """
        own_users = self._rules.own_users
        if not own_users or folder.resolved == folder.root.resolved:
            return None
        try:
            user = os.stat(folder.resolved, follow_symlinks=False).st_uid
            # Whose root it is was decided about before the scan.
            if user in own_users or user == os.stat(folder.root.resolved).st_uid:
                return None
        except OSError:
            return None
        place = Path(folder.resolved)
        requests = [
            TrustRequest(setting=OWNER, value=str(part), place=f"user {user}", origin="")
            for part in (place, *place.parents)
        ]
        if any(request.line in self._rules.trusted for request in requests):
            return None
        self.waiting.append(replace(requests[0], origin=folder.root.path))
        message = f"the folder belongs to another user (user {user}); not read"
        hint, path = "to read it: capdisc trust", printable_path(folder.path)
        return Finding("other-owner", Severity.WARNING, message, hint, path)

    def outside_of(self, folder: ScanFolder, resolved: str) -> str:
        """The place outside that a file of the folder belongs to, given where its links lead."""
        if resolved == folder.resolved or os.path.dirname(resolved) == folder.resolved:
            return folder.outside
        return "" if is_inside(resolved, (*self._places, folder.root.resolved)) else resolved

    def _is_allowed(self, folder: ScanFolder, resolved: str) -> bool:
        """Whether the place of the link decides: one of the user's own, or the workspace."""
        if is_inside(folder.resolved, self._rules.own_places):
            return True
        workspace = [self._rules.workspace] if self._rules.workspace else []
        return is_inside(folder.resolved, workspace) and is_inside(resolved, workspace)


def dangling_finding(path: str, error: OSError, severity: Severity) -> Finding:
    """The finding for a link whose target cannot be reached."""
    message = f"is a link that leads nowhere: {error.strerror or 'unknown error'}"
    return refuse_file("symlink", severity, path, message, "repair or remove the link")


def stray_finding(path: str) -> Finding:
    """The finding for a path that the workspace chose, and that leads out of it by a link."""
    message = "is a link that leads out of the workspace; not read"
    return refuse_file("symlink", Severity.WARNING, path, message, "to read it: capdisc trust")


def large_target_finding(path: str) -> Finding:
    """The finding for a link to more folders than are read behind one link."""
    message = f"is a link to more than {MAX_LINKED_FOLDERS:,} folders; the others are not read"
    hint = "link the folder of the skills itself, or name it in roots"
    return refuse_file("symlink", Severity.WARNING, path, message, hint)


def _waiting_finding(path: str, resolved: str, severity: Severity) -> Finding:
    message = f"is a link that leads out of the scanned folders, to {printable_path(resolved)}"
    hint = f"to read it: capdisc trust {system.quote_word(printable_path(path))}"
    return refuse_file("symlink", severity, path, f"{message}; not read", hint)


class LinkedPlace(NamedTuple):
    """A path and the real folder or file that it leads to by a link."""

    path: str
    resolved: str


def with_other_paths(
    files: Sequence[FoundFile], links: Sequence[LinkedPlace]
) -> tuple[FoundFile, ...]:
    """The files, each with the paths that the links give it besides its own."""
    # A place under its real path adds nothing to files that have theirs, which most do.
    real_links = {link for link in links if link.path != link.resolved}
    plain_places = set(links) - real_links
    numbered = sorted((file.resolved, number) for number, file in enumerate(files))
    moved = [(place, number) for place, number in numbered if files[number].path != place]
    other_paths: dict[int, set[str]] = {}
    for link in (*real_links, *(plain_places if moved else ())):
        for path, number in _linked_paths(numbered if link in real_links else moved, link):
            if path != files[number].path:
                other_paths.setdefault(number, set()).add(path)
    return tuple(
        replace(file, other_paths=tuple(sorted(other_paths[number])[:MAX_OTHER_PATHS]))
        if number in other_paths
        else file
        for number, file in enumerate(files)
    )


def _linked_paths(
    by_place: Sequence[tuple[str, int]], link: LinkedPlace
) -> Iterable[tuple[str, int]]:
    """The path of each file at or below the place of the link, as the link spells it, and the
    file's number.
    """
    below = link.resolved.rstrip("/") + "/"
    for start, is_below in ((link.resolved, False), (below, True)):
        for resolved, number in by_place[bisect_left(by_place, (start, -1)) :]:
            if not (resolved.startswith(below) if is_below else resolved == link.resolved):
                break
            yield link.path + resolved[len(link.resolved.rstrip("/")) :], number
