"""What a file such as AGENTS.md tells any agent of the capabilities that are there.

The file is one that people commit, so the same capabilities give the same text on every machine. A
file of the workspace lists the workspace's own capabilities, with links relative to the file;
those of the user's folders are left out, since others do not have them. A file outside of the
workspace lists the user's own, with `~` for the home folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from capdisc.args.params import Filters
from capdisc.context.open_index import CommandContext
from capdisc.context.query_execution import check_query
from capdisc.context.surroundings import Runtime
from capdisc.output import console
from capdisc.render.relevant_capabilities import offered_headers, offered_places
from capdisc.setup import marked_block, settings_files
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.platforms import system
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

_HEADING = """\
## {title}

Before you begin a task, look for an entry that fits it. If there is one, read its file before you do
anything else, and follow it.

"""
_NOTHING = "None at present.\n"
_MORE = "- and {count:,} more: `capdisc list`\n"
# Characters of descriptions: the longest with which all entries fit into the budget.
_LENGTHS = (200, 140, 100, 70, 40, 0)
# The kind of most entries, which is not named in each.
_USUAL_KIND = "skill"
# Lists of tools, which the gateway and `index` keep: nobody reads their files.
_LIST_FORMATS = frozenset({"mcp", "mcp-servers", "functions"})
# What reads as markup, to a model as well.
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<!--|-->")
_BRACKET, _ESCAPED = re.compile(r"([\[\]])"), r"\\\1"
# A link with one of these has to stand in angle brackets.
_NOT_IN_LINK = re.compile(r"[\s()]")

_Fits = Callable[[str], bool]


@frozen(kw_only=True)
class CatalogueBlock:
    """The text of the block, and notices of what it leaves out, for the person who commits it."""

    text: str
    notices: tuple[str, ...] = ()


@frozen(kw_only=True)
class _Entry:
    """The line of one capability: `label` is its name with a link and its kind."""

    label: str
    description: str

    def format(self, length: int) -> str:
        """The line, with at most this many characters of the description."""
        description = one_line(self.description, length) if length else ""
        return f"- {self.label}: {description}\n" if description else f"- {self.label}\n"


def build_block(
    ctx: CommandContext, file: Path, filters: Filters, budget_tokens: int | None = None
) -> CatalogueBlock:
    """The block for the file, within the tokens (None: those of the settings).

    Raises InputError where there is nothing to list, unless the file has a block already, and
    UsageError where the budget is too small.
    """
    query = filters.query((), 1)
    query = check_query(ctx, query)
    is_shared = file.is_relative_to(ctx.runtime.workspace)
    columns = ctx.index.columns
    ids = [columns.ids[place] for place in offered_places(ctx, query)]
    headers = [header for header in offered_headers(ctx, query, ids) if _is_switched_on(header)]
    near: list[CapabilityHeader] = []
    far: list[CapabilityHeader] = []
    for header in sorted(headers, key=_sort_key):
        is_here = _is_in_workspace(ctx.runtime, header["source"]["path"])
        (near if is_here is is_shared else far).append(header)
    entries: dict[tuple[str, str], _Entry] = {}
    for header in (header for header in near if not header.get("warnings")):
        label = _format_label(ctx.runtime, header, file, is_shared)
        entry = _Entry(label=label, description=_MARKUP.sub(" ", header["description"]))
        # Copies of a capability, for several clients, have one line.
        entries.setdefault((header["kind"], header["name"].casefold()), entry)
    notices = tuple(_describe_omissions(near, far, is_shared))
    if not entries and not marked_block.has_block(settings_files.read_text(file) or "", file):
        raise InputError(
            "; ".join([f"there is nothing to list in {file}", *notices]),
            "write a skill (capdisc new skill NAME), and run it again",
        )
    title = "Skills and tools of this project" if is_shared else "My skills and tools"
    counter = make_counter(find_tokenizer(ctx.config["tokenizer"]))
    budget = budget_tokens or int(ctx.config["budget"])
    text = _fit_entries(
        _HEADING.format(title=title),
        list(entries.values()),
        lambda text: counter.count(text) <= budget,
    )
    return CatalogueBlock(text=text, notices=notices)


def print_omissions(block: CatalogueBlock) -> None:
    """Print what the block leaves out."""
    for notice in block.notices:
        console.print_notice(f"notice: {notice}")


def shorten_paths(text: str, runtime: Runtime) -> str:
    """The text with paths in the workspace relative to it, and with `~` for the home folder."""
    for folder, replacement in ((runtime.workspace, ""), (runtime.home, "~/")):
        if folder != Path(folder.anchor):
            text = re.sub(rf"(?<![\w./~-]){re.escape(folder.as_posix())}/", replacement, text)
    return text


def _is_switched_on(header: CapabilityHeader) -> bool:
    """As its manifest says; what a machine lacks is not the same everywhere."""
    return bool(header.get("available", True))


def _sort_key(header: CapabilityHeader) -> tuple[bool, str, str, str]:
    """Skills first, then by kind and name."""
    kind = header["kind"]
    return (kind != _USUAL_KIND, kind, header["name"].casefold(), header["source"]["path"])


def _is_in_workspace(runtime: Runtime, path: str) -> bool:
    return Path(path).is_relative_to(runtime.workspace)


def _format_label(runtime: Runtime, header: CapabilityHeader, file: Path, is_shared: bool) -> str:
    """The name with a link to the file of the capability, and the kind."""
    source = header["source"]
    name = one_line(_MARKUP.sub(" ", header["name"]), 80)
    kind = "" if header["kind"] == _USUAL_KIND else f" ({one_line(header['kind'], 40)})"
    if not is_shared and source["format"] in _LIST_FORMATS:
        return f"{name}{kind}"
    path = one_line(source["path"])
    target = system.relpath(path, file.parent) if is_shared else shorten_paths(path, runtime)
    target = f"<{target}>" if _NOT_IN_LINK.search(target) else target
    return f"[{_BRACKET.sub(_ESCAPED, name)}]({target}){kind}"


def _fit_entries(heading: str, entries: Sequence[_Entry], fits: _Fits) -> str:
    """The heading and all entries, with descriptions as long as fits; else the names that fit."""
    if not entries:
        return heading + _NOTHING
    for length in _LENGTHS:
        text = heading + "".join(entry.format(length) for entry in entries)
        if fits(text):
            return text
    if not fits(_cut(heading, entries, 0)):
        raise UsageError("the budget is too small for a list", "give a larger --budget")
    low, high = 0, len(entries)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(_cut(heading, entries, middle)) else (low, middle)
    return _cut(heading, entries, low)


def _cut(heading: str, entries: Iterable[_Entry], count: int) -> str:
    lines = [entry.format(0) for entry in entries]
    return heading + "".join(lines[:count]) + _MORE.format(count=len(lines) - count)


def _describe_omissions(
    near: Sequence[CapabilityHeader], far: Sequence[CapabilityHeader], is_shared: bool
) -> Iterator[str]:
    """Which capabilities the block leaves out, and why."""
    if far:
        count = console.format_count(len(far), "capability", "capabilities")
        yield (
            f"left out: {count} outside of this project, which others do not have"
            if is_shared
            else f"left out: {count} of this project, which have no place in your own file"
        )
    if withheld := [header["id"] for header in near if header.get("warnings")]:
        yield f"left out, since something in them needs review: {console.format_names(withheld)}"
