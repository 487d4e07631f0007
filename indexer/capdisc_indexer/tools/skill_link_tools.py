"""The links of a skill and the files beside it, read one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.errors import LinkRefusedError
from capdisc_indexer.linked import MAX_LINKS, links_of, read_link
from capdisc_indexer.text import one_line, plain
from capdisc_indexer.tools.inputs import inputs, name
from capdisc_indexer.tools.lookup import named
from capdisc_indexer.tools.skill_lines import lines_before
from capdisc_indexer.tools.skill_tools import NAME, SKILLS, roots
from capdisc_indexer.tools.values import Desk, ToolAnswer, family


def _list_skill_links(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Files and addresses; places in the skill itself and what would be refused are left out."""
    skill = named(desk, arguments["name"], "skill")
    before = lines_before(skill, roots(desk))
    links = [link for link in links_of(skill, roots(desk), MAX_LINKS) if link.kind in ("file", "url")]
    return {
        "skill": skill.name,
        "links": [
            {
                "text": one_line(link.text, 200),
                "target": link.target,
                "is_url": link.kind == "url",
                "line_number": link.line + before,
            }
            for link in links
        ],
    }


def _resolve_skill_link(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    skill = named(desk, arguments["name"], "skill")
    target = arguments["target"]
    try:
        linked = read_link(skill, target, roots(desk))
    except LinkRefusedError as error:
        if "--network" not in error.hint:
            raise
        how = f"capdisc show {one_line(skill.id, 100)} --link {one_line(target, 300)} --network fetches it"
        raise LinkRefusedError(error.message, how) from None
    return {"skill": skill.name, "target": linked.target, "content": plain(linked.text)}


def _get_skill_file(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    skill = named(desk, arguments["name"], "skill")
    filename = arguments["filename"]
    # A name with a number sign in it is still a name: the same rule as for links, without their anchors.
    linked = read_link(skill, filename.replace("%", "%25").replace("#", "%23").replace("?", "%3F"), roots(desk))
    return {"skill": skill.name, "filename": filename, "content": plain(linked.text)}


_tool = family("skills", SKILLS)

TOOLS = (
    _tool(
        "list_skill_links",
        "The links of a skill, none of them read.",
        _list_skill_links,
        inputs("name", name=NAME),
    ),
    _tool(
        "resolve_skill_link",
        "The file of a skill's folder that a link leads to.",
        _resolve_skill_link,
        inputs("name target", name=NAME, target=name("As list_skill_links gives it.")),
    ),
    _tool(
        "get_skill_file",
        "A file of a skill's folder.",
        _get_skill_file,
        inputs("name filename", name=NAME, filename=name("Its path in the folder.")),
    ),
)
