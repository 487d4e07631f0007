"""What a capability points to: its links, listed without reading any, and one of them read when it is asked for."""

# ruff: noqa: PTH113

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from capdisc_indexer.errors import InputError, LinkRefusedError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.linked_files import file_in, folder_of, text_in
from capdisc_indexer.markdown.links import MarkdownLink, links
from capdisc_indexer.markdown.sections import section
from capdisc_indexer.network.url import parse
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

if TYPE_CHECKING:
    from capdisc_indexer.network.connection import Network
    from capdisc_indexer.network.fetch import FetchOptions

MAX_LINKS = 200

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


@frozen(kw_only=True)
class Link:
    """One link of a capability: `kind` is file, url, anchor or refused, `exists` says whether a file is there (None for
    the other kinds), `reason` why it would be refused, and `line` where it stands in the capability's content."""

    text: str
    target: str
    line: int
    kind: str
    exists: bool | None = None
    reason: str = ""


@frozen(kw_only=True)
class Linked:
    """One link, read. `url` is where a document came from after all redirects; "" for what was read from disk."""

    target: str
    kind: str
    text: str
    url: str = ""


def links_of(descriptor: Descriptor, roots: Sequence[str], limit: int = MAX_LINKS) -> list[Link]:
    """The links in the capability's content, each target once, in order, at most `limit` of them. Nothing is read and
    no name is looked up; whether a file is there is asked only for files inside the capability's folder."""
    folder = cache(lambda: folder_of(descriptor, roots))
    return [_classified(link, folder) for link in _own(descriptor, limit).values()]


def read_link(
    descriptor: Descriptor,
    target: str,
    roots: Sequence[str],
    options: FetchOptions | None = None,
    network: Network | None = None,
) -> Linked:
    """The text behind one link: a section of the content (`#heading`), a file in the capability's folder or a section
    of it, or one of the URLs that the capability itself holds. URLs only with `options`; without, nothing reaches the
    network. Raises LinkRefusedError for what is not followed, InputError for what cannot be read."""
    if target.startswith("#"):
        return Linked(target=target, kind="anchor", text=_cut(_content(descriptor), target))
    from capdisc_indexer.check.secret_keys import masked  # whose patterns a list of links has no use for

    if _SCHEME.match(target):
        fetched = _fetched(descriptor, target, options, network)
        return replace(fetched, text=masked(fetched.text))
    path = file_in(folder_of(descriptor, roots), target)
    return Linked(target=target, kind="file", text=_cut(masked(text_in(path, target)), target))


def _content(descriptor: Descriptor) -> str:
    parts = (descriptor.content, descriptor.instructions, descriptor.guidance)
    return "\n\n".join(part for part in parts if part)


def _own(descriptor: Descriptor, limit: int = MAX_LINKS) -> dict[str, MarkdownLink]:
    """Each target with the first link to it."""
    found: dict[str, MarkdownLink] = {}
    for link in links(_content(descriptor)):
        if link.target:
            found.setdefault(link.target, link)
        if len(found) == limit:
            break
    return found


def _classified(link: MarkdownLink, folder: Callable[[], str]) -> Link:
    kind, exists, reason = "refused", None, ""
    try:
        kind, exists = _kind(link.target, folder)
    except LinkRefusedError as error:
        reason = error.message
    return Link(text=link.text, target=link.target, line=link.line, kind=kind, exists=exists, reason=reason)


def _kind(target: str, folder: Callable[[], str]) -> tuple[str, bool | None]:
    if target.startswith("#"):
        return "anchor", None
    if _SCHEME.match(target):
        parse(target)
        return "url", None
    return "file", os.path.isfile(file_in(folder(), target))


def _fetched(descriptor: Descriptor, target: str, options: FetchOptions | None, network: Network | None) -> Linked:
    parse(target)
    if target not in _own(descriptor):
        message = f"{one_line(target, 200)} is no link of {one_line(descriptor.id)}; not fetched"
        raise LinkRefusedError(message, f"capdisc show {one_line(descriptor.id)} --links prints those it has")
    if options is None:
        message = f"the link {one_line(target, 200)} leads to the network; not fetched"
        raise LinkRefusedError(message, "add --network to fetch it")
    from capdisc_indexer.network.connection import Network as System
    from capdisc_indexer.network.fetch import fetch

    document = fetch(target, options, network or System())
    return Linked(target=target, kind="url", text=document.text, url=document.url)


def _cut(text: str, target: str) -> str:
    """The section that the target's anchor names; all of the text where it has none."""
    from urllib.parse import unquote

    anchor = unquote(target.partition("#")[2]).lower()
    found = section(text, anchor) if anchor else text
    if found is None:
        raise InputError(f"there is no section {one_line(anchor, 100)!r} behind this link", "leave out what follows #")
    return found
