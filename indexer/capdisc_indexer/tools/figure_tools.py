"""What the index holds: its keywords and its figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.graph import needs
from capdisc_indexer.text import STOP_WORDS, simple_words
from capdisc_indexer.tools.finding import Head
from capdisc_indexer.tools.inputs import MAX_NAME, inputs, limit
from capdisc_indexer.tools.tables import tables
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.types import Query


def _get_available_keywords(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Tags, categories and words of names, sorted, each with how many capabilities have it."""
    counted: Counter[str] = Counter()
    for head in desk.index.documents.everything(Query(texts=())):
        counted.update(_keywords(head))
    prefix = arguments["prefix"].lower()
    found = sorted(word for word in counted if word.startswith(prefix))
    shown = [{"keyword": word, "count": counted[word]} for word in found[: arguments["limit"]]]
    return {"keywords": shown, "total": len(found)}


def _keywords(head: Head) -> set[str]:
    names = simple_words(re.sub(r"[-_/.]", " ", f"{head['name']} {head.get('title', '')}"))
    every = [*head.get("tags", ()), head.get("category", ""), *names]
    return {word.lower() for word in every if len(word) > 2 and word.lower() not in STOP_WORDS}


def _get_data_overview(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """How much of everything there is."""
    facts = desk.index.meta("overview")
    rows = [table.row_count for table in tables(desk) if table.row_count]
    return {
        "capabilityCount": len(desk.index.documents),
        "kinds": facts["kinds"],
        "categories": {each["category"]: each["count"] for each in facts["categories"]},
        "documents": facts["kinds"].get("document", 0),
        "tables": facts["kinds"].get("table", 0),
        "rows": sum(rows),
        "graphNodes": len(desk.index.documents),
        "graphEdges": _edges(desk),
        "indexVersion": desk.index.generation.number,
    }


def _edges(desk: Desk) -> int:
    """The relations that authors wrote."""
    heads: Sequence[Head] = list(desk.index.documents.everything(Query(texts=())))
    named = ("composed_with", "related", "edges")
    return sum(len(needs(head)) + sum(len(head.get(key, ())) for key in named) for head in heads)


_tool = family("content")

TOOLS = (
    _tool(
        "get_available_keywords",
        "The keywords that there are, sorted.",
        _get_available_keywords,
        inputs(prefix={"type": "string", "maxLength": MAX_NAME, "default": ""}, limit=limit(100)),
        "view_keywords",
    ),
    _tool(
        "get_data_overview",
        "What the index holds, in figures.",
        _get_data_overview,
        inputs(),
        "getStats",
        "get_stats",
    ),
)
