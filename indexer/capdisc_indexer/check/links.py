"""Where the Markdown links of a skill lead: to files inside its folder, to the web, or somewhere they must not."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from capdisc_indexer.markdown.links import MarkdownLink, links
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.links import inside
from capdisc_indexer.sources.parts import LongText, Part
from capdisc_indexer.types import Finding, Severity

MANY_LINKS = 200
_SHOWN = 5  # links to nothing, of one file

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_OUTSIDE = re.compile(r"file:|/|~|[A-Za-z]:[\\/]|\\\\", re.IGNORECASE)
_PATTERN = re.compile(r"[*{}<>$|]")  # stands for several files, or for one that the reader fills in


def link_rules(part: Part, file: FoundFile) -> Iterator[Finding]:
    """Relative links exist, and none leaves the folder; nothing is read."""
    for body in part.longs:
        if "](" in body.value or "]:" in body.value:
            yield from _of_body(body, os.path.dirname(file.resolved))


def _of_body(body: LongText, folder: str) -> Iterator[Finding]:
    found = list(links(body.value))
    if len(found) > MANY_LINKS:
        message = f"{len(found):,} links; an agent that follows them reads without end"
        yield _at(body, found[0], "too-many-links", message, "link what is needed")
    local = [link for link in found if _OUTSIDE.match(link.target) or _is_relative(link.target)]
    for link in [link for link in local if _leaves(link.target, folder)][:1]:
        message, hint = "a link leads out of the skill's own folder", "copy what is needed beside SKILL.md"
        yield _at(body, link, "path-escape", message, hint)
    yield from _missing(body, local, folder)


def _missing(body: LongText, local: Sequence[MarkdownLink], folder: str) -> Iterator[Finding]:
    lost = [link for link in local[:MANY_LINKS] if _names_nothing(link.target, folder)]
    for link in lost[:_SHOWN]:
        message = f"a link leads to {link.target[:100]}, which is not there"
        yield _at(body, link, "link-missing", message, "correct the link, or add the file")


def _is_relative(target: str) -> bool:
    return bool(target) and target[0] not in "#$" and not _SCHEME.match(target) and not _PATTERN.search(target)


def _name(target: str) -> str:
    """The file's part of a target, without a fragment and a query."""
    return target.partition("#")[0].partition("?")[0]


def _place(target: str, folder: str) -> str:
    name = _name(target)
    if "%" in name:
        from urllib.parse import unquote  # 4 ms, and few links need it

        name = unquote(name)
    return os.path.normpath(os.path.join(folder, name))


def _leaves(target: str, folder: str) -> bool:
    if _OUTSIDE.match(target) or "\\" in target or "%2e" in target.lower():
        return True
    return not inside(_place(target, folder), [folder])


def _names_nothing(target: str, folder: str) -> bool:
    looks_like_file = "." in os.path.basename(_name(target))
    if not looks_like_file or _leaves(target, folder):
        return False
    place = os.path.realpath(_place(target, folder))
    # Nothing is said of what a link inside the folder leads to outside it, not even whether it is there.
    return inside(place, [folder]) and not os.path.lexists(place)


def _at(body: LongText, link: MarkdownLink, code: str, message: str, hint: str) -> Finding:
    line, column = (body.line, 1) if body.in_place else (body.line + link.line - 1, link.column)
    return Finding(
        code=code, severity=Severity.WARNING, message=message, hint=hint, path=body.path, line=line, column=column
    )
