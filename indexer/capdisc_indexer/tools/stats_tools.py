"""What the index holds: its keywords and its figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from capdisc_indexer.graph.traversal import required_names
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Query
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words
from capdisc_indexer.tools.table_store import iter_tables
from capdisc_indexer.tools.tool_types import (
    MAX_NAME,
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    tool_factory,
)


def _get_available_keywords(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Tags, categories and words of names, sorted, each with how many capabilities have it."""
    counted: Counter[str] = Counter()
    for header in ctx.index.documents.all_headers(Query(texts=())):
        counted.update(_header_keywords(header))
    prefix = arguments["prefix"].lower()
    keywords = sorted(word for word in counted if word.startswith(prefix))
    shown = [{"keyword": word, "count": counted[word]} for word in keywords[: arguments["limit"]]]
    return {"keywords": shown, "total": len(keywords)}


def _header_keywords(header: CapabilityHeader) -> set[str]:
    names = simple_words(re.sub(r"[-_/.]", " ", f"{header['name']} {header.get('title', '')}"))
    candidates = [*header.get("tags", ()), header.get("category", ""), *names]
    return {word.lower() for word in candidates if len(word) > 2 and word.lower() not in STOP_WORDS}


def _get_data_overview(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """How much of everything there is."""
    facts = ctx.index.overview
    rows = [table.row_count for table in iter_tables(ctx) if table.row_count]
    return {
        "capabilityCount": len(ctx.index.documents),
        "kinds": facts["kinds"],
        "categories": {entry["category"]: entry["count"] for entry in facts["categories"]},
        "documents": facts["kinds"].get("document", 0),
        "tables": facts["kinds"].get("table", 0),
        "rows": sum(rows),
        "graphNodes": len(ctx.index.documents),
        "graphEdges": _count_edges(ctx),
        "indexVersion": ctx.index.generation.number,
    }


def _count_edges(ctx: ToolContext) -> int:
    """The relations that authors wrote."""
    headers: Sequence[CapabilityHeader] = list(ctx.index.documents.all_headers(Query(texts=())))
    return sum(
        len(required_names(header))
        + len(header.get("composed_with", ()))
        + len(header.get("related", ()))
        + len(header.get("edges", ()))
        for header in headers
    )


_make_tool = tool_factory("content")

TOOLS = (
    _make_tool(
        "get_available_keywords",
        "The keywords that there are, sorted.",
        _get_available_keywords,
        input_schema(
            prefix={"type": "string", "maxLength": MAX_NAME, "default": ""}, limit=limit_schema(100)
        ),
        "view_keywords",
    ),
    _make_tool(
        "get_data_overview",
        "What the index holds, in figures.",
        _get_data_overview,
        input_schema(),
        "getStats",
        "get_stats",
    ),
)
