"""What a capability points to: its links, listed without reading any, and one of them read when it
is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from capdisc_indexer.fetch.strict_url import parse_url
from capdisc_indexer.model.errors import InputError, LinkRefusedError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_path
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.secret_files import held_by_content, held_by_name
from capdisc_indexer.text.markdown import MarkdownLink, find_links, find_section
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS, one_line

if TYPE_CHECKING:
    from capdisc_indexer.fetch.connection import NetworkStack
    from capdisc_indexer.fetch.download import FetchOptions

# The files that a capability may point to: those in its own folder, and no others.

# Paths are plain text here, as in the scan that found the capability.
# ruff: noqa: PTH110, PTH113, PTH118, PTH120


MAX_BYTES = 1024 * 1024
MAX_TARGET_CHARACTERS = 1_024

# Absolute paths, home folders, variables, the separators and drives of Windows, line breaks.
_OUTSIDE_PATH = re.compile(r"[/~$]|.*[\\\n\t]|[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.DOTALL)


def capability_folder(descriptor: Descriptor, roots: Sequence[str]) -> str:
    """The capability's own folder, without links. Raises LinkRefusedError where it has none, or
    where the folder has become a link that leads out of the scanned `roots`.
    """
    source = descriptor.source
    if not SOURCES[source.format].owns_folder:
        message = (
            f"{one_line(descriptor.id)} is one of many in a file, so it has no folder of its own"
        )
        raise LinkRefusedError(message, f"open the file yourself: {source.path}")
    folder = _real_path(os.path.dirname(source.path))
    places = [_real_path(root) for root in roots]
    if not is_inside(
        folder, [os.path.dirname(root) if os.path.isfile(root) else root for root in places]
    ):
        message = f"the folder of {one_line(descriptor.id)} is no longer inside the indexed ones"
        raise LinkRefusedError(message, "run: capdisc index")
    return folder


def resolve_file(folder: str, target: str) -> str:
    """The path behind a relative link, there or not; a query after it says nothing to a disk.
    Raises LinkRefusedError for anything that is not inside `folder`, by its name or by the links
    on the way; the answer is the same whether or not such a file exists.
    """
    name = unquote(target.partition("#")[0].partition("?")[0], errors="surrogateescape")
    path = os.path.normpath(os.path.join(folder, name[:MAX_TARGET_CHARACTERS]))
    if (
        not name
        or len(name) > MAX_TARGET_CHARACTERS
        or UNSAFE_CHARACTERS.search(name)
        or _OUTSIDE_PATH.match(name)
    ):
        raise _outside_error(target)
    # First by its name alone: what lies outside is not even looked at.
    if not is_inside(path, [folder]) or not is_inside(resolved := _real_path(path), [folder]):
        raise _outside_error(target)
    if holds := held_by_name(path, resolved):
        raise _secret(target, holds)
    return resolved


def read_linked_text(path: str, target: str) -> str:
    """The text of a regular file of at most 1 MiB in UTF-8. Raises InputError for any other;
    `path` is `file_in`'s, and no link on it is followed if one has appeared since.
    """
    if not os.path.exists(path):
        message = f"the link {one_line(target, 200)} leads to a file that is not there"
        raise InputError(message, "capdisc show ID --links says which are")
    data = read_path(path, path, MAX_BYTES)
    if isinstance(data, bytes) and (holds := held_by_content(data)):
        raise _secret(target, holds)
    text = data if isinstance(data, Finding) else decode(data, path)
    if isinstance(text, Finding):
        raise InputError(
            f"cannot read the link {one_line(target, 200)}: {one_line(text.message)}", text.hint
        )
    return text


def _real_path(path: str) -> str:
    """The path without links, as far as it exists. Raises LinkRefusedError where that changes
    under our eyes.
    """
    try:
        return os.path.realpath(path)
    except OSError as error:
        message = (
            f"the links on the way to {one_line(path, 200)} cannot be followed: {error.strerror}"
        )
        raise LinkRefusedError(message, "try again once the folder is at rest") from error


def _outside_error(target: str) -> LinkRefusedError:
    message = f"the link {one_line(target, 200)} leads out of the capability's folder; not read"
    return LinkRefusedError(message, "only files inside that folder are read")


def _secret(target: str, holds: str) -> LinkRefusedError:
    message = f"the link {one_line(target, 200)} leads to a file that holds {holds}; not read"
    return LinkRefusedError(
        message, "look at it yourself; what is printed here goes to agents and logs"
    )


# ruff: noqa: PTH113


MAX_LINKS = 200

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


@frozen(kw_only=True)
class Link:
    """One link of a capability: `kind` is file, url, anchor or refused, `exists` says whether a
    file is there (None for the other kinds), `reason` why it would be refused, and `line` where it
    stands in the capability's content.
    """

    text: str
    target: str
    line: int
    kind: str
    exists: bool | None = None
    reason: str = ""


@frozen(kw_only=True)
class ResolvedLink:
    """One link, read. `url` is where a document came from after all redirects; "" for what was
    read from disk.
    """

    target: str
    kind: str
    text: str
    url: str = ""


def list_links(descriptor: Descriptor, roots: Sequence[str], limit: int = MAX_LINKS) -> list[Link]:
    """The links in the capability's content, each target once, in order, at most `limit` of them.
    Nothing is read and no name is looked up; whether a file is there is asked only for files
    inside the capability's folder.
    """
    folder = cache(lambda: capability_folder(descriptor, roots))
    return [_classify_link(link, folder) for link in _links_by_target(descriptor, limit).values()]


def read_link(
    descriptor: Descriptor,
    target: str,
    roots: Sequence[str],
    options: FetchOptions | None = None,
    network: NetworkStack | None = None,
) -> ResolvedLink:
    """The text behind one link: a section of the content (`#heading`), a file in the capability's
    folder or a section of it, or one of the URLs that the capability itself holds. URLs only with
    `options`; without, nothing reaches the network. Raises LinkRefusedError for what is not
    followed, InputError for what cannot be read.
    """
    if target.startswith("#"):
        return ResolvedLink(
            target=target, kind="anchor", text=_section_text(_linkable_text(descriptor), target)
        )
    from capdisc_indexer.validation.secret_keys import (
        mask_keys,  # whose patterns a list of links has no use for
    )

    if _SCHEME.match(target):
        fetched = _fetch_link(descriptor, target, options, network)
        return replace(fetched, text=mask_keys(fetched.text))
    path = resolve_file(capability_folder(descriptor, roots), target)
    return ResolvedLink(
        target=target,
        kind="file",
        text=_section_text(mask_keys(read_linked_text(path, target)), target),
    )


def _linkable_text(descriptor: Descriptor) -> str:
    parts = (descriptor.content, descriptor.instructions, descriptor.guidance)
    return "\n\n".join(part for part in parts if part)


def _links_by_target(descriptor: Descriptor, limit: int = MAX_LINKS) -> dict[str, MarkdownLink]:
    """Each target with the first link to it."""
    links_by_target: dict[str, MarkdownLink] = {}
    for link in find_links(_linkable_text(descriptor)):
        if link.target:
            links_by_target.setdefault(link.target, link)
        if len(links_by_target) == limit:
            break
    return links_by_target


def _classify_link(link: MarkdownLink, folder: Callable[[], str]) -> Link:
    kind, exists, reason = "refused", None, ""
    try:
        kind, exists = _link_kind(link.target, folder)
    except LinkRefusedError as error:
        reason = error.message
    return Link(
        text=link.text, target=link.target, line=link.line, kind=kind, exists=exists, reason=reason
    )


def _link_kind(target: str, folder: Callable[[], str]) -> tuple[str, bool | None]:
    if target.startswith("#"):
        return "anchor", None
    if _SCHEME.match(target):
        parse_url(target)
        return "url", None
    return "file", os.path.isfile(resolve_file(folder(), target))


def _fetch_link(
    descriptor: Descriptor, target: str, options: FetchOptions | None, network: NetworkStack | None
) -> ResolvedLink:
    parse_url(target)
    if target not in _links_by_target(descriptor):
        message = f"{one_line(target, 200)} is no link of {one_line(descriptor.id)}; not fetched"
        raise LinkRefusedError(
            message, f"capdisc show {one_line(descriptor.id)} --links prints those it has"
        )
    if options is None:
        message = f"the link {one_line(target, 200)} leads to the network; not fetched"
        raise LinkRefusedError(message, "add --network to fetch it")
    from capdisc_indexer.fetch.connection import NetworkStack as System
    from capdisc_indexer.fetch.download import fetch_document

    document = fetch_document(target, options, network or System())
    return ResolvedLink(target=target, kind="url", text=document.text, url=document.url)


def _section_text(text: str, target: str) -> str:
    """The section that the target's anchor names; all of the text where it has none."""
    from urllib.parse import unquote

    anchor = unquote(target.partition("#")[2]).lower()
    section_text = find_section(text, anchor) if anchor else text
    if section_text is None:
        raise InputError(
            f"there is no section {one_line(anchor, 100)!r} behind this link",
            "leave out what follows #",
        )
    return section_text
