"""Search across all kinds: by name, by text and by keywords; what a term means, and the index in
figures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypedDict

from capdisc_data.data_lookup import iter_tables
from capdisc_indexer.graph.capability_graph import build_graph, graph_stats
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Hit, Query
from capdisc_indexer.text.normalization import STOP_WORDS, one_line, simple_words
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
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext

# How a name fits a capability, best first.
_MATCH_RANKS = ("exact", "parameter", "prefix")
# The scopes of a search, as other registries name them, and the kinds that we search for them.
SCOPES: Mapping[str, tuple[str, ...]] = {
    "all": (),
    "body": ("document", "section", "skill"),
    "pages": ("document", "section"),
    "tables": ("table", "database"),
    "titles": (),
}
_PAGE_KINDS = frozenset({"document", "section"})
_MAX_PAGES = 2_000  # the most whose text is read for keywords
# The index terms of each word of a query.
_QueryTerms: TypeAlias = Mapping[str, set[str]]


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


def find_entity(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def search_all(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The hits of all kinds, with how sure the answer is."""
    search_result = search_capabilities(ctx, arguments["query"], arguments["limit"])
    paths = [header["source"]["path"] for _, header in search_result.pairs]
    return {
        "query": arguments["query"],
        "confidence": search_result.confidence,
        "results": [hit_row(ctx, hit, header) for hit, header in search_result.pairs],
        "sources": list(dict.fromkeys(paths)),
        "unmatched": list(search_result.ranking.unmatched),
    }


def lookup_glossary_term(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def explore_entity(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """All capabilities that mention a name as a separate word, by relevance, with the text."""
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


# Texts, and the words in them.


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


def search_content(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The capabilities whose texts fit the question, with the passage."""
    return _run_search(ctx, arguments["query"], arguments, None)


def search_by_keywords(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def get_available_keywords(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def get_data_overview(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The index in figures."""
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
