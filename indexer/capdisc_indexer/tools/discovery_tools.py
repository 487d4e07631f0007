"""discover_capabilities and tool_search: what fits a wish, in the two forms that agents know."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_search import hit_row, search_capabilities, short_description
from capdisc_indexer.tools.tool_types import (
    Tool,
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
)

ANY_KIND = "any"
DEFAULT_LIMIT = 5
# What is read rather than called.
NON_CALLABLE_KINDS = frozenset({"database", "table", "api", "document", "section", "term"})
NO_GUIDANCE = "No special workflow: read the description of each before you call it."
FOUND_INSTRUCTION = "Call these by name; search again for anything else you need."
NOTHING_INSTRUCTION = "Nothing here fits. Say it in other words, or answer without a tool."


def _discover_capabilities(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    kind = arguments["kind"]
    kinds = () if kind == ANY_KIND else (kind,)
    search_result = search_capabilities(
        ctx, arguments["query"], DEFAULT_LIMIT, kinds, arguments.get("category", "")
    )
    capabilities = [hit_row(ctx, hit, header) for hit, header in search_result.pairs]
    return {"capabilities": capabilities, "totalIndexed": len(ctx.index.documents)}


def _tool_search(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    there = [kind for kind in ctx.index.overview["kinds"] if kind not in NON_CALLABLE_KINDS]
    search_result = search_capabilities(
        ctx, arguments["query"], arguments["limit"], there or [ANY_KIND]
    )
    descriptors = [ctx.index.full_descriptor(header) for _, header in search_result.pairs]
    names = [descriptor.name for descriptor in descriptors]
    return {
        "tools": [
            _tool_row(descriptor, names.count(descriptor.name) > 1) for descriptor in descriptors
        ],
        "workflowGuidance": workflow_guidance(ctx, descriptors) if descriptors else "",
        "instruction": FOUND_INSTRUCTION if descriptors else NOTHING_INSTRUCTION,
    }


def _tool_row(descriptor: Descriptor, is_shared: bool) -> dict[str, str]:
    """Name, description and hint; a name that two of the answer have gives way to the id."""
    hint = one_line(descriptor.usage_hint, 300) or ("Ask before use." if descriptor.confirm else "")
    called = descriptor.id if is_shared else descriptor.name
    return {"name": called, "description": short_description(descriptor), "hint": hint}


def workflow_guidance(ctx: ToolContext, descriptors: Sequence[Descriptor]) -> str:
    """What authors say about how to work with these and with their categories, each text once, in
    the order of the answer.
    """
    of_categories = ctx.index.guidance(descriptor.category for descriptor in descriptors)
    guidance_texts = [
        *(entry["text"] for entry in of_categories.values()),
        *(descriptor.guidance for descriptor in descriptors),
    ]
    texts = dict.fromkeys(strip_controls(text).strip() for text in guidance_texts)
    return "\n\n".join(text for text in texts if text) or NO_GUIDANCE


TOOLS = (
    Tool(
        name="discover_capabilities",
        description="Search all capabilities for what you need now.",
        input_schema=input_schema(
            "query",
            query=query_schema("The need."),
            kind={"type": "string", "default": ANY_KIND},
            category=name_schema(),
        ),
        answer=_discover_capabilities,
        group="discovery",
        aliases=("discoverCapabilities", "search_capabilities"),
    ),
    Tool(
        name="tool_search",
        description="Find the tools for a task, with guidance on how to use them. Search again for other needs.",
        input_schema=input_schema(
            "query", query=query_schema("What you need to do."), limit=limit_schema(DEFAULT_LIMIT)
        ),
        answer=_tool_search,
        group="discovery",
        aliases=("searchTools", "search_tools"),
    ),
)
