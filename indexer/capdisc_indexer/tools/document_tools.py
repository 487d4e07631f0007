"""Documents and their sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.errors import UsageError
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.finding import Head, find, of_kinds
from capdisc_indexer.tools.held import described, held, text
from capdisc_indexer.tools.inputs import inputs, limit, name, words
from capdisc_indexer.tools.lookup import named
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.tools.written import Section, document_of, excerpt, outline, sections, under, whole_text
from capdisc_indexer.types import Descriptor, Hit

TEXTS = ("document", "section")


def _list_documents(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return {"documents": [_listed(desk.index.whole(head)) for head in of_kinds(desk, "document")]}


def _listed(document: Descriptor) -> dict[str, Any]:
    facts = held(document)
    shown = {"name": document.name, "type": text(facts, "type") or "file", "format": text(facts, "format") or "text"}
    return shown | {"description": described(document), "tags": list(document.tags)}


def _get_document(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    document = named(desk, arguments["name"], "document")
    parts, facts = sections(desk, document), held(document)
    changed = text(facts, "last_updated") or None
    return {
        "name": document.name,
        "content": whole_text(document, parts),
        "format": text(facts, "format") or "text",
        "last_updated": changed,
        "loaded_at": changed,
        "sections": outline(parts),
    }


def _search_documents(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    found = find(desk, arguments["query"], arguments["limit"], _there(desk))
    spoken = desk.index.documents.words(arguments["query"])
    return {"results": [_hit(desk, hit, head, spoken) for hit, head in found.pairs]}


def _there(desk: Desk) -> tuple[str, ...]:
    """The kinds of text that there are. Raises UsageError where there is none, as a filter of one kind would."""
    there = tuple(kind for kind in TEXTS if kind in desk.index.meta("overview")["kinds"])
    return there or TEXTS[:1]


def _hit(desk: Desk, hit: Hit, head: Head, spoken: list[str]) -> dict[str, Any]:
    descriptor = desk.index.whole(dict(head))
    is_part = descriptor.kind == "section"
    return {
        "id": descriptor.id,
        "document": document_of(descriptor) if is_part else descriptor.name,
        "excerpt": excerpt(descriptor.content or descriptor.description, spoken),
        "relevance": round(hit.relevance, 2),
        "section": (text(held(descriptor), "title") or descriptor.title) if is_part else "",
    }


def _get_document_section(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    document = named(desk, arguments["name"], "document")
    found = under(sections(desk, document), arguments["section"])
    shown = {"name": document.name, "section": found[0].title, "path": list(found[0].path)}
    return shown | {"content": "\n\n".join(part.text for part in found)}


def _get_page(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    wanted, number = arguments.get("document", ""), arguments["page_number"]
    document = named(desk, wanted, "document") if wanted else _only(desk)
    parts = sections(desk, document)
    found = next((part for part in parts if part.chunk == number), None)
    if found is None:
        raise UsageError(f"{one_line(document.name, 80)} has no page {number}", f"it has the pages 1 to {len(parts)}")
    return _page(document, found, len(parts))


def _only(desk: Desk) -> Descriptor:
    heads = list(of_kinds(desk, "document"))
    if len(heads) != 1:
        listed = ", ".join(one_line(head["name"], 60) for head in heads[:20])
        raise UsageError(f"there are {len(heads)} documents", f"say which: {listed or 'none is indexed yet'}")
    return desk.index.whole(heads[0])


def _page(document: Descriptor, part: Section, count: int) -> dict[str, Any]:
    shown = {"document": document.name, "page_number": part.chunk, "pages": count, "section": part.title}
    return shown | {"content": part.text}


_NAME = name("Its name or id.")

_tool = family("documents", TEXTS)

TOOLS = (
    _tool(
        "list_documents",
        "List the documents with format, description and tags.",
        _list_documents,
        inputs(),
        "view_pages",
    ),
    _tool("get_document", "A document in full.", _get_document, inputs("name", name=_NAME), "get_doc"),
    _tool(
        "search_documents",
        "Find the passages of documents that a question is about.",
        _search_documents,
        inputs("query", query=words("The question."), limit=limit(5)),
        "search_docs",
        "find_relevant_pages",
    ),
    _tool(
        "get_document_section",
        "One section of a document with all below its heading.",
        _get_document_section,
        inputs("name section", name=_NAME, section=name("Words of its heading.")),
    ),
    _tool(
        "get_page_by_number",
        "Part N of a document.",
        _get_page,
        inputs(
            "page_number",
            page_number={"type": "integer", "minimum": 1},
            document=name("Where there are several."),
        ),
        "get_page_content",
    ),
)
