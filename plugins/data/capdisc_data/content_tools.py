"""Search in all texts of the index, the keywords to search for, and the index in figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypedDict

from capdisc_data.table_store import iter_tables
from capdisc_indexer.graph.capability_graph import build_graph, graph_stats
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Hit, Query
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words
from capdisc_indexer.tools.capability_lookup import WIDE_LIMIT, excerpt, search_capabilities
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

# The scopes of a search, as other registries name them, and the kinds that we search for them.
SCOPES: Mapping[str, tuple[str, ...]] = {
    "all": (),
    "body": ("document", "section", "skill"),
    "pages": ("document", "section"),
    "tables": ("table", "database"),
    "titles": (),
}
_PAGE_KINDS = frozenset({"document", "section"})
_MAX_PAGES = 2_000  # whose text is read for keywords
# The index terms of each word of a query.
_QueryTerms: TypeAlias = Mapping[str, set[str]]


class ContentRow(TypedDict):
    """A capability whose text fits. `match_type` says where: title, description, body, parameters,
    or meaning where none of the words stands in it; `context` is the passage.
    """

    id: str
    name: str
    kind: str
    match_type: str
    match_score: float
    matched_keywords: list[str]
    context: str


def _search_content(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return _run_search(ctx, arguments["query"], arguments, None)


def _search_by_keywords(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Searches for the words themselves, without regard to meaning."""
    keywords = arguments["keywords"]
    query = keywords.replace(",", " ") if isinstance(keywords, str) else " ".join(keywords)
    return _run_search(ctx, query, arguments, "lexical")


def _run_search(
    ctx: ToolContext, query: str, arguments: Arguments, mode: str | None
) -> ToolAnswer:
    scope, limit = arguments["search_type"], arguments["limit"]
    kinds = tuple(kind for kind in SCOPES[scope] if kind in ctx.index.overview["kinds"])
    if not query.strip() or (SCOPES[scope] and not kinds):
        return {"query": query, "search_type": scope, "results": []}
    search_limit = WIDE_LIMIT if scope == "titles" else limit
    search_result = search_capabilities(ctx, query, search_limit, kinds, mode=mode)
    documents = ctx.index.documents
    query_terms = {word: set(documents.analyse(word)) for word in documents.words(query)}
    rows = [
        _content_row(ctx, hit, header, query_terms)
        for hit, header in search_result.pairs
        if scope != "titles" or _matches_title(ctx, header, query_terms)
    ]
    return {
        "query": query,
        "search_type": scope,
        "results": rows[:limit],
        "confidence": search_result.confidence,
    }


def _matches_title(ctx: ToolContext, header: CapabilityHeader, query_terms: _QueryTerms) -> bool:
    title = f"{header['name']} {header.get('title', '')}".replace("_", " ")
    title_terms = set(ctx.index.documents.analyse(title))
    return any(terms & title_terms for terms in query_terms.values())


def _content_row(
    ctx: ToolContext, hit: Hit, header: CapabilityHeader, query_terms: _QueryTerms
) -> ContentRow:
    descriptor = ctx.index.full_descriptor(header)
    terms_by_id = ctx.index.documents.matching_terms(
        sorted(set().union(*query_terms.values())), [descriptor.id]
    )
    matching_terms = terms_by_id.get(descriptor.id, frozenset())
    matched_words = [word for word, terms in query_terms.items() if terms & matching_terms]
    return {
        "id": descriptor.id,
        "name": descriptor.name,
        "kind": descriptor.kind,
        "match_type": _match_type(ctx, descriptor, query_terms),
        "match_score": round(hit.relevance, 2),
        "matched_keywords": matched_words,
        "context": excerpt(descriptor.content or descriptor.description, matched_words),
    }


def _match_type(ctx: ToolContext, descriptor: Descriptor, query_terms: _QueryTerms) -> str:
    texts = {
        "title": f"{descriptor.name} {descriptor.title}",
        "description": descriptor.description,
        "body": descriptor.content,
    }
    for match_type, text in texts.items():
        text_terms = set(ctx.index.documents.analyse(text))
        if any(terms & text_terms for terms in query_terms.values()):
            return match_type
    return "parameters" if descriptor.parameters else "meaning"


def _get_available_keywords(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Tags, categories, words of names and of the first pages, sorted, each with how many
    capabilities have it.
    """
    counts: Counter[str] = Counter()
    page_count = 0
    for header in ctx.index.documents.all_headers(Query(texts=())):
        words = _header_keywords(header)
        if header["kind"] in _PAGE_KINDS and page_count < _MAX_PAGES:
            page_count += 1
            words |= _keywords(simple_words(ctx.index.full_descriptor(header).content))
        counts.update(words)
    prefix = arguments["prefix"].lower()
    keywords = sorted(word for word in counts if word.startswith(prefix))
    rows = [{"keyword": word, "count": counts[word]} for word in keywords[: arguments["limit"]]]
    return {"keywords": rows, "total": len(keywords)}


def _header_keywords(header: CapabilityHeader) -> set[str]:
    names = simple_words(re.sub(r"[-_/.]", " ", f"{header['name']} {header.get('title', '')}"))
    return _keywords([*header.get("tags", ()), header.get("category", ""), *names])


def _keywords(words: Iterable[str]) -> set[str]:
    return {word.lower() for word in words if len(word) > 2 and word.lower() not in STOP_WORDS}


def _get_data_overview(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    overview = ctx.index.overview
    row_counts = [table.row_count for table in iter_tables(ctx) if table.row_count]
    return {
        "capabilityCount": len(ctx.index.documents),
        "kinds": overview["kinds"],
        "categories": {record["category"]: record["count"] for record in overview["categories"]},
        "documents": overview["kinds"].get("document", 0),
        "tables": overview["kinds"].get("table", 0),
        "rows": sum(row_counts),
        "graphNodes": len(ctx.index.documents),
        "graphEdges": graph_stats(build_graph(ctx.index))["edges"],
        "indexVersion": ctx.index.generation.number,
    }


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
    _make_tool(
        "get_available_keywords",
        "The keywords that there are, sorted.",
        _get_available_keywords,
        input_schema(
            prefix={"type": "string", "maxLength": MAX_NAME, "default": ""},
            limit=limit_schema(100),
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
