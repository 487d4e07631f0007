"""APIs and their operations: listed, described, and searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_lookup import (
    WIDE_LIMIT,
    Metadata,
    capability_metadata,
    container_name,
    find_capability,
    headers_of_kinds,
    int_value,
    is_part_of,
    local_name,
    record_list,
    search_capabilities,
    select_hits,
    short_description,
    text_value,
)
from capdisc_indexer.tools.discovery_tools import document_parameters
from capdisc_indexer.tools.tool_types import (
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)

API_KINDS = ("api", "operation")
ANY_TYPE = "any"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class ApiRow(TypedDict):
    """An API in a list; `operations` is how many it has, None where nobody counted."""

    name: str
    type: str
    url: str
    description: str
    operations: int | None


def _list_apis(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    return {
        "apis": [
            _api_row(ctx.index.full_descriptor(header)) for header in headers_of_kinds(ctx, "api")
        ]
    }


def _api_row(descriptor: Descriptor) -> ApiRow:
    metadata = capability_metadata(descriptor)
    return {
        "name": descriptor.name,
        "type": text_value(metadata, "type") or "openapi",
        "url": text_value(metadata, "url"),
        "description": short_description(descriptor),
        "operations": int_value(metadata, "operations"),
    }


def _list_operations(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    api = find_api(ctx, arguments["api"])
    return {
        "api": api,
        "operations": [
            {
                "name": operation.name,
                "type": infer_operation_type(operation),
                "description": short_description(operation),
            }
            for operation in _iter_operations(ctx, api)
            if _has_type(operation, arguments["operation_type"])
        ],
    }


def find_api(ctx: ToolContext, requested_name: str) -> str:
    """The name of the API as it is written; it may be one that only its operations name. Raises
    UsageError with the names of all.
    """
    headers = list(headers_of_kinds(ctx, "api"))
    lower_name = requested_name.removeprefix("api:").lower()
    if any(header["name"].lower() == lower_name for header in headers):
        return find_capability(ctx, requested_name, "api").name
    api_names = sorted(
        {header["name"] for header in headers}
        | {container_name(operation) for operation in _iter_operations(ctx)}
    )
    for api_name in api_names:
        if api_name.lower() == lower_name:
            return api_name
    raise UsageError(
        f"there is no API {one_line(requested_name, 80)!r}",
        f"here: {', '.join(api_names[:20]) or 'none yet'}",
    )


def _iter_operations(ctx: ToolContext, api: str = "") -> Iterator[Descriptor]:
    """All operations by id, or those of one API."""
    for header in headers_of_kinds(ctx, "operation"):
        # The id of a loader's operation begins with its API; one that an author gave says nothing.
        is_authored = header["source"]["format"] in ("capability", "catalogue")
        is_candidate = is_authored or local_name(header["id"]).lower().startswith(
            f"{api.lower()}."
        )
        if not api or is_candidate:
            descriptor = ctx.index.full_descriptor(header)
            if not api or is_part_of(descriptor, api):
                yield descriptor


def infer_operation_type(operation: Descriptor) -> str:
    """The declared type of the operation; else "query" for a method that only reads, "mutation"
    for one that may change something, and "" without a method.
    """
    metadata = capability_metadata(operation)
    if declared_type := text_value(metadata, "type"):
        return declared_type
    method = text_value(metadata, "method").upper()
    if not method:
        return ""
    return "query" if method in _SAFE_METHODS else "mutation"


def _has_type(operation: Descriptor, operation_type: str) -> bool:
    return operation_type in (ANY_TYPE, infer_operation_type(operation))


def _get_operation_details(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    operation = find_capability(
        ctx, arguments["operation"], "operation", within=arguments.get("api", "")
    )
    metadata = capability_metadata(operation)
    return {
        "api": container_name(operation),
        "operation": operation.name,
        "id": operation.id,
        "type": infer_operation_type(operation),
        "method": text_value(metadata, "method"),
        "path": text_value(metadata, "path"),
        "description": short_description(operation),
        "parameters": _operation_parameters(operation, metadata),
        "response_schema": metadata.get("response_schema") or operation.output_schema or {},
    }


def _operation_parameters(operation: Descriptor, metadata: Metadata) -> list[JsonObject]:
    """The parameters as the API lists them, then those of the body, which only the schema has."""
    listed_parameters = [dict(record) for record in record_list(metadata, "parameters")]
    listed_names = {parameter.get("name") for parameter in listed_parameters}
    schema_parameters = [
        {"name": name, **document}
        for name, document in document_parameters(operation.schema).items()
        if name not in listed_names
    ]
    return listed_parameters + schema_parameters


def _search_operations(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    operation_type, requested_api = arguments["operation_type"], arguments.get("api", "")
    has_filter = operation_type != ANY_TYPE or requested_api
    search_result = search_capabilities(
        ctx, arguments["query"], WIDE_LIMIT if has_filter else arguments["limit"], ("operation",)
    )
    api = find_api(ctx, requested_api) if requested_api else ""
    hits = select_hits(
        search_result,
        arguments["limit"],
        lambda operation: (
            _has_type(operation, operation_type) and (not api or is_part_of(operation, api))
        ),
        ctx,
    )
    return {
        "operations": [
            {
                "id": operation.id,
                "api": container_name(operation),
                "operation": operation.name,
                "relevance": round(hit.relevance, 2),
                "description": short_description(operation),
            }
            for hit, operation in hits
        ]
    }


_OPERATION_TYPE = {
    "type": "string",
    "enum": [ANY_TYPE, "query", "mutation", "subscription"],
    "default": ANY_TYPE,
}

_make_tool = tool_factory("apis", API_KINDS)

TOOLS = (
    _make_tool(
        "list_apis",
        "List the APIs with type, address and description.",
        _list_apis,
        input_schema(),
    ),
    _make_tool(
        "list_operations",
        "List the operations of an API.",
        _list_operations,
        input_schema("api", api=name_schema("Its name."), operation_type=_OPERATION_TYPE),
        "list_api_operations",
    ),
    _make_tool(
        "get_operation_details",
        "Method, path, parameters and response of an operation.",
        _get_operation_details,
        input_schema(
            "operation",
            api=name_schema("Where several have it."),
            operation=name_schema("Its name or id."),
        ),
    ),
    _make_tool(
        "search_operations",
        "Find the API operations for a task.",
        _search_operations,
        input_schema(
            "query",
            query=query_schema("The task."),
            limit=limit_schema(5),
            operation_type=_OPERATION_TYPE,
            api=name_schema(),
        ),
    ),
)
