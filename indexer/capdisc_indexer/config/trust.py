"""What the file of a workspace asks for beyond its own folder, and what its user has allowed of
it.

A folder that was cloned brings its configuration along, and links as well. Unasked, such a file
may choose among what lies inside the workspace, and set numbers; whatever leads outside, loads a
model, starts a program or silences a rule that guards the reader waits until the user has seen it
and said yes: `capdisc trust`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from capdisc_indexer.config.settings import SETTINGS, Reach, fixed_part
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource

# What may be an index on a network: the store decides about it (`[store] allow`), or a grant.
_ADDRESS = re.compile(r"[a-z][a-z0-9]+:/+")
HOW = "run: capdisc trust"


@frozen(kw_only=True)
class TrustRequest:
    """One thing that a workspace asks its user for: the setting, its value, the real place or
    program that this leads to (empty where it leads nowhere), and the file that says so.
    """

    setting: str
    value: str
    place: str = ""
    origin: str = ""

    @property
    def line(self) -> str:
        """The request as the user sees it and as a grant records it, on one line whatever its
        parts hold.
        """
        leads = f" -> {escape_line(self.place)}" if self.place and self.place != self.value else ""
        return f"{self.setting} {escape_line(self.value)}{leads}"


@frozen(kw_only=True)
class Grant:
    """What the user allowed a workspace: the digest of its file then (empty: it had none), and the
    requests' lines.
    """

    digest: str = ""
    lines: frozenset[str] = frozenset()

    def covers(self, request: TrustRequest, digest: str) -> bool:
        """Whether exactly this was allowed while the file was what it is now. The line holds the
        real place, so that a link that leads elsewhere since then is another request.
        """
        return self.digest == digest and request.line in self.lines


@frozen(kw_only=True)
class Bounds:
    """Where a workspace's own file may lead unasked: the workspace's real folder. `expand` makes a
    path whole as every later step will, `origin` is the file.
    """

    folder: str
    expand: Callable[[Path], Path]
    origin: str

    def request(self, setting: str, value: str) -> TrustRequest | None:
        """The request for a path that leads outside; None for one that stays inside."""
        place = real_path(self.expand(Path(value)), self.origin)
        outside = not is_inside(place, [self.folder])
        return self.ask(setting, value, place) if outside else None

    def ask(self, setting: str, value: str, place: str = "") -> TrustRequest:
        """A request in the name of this file."""
        return TrustRequest(setting=setting, value=value, place=place, origin=self.origin)


def real_path(path: Path, origin: str) -> str:
    """The path without links, whether anything is there or not. Raises InputError for what can be
    no path.
    """
    try:
        return os.path.realpath(path)
    except ValueError as error:
        message = f"{origin}: {escape_line(str(path))} can be no path: {error}"
        raise InputError(message, "see: capdisc config") from error


def is_inside(place: str, folders: Iterable[str]) -> bool:
    """Whether a real path is one of these real folders or lies below one.

    >>> is_inside("/a/b", ["/a"]), is_inside("/ab", ["/a"]), is_inside("/a", ["/a"])
    (True, False, True)
    """
    return any(Path(place).is_relative_to(folder) for folder in folders)


def is_address(text: str) -> bool:
    """Whether an `index_dir` is the address of a store and no folder.

    >>> is_address("s3://team/index"), is_address("../index"), is_address("./s3:/x")
    (True, False, False)
    """
    return _ADDRESS.match(text) is not None


def setting_requests(name: str, value: Any, bounds: Bounds) -> Iterator[TrustRequest]:
    """What this value of a setting asks for; nothing where a workspace's file may say it unasked.

    `Reach.TIGHTEN` is not looked at here: what guards the reader is known to the rules.
    """
    setting = SETTINGS[name]
    if setting.reach is Reach.ASKED and value not in setting.harmless:
        folder = bounds.expand(Path(value))
        yield bounds.ask(name, value, real_path(folder, bounds.origin) if folder.is_dir() else "")
    elif setting.reach is Reach.INSIDE and isinstance(value, list):
        yield from (request for text in value if (request := bounds.request(name, text)))
    elif setting.reach is Reach.INSIDE and value:
        request = bounds.ask(name, value) if is_address(value) else bounds.request(name, value)
        yield from [request] if request else []


def permitted(name: str, value: Any, refused: Iterable[TrustRequest]) -> Any:
    """What is left of the value without the refused requests; None where nothing is, and the
    setting stays as it was.

    The address of a store stays: naming one is refused where it is used, since no other index is
    meant then.
    """
    values = {request.value for request in refused if request.setting == name}
    if isinstance(value, list):
        left = [text for text in value if text not in values]
        return left if left or not value else None
    return None if value in values and not (name == "index_dir" and is_address(value)) else value


def source_place(source: DeclaredSource, expand: Callable[[Path], Path]) -> tuple[str, str]:
    """The real folder or file that a declaration begins at, and the pattern below it."""
    path = str(expand(Path(source.path)))
    base, pattern = (path, "") if os.path.exists(path) else fixed_part(path)  # noqa: PTH110
    return real_path(Path(base), source.origin), pattern


def source_request(source: DeclaredSource, bounds: Bounds) -> TrustRequest | None:
    """What a declared source asks for: any database, which has an address of its own, and every
    file outside; None where it may be read unasked. Programs that a file of servers names are
    started only by whoever asks for it, and each is a request of its own then.
    """
    name = f" {source.name}" if source.name else ""
    if secret := source.options.get("url_secret"):
        return bounds.ask("source", f"{source.format}{name}", f"the database at ${secret}")
    place, pattern = source_place(source, bounds.expand)
    if is_inside(place, [bounds.folder]):
        return None
    whole = f"{place.rstrip('/')}/{pattern}" if pattern else place
    return bounds.ask("source", f"{source.format}{name} {source.path}", whole)


def escape_line(text: str) -> str:
    """The text on one line, with whatever could steer a terminal, hide or begin another line
    written out.
    """
    return text if text.isprintable() else ascii(text)
