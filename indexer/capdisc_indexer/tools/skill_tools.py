"""Skills with what they link to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.linked import links_of, read_link
from capdisc_indexer.text import one_line, plain
from capdisc_indexer.tools.finding import find, of_kinds
from capdisc_indexer.tools.held import described, texts
from capdisc_indexer.tools.inputs import inputs, limit, name, words
from capdisc_indexer.tools.lookup import named
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.types import Descriptor

SKILLS = ("skill",)
# Of the files that a skill links to: so many, and so many characters of them in all. The rest is named.
MAX_REFERENCES = 10
REFERENCE_CHARACTERS = 20_000


def _list_skills(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return {"skills": [_listed(desk.index.whole(head)) for head in of_kinds(desk, "skill")]}


def _listed(skill: Descriptor) -> dict[str, Any]:
    shown = {"name": skill.name, "description": described(skill), "path": skill.source.path}
    return shown | {"allowed_tools": allowed_tools(skill)}


def allowed_tools(skill: Descriptor) -> list[str]:
    """The tools that its author lets the skill use; none named means that nothing was said."""
    return texts(skill.extra, "allowed-tools")


def _get_skill(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    skill = named(desk, arguments["name"], "skill")
    found, left_out = _references(desk, skill)
    answer = {
        "name": skill.name,
        "description": described(skill),
        "content": plain(skill.content),
        "allowed_tools": allowed_tools(skill),
        "references": found,
    }
    return answer | ({"references_left_out": left_out} if left_out else {})


def _references(desk: Desk, skill: Descriptor) -> tuple[dict[str, str], list[str]]:
    """The texts of the files that the skill links to, and the targets that are too much or cannot be read."""
    found: dict[str, str] = {}
    left_out: list[str] = []
    room = REFERENCE_CHARACTERS
    for target in [link.target for link in links_of(skill, roots(desk)) if link.kind == "file" and link.exists]:
        content = _text(desk, skill, target) if len(found) < MAX_REFERENCES else None
        if content is None or len(content) > room:
            left_out.append(one_line(target, 200))
        else:
            found[target] = content
            room -= len(content)
    return found, left_out


def _text(desk: Desk, skill: Descriptor, target: str) -> str | None:
    try:
        return plain(read_link(skill, target, roots(desk)).text)
    except CapdiscError:  # no text, too large, gone: its name is told
        return None


def roots(desk: Desk) -> list[str]:
    """The folders that the index was made of."""
    scanned: list[str] = desk.index.meta("scan")["roots"]
    return scanned


def _search_skills(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    found = find(desk, arguments["query"], arguments["limit"], SKILLS)
    return {
        "skills": [
            {"name": head["name"], "relevance": round(hit.relevance, 2), "description": described(head)}
            for hit, head in found.pairs
        ]
    }


NAME = name("Its name or id.")
_tool = family("skills", SKILLS)

TOOLS = (
    _tool("list_skills", "List the skills with the tools that each may use.", _list_skills, inputs()),
    _tool(
        "get_skill",
        "A skill's instructions with the files that they link to.",
        _get_skill,
        inputs("name", name=NAME),
        "load_skill",
    ),
    _tool(
        "search_skills",
        "Find the skills for a task.",
        _search_skills,
        inputs("query", query=words("The task."), limit=limit(3)),
    ),
)
