"""Skills: their instructions, what these link to, and the files in their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TypedDict

import capdisc_guard
from capdisc_indexer.model.errors import CapdiscError, LinkRefusedError
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_links import (
    MAX_LINKS,
    capability_folder,
    list_links,
    read_link,
    read_linked_text,
    resolve_file,
)
from capdisc_indexer.tools.capability_lookup import (
    find_capability,
    headers_of_kinds,
    search_capabilities,
    short_description,
    text_list,
)
from capdisc_indexer.tools.capability_reading import link_to
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext, load_tools

# Of the files that a skill links to, get_skill prints up to this many, and this many characters of
# them together; it names the others.
MAX_REFERENCES = 10
REFERENCE_CHARACTERS = 20_000
# So much of a skill's content is looked for in its file.
_MATCHED_CHARACTERS = 400


class SkillRow(TypedDict):
    """A skill in a list; `path` is that of its file."""

    name: str
    description: str
    path: str
    allowed_tools: list[str]


def _list_skills(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {
        "skills": [
            _skill_row(ctx.index.full_descriptor(header))
            for header in headers_of_kinds(ctx, "skill")
        ]
    }


def _skill_row(skill: Descriptor) -> SkillRow:
    return {
        "name": skill.name,
        "description": short_description(skill),
        "path": skill.source.path,
        "allowed_tools": allowed_tools(skill),
    }


def allowed_tools(skill: Descriptor) -> list[str]:
    """The tools that the skill's author lets it use; empty where the author does not say."""
    return text_list(skill.extra, "allowed-tools")


def _search_skills(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_capabilities(ctx, arguments["query"], arguments["limit"], ["skill"])
    return {
        "skills": [
            {
                "name": header["name"],
                "relevance": round(hit.relevance, 2),
                "description": short_description(header),
            }
            for hit, header in search_result.pairs
        ]
    }


def _get_skill(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    skill = find_capability(ctx, arguments["name"], "skill")
    references, left_out = _read_references(ctx, skill)
    answer: ToolAnswer = {
        "name": skill.name,
        "description": short_description(skill),
        "content": strip_controls(skill.content),
        "allowed_tools": allowed_tools(skill),
        "references": references,
    }
    return answer | ({"references_left_out": left_out} if left_out else {})


def _read_references(ctx: ToolContext, skill: Descriptor) -> tuple[dict[str, str], list[str]]:
    """The texts of the files that the skill links to, by target; and the targets that are too much
    or cannot be read.
    """
    texts: dict[str, str] = {}
    left_out: list[str] = []
    remaining_characters = REFERENCE_CHARACTERS
    for link in list_links(skill, indexed_roots(ctx)):
        if link.kind != "file" or not link.exists:
            continue
        text = _reference_text(ctx, skill, link.target) if len(texts) < MAX_REFERENCES else None
        if text is None or len(text) > remaining_characters:
            left_out.append(one_line(link.target, 200))
        else:
            texts[link.target] = text
            remaining_characters -= len(text)
    return texts, left_out


def _reference_text(ctx: ToolContext, skill: Descriptor, target: str) -> str | None:
    try:
        return strip_controls(read_link(skill, target, indexed_roots(ctx)).text)
    except CapdiscError:  # no text, too large, or gone: the answer names it
        return None


def indexed_roots(ctx: ToolContext) -> Sequence[str]:
    """The folders that the index was built from."""
    return ctx.index.scan["roots"]


class LinkRow(TypedDict):
    """A link of a skill; `line_number` is that of its file, from 1."""

    text: str
    target: str
    is_url: bool
    line_number: int


def _list_skill_links(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Links to files and URLs; those to places in the skill itself, and those that would be
    refused, are left out.
    """
    skill = find_capability(ctx, arguments["name"], "skill")
    lines_before = count_lines_before(skill, indexed_roots(ctx))
    rows: list[LinkRow] = [
        {
            "text": one_line(link.text, 200),
            "target": link.target,
            "is_url": link.kind == "url",
            "line_number": link.line + lines_before,
        }
        for link in list_links(skill, indexed_roots(ctx), MAX_LINKS)
        if link.kind in ("file", "url")
    ]
    return {"skill": skill.name, "links": rows}


def count_lines_before(skill: Descriptor, roots: Sequence[str]) -> int:
    """How many lines of the skill's file stand before its content, which begins after the front
    matter; 0 where the file cannot be read any more.
    """
    name = PurePath(skill.source.path).name
    try:
        path = resolve_file(capability_folder(skill, roots), name)
        text = capdisc_guard.mask_keys(read_linked_text(path, name)).replace("\r\n", "\n")
    except CapdiscError:
        return 0
    start = text.find(skill.content[:_MATCHED_CHARACTERS])
    return text.count("\n", 0, start) if start > 0 else 0


def _resolve_skill_link(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    skill = find_capability(ctx, arguments["name"], "skill")
    target = arguments["target"]
    try:
        linked = read_link(skill, target, indexed_roots(ctx))
    except LinkRefusedError as error:
        if "--network" not in error.hint:
            raise
        command = f"capdisc show {one_line(skill.id, 100)} --link {one_line(target, 300)}"
        raise LinkRefusedError(error.message, f"{command} --network fetches it") from None
    return {"skill": skill.name, "target": linked.target, "content": strip_controls(linked.text)}


def _get_skill_file(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    skill = find_capability(ctx, arguments["name"], "skill")
    filename = arguments["filename"]
    linked = read_link(skill, link_to(filename), indexed_roots(ctx))
    return {"skill": skill.name, "filename": filename, "content": strip_controls(linked.text)}


TOOLS = load_tools(
    "skills",
    {
        "list_skills": _list_skills,
        "get_skill": _get_skill,
        "search_skills": _search_skills,
        "list_skill_links": _list_skill_links,
        "resolve_skill_link": _resolve_skill_link,
        "get_skill_file": _get_skill_file,
    },
)
