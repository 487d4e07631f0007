"""Names and texts across all kinds of capabilities: what has a name, what mentions it, what a term
means.
"""

from __future__ import annotations

import re
from typing import TypedDict

from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.similar_names import compact_name, nearest_names
from capdisc_indexer.tools.capability_lookup import (
    WIDE_LIMIT,
    excerpt,
    find_by_name,
    headers_of_kinds,
    hit_row,
    search_capabilities,
    short_description,
)
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)

# How a name fits a capability, best first.
_MATCH_RANKS = ("exact", "parameter", "prefix")


class EntityRow(TypedDict):
    """A capability that has a name, or mentions it."""

    id: str
    name: str
    kind: str
    category: str
    description: str


def _entity_row(header: CapabilityHeader) -> EntityRow:
    return {
        "id": header["id"],
        "name": header["name"],
        "kind": header["kind"],
        "category": header.get("category") or UNCATEGORISED,
        "description": short_description(header),
    }


def _find_entity(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The capabilities with this name, then those with a column or parameter of it, then those
    whose name begins with it.
    """
    compact = compact_name(arguments["name"])
    matches = [
        (match, header)
        for header in headers_of_kinds(ctx)
        if (match := _match_name(compact, header))
    ]
    matches.sort(key=lambda pair: (_MATCH_RANKS.index(pair[0]), pair[1]["id"]))
    return {
        "name": arguments["name"],
        "matches": [
            {"match": match, **_entity_row(header)}
            for match, header in matches[: arguments["limit"]]
        ],
        "matched": len(matches),
    }


def _match_name(compact: str, header: CapabilityHeader) -> str:
    """How the compact name fits the capability: one of _MATCH_RANKS, or "" where it does not."""
    names = [compact_name(header["name"]), compact_name(header.get("title", ""))]
    if compact in names:
        return "exact"
    parameters = header.get("parameters", ())
    if any(compact_name(parameter["name"]) == compact for parameter in parameters):
        return "parameter"
    return "prefix" if compact and any(name.startswith(compact) for name in names) else ""


def _search_all(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_capabilities(ctx, arguments["query"], arguments["limit"])
    paths = [header["source"]["path"] for _, header in search_result.pairs]
    return {
        "query": arguments["query"],
        "confidence": search_result.confidence,
        "results": [hit_row(ctx, hit, header) for hit, header in search_result.pairs],
        "sources": list(dict.fromkeys(paths)),
        "unmatched": list(search_result.ranking.unmatched),
    }


def _lookup_glossary_term(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The definition of a term; without one, the nearest terms, and never a guess."""
    term = arguments["term"]
    headers = find_by_name(ctx, term, ("term",))
    if not headers:
        terms = {header.get("title") or header["name"] for header in headers_of_kinds(ctx, "term")}
        near = nearest_names(term, sorted(terms))
        return {"term": term, "found": False, "definition": "", "near": near}
    descriptor = ctx.index.full_descriptor(headers[0])
    return {
        "term": descriptor.title or descriptor.name,
        "found": True,
        "definition": descriptor.description,
        "category": descriptor.category or UNCATEGORISED,
        "related": list(descriptor.related),
    }


def _explore_entity(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """All capabilities that mention a name as a word of its own, by relevance, with the text."""
    name = arguments["name"]
    documents = ctx.index.documents
    terms = documents.analyse(" ".join(documents.words(name)))
    pattern = re.compile(rf"(?<!\w){re.escape(one_line(name))}(?!\w)", re.IGNORECASE)
    mentions = []
    for _, header in documents.search(terms, Query(texts=()), WIDE_LIMIT):
        descriptor = ctx.index.full_descriptor(header)
        if not descriptor.hidden and (text := _find_mention(pattern, descriptor)):
            mentions.append({**_entity_row(header), "excerpt": excerpt(text, [name])})
    return {
        "name": name,
        "mentions": mentions[: arguments["limit"]],
        "matched": len(mentions),
    }


def _find_mention(pattern: re.Pattern[str], descriptor: Descriptor) -> str:
    """The first text of the capability that the pattern fits, the most telling first; "" where
    none does.
    """
    texts = (
        descriptor.name,
        descriptor.title,
        descriptor.description,
        *descriptor.tags,
        *(f"{parameter.name} {parameter.description}" for parameter in descriptor.parameters),
        descriptor.content,
        descriptor.guidance,
        descriptor.instructions,
    )
    lines = map(one_line, texts)
    return next((line for line in lines if pattern.search(line)), "")


_make_tool = tool_factory("entities")

TOOLS = (
    _make_tool(
        "find_entity",
        "Everything with this name, or with a column or parameter of it.",
        _find_entity,
        input_schema("name", name=name_schema(), limit=limit_schema(10)),
    ),
    _make_tool(
        "search_all",
        "Search capabilities of all kinds, with how sure the answer is.",
        _search_all,
        input_schema("query", query=query_schema("What is needed."), limit=limit_schema(10)),
    ),
    _make_tool(
        "lookup_glossary_term",
        "The definition of a term.",
        _lookup_glossary_term,
        input_schema("term", term=name_schema()),
        kinds=("term",),
    ),
    _make_tool(
        "explore_entity",
        "Everything that mentions a name, with the passage.",
        _explore_entity,
        input_schema("name", name=name_schema(), limit=limit_schema(10)),
    ),
)
