"""Documents and their sections: listed, read, and searched for passages."""

from __future__ import annotations

from typing import TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Hit
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_search import (
    headers_of_kinds,
    search_capabilities,
    short_description,
)
from capdisc_indexer.tools.document_sections import (
    document_name,
    document_text,
    excerpt,
    list_sections,
    outline,
    section_with_children,
)
from capdisc_indexer.tools.metadata_values import capability_metadata, text_value
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


class DocumentRow(TypedDict):
    """A document in a list."""

    name: str
    type: str
    format: str
    description: str
    tags: list[str]


def _list_documents(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {
        "documents": [
            _document_row(ctx.index.full_descriptor(header))
            for header in headers_of_kinds(ctx, "document")
        ]
    }


def _document_row(document: Descriptor) -> DocumentRow:
    metadata = capability_metadata(document)
    return {
        "name": document.name,
        "type": text_value(metadata, "type") or "file",
        "format": text_value(metadata, "format") or "text",
        "description": short_description(document),
        "tags": list(document.tags),
    }


def _get_document(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    document = find_capability(ctx, arguments["name"], "document")
    sections, metadata = list_sections(ctx, document), capability_metadata(document)
    last_updated = text_value(metadata, "last_updated") or None
    return {
        "name": document.name,
        "content": document_text(document, sections),
        "format": text_value(metadata, "format") or "text",
        "last_updated": last_updated,
        "loaded_at": last_updated,
        "sections": outline(sections),
    }


def _get_document_section(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    document = find_capability(ctx, arguments["name"], "document")
    sections = section_with_children(list_sections(ctx, document), arguments["section"])
    return {
        "name": document.name,
        "section": sections[0].title,
        "path": list(sections[0].path),
        "content": "\n\n".join(section.text for section in sections),
    }


def _get_page(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    name, number = arguments.get("document", ""), arguments["page_number"]
    document = find_capability(ctx, name, "document") if name else _only_document(ctx)
    sections = list_sections(ctx, document)
    section = next((section for section in sections if section.chunk == number), None)
    if section is None:
        raise UsageError(
            f"{one_line(document.name, 80)} has no page {number}",
            f"it has the pages 1 to {len(sections)}",
        )
    return {
        "document": document.name,
        "page_number": section.chunk,
        "pages": len(sections),
        "section": section.title,
        "content": section.text,
    }


def _only_document(ctx: ToolContext) -> Descriptor:
    headers = list(headers_of_kinds(ctx, "document"))
    if len(headers) != 1:
        listed_names = ", ".join(one_line(header["name"], 60) for header in headers[:20])
        raise UsageError(
            f"there are {len(headers)} documents",
            f"say which: {listed_names or 'none is indexed yet'}",
        )
    return ctx.index.full_descriptor(headers[0])


class PassageRow(TypedDict):
    """A passage that a search found. `section` is "" where the document itself is the hit."""

    id: str
    document: str
    excerpt: str
    relevance: float
    section: str


def _search_documents(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_capabilities(
        ctx, arguments["query"], arguments["limit"], _indexed_text_kinds(ctx)
    )
    query_words = ctx.index.documents.words(arguments["query"])
    return {
        "results": [
            _passage_row(ctx, hit, header, query_words) for hit, header in search_result.pairs
        ]
    }


def _indexed_text_kinds(ctx: ToolContext) -> tuple[str, ...]:
    """The kinds of text that the index holds; where it holds none, one kind, for which the search
    raises UsageError.
    """
    indexed_kinds = tuple(kind for kind in TEXT_KINDS if kind in ctx.index.overview["kinds"])
    return indexed_kinds or TEXT_KINDS[:1]


def _passage_row(
    ctx: ToolContext, hit: Hit, header: CapabilityHeader, query_words: list[str]
) -> PassageRow:
    descriptor = ctx.index.full_descriptor(header)
    document, section = descriptor.name, ""
    if descriptor.kind == "section":
        document = document_name(descriptor)
        section = text_value(capability_metadata(descriptor), "title") or descriptor.title
    return {
        "id": descriptor.id,
        "document": document,
        "excerpt": excerpt(descriptor.content or descriptor.description, query_words),
        "relevance": round(hit.relevance, 2),
        "section": section,
    }


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
