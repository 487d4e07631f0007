"""Lists the links of a capability without reading any, and reads one of them on request: a section
of its content, a file in its own folder, or a URL.

Paths are plain text here, as in the scan that found the capability.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

import capdisc_guard
from capdisc_indexer.model.errors import InputError, LinkRefusedError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.platforms import system
from capdisc_indexer.plugins.registry import load_service
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.readers.file_bytes import decode, read_path
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import held_by_content, held_by_name
from capdisc_indexer.text.markdown import MarkdownLink, find_links
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS, one_line
from capdisc_indexer.text.sections import find_section
from capdisc_indexer.text.strict_url import parse_url

if TYPE_CHECKING:
    from capdisc_run.connection import NetworkStack
    from capdisc_run.download import FetchOptions

# ruff: noqa: PTH110, PTH113, PTH120


MAX_LINKS = 200

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)

MAX_BYTES = 1024 * 1024
MAX_TARGET_CHARACTERS = 1_024

# Absolute paths, home folders, variables, the separators and drives of Windows, line breaks.
_OUTSIDE_PATH = re.compile(r"[/~$]|.*[\\\n\t]|[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.DOTALL)


@frozen(kw_only=True)
class Link:
    """One link of a capability.

    `line` is its line in the content; `kind` is file, url, anchor or refused; `exists` says
    whether the file exists, None for the other kinds; `reason` says why it would be refused.
    """

    text: str
    target: str
    line: int
    kind: str
    exists: bool | None = None
    reason: str = ""


@frozen(kw_only=True)
class ResolvedLink:
    """The text behind one link. `url` is the URL of a document after all redirects, "" for a text
    from disk.
    """

    target: str
    kind: str
    text: str
    url: str = ""


def list_links(descriptor: Descriptor, roots: Sequence[str], limit: int = MAX_LINKS) -> list[Link]:
    """The links in the capability's content, each target once, in order, at most `limit`. Reads no
    file and resolves no host name; checks only files inside the capability's folder for existence.
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
    """The text behind one link, keys masked: a section of the content (`#heading`), a file in the
    capability's folder or a section of it, or one of the URLs in the capability's own content.

    Without `options`, nothing reaches the network. Raises LinkRefusedError for a link that is not
    followed, InputError for a text that cannot be read.
    """
    if target.startswith("#"):
        return ResolvedLink(
            target=target, kind="anchor", text=_section_text(_linkable_text(descriptor), target)
        )
    if _SCHEME.match(target):
        fetched = _fetch_link(descriptor, target, options, network)
        return replace(fetched, text=capdisc_guard.mask_keys(fetched.text))
    path = resolve_file(capability_folder(descriptor, roots), target)
    return ResolvedLink(
        target=target,
        kind="file",
        text=_section_text(capdisc_guard.mask_keys(read_linked_text(path, target)), target),
    )


def _linkable_text(descriptor: Descriptor) -> str:
    parts = (descriptor.content, descriptor.instructions, descriptor.guidance)
    return "\n\n".join(part for part in parts if part)


def _links_by_target(descriptor: Descriptor, limit: int = MAX_LINKS) -> dict[str, MarkdownLink]:
    """The first link to each target, by target."""
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
        message = (
            f"{one_line(target, 200)} is not a link of {one_line(descriptor.id)}; not fetched"
        )
        raise LinkRefusedError(
            message, f"capdisc show {one_line(descriptor.id)} --links prints those it has"
        )
    if options is None:
        message = f"the link {one_line(target, 200)} leads to the network; not fetched"
        raise LinkRefusedError(message, "add --network to fetch it")
    document = load_service("web").fetch_document(target, options, network)
    return ResolvedLink(target=target, kind="url", text=document.text, url=document.url)


def _section_text(text: str, target: str) -> str:
    """The section that the anchor of the target names; the whole text for a target without one."""
    anchor = unquote(target.partition("#")[2]).lower()
    if not anchor:
        return text
    section = find_section(text, anchor)
    if section is None:
        raise InputError(
            f"there is no section {one_line(anchor, 100)!r} behind this link",
            "leave out the part after #",
        )
    return text[section.start : section.end].rstrip("\n") + "\n"


def capability_folder(descriptor: Descriptor, roots: Sequence[str]) -> str:
    """The real path of the capability's own folder. Raises LinkRefusedError when it has none, or
    when the folder has become a link that leads out of the scanned `roots`, and elsewhere than it
    did when it was indexed.
    """
    source = descriptor.source
    if not SOURCES[source.format].owns_folder:
        message = (
            f"{one_line(descriptor.id)} is one of many in a file, so it has no folder of its own"
        )
        raise LinkRefusedError(message, f"open the file yourself: {source.path}")
    folder = _real_path(os.path.dirname(source.path))
    real_roots = [_real_path(root) for root in roots]
    root_folders = [os.path.dirname(root) if os.path.isfile(root) else root for root in real_roots]
    if not is_inside(folder, (*root_folders, *filter(None, [source.link_target]))):
        message = f"the folder of {one_line(descriptor.id)} is no longer inside the indexed ones"
        raise LinkRefusedError(message, "run: capdisc index")
    return folder


def resolve_file(folder: str, target: str) -> str:
    """The path behind a relative link, whether or not a file is there; a query after it has no
    meaning on disk. Raises LinkRefusedError for anything outside `folder`, by its name or by
    symbolic links on the way, and for files that hold secrets. Whether a file outside exists makes
    no difference.
    """
    name = unquote(target.partition("#")[0].partition("?")[0], errors="surrogateescape")
    path = system.normpath(system.join(folder, name[:MAX_TARGET_CHARACTERS]))
    if (
        not name
        or len(name) > MAX_TARGET_CHARACTERS
        or UNSAFE_CHARACTERS.search(name)
        or _OUTSIDE_PATH.match(name)
    ):
        raise _outside_error(target)
    # First by its name alone: nothing outside is ever touched.
    if not is_inside(path, [folder]) or not is_inside(resolved := _real_path(path), [folder]):
        raise _outside_error(target)
    if holds := held_by_name(path, resolved):
        raise _secret_error(target, holds)
    return resolved


def read_linked_text(path: str, target: str) -> str:
    """The text of a regular file of at most 1 MiB in UTF-8. Raises InputError for any other file
    and LinkRefusedError for one that holds secrets. `path` comes from `resolve_file`; a symbolic
    link that has appeared on it since is not followed.
    """
    if not os.path.exists(path):
        message = f"the link {one_line(target, 200)} leads to a file that is not there"
        raise InputError(message, "capdisc show ID --links says which are")
    data = read_path(path, path, MAX_BYTES)
    if isinstance(data, bytes) and (holds := held_by_content(data)):
        raise _secret_error(target, holds)
    text = data if isinstance(data, Finding) else decode(data, path)
    if isinstance(text, Finding):
        raise InputError(
            f"cannot read the link {one_line(target, 200)}: {one_line(text.message)}", text.hint
        )
    return text


def _real_path(path: str) -> str:
    """The path without symbolic links, as far as it exists. Raises LinkRefusedError when they
    cannot be followed, as when they change meanwhile.
    """
    try:
        return system.realpath(path)
    except OSError as error:
        message = (
            f"the links on the way to {one_line(path, 200)} cannot be followed: {error.strerror}"
        )
        raise LinkRefusedError(message, "try again once the folder is at rest") from error


def _outside_error(target: str) -> LinkRefusedError:
    message = f"the link {one_line(target, 200)} leads out of the capability's folder; not read"
    return LinkRefusedError(message, "only files inside that folder are read")


def _secret_error(target: str, holds: str) -> LinkRefusedError:
    message = f"the link {one_line(target, 200)} leads to a file that holds {holds}; not read"
    return LinkRefusedError(
        message, "open it yourself; what is printed here goes to agents and logs"
    )
