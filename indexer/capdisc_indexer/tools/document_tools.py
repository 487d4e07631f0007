"""Documents and their sections."""

from __future__ import annotations

from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Hit
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_search import (
    capability_metadata,
    headers_of_kinds,
    search_capabilities,
    short_description,
    text_value,
)
from capdisc_indexer.tools.document_sections import (
    StoredSection,
    document_name,
    document_text,
    excerpt,
    list_sections,
    outline,
    section_with_children,
)
from capdisc_indexer.tools.name_lookup import find_capability
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)

TEXT_KINDS = ("document", "section")


def _list_documents(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {
        "documents": [
            _document_row(ctx.index.full_descriptor(header))
            for header in headers_of_kinds(ctx, "document")
        ]
    }


def _document_row(document: Descriptor) -> dict[str, Any]:
    facts = capability_metadata(document)
    shown = {
        "name": document.name,
        "type": text_value(facts, "type") or "file",
        "format": text_value(facts, "format") or "text",
    }
    return shown | {"description": short_description(document), "tags": list(document.tags)}


def _get_document(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    document = find_capability(ctx, arguments["name"], "document")
    parts, facts = list_sections(ctx, document), capability_metadata(document)
    changed = text_value(facts, "last_updated") or None
    return {
        "name": document.name,
        "content": document_text(document, parts),
        "format": text_value(facts, "format") or "text",
        "last_updated": changed,
        "loaded_at": changed,
        "sections": outline(parts),
    }


def _search_documents(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_capabilities(
        ctx, arguments["query"], arguments["limit"], _indexed_text_kinds(ctx)
    )
    spoken = ctx.index.documents.words(arguments["query"])
    return {"results": [_hit_row(ctx, hit, header, spoken) for hit, header in search_result.pairs]}


def _indexed_text_kinds(ctx: ToolContext) -> tuple[str, ...]:
    """The kinds of text that there are. Raises UsageError where there is none, as a filter of one
    kind would.
    """
    there = tuple(kind for kind in TEXT_KINDS if kind in ctx.index.overview["kinds"])
    return there or TEXT_KINDS[:1]


def _hit_row(
    ctx: ToolContext, hit: Hit, header: CapabilityHeader, spoken: list[str]
) -> dict[str, Any]:
    descriptor = ctx.index.full_descriptor(header)
    is_part = descriptor.kind == "section"
    return {
        "id": descriptor.id,
        "document": document_name(descriptor) if is_part else descriptor.name,
        "excerpt": excerpt(descriptor.content or descriptor.description, spoken),
        "relevance": round(hit.relevance, 2),
        "section": (text_value(capability_metadata(descriptor), "title") or descriptor.title)
        if is_part
        else "",
    }


def _get_document_section(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    document = find_capability(ctx, arguments["name"], "document")
    parts = section_with_children(list_sections(ctx, document), arguments["section"])
    shown = {"name": document.name, "section": parts[0].title, "path": list(parts[0].path)}
    return shown | {"content": "\n\n".join(part.text for part in parts)}


def _get_page(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    requested_name, number = arguments.get("document", ""), arguments["page_number"]
    document = (
        find_capability(ctx, requested_name, "document") if requested_name else _only_document(ctx)
    )
    parts = list_sections(ctx, document)
    section = next((part for part in parts if part.chunk == number), None)
    if section is None:
        raise UsageError(
            f"{one_line(document.name, 80)} has no page {number}",
            f"it has the pages 1 to {len(parts)}",
        )
    return _page_answer(document, section, len(parts))


def _only_document(ctx: ToolContext) -> Descriptor:
    headers = list(headers_of_kinds(ctx, "document"))
    if len(headers) != 1:
        listed = ", ".join(one_line(header["name"], 60) for header in headers[:20])
        raise UsageError(
            f"there are {len(headers)} documents", f"say which: {listed or 'none is indexed yet'}"
        )
    return ctx.index.full_descriptor(headers[0])


def _page_answer(document: Descriptor, part: StoredSection, count: int) -> dict[str, Any]:
    shown = {
        "document": document.name,
        "page_number": part.chunk,
        "pages": count,
        "section": part.title,
    }
    return shown | {"content": part.text}


_NAME_SCHEMA = name_schema("Its name or id.")

_make_tool = tool_factory("documents", TEXT_KINDS)

TOOLS = (
    _make_tool(
        "list_documents",
        "List the documents with format, description and tags.",
        _list_documents,
        input_schema(),
        "view_pages",
    ),
    _make_tool(
        "get_document",
        "A document in full.",
        _get_document,
        input_schema("name", name=_NAME_SCHEMA),
        "get_doc",
    ),
    _make_tool(
        "search_documents",
        "Find the passages of documents that a question is about.",
        _search_documents,
        input_schema("query", query=query_schema("The question."), limit=limit_schema(5)),
        "search_docs",
        "find_relevant_pages",
    ),
    _make_tool(
        "get_document_section",
        "One section of a document with all below its heading.",
        _get_document_section,
        input_schema(
            "name section", name=_NAME_SCHEMA, section=name_schema("Words of its heading.")
        ),
    ),
    _make_tool(
        "get_page_by_number",
        "Part N of a document.",
        _get_page,
        input_schema(
            "page_number",
            page_number={"type": "integer", "minimum": 1},
            document=name_schema("Where there are several."),
        ),
        "get_page_content",
    ),
)
