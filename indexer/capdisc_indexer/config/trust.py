"""What the configuration file of a workspace requests beyond its own folder, and what its user has
allowed of it.

A cloned folder brings its configuration along, and links as well. Without a grant such a file may
choose among what lies inside the workspace, and set numbers. Whatever leads outside, loads a
model, starts a program or silences a rule that guards the reader waits until the user has seen it
and allowed it with `capdisc trust`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from capdisc_indexer.config.settings import SETTINGS, Reach, fixed_part
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.text.normalization import compile_late

# An address may be an index on a network: `[store] allow` decides about it, or a grant.
_ADDRESS = compile_late(r"[a-z][a-z0-9]+:/+")
# The end of every message on what waits for its user.
TRUST_HINT = "run: capdisc trust"
# The settings of requests for a symbolic link, and for what belongs to another user.
LINK, OWNER = "link", "owner"


@frozen(kw_only=True)
class TrustRequest:
    """One value that a workspace's file requests from its user: the setting, its value, the real
    place or program that the value leads to ("" for none), and the file.
    """

    setting: str
    value: str
    place: str = ""
    origin: str = ""

    @property
    def line(self) -> str:
        """The request on one line, as the user sees it and as a grant records it."""
        leads = f" -> {escape_line(self.place)}" if self.place and self.place != self.value else ""
        return f"{self.setting} {escape_line(self.value)}{leads}"


@frozen(kw_only=True)
class Grant:
    """What the user allowed a workspace: the lines of the requests, and the digest that its file
    had then ("": it had none).
    """

    digest: str = ""
    lines: frozenset[str] = frozenset()

    def covers(self, request: TrustRequest, digest: str) -> bool:
        """Whether the user allowed exactly this request of the file with this digest. The line
        holds the real place: once a link leads elsewhere, it is another request. No file says
        where a link leads or whose a folder is, so that of these holds whatever the file says now.
        """
        is_of_file = request.setting not in (LINK, OWNER)
        return request.line in self.lines and not (is_of_file and self.digest != digest)


@frozen(kw_only=True)
class Bounds:
    """The real folder of a workspace, which is as far as its own file may lead without a grant.

    `expand` makes a path absolute as every later step will; `origin` is the file. What belongs to
    other users than `own_users` needs a grant as well (empty: whoever's it is).
    """

    folder: str
    expand: Callable[[Path], Path]
    origin: str
    own_users: Collection[int] = ()

    def path_request(self, setting: str, value: str) -> TrustRequest | None:
        """The request for a path that leads outside, or to what belongs to another user; None for
        any other.
        """
        place = real_path(self.expand(Path(value)), self.origin)
        return self.place_request(setting, value, place, place)

    def place_request(
        self, setting: str, value: str, place: str, shown_place: str
    ) -> TrustRequest | None:
        """The same for the real path of a value."""
        if not is_inside(place, [self.folder]):
            return self.make_request(setting, value, shown_place)
        for user, part in find_other_owners(place, self.folder, self.own_users).items():
            return self.make_request(setting, value, f"{part} of user {user}")
        return None

    def make_request(self, setting: str, value: str, place: str = "") -> TrustRequest:
        """A request of this file."""
        return TrustRequest(setting=setting, value=value, place=place, origin=self.origin)


def real_path(path: Path, origin: str) -> str:
    """The path with its links resolved, whether or not it exists. Raises InputError for a text
    that cannot be a path.
    """
    try:
        return resolve_path(path)
    except ValueError as error:
        message = f"{origin}: {escape_line(str(path))} cannot be a path: {error}"
        raise InputError(message, "see: capdisc config") from error


def is_inside(place: str, folders: Iterable[str]) -> bool:
    """Whether a real path is one of these real folders, or lies below one of them.

    >>> is_inside("/a/b", ["/a"]), is_inside("/ab", ["/a"]), is_inside("/a", ["/a"])
    (True, False, True)
    """
    return any(Path(place).is_relative_to(folder) for folder in folders)


def find_other_owners(path: str, workspace: str, own_users: Collection[int]) -> dict[int, str]:
    """The users other than these to whom a part of the path belongs, from the workspace down, each
    with the first such part: as the path is written, and as its links lead. None where `own_users`
    is empty, and for a path outside of the workspace.
    """
    owners: dict[int, str] = {}
    folder = resolve_path(workspace) if own_users else ""
    relative = system.relpath(path, workspace) if own_users else ".."
    while relative.split("/", 1)[0] != "..":
        part, has_links = folder, False
        for name in (".", *relative.split("/")):
            part = part if name == "." else f"{part.rstrip('/')}/{name}"
            try:
                status = os.lstat(part)
                is_link = stat.S_ISLNK(status.st_mode)
                users = {status.st_uid, os.stat(part).st_uid if is_link else status.st_uid}  # noqa: PTH116
            except OSError:  # nothing is there
                return owners
            has_links |= is_link
            for user in users.difference(own_users):
                owners.setdefault(user, part)
        if not has_links:
            break
        relative = system.relpath(resolve_path(part), folder)
    return owners


def owner_requests(
    path: str, workspace: str, own_users: Collection[int]
) -> tuple[TrustRequest, ...]:
    """A request for each other user who owns a part of the path (see `find_other_owners`)."""
    owners = find_other_owners(path, workspace, own_users)
    return tuple(
        TrustRequest(setting=OWNER, value=part, place=f"user {user}", origin=workspace)
        for user, part in owners.items()
    )


def is_address(text: str) -> bool:
    """Whether an `index_dir` is the address of a store rather than a folder.

    >>> is_address("s3://team/index"), is_address("../index"), is_address("./s3:/x")
    (True, False, False)
    """
    return _ADDRESS.match(text) is not None


def setting_requests(name: str, value: Any, bounds: Bounds) -> Iterator[TrustRequest]:
    """What this value of a setting requests; nothing where a workspace's file may set it without a
    grant.

    `Reach.TIGHTEN` is not checked here: the rules know which of them guard the reader.
    """
    setting = SETTINGS[name]
    if setting.reach is Reach.HARMLESS and value not in setting.harmless:
        folder = bounds.expand(Path(value))
        place = real_path(folder, bounds.origin) if folder.is_dir() else ""
        yield bounds.make_request(name, value, place)
    elif setting.reach is Reach.INSIDE and isinstance(value, list):
        for path in value:
            if request := bounds.path_request(name, path):
                yield request
    elif setting.reach is Reach.INSIDE and is_address(value):
        yield bounds.make_request(name, value)
    elif setting.reach is Reach.INSIDE and value and (request := bounds.path_request(name, value)):
        yield request


def permitted_value(name: str, value: Any, refused: Iterable[TrustRequest]) -> Any:
    """The value without the refused requests; None where nothing is left, and the setting keeps
    what it had.

    The address of a store stays: the command that opens it refuses it, since the user meant no
    other index.
    """
    refused_values = {request.value for request in refused if request.setting == name}
    if isinstance(value, list):
        allowed = [text for text in value if text not in refused_values]
        return allowed if allowed or not value else None
    is_store_address = name == "index_dir" and is_address(value)
    return None if value in refused_values and not is_store_address else value


def source_place(source: DeclaredSource, expand: Callable[[Path], Path]) -> tuple[str, str]:
    """The real folder or file that a declared source begins at, and the pattern below it."""
    path = expand(Path(source.path)).as_posix()
    base, pattern = (path, "") if os.path.exists(path) else fixed_part(path)  # noqa: PTH110
    return real_path(Path(base), source.origin), pattern


def source_request(source: DeclaredSource, bounds: Bounds) -> TrustRequest | None:
    """The request of a declared source that is a database, lies outside of the workspace or
    belongs to another user; None for one that may be read without a grant.

    Programs that a file of servers names start only when the user asks for it, and each of them is
    a request of its own then.
    """
    name = f" {source.name}" if source.name else ""
    if secret := source.options.get("url_secret"):
        return bounds.make_request(
            "source", f"{source.format}{name}", f"the database at ${secret}"
        )
    if source.text:
        return None
    if source.url:
        return bounds.make_request("source", f"{source.format}{name} {source.url}")
    place, pattern = source_place(source, bounds.expand)
    full_place = f"{place.rstrip('/')}/{pattern}" if pattern else place
    value = f"{source.format}{name} {source.path}"
    return bounds.place_request("source", value, place, full_place)


def escape_line(text: str) -> str:
    """The text on one line: characters that could steer a terminal, hide or begin another line are
    escaped.
    """
    return text if text.isprintable() else ascii(text)
