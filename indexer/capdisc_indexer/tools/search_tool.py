"""search_tool: an exact name gives everything about it, other words the capabilities that come
near, none the names.
"""

from __future__ import annotations

from collections import Counter

from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Query
from capdisc_indexer.tools.api_tools import (
    document_capability,
    document_tool,
    summary,
)
from capdisc_indexer.tools.capability_search import SearchResult, search_capabilities
from capdisc_indexer.tools.name_lookup import find_by_name
from capdisc_indexer.tools.tool_types import (
    MAX_QUERY,
    Tool,
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
)
from capdisc_indexer.validation.arguments.schema_walk import compact_name

# Names have no more words than that; what has more is not looked up as a name.
_MAX_NAME_WORDS = 8


def _search(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    query = arguments["query"].strip()
    if not query:
        return _list_all(ctx)
    headers = exact_matches(ctx, query)
    if not headers and (tool := _find_discovery_tool(query)):
        return {"match_type": "exact", "tool": document_tool(tool)}
    if len(headers) == 1:
        return {
            "match_type": "exact",
            "tool": document_capability(ctx.index.full_descriptor(headers[0])),
        }
    if headers:
        return {
            "match_type": "exact",
            "tools": [document_capability(ctx.index.full_descriptor(header)) for header in headers],
        }
    return _approximate_answer(search_capabilities(ctx, query, arguments["limit"]))


def _find_discovery_tool(query: str) -> Tool | None:
    """The discovery tool of this name; words with blanks between are a wish for something of the
    catalogue.
    """
    from capdisc_indexer import tools  # where this one is listed

    return None if " " in query else tools.find_tool(query.removeprefix("capdisc:"))


def exact_matches(ctx: ToolContext, query: str) -> list[CapabilityHeader]:
    """The capabilities that the words are the name of."""
    if len(query.split()) > _MAX_NAME_WORDS:
        return []
    headers = [
        header
        for header in find_by_name(ctx, query)
        if not header.get("hidden") or header["id"] == query
    ]
    # A category with the name is an alias too, and no name.
    return [header for header in headers if compact_name(query) in _name_forms(header)]


def _name_forms(header: CapabilityHeader) -> set[str]:
    identifier = str(header["id"])
    names = (
        identifier,
        identifier.partition("@")[0],
        identifier.partition(":")[2],
        header["name"],
        header.get("title", ""),
    )
    return {compact_name(name) for name in names}


def _list_all(ctx: ToolContext) -> ToolAnswer:
    headers = [
        header
        for header in ctx.index.documents.all_headers(Query(texts=()))
        if not header.get("hidden")
    ]
    shared = Counter(header["name"] for header in headers)
    names = sorted(
        header["id"] if shared[header["name"]] > 1 else header["name"] for header in headers
    )
    return {"match_type": "list_all", "total_count": len(names), "tools": names}


def _approximate_answer(search_result: SearchResult) -> ToolAnswer:
    tools = [
        {
            "id": header["id"],
            "name": header["name"],
            "kind": header["kind"],
            "category": header.get("category") or UNCATEGORISED,
            "summary": summary(header["description"]),
            "score": round(hit.score, 4),
            "relevance": round(hit.relevance, 2),
        }
        for hit, header in search_result.pairs
    ]
    unmatched = (
        {"unmatched": list(search_result.ranking.unmatched)}
        if search_result.ranking.unmatched
        else {}
    )
    return {"match_type": "approximate", "results_count": len(tools), "tools": tools, **unmatched}


TOOLS = (
    Tool(
        name="search_tool",
        description="Look a tool up: its exact name gives full documentation, keywords give summaries, '' all names.",
        input_schema=input_schema(
            query={
                "type": "string",
                "maxLength": MAX_QUERY,
                "default": "",
                "description": "Name or keywords.",
            },
            limit=limit_schema(10),
        ),
        answer=_search,
        group="discovery",
        aliases=("getCapabilityDetail", "get_capability_detail"),
    ),
)
