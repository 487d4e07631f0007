"""The three searches that agents know: discover_capabilities, tool_search and search_tool.

The first lists capabilities that fit a need. The second adds guidance on how to use them. The
third looks a name up: an exact name gives full documentation, other words the capabilities that
come near, no words the names of all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypedDict

from capdisc_indexer.model.json_types import Arguments, CapabilityHeader, JsonSchema
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Hit
from capdisc_indexer.rendering.capability_text import reference_text
from capdisc_indexer.retrieval.candidates import require_known_filters
from capdisc_indexer.retrieval.verdict import SURE_CONFIDENCE
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.text.similar_names import compact_name
from capdisc_indexer.tools.call_binding import match_tool
from capdisc_indexer.tools.capability_lookup import (
    SearchResult,
    find_by_name,
    headers_of_kinds,
    hit_row,
    mark_for_review,
    search_capabilities,
    short_description,
)
from capdisc_indexer.tools.tool_types import ANY_KIND, Tool, ToolAnswer, ToolContext, load_tools
from capdisc_indexer.validation.schema_walk import SchemaWalk, as_list, as_mapping

DEFAULT_LIMIT = 5
# Kinds that are read rather than called.
NON_CALLABLE_KINDS = frozenset({"database", "table", "api", "document", "section", "term"})
# Searched for in an index that has no kind that is called, so that nothing is found.
_CALLABLE_KINDS = ("skill", "tool")
NO_GUIDANCE = "No special workflow: read the description of each before you call it."
FOUND_INSTRUCTION = "Call these by name; search again for anything else you need."
NOTHING_INSTRUCTION = "Nothing here fits. Say it in other words, or answer without a tool."
NOTHING_INDEXED = (
    "No capabilities are indexed here: go on without them. The user gets some at a terminal with: "
    "capdisc index PATH"
)
_WEAK_INSTRUCTION = (
    "No word of the query is mentioned here, so these may not fit. Read them before you call one, "
    "say it in other words, or answer without a tool."
)
# A query of more words is not looked up as a name.
_MAX_NAME_WORDS = 8

SUMMARY_CHARACTERS = 120
_SENTENCE = re.compile(r"(.+?[.!?。])(?:\s|$)")


def _discover_capabilities(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    kind = arguments["kind"]
    kinds = () if kind == ANY_KIND else (kind,)
    category = arguments.get("category", "")
    require_known_filters(ctx.index.overview, kinds, (category,) if category else ())
    search_result = search_capabilities(ctx, arguments["query"], DEFAULT_LIMIT, kinds, category)
    return {
        "capabilities": [hit_row(ctx, hit, header) for hit, header in search_result.pairs],
        "totalIndexed": len(ctx.index.documents),
        **_instruct(ctx, search_result),
    }


def _instruct(ctx: ToolContext, search_result: SearchResult) -> ToolAnswer:
    """What to do where nothing fits, or meaning alone found something that hardly does."""
    ranking = search_result.ranking
    if not ranking.hits:
        is_empty = not len(ctx.index.documents)
        return {"instruction": NOTHING_INDEXED if is_empty else NOTHING_INSTRUCTION}
    has_words = not ranking.unmatched or any("bm25" in hit.signals for hit in ranking.hits)
    is_sure = has_words or ranking.confidence >= SURE_CONFIDENCE
    return {} if is_sure else {"instruction": _WEAK_INSTRUCTION}


# tool_search


class ToolRow(TypedDict):
    """A capability for an agent that is about to call it. `name` is its id where two capabilities
    of the answer share a name.
    """

    name: str
    description: str
    hint: str


def _tool_search(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    search_result = search_tools(ctx, arguments["query"], arguments["limit"])
    descriptors = [ctx.index.full_descriptor(header) for _, header in search_result.pairs]
    name_counts = Counter(descriptor.name for descriptor in descriptors)
    return {
        "tools": [
            _tool_row(descriptor, has_unique_name=name_counts[descriptor.name] == 1)
            for descriptor in descriptors
        ],
        "workflowGuidance": workflow_guidance(ctx, descriptors) if descriptors else "",
        "instruction": FOUND_INSTRUCTION,
        **_instruct(ctx, search_result),
    }


def search_tools(ctx: ToolContext, query: str, limit: int) -> SearchResult:
    """The capabilities that fit, of the kinds that are called or followed."""
    kinds = [kind for kind in ctx.index.overview["kinds"] if kind not in NON_CALLABLE_KINDS]
    return search_capabilities(ctx, query, limit, kinds or _CALLABLE_KINDS)


def _tool_row(descriptor: Descriptor, has_unique_name: bool) -> ToolRow:
    hint = one_line(descriptor.usage_hint, 300) or (
        "Ask before use." if descriptor.confirm else ""
    )
    return {
        "name": descriptor.name if has_unique_name else descriptor.id,
        "description": short_description(descriptor),
        "hint": hint,
    }


def workflow_guidance(ctx: ToolContext, descriptors: Sequence[Descriptor]) -> str:
    """What authors say about how to work with these capabilities and with their categories, each
    text once: first those of categories, then those of capabilities, in the order of the answer.
    """
    guidance_of_categories = ctx.index.guidance(descriptor.category for descriptor in descriptors)
    guidance_texts = [
        *(entry["text"] for entry in guidance_of_categories.values()),
        *(descriptor.guidance for descriptor in descriptors),
    ]
    unique_texts = dict.fromkeys(strip_controls(text).strip() for text in guidance_texts)
    return "\n\n".join(text for text in unique_texts if text) or NO_GUIDANCE


# search_tool


def _search_tool(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    query = arguments["query"].strip()
    if not query:
        return _list_all(ctx)
    headers = exact_matches(ctx, query)
    if not headers and (tool := find_discovery_tool(ctx, query)):
        return {"match_type": "exact", "tool": document_tool(tool)}
    documents = [document_capability(ctx.index.full_descriptor(header)) for header in headers]
    if len(documents) == 1:
        return {"match_type": "exact", "tool": documents[0]}
    if documents:
        return {"match_type": "exact", "tools": documents}
    return _approximate_answer(ctx, search_capabilities(ctx, query, arguments["limit"]))


def find_discovery_tool(ctx: ToolContext, query: str) -> Tool | None:
    """The discovery tool of this name, for an agent that was offered only the bridge tools.
    Several words are a need that the catalogue answers.
    """
    return None if " " in query else match_tool(ctx.tools, query.removeprefix("capdisc:"))


def exact_matches(ctx: ToolContext, query: str) -> list[CapabilityHeader]:
    """The headers of the capabilities whose name or id the query is; hidden ones only by their
    id.
    """
    if len(query.split()) > _MAX_NAME_WORDS:
        return []
    headers = [
        header
        for header in find_by_name(ctx, query)
        if not header.get("hidden") or header["id"] == query
    ]
    # The index has categories as aliases, too; those are not names.
    return [header for header in headers if compact_name(query) in _name_forms(header)]


def _name_forms(header: CapabilityHeader) -> set[str]:
    identifier = header["id"]
    names = (
        identifier,
        identifier.partition("@")[0],
        identifier.partition(":")[2],
        header["name"],
        header.get("title", ""),
    )
    return {compact_name(name) for name in names}


def _list_all(ctx: ToolContext) -> ToolAnswer:
    """The names of all capabilities, sorted; the id where several share a name."""
    headers = list(headers_of_kinds(ctx))
    name_counts = Counter(header["name"] for header in headers)
    names = sorted(
        header["id"] if name_counts[header["name"]] > 1 else header["name"] for header in headers
    )
    return {"match_type": "list_all", "total_count": len(names), "tools": names}


class SummaryRow(TypedDict):
    """A capability that comes near; `relevance` is 0..1 with two digits."""

    id: str
    name: str
    kind: str
    category: str
    summary: str
    score: float
    relevance: float


def _approximate_answer(ctx: ToolContext, search_result: SearchResult) -> ToolAnswer:
    rows = [_summary_row(hit, header) for hit, header in search_result.pairs]
    answer: ToolAnswer = {
        "match_type": "approximate",
        "results_count": len(rows),
        "tools": rows,
        **_instruct(ctx, search_result),
    }
    unmatched = list(search_result.ranking.unmatched)
    return answer | ({"unmatched": unmatched} if unmatched else {})


def _summary_row(hit: Hit, header: CapabilityHeader) -> SummaryRow:
    return {
        "id": header["id"],
        "name": header["name"],
        "kind": header["kind"],
        "category": header.get("category") or UNCATEGORISED,
        "summary": mark_for_review(summary(header["description"]), header),
        "score": round(hit.score, 4),
        "relevance": round(hit.relevance, 2),
    }


# The documentation of a capability or of a discovery tool as JSON.


class _ParameterDefault(TypedDict, total=False):
    default: Any


class ParameterDocument(_ParameterDefault):
    """One parameter; `default` is missing where the schema has none, and keeps its JSON type."""

    type: str
    required: bool
    description: str


class ToolDocument(TypedDict):
    """The documentation of a discovery tool; `parameters` by name."""

    name: str
    category: str
    description: str
    full_documentation: str
    parameters: dict[str, ParameterDocument]


class CapabilityDocument(ToolDocument):
    """The documentation of a capability; `description` is one line, `full_documentation` the text
    that `capdisc show` prints.
    """

    id: str
    kind: str


def document_capability(descriptor: Descriptor) -> CapabilityDocument:
    """The documentation of a capability, its parameters from its schema, else as it lists them."""
    return {
        "id": descriptor.id,
        "name": descriptor.name,
        "kind": descriptor.kind,
        "category": descriptor.category or UNCATEGORISED,
        "description": short_description(descriptor),
        "full_documentation": reference_text(descriptor),
        "parameters": document_parameters(descriptor.schema) or _listed_parameters(descriptor),
    }


def document_tool(tool: Tool) -> ToolDocument:
    """The documentation of a discovery tool."""
    return {
        "name": tool.name,
        "category": tool.group,
        "description": tool.description,
        "full_documentation": tool.description,
        "parameters": document_parameters(tool.input_schema),
    }


def document_parameters(schema: JsonSchema | None) -> dict[str, ParameterDocument]:
    """What a schema says of each parameter, by name.

    >>> document_parameters({"properties": {"n": {"type": "integer", "default": 5}}})
    {'n': {'type': 'integer', 'required': False, 'default': 5, 'description': ''}}
    """
    from capdisc_indexer.sources.formats.parsed_capability import type_text

    walk = SchemaWalk(root=schema or {}, keywords={})
    required_names = as_list(as_mapping(schema).get("required"))
    documents: dict[str, ParameterDocument] = {}
    for name, declared in as_mapping(as_mapping(schema).get("properties")).items():
        parameter_schema = walk.resolve_schema(declared)
        default: _ParameterDefault = {}
        if "default" in parameter_schema:
            default["default"] = parameter_schema["default"]
        documents[name] = {
            "type": type_text(dict(parameter_schema)),
            "required": name in required_names,
            **default,
            "description": one_line(str(parameter_schema.get("description") or "")),
        }
    return documents


def _listed_parameters(descriptor: Descriptor) -> dict[str, ParameterDocument]:
    return {
        parameter.name: {
            "type": parameter.type,
            "required": parameter.required,
            "description": one_line(parameter.description),
        }
        for parameter in descriptor.parameters
    }


def summary(description: str) -> str:
    """The first sentence of the first line that is neither blank nor a heading that ends in a
    colon, at most SUMMARY_CHARACTERS long.

    >>> summary("Overview:\\n\\nLists the tables. Needs a database.")
    'Lists the tables.'
    """
    lines = [one_line(line) for line in strip_controls(description).split("\n")]
    first_line = next((line for line in lines if line and not line.endswith(":")), None)
    text = one_line(description) if first_line is None else first_line
    sentence = _SENTENCE.match(text)
    return one_line(sentence[1] if sentence else text, SUMMARY_CHARACTERS)


TOOLS = load_tools(
    "discovery",
    {
        "discover_capabilities": _discover_capabilities,
        "tool_search": _tool_search,
        "search_tool": _search_tool,
    },
)
