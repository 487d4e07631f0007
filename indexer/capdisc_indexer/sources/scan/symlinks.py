"""Which symbolic links does a scan follow, which folders of other users does it enter, and by
which other paths is a file known?

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
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.sources.scan.folder_tree import ScanFolder, is_inside
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    printable_path,
    refuse_file,
)

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH116, PTH120

# Behind one link that leads out of the roots; a link to a whole home folder would have a million.
MAX_LINKED_FOLDERS = 5_000
# A library that every client links to is known by a dozen paths.
MAX_OTHER_PATHS = 32


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
