"""What the overview ends with: how to have more, in a shell or through tools."""

from __future__ import annotations

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.rendering.formats.format import RenderFormat

# What an agent can do next, by the means that it has.
OVERVIEW_HINTS = {
    "cli": 'More: capdisc search "what you need", capdisc show ID',
    "tool": "More: call tool_search with what you need",
    "none": "",
}


def with_hint(form: RenderFormat, name: str) -> RenderFormat:
    """The format with this hint below its overview. Raises KeyError for a name that is none."""
    line = form.hint(OVERVIEW_HINTS[name]) if OVERVIEW_HINTS[name] else ""
    if form.name == "xml":
        return _with_ending(form, line + form.endings[0])
    return (
        form if name == "cli" else _with_ending(form, line)
    )  # each format ends with its own way of naming the commands


def _with_ending(form: RenderFormat, ending: str) -> RenderFormat:
    return replace(form, endings=(ending, *form.endings[1:]))


# How to find and use capabilities, as templates tell it.
DISCOVERY_INSTRUCTIONS = {
    "cli": '- capdisc search "what you need": the capabilities that fit\n'
    "- capdisc show ID: one of them in full\n"
    "- capdisc call TOOL JSON: ask about tables, APIs, documents, skills and facts",
    "tool": "- tool_search: the capabilities that fit a need\n"
    "- search_tool: one of them in full, by its exact name\n"
    "- execute_tool: call one of them",
    "none": "",
}
