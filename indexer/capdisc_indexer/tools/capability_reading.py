"""What does an agent get of one capability, or of a file in its folder, within the tokens of one
answer?

All of it where that fits. Of a longer text: the outline of its headings with their sizes, its
first sections, and a cursor to what follows. An answer is a few lines about the text, a mark, and
the text to the answer's end; the texts of all pages, one after another, are the whole text.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath

import capdisc_guard
from capdisc_indexer.model.errors import CapdiscError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import to_record
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.platforms import resolve_path, spell_path, system
from capdisc_indexer.rendering.capability_text import detail_text
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.scanned_files import held_by_name
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.location import locate_file
from capdisc_indexer.text.normalization import name_first, one_line, strip_controls
from capdisc_indexer.text.sections import Section, find_section, section_slugs, split_sections
from capdisc_indexer.tools.answer_pages import (
    MAX_ANSWER_TOKENS,
    CountTokens,
    digest_text,
    fit_text,
    format_cursor,
    read_cursor,
)
from capdisc_indexer.tools.capability_links import (
    capability_folder,
    read_linked_text,
    resolve_file,
)
from capdisc_indexer.tools.capability_lookup import find_by_name
from capdisc_indexer.tools.tool_types import ToolContext

# ruff: noqa: PTH113, PTH120

TEXT_MARK = "--- text ---"
_OUTLINE_TOKENS = 600
_MAX_OUTLINE_LINES = 200
_HEADING_CHARACTERS = 80
# What the lines about a text may grow by when the place of the next page is known.
_CURSOR_MARGIN = 24
# Of a folder with more entries nothing is listed: it is a project, not that of one capability.
_MAX_FOLDER_ENTRIES = 300
_MAX_FOLDER_DEPTH = 3
_MAX_LISTED_FILES = 20


@frozen(kw_only=True)
class ReadRequest:
    """Which text an agent wants: a capability by its id, name or path; of it a file of its folder
    or a section; or what follows a cursor.
    """

    name: str
    section: str = ""
    file: str = ""
    cursor: str = ""


@frozen(kw_only=True)
class _Passage:
    """The part `text[start:end]` of a text, and what it is called. The capability's own content
    begins at `body`; before it stand the fields that all capabilities have.
    """

    title: str
    text: str
    body: int
    start: int
    end: int
    is_continued: bool = False


def read_capability(
    ctx: ToolContext, request: ReadRequest, count: CountTokens, limit: int = MAX_ANSWER_TOKENS
) -> str:
    """The text that the request asks for, at most `limit` tokens of it. Raises UsageError for a
    name, section or cursor that nothing here has, and for a file that is not read.
    """
    descriptor = find_readable(ctx, request.name)
    whole = _load_text(ctx, descriptor, request.file)
    passage = _select_passage(whole, request, count)
    about = list(_describe(ctx, descriptor)) if passage == whole and not request.file else []
    return _write_page(passage, about, count, limit)


def read_part(
    ctx: ToolContext, descriptor: Descriptor, section: str, file: str, count: CountTokens
) -> str:
    """The whole text of a section of the capability, of a file in its folder ("" for neither), or
    of a section of that file. Raises as `read_capability` does.
    """
    whole = _load_text(ctx, descriptor, file)
    passage = _select_passage(whole, ReadRequest(name=descriptor.id, section=section), count)
    return passage.text[passage.start : passage.end]


def _load_text(ctx: ToolContext, descriptor: Descriptor, file: str) -> _Passage:
    """All of the capability's text, or of a file in its folder."""
    title, body = one_line(descriptor.id, 120), 0
    if file:
        text = _read_file(ctx, descriptor, file)
        title = f"{title}, file {one_line(file, 200)}"
    else:
        text = detail_text(descriptor)
        content = strip_controls(descriptor.content).strip()
        body = max(text.rfind(content), 0) if content else 0
    return _Passage(title=title, text=text, body=body, start=0, end=len(text))


def find_readable(ctx: ToolContext, name: str) -> Descriptor:
    """The capability with this id, name or path. Raises UsageError with the nearest names."""
    header = ctx.index.resolve(name) or find_by_path(ctx.index, name, ctx.workspace)
    if header is None:
        headers = find_by_name(ctx, name)
        header = headers[0] if len(headers) == 1 else None
    if header is not None:
        return ctx.index.full_descriptor(header)
    try:
        return ctx.index.descriptor(name)  # says why there is none
    except UsageError as error:
        is_suggestion = error.hint.startswith("did you mean")
        hint = error.hint if is_suggestion else "search_capabilities names those that there are"
        raise UsageError(f"there is no capability {one_line(name, 120)!r}", hint) from None


def find_by_path(index: Index, name: str, base: PurePath | None) -> CapabilityHeader | None:
    """The first capability by id of the file or the folder at this path, which begins in `base`;
    None for a name that is not a path.
    """
    if "/" not in name and not name.endswith((".md", ".yaml", ".yml")):
        return None
    path = spell_path(system.normpath(system.join(base or "/", name)))
    if header := next((header for header in index.heads() if _lies_at(header, path)), None):
        return header
    # The path may lead to the capability by a link, or be the place that a link of it leads to.
    resolved = resolve_path(path)
    return next((header for header in index.heads() if _leads_to(header, resolved)), None)


def _lies_at(header: CapabilityHeader, path: str) -> bool:
    source = header["source"]
    paths = (source["path"], *source.get("other_paths", ()))
    is_folder = SOURCES[source["format"]].owns_folder and path in map(os.path.dirname, paths)
    return path in paths or is_folder


def _leads_to(header: CapabilityHeader, resolved: str) -> bool:
    """Whether the file of the capability, or the folder that it owns, lies at this real path."""
    source = header["source"]
    name = os.path.basename(source["path"])
    is_folder = SOURCES[source["format"]].owns_folder
    if os.path.basename(resolved) != name and not is_folder:
        return False
    place = resolve_path(source["path"])
    return resolved == place or (is_folder and resolved == os.path.dirname(place))


def _select_passage(whole: _Passage, request: ReadRequest, count: CountTokens) -> _Passage:
    if request.cursor:
        digest = digest_text(whole.text)
        numbers = read_cursor(request.cursor, digest, f"the text of {whole.title}")
        start, end = numbers if len(numbers) == 2 else (0, 0)
        if not 0 < start < end <= len(whole.text):
            raise UsageError("nothing follows this cursor", "leave it out to start again")
        return replace(whole, start=start, end=end, is_continued=True)
    if not request.section:
        return whole
    section = _find_section(whole, request.section)
    if section is None:
        name = one_line(request.section, _HEADING_CHARACTERS)
        headings = "; ".join(line.strip(" -") for line in _outline(whole, count))
        raise UsageError(
            f"{whole.title} has no section {name!r}, and none or several begin with it",
            f"its sections with their tokens: {headings}" if headings else "read it as a whole",
        )
    title = f"{whole.title}, section {one_line(section.heading, _HEADING_CHARACTERS)!r}"
    return replace(whole, title=title, start=section.start, end=section.end)


def _find_section(whole: _Passage, name: str) -> Section | None:
    """The section of the capability's own content, else one of the fields before it."""
    if section := find_section(whole.text[whole.body :], name):
        return _shift(section, whole.body)
    return find_section(whole.text[: whole.body], name)


def _shift(section: Section, offset: int) -> Section:
    return replace(section, start=section.start + offset, end=section.end + offset)


# The files of a capability's folder.


def _read_file(ctx: ToolContext, descriptor: Descriptor, name: str) -> str:
    """The text of a file of the capability's folder, keys masked. Raises LinkRefusedError for a
    path out of the folder and for a file with secrets, UsageError for one that is not there, with
    the files that are, InputError for one that is not a text or too large.
    """
    path = resolve_file(capability_folder(descriptor, ctx.index.scan["roots"]), link_to(name))
    if not os.path.isfile(path):
        files = _list_files(ctx, descriptor)
        raise UsageError(
            f"there is no file {one_line(name, 200)} next to {one_line(descriptor.id, 120)}",
            f"there are: {files}" if files else "there are none",
        )
    return strip_controls(capdisc_guard.mask_keys(read_linked_text(path, name)))


def link_to(name: str) -> str:
    """The target of a link to the file of this name: the rules for links hold for files, too, and
    in a name a number sign begins no anchor.
    """
    return name.replace("%", "%25").replace("#", "%23").replace("?", "%3F")


def _list_files(ctx: ToolContext, descriptor: Descriptor) -> str:
    """The first files of the capability's own folder by their paths in it, without its manifest,
    hidden files and those that hold secrets; empty where it has no folder or a very large one.
    """
    try:
        folder = capability_folder(descriptor, ctx.index.scan["roots"])
        files = walk_folder(folder, "", _MAX_FOLDER_DEPTH, _MAX_FOLDER_ENTRIES)
        entries = list(islice(files, _MAX_FOLDER_ENTRIES + 1))
    except (CapdiscError, OSError):
        return ""
    if len(entries) > _MAX_FOLDER_ENTRIES:
        return ""
    manifest = PurePath(descriptor.source.path).name
    names = sorted(one_line(name, 120) for name in entries if name != manifest)
    return name_first(names, _MAX_LISTED_FILES)


def walk_folder(folder: str, prefix: str, depth: int, max_entries: int) -> Iterator[str]:
    """The paths of the regular files below the folder, each after `prefix`: no hidden ones, none
    that holds secrets by its name, links not followed. After `max_entries` in one folder, its
    others are not looked at.
    """
    with os.scandir(folder) as scan:
        for number, entry in enumerate(scan):
            name = f"{prefix}{entry.name}"
            if number > max_entries:
                return
            if entry.name.startswith((".", "__pycache__", "node_modules")):
                continue
            if system.is_folder(entry):
                if depth > 1:
                    yield from walk_folder(entry.path, f"{name}/", depth - 1, max_entries)
            elif entry.is_file(follow_symlinks=False) and not held_by_name(entry.path, entry.path):
                yield name


# The answer.


def _describe(ctx: ToolContext, descriptor: Descriptor) -> Iterator[str]:
    """Where the capability lies, what lies next to it, and what to know before it is used."""
    yield f"file: {one_line(locate_file(descriptor.source.path, ctx.workspace), 300)}"
    if files := _list_files(ctx, descriptor):
        yield f"beside it: {files}"
    if descriptor.warnings:
        yield f"review before use: {', '.join(one_line(name, 80) for name in descriptor.warnings)}"
    header, _ = to_record(descriptor)
    if not ctx.available(header):
        yield "not usable here: it is switched off, or something that it requires is missing"
    if descriptor.run and ctx.execute is None:
        yield f"to run it: capdisc run {one_line(descriptor.id)} ARGUMENTS_AS_JSON"


def _write_page(passage: _Passage, about: Sequence[str], count: CountTokens, limit: int) -> str:
    """The first page of the passage with the lines about it."""
    whole = _join_page([passage.title, *about], passage.text[passage.start : passage.end])
    if count(whole) <= limit:
        return whole
    digest = digest_text(passage.text)
    lines = [passage.title, *about, *_size_lines(passage, count)]
    room = limit - count(_join_page(lines, "")) - _CURSOR_MARGIN
    while True:
        stop = fit_text(passage.text, passage.start, passage.end, room, count)
        remark = f'read on with cursor "{format_cursor(digest, stop, passage.end)}"'
        page = _join_page([*lines, remark], passage.text[passage.start : stop])
        if (tokens := count(page)) <= limit:
            return page
        room -= tokens - limit


def _join_page(lines: Sequence[str], text: str) -> str:
    return "\n".join([*lines, TEXT_MARK, text])


def _size_lines(passage: _Passage, count: CountTokens) -> list[str]:
    """How much there is and, at the first page, the headings in it."""
    tokens = f"{count(passage.text[passage.start : passage.end]):,} tokens"
    if passage.is_continued:
        return [f"{tokens} from here on"]
    outline = _outline(passage, count)
    if len(outline) < 2:
        return [tokens]
    return [f"{tokens}; its sections, each readable with `section`, and their tokens:", *outline]


def _outline(passage: _Passage, count: CountTokens) -> list[str]:
    """A line for each heading of the passage with the tokens of its section, the lower levels
    indented; without the lowest levels, or the last ones, where they are too many.
    """
    sections = [
        (name, section)
        for name, section in _name_sections(passage)
        if passage.start <= section.start < passage.end
    ]
    levels = sorted({section.level for _, section in sections})
    lines: list[str] = []
    for depth in range(len(levels), 0, -1):
        lines = [
            f"{'  ' * levels.index(section.level)}- {name} "
            f"({count(passage.text[section.start : section.end]):,})"
            for name, section in sections
            if section.level <= levels[depth - 1]
        ]
        if len(lines) <= _MAX_OUTLINE_LINES and count("\n".join(lines)) <= _OUTLINE_TOKENS:
            return lines
    total, lines = len(lines), lines[:_MAX_OUTLINE_LINES]
    while lines and count("\n".join(lines)) > _OUTLINE_TOKENS:
        lines = lines[: len(lines) * 3 // 4]
    return [*lines, f"- and {total - len(lines)} more"] if lines else []


def _name_sections(passage: _Passage) -> list[tuple[str, Section]]:
    """The sections with headings, each with a name that finds it: its heading, or its anchor where
    another one has the same heading.
    """
    # Of the fields, the title and the heading of the content itself are not sections to read.
    fields = [
        section
        for section in split_sections(passage.text[: passage.body])
        if section.level > 1 and section.end < passage.body
    ]
    inside = split_sections(passage.text[passage.body :])
    names = [one_line(section.heading, _HEADING_CHARACTERS) for section in inside]
    anchors = section_slugs(inside)
    headings = Counter(section.heading.lower() for section in inside)
    return [(one_line(section.heading, _HEADING_CHARACTERS), section) for section in fields] + [
        (name if headings[section.heading.lower()] == 1 else anchor, _shift(section, passage.body))
        for name, anchor, section in zip(names, anchors, inside, strict=True)
        if section.level
    ]
