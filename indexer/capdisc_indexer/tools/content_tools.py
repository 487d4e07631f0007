"""Search in all content by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Hit
from capdisc_indexer.tools.capability_search import (
    WIDE_LIMIT,
    SearchResult,
    search_capabilities,
)
from capdisc_indexer.tools.document_sections import excerpt
from capdisc_indexer.tools.tool_types import (
    MAX_NAME,
    ToolAnswer,
    ToolContext,
    choice_schema,
    input_schema,
    limit_schema,
    query_schema,
    tool_factory,
)

# What other registries call a search for, in our kinds.
SCOPES: Mapping[str, tuple[str, ...]] = {
    "all": (),
    "body": ("document", "section", "skill"),
    "pages": ("document", "section"),
    "tables": ("table", "database"),
    "titles": (),
}


def _search_content(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _run_search(ctx, arguments["query"], arguments, None)


def _search_by_keywords(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The words themselves, without what they mean."""
    keywords = arguments["keywords"]
    spoken = keywords.replace(",", " ") if isinstance(keywords, str) else " ".join(keywords)
    return _run_search(ctx, spoken, arguments, "lexical")


def _run_search(ctx: ToolContext, query: str, arguments: Arguments, mode: str | None) -> ToolAnswer:
    scope, count = arguments["search_type"], arguments["limit"]
    there = ctx.index.overview["kinds"]
    kinds = tuple(kind for kind in SCOPES[scope] if kind in there)
    if not query.strip() or (SCOPES[scope] and not kinds):
        return {"query": query, "search_type": scope, "results": []}
    search_result = search_capabilities(
        ctx, query, WIDE_LIMIT if scope == "titles" else count, kinds, mode=mode
    )
    terms = {
        word: set(ctx.index.documents.analyse(word)) for word in ctx.index.documents.words(query)
    }
    results = [
        _content_row(ctx, hit, header, terms)
        for hit, header in search_result.pairs
        if _matches_scope(ctx, header, terms, scope)
    ]
    return {
        "query": query,
        "search_type": scope,
        "results": results[:count],
        "confidence": _rounded_confidence(search_result),
    }


def _rounded_confidence(search_result: SearchResult) -> float:
    return round(search_result.ranking.confidence, 2)


def _matches_scope(
    ctx: ToolContext, header: CapabilityHeader, terms: Mapping[str, set[str]], scope: str
) -> bool:
    title = set(
        ctx.index.documents.analyse(f"{header['name']} {header.get('title', '')}".replace("_", " "))
    )
    return scope != "titles" or any(forms & title for forms in terms.values())


def _content_row(
    ctx: ToolContext, hit: Hit, header: CapabilityHeader, terms: Mapping[str, set[str]]
) -> dict[str, Any]:
    descriptor = ctx.index.full_descriptor(header)
    terms_by_id = ctx.index.documents.matching_terms(
        sorted(set().union(*terms.values())), [descriptor.id]
    )
    matched = [
        word for word, forms in terms.items() if forms & terms_by_id.get(descriptor.id, frozenset())
    ]
    return {
        "id": descriptor.id,
        "name": descriptor.name,
        "kind": descriptor.kind,
        "match_type": _match_type(ctx, descriptor, terms),
        "match_score": round(hit.relevance, 2),
        "matched_keywords": matched,
        "context": excerpt(descriptor.content or descriptor.description, matched),
    }


def _match_type(ctx: ToolContext, d: Descriptor, terms: Mapping[str, set[str]]) -> str:
    """The first place that has one of the words: the title, the description, the text; else it
    fits by meaning.
    """
    for field, text in (
        ("title", f"{d.name} {d.title}"),
        ("description", d.description),
        ("body", d.content),
    ):
        if any(forms & set(ctx.index.documents.analyse(text)) for forms in terms.values()):
            return field
    return "parameters" if d.parameters else "meaning"


_SCOPE_SCHEMA = choice_schema(*SCOPES)

_make_tool = tool_factory("content")

TOOLS = (
    _make_tool(
        "search_content",
        "Search what capabilities, documents and tables hold, with the passage that matched.",
        _search_content,
        input_schema(
            "query",
            query=query_schema("The question."),
            search_type=_SCOPE_SCHEMA,
            limit=limit_schema(10),
        ),
    ),
    _make_tool(
        "search_by_keywords",
        "Search for these words and no others.",
        _search_by_keywords,
        input_schema(
            "keywords",
            keywords={
                "anyOf": [
                    {
                        "type": "array",
                        "items": {"type": "string", "maxLength": MAX_NAME},
                        "minItems": 1,
                        "maxItems": 50,
                    },
                    {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
                ]
            },
            search_type=_SCOPE_SCHEMA,
            limit=limit_schema(10),
        ),
    ),
)
