"""Names and words across all kinds of capabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.naming import compact, nearest
from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.finding import WIDE, Head, find, of_kinds, row
from capdisc_indexer.tools.held import described
from capdisc_indexer.tools.inputs import inputs, limit, name, words
from capdisc_indexer.tools.lookup import spelt
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.tools.written import excerpt
from capdisc_indexer.types import Descriptor, Query

_RANKS = ("exact", "parameter", "prefix")


def _find_entity(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """What is called so, what has a column or parameter of that name, and what begins with it, in this order."""
    wanted = compact(arguments["name"])
    found = [(match, head) for head in _everything(desk) if (match := _match(wanted, head))]
    found.sort(key=lambda pair: (_RANKS.index(pair[0]), str(pair[1]["id"])))
    shown = [{"match": match, **_short(head)} for match, head in found[: arguments["limit"]]]
    return {"name": arguments["name"], "matches": shown, "matched": len(found)}


def _everything(desk: Desk) -> list[dict[str, Any]]:
    return [head for head in desk.index.documents.everything(Query(texts=())) if not head.get("hidden")]


def _match(wanted: str, head: Head) -> str:
    names = [compact(head["name"]), compact(head.get("title", ""))]
    if wanted in names:
        return "exact"
    if any(compact(each["name"]) == wanted for each in head.get("parameters", ())):
        return "parameter"
    return "prefix" if wanted and any(each.startswith(wanted) for each in names) else ""


def _short(head: Head) -> dict[str, Any]:
    category = head.get("category") or UNCATEGORISED
    return {
        "id": head["id"],
        "name": head["name"],
        "kind": head["kind"],
        "category": category,
        "description": described(head),
    }


def _search_all(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    found = find(desk, arguments["query"], arguments["limit"])
    return {
        "query": arguments["query"],
        "confidence": round(found.ranking.confidence, 2),
        "results": [row(desk, hit, head) for hit, head in found.pairs],
        "sources": list(dict.fromkeys(head["source"]["path"] for _, head in found.pairs)),
        "unmatched": list(found.ranking.unmatched),
    }


def _lookup_glossary_term(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """The definition of a term; without one, terms that come near, and never a guess."""
    term = arguments["term"]
    heads = spelt(desk, term, ("term",))
    if heads:
        found = desk.index.whole(heads[0])
        shown = {"term": found.title or found.name, "found": True, "definition": found.description}
        return shown | {"category": found.category or UNCATEGORISED, "related": list(found.related)}
    known = {str(head.get("title") or head["name"]) for head in of_kinds(desk, "term")}
    return {"term": term, "found": False, "definition": "", "near": nearest(term, sorted(known))}


def _explore_entity(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Everything that names it, the most telling first: in its name, its description or its text."""
    wanted = arguments["name"]
    documents = desk.index.documents
    terms = documents.analyse(" ".join(documents.words(wanted)))
    named = re.compile(rf"(?<!\w){re.escape(one_line(wanted))}(?!\w)", re.IGNORECASE)
    mentions = []
    for _, head in documents.search(terms, Query(texts=()), WIDE):
        descriptor = desk.index.whole(head)
        if not descriptor.hidden and (where := _mention(named, descriptor)):
            mentions.append({**_short(head), "excerpt": excerpt(where, [wanted])})
    return {"name": wanted, "mentions": mentions[: arguments["limit"]], "matched": len(mentions)}


def _mention(named: re.Pattern[str], d: Descriptor) -> str:
    """The text in which it is named; empty when it is not."""
    parameters = [f"{p.name} {p.description}" for p in d.parameters]
    parts = (d.name, d.title, d.description, *d.tags, *parameters, d.content, d.guidance, d.instructions)
    return next((one_line(part) for part in parts if named.search(one_line(part))), "")


_tool = family("entities")

TOOLS = (
    _tool(
        "find_entity",
        "Everything with this name, or with a column or parameter of it.",
        _find_entity,
        inputs("name", name=name(), limit=limit(10)),
    ),
    _tool(
        "search_all",
        "Search capabilities of all kinds, with how sure the answer is.",
        _search_all,
        inputs("query", query=words("What is needed."), limit=limit(10)),
    ),
    _tool(
        "lookup_glossary_term",
        "The definition of a term.",
        _lookup_glossary_term,
        inputs("term", term=name()),
        kinds=("term",),
    ),
    _tool(
        "explore_entity",
        "Everything that mentions a name, with the passage.",
        _explore_entity,
        inputs("name", name=name(), limit=limit(10)),
    ),
)
