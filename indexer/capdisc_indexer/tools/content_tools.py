"""Search in all content by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.tools.finding import WIDE, Found, Head, find
from capdisc_indexer.tools.inputs import MAX_NAME, choice, inputs, limit, words
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.tools.written import excerpt
from capdisc_indexer.types import Descriptor, Hit

# What other registries call a search for, in our kinds.
SCOPES: Mapping[str, tuple[str, ...]] = {
    "all": (),
    "body": ("document", "section", "skill"),
    "pages": ("document", "section"),
    "tables": ("table", "database"),
    "titles": (),
}


def _search_content(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return _searched(desk, arguments["query"], arguments, None)


def _search_by_keywords(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """The words themselves, without what they mean."""
    given = arguments["keywords"]
    spoken = given.replace(",", " ") if isinstance(given, str) else " ".join(given)
    return _searched(desk, spoken, arguments, "lexical")


def _searched(desk: Desk, query: str, arguments: Mapping[str, Any], mode: str | None) -> ToolAnswer:
    scope, count = arguments["search_type"], arguments["limit"]
    there = desk.index.meta("overview")["kinds"]
    kinds = tuple(kind for kind in SCOPES[scope] if kind in there)
    if not query.strip() or (SCOPES[scope] and not kinds):
        return {"query": query, "search_type": scope, "results": []}
    found = find(desk, query, WIDE if scope == "titles" else count, kinds, mode=mode)
    terms = {word: set(desk.index.documents.analyse(word)) for word in desk.index.documents.words(query)}
    results = [_result(desk, hit, head, terms) for hit, head in found.pairs if _fits(desk, head, terms, scope)]
    return {"query": query, "search_type": scope, "results": results[:count], "confidence": _confidence(found)}


def _confidence(found: Found) -> float:
    return round(found.ranking.confidence, 2)


def _fits(desk: Desk, head: Head, terms: Mapping[str, set[str]], scope: str) -> bool:
    title = set(desk.index.documents.analyse(f"{head['name']} {head.get('title', '')}".replace("_", " ")))
    return scope != "titles" or any(each & title for each in terms.values())


def _result(desk: Desk, hit: Hit, head: Head, terms: Mapping[str, set[str]]) -> dict[str, Any]:
    descriptor = desk.index.whole(dict(head))
    held = desk.index.documents.holding(sorted(set().union(*terms.values())), [descriptor.id])
    matched = [word for word, forms in terms.items() if forms & held.get(descriptor.id, frozenset())]
    return {
        "id": descriptor.id,
        "name": descriptor.name,
        "kind": descriptor.kind,
        "match_type": _match_type(desk, descriptor, terms),
        "match_score": round(hit.relevance, 2),
        "matched_keywords": matched,
        "context": excerpt(descriptor.content or descriptor.description, matched),
    }


def _match_type(desk: Desk, d: Descriptor, terms: Mapping[str, set[str]]) -> str:
    """The first place that has one of the words: the title, the description, the text; else it fits by meaning."""
    for place, text in (("title", f"{d.name} {d.title}"), ("description", d.description), ("body", d.content)):
        if any(each & set(desk.index.documents.analyse(text)) for each in terms.values()):
            return place
    return "parameters" if d.parameters else "meaning"


_SCOPE = choice(*SCOPES)

_tool = family("content")

TOOLS = (
    _tool(
        "search_content",
        "Search what capabilities, documents and tables hold, with the passage that matched.",
        _search_content,
        inputs("query", query=words("The question."), search_type=_SCOPE, limit=limit(10)),
    ),
    _tool(
        "search_by_keywords",
        "Search for these words and no others.",
        _search_by_keywords,
        inputs(
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
            search_type=_SCOPE,
            limit=limit(10),
        ),
    ),
)
