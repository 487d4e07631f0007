"""discover_capabilities and tool_search: what fits a wish, in the two forms that agents know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.text import one_line, plain
from capdisc_indexer.tools.finding import find, row
from capdisc_indexer.tools.held import described
from capdisc_indexer.tools.inputs import inputs, limit, name, words
from capdisc_indexer.tools.values import Desk, Tool, ToolAnswer
from capdisc_indexer.types import Descriptor

ANY_KIND = "any"
TOP = 5
# What is read rather than called.
NOT_CALLED = frozenset({"database", "table", "api", "document", "section", "term"})
NO_GUIDANCE = "No special workflow: read the description of each before you call it."
FOUND = "Call these by name; search again for anything else you need."
NOTHING = "Nothing here fits. Say it in other words, or answer without a tool."


def _discover(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    kind = arguments["kind"]
    kinds = () if kind == ANY_KIND else (kind,)
    found = find(desk, arguments["query"], TOP, kinds, arguments.get("category", ""))
    capabilities = [row(desk, hit, head) for hit, head in found.pairs]
    return {"capabilities": capabilities, "totalIndexed": len(desk.index.documents)}


def _tool_search(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    there = [kind for kind in desk.index.meta("overview")["kinds"] if kind not in NOT_CALLED]
    found = find(desk, arguments["query"], arguments["limit"], there or [ANY_KIND])
    descriptors = [desk.index.whole(dict(head)) for _, head in found.pairs]
    names = [descriptor.name for descriptor in descriptors]
    return {
        "tools": [_light(descriptor, names.count(descriptor.name) > 1) for descriptor in descriptors],
        "workflowGuidance": workflow_guidance(desk, descriptors) if descriptors else "",
        "instruction": FOUND if descriptors else NOTHING,
    }


def _light(descriptor: Descriptor, is_shared: bool) -> dict[str, str]:
    """Name, description and hint; a name that two of the answer have gives way to the id."""
    hint = one_line(descriptor.usage_hint, 300) or ("Ask before use." if descriptor.confirm else "")
    called = descriptor.id if is_shared else descriptor.name
    return {"name": called, "description": described(descriptor), "hint": hint}


def workflow_guidance(desk: Desk, descriptors: Sequence[Descriptor]) -> str:
    """What authors say about how to work with these and with their categories, each text once, in the order of the
    answer."""
    of_categories = desk.index.guidance(descriptor.category for descriptor in descriptors)
    said = [*(each["text"] for each in of_categories.values()), *(descriptor.guidance for descriptor in descriptors)]
    texts = dict.fromkeys(plain(text).strip() for text in said)
    return "\n\n".join(text for text in texts if text) or NO_GUIDANCE


TOOLS = (
    Tool(
        name="discover_capabilities",
        description="Search all capabilities for what you need now.",
        input_schema=inputs(
            "query", query=words("The need."), kind={"type": "string", "default": ANY_KIND}, category=name()
        ),
        answer=_discover,
        group="discovery",
        aliases=("discoverCapabilities", "search_capabilities"),
    ),
    Tool(
        name="tool_search",
        description="Find the tools for a task, with guidance on how to use them. Search again for other needs.",
        input_schema=inputs("query", query=words("What you need to do."), limit=limit(TOP)),
        answer=_tool_search,
        group="discovery",
        aliases=("searchTools", "search_tools"),
    ),
)
