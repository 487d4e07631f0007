"""Which skills of an index does an MCP server offer, and which bytes do their files have?

A skill is offered as the Agent Skills format has it, and as it was indexed: one whose file has
changed since, whose front matter breaks the format, or whose folder is too large, is not. Of its
folder, the files are offered that `read_capability` reads, and files that are not texts: no hidden
ones, none behind a link, none that holds secrets. Keys in texts are masked before they are hashed.
"""

from __future__ import annotations

import hashlib
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from mimetypes import MimeTypes
from typing import TypeAlias, TypeVar
from urllib.parse import quote, unquote

import capdisc_guard
from capdisc.mcp_service.live_index import LiveIndex, OpenGeneration
from capdisc.output import console
from capdisc_indexer.model.errors import CapdiscError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Query
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.skill import SKILL_NAME, read_conforming_fields
from capdisc_indexer.sources.formats.skill_answers import (
    MAX_SKILL_BYTES,
    MAX_SKILL_FILES,
    SKILL_FILE,
)
from capdisc_indexer.sources.readers.file_bytes import read_path
from capdisc_indexer.sources.scan.scanned_files import content_hash, held_by_content
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import name_first, one_line
from capdisc_indexer.tools.capability_links import MAX_BYTES, capability_folder
from capdisc_indexer.tools.capability_reading import walk_folder

# ruff: noqa: PTH120

SKILL_SCHEME = "skill://"
DIRECTORY_TYPE = "inode/directory"
# A page of `skills/list` ends after this many skills, or with the one that brings it to this many
# files.
PAGE_SKILLS = 50
_PAGE_FILES = 2_000
_MAX_DEPTH = 12
_MAX_COMPLETIONS = 100
_SHOWN_PROBLEMS = 3
# Without the tables of this machine, so that a file has the same type everywhere.
_TYPES = MimeTypes(filenames=())
_TYPES.add_type("text/markdown", ".md")


T = TypeVar("T")
# An entry of `skills/list`: {"uri", "frontmatter", "resources": [{"uri", "digest", "size"}]}.
SkillEntry: TypeAlias = JsonObject


@frozen(kw_only=True)
class SkillPage:
    """One page of a list of skills; `next_cursor` is "" on the last page."""

    entries: Sequence[SkillEntry]
    next_cursor: str


@frozen(kw_only=True)
class SkillFile:
    """The bytes of one file of a skill."""

    uri: str
    mime_type: str
    data: bytes


@frozen(kw_only=True)
class DirectoryChild:
    """What lies directly in a folder of a skill; `mime_type` of a folder is DIRECTORY_TYPE."""

    uri: str
    name: str
    mime_type: str


@frozen(kw_only=True)
class SkillCatalogue:
    """The skills of one generation of an index that may be offered, as ids by the URIs of their
    SKILL.md. `listed` are the URIs that lists have, in order: a skill that its author hides from
    agents is answered for by its URI alone. `left_out` are the ids of skills whose names the
    format does not allow.
    """

    ids: Mapping[str, str]
    listed: Sequence[str]
    left_out: Sequence[str]


def read_catalogue(index: Index) -> SkillCatalogue:
    """The catalogue of an index; no file is read for it.

    `skill:pdf` is `skill://pdf/SKILL.md`, and `skill:pdf@team/tools`, a second one of that name,
    `skill://team/tools/pdf/SKILL.md`. A skill in the folder of another one has the path of that
    one before its own.
    """
    headers = [
        header
        for header in index.heads(Query(texts=(), kinds=("skill",)))
        if header["source"]["format"] == "skill"
    ]
    folders = {os.path.dirname(header["source"]["path"]): header["name"] for header in headers}
    ids: dict[str, str] = {}
    listed: list[str] = []
    left_out: list[str] = []
    paths: dict[str, str] = {}
    for header in sorted(headers, key=lambda header: len(header["source"]["path"])):
        if not SKILL_NAME.fullmatch(header["name"]):
            left_out.append(header["id"])
            continue
        folder = os.path.dirname(header["source"]["path"])
        path = _nested_path(folder, header["name"], paths, folders) or _flat_path(header)
        uri = f"{SKILL_SCHEME}{quote(path)}/{SKILL_FILE}"
        if uri in ids:
            path = _flat_path(header)
            uri = f"{SKILL_SCHEME}{quote(path)}/{SKILL_FILE}"
        if uri in ids:
            left_out.append(header["id"])
            continue
        ids[uri], paths[folder] = header["id"], path
        if not header.get("hidden"):
            listed.append(uri)
    return SkillCatalogue(ids=ids, listed=sorted(listed), left_out=sorted(left_out))


def _flat_path(header: CapabilityHeader) -> str:
    place = header["id"].partition("@")[2]
    parts = [part for part in place.split("/") if part not in ("", ".", "..")]
    return "/".join([*parts, header["name"]])


def _nested_path(
    folder: str, name: str, paths: Mapping[str, str], folders: Mapping[str, str]
) -> str:
    """The path of a skill inside the folder of another one, if its own folder has its name; "" for
    any other skill.
    """
    if os.path.basename(folder) != name:
        return ""
    outer = os.path.dirname(folder)
    while outer not in folders:
        if outer == os.path.dirname(outer):
            return ""
        outer = os.path.dirname(outer)
    if outer not in paths:
        return ""
    return f"{paths[outer]}/{system.relpath(folder, outer)}"


def list_skills(
    index: Index, catalogue: SkillCatalogue, cursor: str
) -> tuple[SkillPage, dict[str, str]]:
    """The entries of the skills after this cursor, which is the URI of the last one of the page
    before; and why others that would be among them are left out, by URI or id.
    """
    entries: list[SkillEntry] = []
    problems: dict[str, str] = {}
    bad_names = {} if cursor else dict.fromkeys(catalogue.left_out, "its name")
    file_count = 0
    for uri in islice(catalogue.listed, bisect_right(catalogue.listed, cursor), None):
        if len(entries) + len(problems) >= PAGE_SKILLS or file_count >= _PAGE_FILES:
            return SkillPage(entries=entries, next_cursor=cursor), bad_names | problems
        cursor = uri
        try:
            entries.append(get_skill(index, catalogue, uri))
            file_count += len(entries[-1]["resources"])
        except UsageError as error:
            problems[uri] = error.message.partition(" is not served: ")[2] or error.message
    return SkillPage(entries=entries, next_cursor=""), bad_names | problems


def get_skill(index: Index, catalogue: SkillCatalogue, uri: str) -> SkillEntry:
    """The entry of a skill: its front matter as written, and each file with digest and size.
    Raises UsageError where no skill is offered at this URI.
    """
    folder, names = _locate_skill(index, catalogue, uri)
    frontmatter = _read_frontmatter(index, catalogue, uri, folder)
    resources: list[JsonObject] = []
    total_bytes = 0
    for name in names:
        if (data := _read_file(folder, name)) is None:
            continue
        total_bytes += len(data)
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        file_uri = uri.removesuffix(SKILL_FILE) + quote(name)
        resources.append({"uri": file_uri, "digest": digest, "size": len(data)})
    if total_bytes > MAX_SKILL_BYTES:
        raise UsageError(f"{_show(uri)} is not served: its files have more than 16 MiB")
    return {"uri": uri, "frontmatter": frontmatter, "resources": resources}


def read_file(index: Index, catalogue: SkillCatalogue, uri: str) -> SkillFile:
    """A file of a skill. Raises UsageError where none is offered at this URI."""
    skill_uri, name = _split_uri(catalogue, uri)
    folder, names = _locate_skill(index, catalogue, skill_uri)
    _read_frontmatter(index, catalogue, skill_uri, folder)
    data = _read_file(folder, name) if name in names else None
    if data is None:
        raise UsageError(f"no file of a skill is served at {_show(uri)}")
    return SkillFile(uri=uri, mime_type=_mime_type(name, data), data=data)


def read_directory(index: Index, catalogue: SkillCatalogue, uri: str) -> list[DirectoryChild]:
    """What lies directly in the folder of a skill, or in a folder of it, by name. Raises
    UsageError for any other URI.
    """
    skill_uri, name = _split_uri(catalogue, f"{uri}/{SKILL_FILE}")
    prefix = name.removesuffix(SKILL_FILE)
    entry = get_skill(index, catalogue, skill_uri)
    folder, _ = _locate_skill(index, catalogue, skill_uri)
    base = skill_uri.removesuffix(SKILL_FILE)
    children: dict[str, DirectoryChild] = {}
    for resource in entry["resources"]:
        path = unquote(resource["uri"].removeprefix(base))
        if not path.startswith(prefix):
            continue
        child, _, inner = path.removeprefix(prefix).partition("/")
        child_uri = base + quote(prefix + child)
        data = b"" if inner else _read_file(folder, path) or b""
        mime_type = DIRECTORY_TYPE if inner else _mime_type(child, data)
        children[child] = DirectoryChild(uri=child_uri, name=child, mime_type=mime_type)
    if not children:
        raise UsageError(f"{_show(uri)} is not a folder of a skill that is served")
    return [children[name] for name in sorted(children)]


def complete_path(_: Index, catalogue: SkillCatalogue, beginning: str) -> list[str]:
    """The first paths of SKILL.md files that begin so, without the scheme."""
    paths = (unquote(uri.removeprefix(SKILL_SCHEME)) for uri in catalogue.listed)
    return list(islice((path for path in paths if path.startswith(beginning)), _MAX_COMPLETIONS))


def _split_uri(catalogue: SkillCatalogue, uri: str) -> tuple[str, str]:
    """The URI of the innermost skill that a file belongs to, and the file's path in its folder."""
    outer = uri
    while len(outer) > len(SKILL_SCHEME):
        outer = outer.rpartition("/")[0]
        skill_uri = f"{outer}/{SKILL_FILE}"
        if skill_uri in catalogue.ids:
            return skill_uri, unquote(uri.removeprefix(f"{outer}/"))
    raise UsageError(f"no skill is served at {_show(uri)}")


def _locate_skill(index: Index, catalogue: SkillCatalogue, uri: str) -> tuple[str, list[str]]:
    """The real folder of a skill and the paths of its files in it, in order."""
    if uri not in catalogue.ids:
        raise UsageError(f"no skill is served at {_show(uri)}")
    try:
        descriptor = index.descriptor(catalogue.ids[uri])
        folder = capability_folder(descriptor, index.scan["roots"])
        names = list(islice(_walk(folder), MAX_SKILL_FILES + 1))
    except (CapdiscError, OSError):
        raise UsageError(f"{_show(uri)} is not served: its folder cannot be read") from None
    if len(names) > MAX_SKILL_FILES:
        raise UsageError(f"{_show(uri)} is not served: it has more than {MAX_SKILL_FILES} files")
    return folder, sorted(names)


def _walk(folder: str) -> Iterator[str]:
    return walk_folder(folder, "", _MAX_DEPTH, MAX_SKILL_FILES)


def _read_frontmatter(
    index: Index, catalogue: SkillCatalogue, uri: str, folder: str
) -> JsonObject:
    """The front matter of the skill's file. Raises UsageError where the file is not the one that
    was indexed, or breaks the format.
    """
    descriptor = index.descriptor(catalogue.ids[uri])
    if os.path.basename(descriptor.source.path) != SKILL_FILE:
        raise UsageError(f"{_show(uri)} is not served: its file is not called {SKILL_FILE}")
    path = system.join(folder, SKILL_FILE)
    data = read_path(path, path, MAX_BYTES)
    if not isinstance(data, bytes) or content_hash(data) != descriptor.source.content_hash:
        raise UsageError(f"{_show(uri)} is not served: its file is not as it was indexed")
    fields = read_conforming_fields(_mask(data).decode("utf-8", "replace"))
    if isinstance(fields, str):
        raise UsageError(f"{_show(uri)} is not served: {fields}")
    if fields["name"] != descriptor.name:
        raise UsageError(f"{_show(uri)} is not served: its file has another name")
    return fields


def _read_file(folder: str, name: str) -> bytes | None:
    """The bytes that are offered of a file; None for one that is not: it is larger than 1 MiB, has
    become a link, or holds secrets.
    """
    path = system.join(folder, name)
    data = read_path(path, path, MAX_BYTES)
    if not isinstance(data, bytes) or held_by_content(data):
        return None
    return _mask(data)


def _mask(data: bytes) -> bytes:
    """The bytes with keys masked; those of a file that is not a text, as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    masked = capdisc_guard.mask_keys(text)
    return data if masked == text else masked.encode("utf-8")


def _mime_type(name: str, data: bytes) -> str:
    mime_type, _ = _TYPES.guess_type(name)
    return mime_type or ("application/octet-stream" if b"\0" in data[:1024] else "text/plain")


def _show(uri: str) -> str:
    return one_line(uri, 200)


class SkillOffer:
    """The skills of the newest generation. Their catalogue is read once for each generation; what
    is left out of a list is named on stderr, once.
    """

    def __init__(self, live: LiveIndex) -> None:
        self._live = live
        self._lock = threading.Lock()
        self._version = ""
        self._catalogue = SkillCatalogue(ids={}, listed=(), left_out=())
        self._named: set[str] = set()

    def answer(self, function: Callable[..., T], *arguments: str) -> T:
        """What a function of this module gives for the newest index and its catalogue."""
        with self._live.open_newest() as current:
            catalogue = self._read_catalogue(current)
            return function(current.ctx.index, catalogue, *arguments)

    def list_page(self, cursor: str) -> SkillPage:
        """The skills that follow the cursor."""
        page, problems = self.answer(list_skills, cursor)
        self._name_left_out(problems)
        return page

    def _read_catalogue(self, current: OpenGeneration) -> SkillCatalogue:
        with self._lock:
            if current.version != self._version:
                self._catalogue = read_catalogue(current.ctx.index)
                self._version = current.version
            return self._catalogue

    def _name_left_out(self, problems: Mapping[str, str]) -> None:
        """Print which skills are left out and why, those of a page on one line."""
        new = [
            f"{name} ({reason})" for name, reason in problems.items() if name not in self._named
        ]
        self._named.update(problems)
        if new:
            shown = console.sanitise(name_first(new, _SHOWN_PROBLEMS, "; "))
            console.print_notice(f"notice: not served under skill://: {shown}")
