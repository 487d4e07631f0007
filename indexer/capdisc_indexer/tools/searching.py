"""search_tool: an exact name gives everything about it, other words the capabilities that come near, none the names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.naming import compact
from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.tools.documentation import of_capability, of_tool, summary
from capdisc_indexer.tools.finding import Found, find
from capdisc_indexer.tools.inputs import MAX_QUERY, inputs, limit
from capdisc_indexer.tools.lookup import spelt
from capdisc_indexer.tools.values import Desk, Tool, ToolAnswer
from capdisc_indexer.types import Query

# Names have no more words than that; what has more is not looked up as a name.
_WORDS_OF_A_NAME = 8


def _search(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    query = arguments["query"].strip()
    if not query:
        return _list_all(desk)
    heads = exact(desk, query)
    if not heads and (tool := _discovery_tool(query)):
        return {"match_type": "exact", "tool": of_tool(tool)}
    if len(heads) == 1:
        return {"match_type": "exact", "tool": of_capability(desk.index.whole(heads[0]))}
    if heads:
        return {"match_type": "exact", "tools": [of_capability(desk.index.whole(head)) for head in heads]}
    return _approximate(find(desk, query, arguments["limit"]))


def _discovery_tool(query: str) -> Tool | None:
    """The discovery tool of this name; words with blanks between are a wish for something of the catalogue."""
    from capdisc_indexer import tools  # where this one is listed

    return None if " " in query else tools.tool_named(query.removeprefix("capdisc:"))


def exact(desk: Desk, query: str) -> list[dict[str, Any]]:
    """The capabilities that the words are the name of."""
    if len(query.split()) > _WORDS_OF_A_NAME:
        return []
    found = [head for head in spelt(desk, query) if not head.get("hidden") or head["id"] == query]
    # A category with the name is an alias too, and no name.
    return [head for head in found if compact(query) in _forms(head)]


def _forms(head: Mapping[str, Any]) -> set[str]:
    identifier = str(head["id"])
    names = (
        identifier,
        identifier.partition("@")[0],
        identifier.partition(":")[2],
        head["name"],
        head.get("title", ""),
    )
    return {compact(name) for name in names}


def _list_all(desk: Desk) -> ToolAnswer:
    heads = [head for head in desk.index.documents.everything(Query(texts=())) if not head.get("hidden")]
    shared = Counter(head["name"] for head in heads)
    names = sorted(head["id"] if shared[head["name"]] > 1 else head["name"] for head in heads)
    return {"match_type": "list_all", "total_count": len(names), "tools": names}


def _approximate(found: Found) -> ToolAnswer:
    tools = [
        {
            "id": head["id"],
            "name": head["name"],
            "kind": head["kind"],
            "category": head.get("category") or UNCATEGORISED,
            "summary": summary(head["description"]),
            "score": round(hit.score, 4),
            "relevance": round(hit.relevance, 2),
        }
        for hit, head in found.pairs
    ]
    unmatched = {"unmatched": list(found.ranking.unmatched)} if found.ranking.unmatched else {}
    return {"match_type": "approximate", "results_count": len(tools), "tools": tools, **unmatched}


TOOLS = (
    Tool(
        name="search_tool",
        description="Look a tool up: its exact name gives full documentation, keywords give summaries, '' all names.",
        input_schema=inputs(
            query={"type": "string", "maxLength": MAX_QUERY, "default": "", "description": "Name or keywords."},
            limit=limit(10),
        ),
        answer=_search,
        group="discovery",
        aliases=("getCapabilityDetail", "get_capability_detail"),
    ),
)
