"""Names and words across all kinds of capabilities."""

from __future__ import annotations

import re
from typing import Any

from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_search import (
    WIDE_LIMIT,
    headers_of_kinds,
    hit_row,
    search_capabilities,
    short_description,
)
from capdisc_indexer.tools.document_sections import excerpt
from capdisc_indexer.tools.name_lookup import find_by_name
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)
from capdisc_indexer.validation.arguments.schema_walk import compact_name, nearest_names

_MATCH_RANKS = ("exact", "parameter", "prefix")


def _find_entity(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """What is called so, what has a column or parameter of that name, and what begins with it, in
    this order.
    """
    name_key = compact_name(arguments["name"])
    matches = [
        (match, header) for header in _all_headers(ctx) if (match := _match_name(name_key, header))
    ]
    matches.sort(key=lambda pair: (_MATCH_RANKS.index(pair[0]), str(pair[1]["id"])))
    shown = [
        {"match": match, **_entity_row(header)} for match, header in matches[: arguments["limit"]]
    ]
    return {"name": arguments["name"], "matches": shown, "matched": len(matches)}


def _all_headers(ctx: ToolContext) -> list[CapabilityHeader]:
    return [
        header
        for header in ctx.index.documents.all_headers(Query(texts=()))
        if not header.get("hidden")
    ]


def _match_name(name_key: str, header: CapabilityHeader) -> str:
    names = [compact_name(header["name"]), compact_name(header.get("title", ""))]
    if name_key in names:
        return "exact"
    if any(
        compact_name(parameter["name"]) == name_key for parameter in header.get("parameters", ())
    ):
        return "parameter"
    return "prefix" if name_key and any(name.startswith(name_key) for name in names) else ""


def _entity_row(header: CapabilityHeader) -> dict[str, Any]:
    category = header.get("category") or UNCATEGORISED
    return {
        "id": header["id"],
        "name": header["name"],
        "kind": header["kind"],
        "category": category,
        "description": short_description(header),
    }


def _search_all(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_capabilities(ctx, arguments["query"], arguments["limit"])
    return {
        "query": arguments["query"],
        "confidence": round(search_result.ranking.confidence, 2),
        "results": [hit_row(ctx, hit, header) for hit, header in search_result.pairs],
        "sources": list(
            dict.fromkeys(header["source"]["path"] for _, header in search_result.pairs)
        ),
        "unmatched": list(search_result.ranking.unmatched),
    }


def _lookup_glossary_term(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The definition of a term; without one, terms that come near, and never a guess."""
    term = arguments["term"]
    headers = find_by_name(ctx, term, ("term",))
    if headers:
        descriptor = ctx.index.full_descriptor(headers[0])
        shown = {
            "term": descriptor.title or descriptor.name,
            "found": True,
            "definition": descriptor.description,
        }
        return shown | {
            "category": descriptor.category or UNCATEGORISED,
            "related": list(descriptor.related),
        }
    term_names = {
        str(header.get("title") or header["name"]) for header in headers_of_kinds(ctx, "term")
    }
    return {
        "term": term,
        "found": False,
        "definition": "",
        "near": nearest_names(term, sorted(term_names)),
    }


def _explore_entity(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Everything that names it, the most telling first: in its name, its description or its
    text.
    """
    entity_name = arguments["name"]
    documents = ctx.index.documents
    terms = documents.analyse(" ".join(documents.words(entity_name)))
    named = re.compile(rf"(?<!\w){re.escape(one_line(entity_name))}(?!\w)", re.IGNORECASE)
    mentions = []
    for _, header in documents.search(terms, Query(texts=()), WIDE_LIMIT):
        descriptor = ctx.index.full_descriptor(header)
        if not descriptor.hidden and (where := _find_mention(named, descriptor)):
            mentions.append({**_entity_row(header), "excerpt": excerpt(where, [entity_name])})
    return {
        "name": entity_name,
        "mentions": mentions[: arguments["limit"]],
        "matched": len(mentions),
    }


def _find_mention(named: re.Pattern[str], d: Descriptor) -> str:
    """The text in which it is named; empty when it is not."""
    parameters = [f"{p.name} {p.description}" for p in d.parameters]
    parts = (
        d.name,
        d.title,
        d.description,
        *d.tags,
        *parameters,
        d.content,
        d.guidance,
        d.instructions,
    )
    return next((one_line(part) for part in parts if named.search(one_line(part))), "")


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
