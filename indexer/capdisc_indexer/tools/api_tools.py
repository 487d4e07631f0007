"""APIs and their operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_documentation import parameters
from capdisc_indexer.tools.capability_search import (
    WIDE_LIMIT,
    headers_of_kinds,
    search_capabilities,
    select_hits,
)
from capdisc_indexer.tools.input_schemas import (
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
)
from capdisc_indexer.tools.loader_metadata import (
    capability_metadata,
    int_value,
    record_list,
    short_description,
    text_value,
)
from capdisc_indexer.tools.name_lookup import (
    container_name,
    find_capability,
    is_part_of,
    local_name,
)
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext, tool_factory

API_KINDS = ("api", "operation")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def _list_apis(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolAnswer:
    return {
        "apis": [
            _api_row(ctx.index.full_descriptor(header)) for header in headers_of_kinds(ctx, "api")
        ]
    }


def _api_row(descriptor: Descriptor) -> dict[str, Any]:
    facts = capability_metadata(descriptor)
    shown = {
        "name": descriptor.name,
        "type": text_value(facts, "type") or "openapi",
        "url": text_value(facts, "url"),
    }
    return shown | {
        "description": short_description(descriptor),
        "operations": int_value(facts, "operations"),
    }


def _list_operations(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolAnswer:
    api = _find_api(ctx, arguments["api"])
    operation_type = arguments["operation_type"]
    operations = [
        operation
        for operation in _iter_operations(ctx, api)
        if operation_type in ("any", infer_operation_type(operation))
    ]
    listed = [
        {
            "name": operation.name,
            "type": infer_operation_type(operation),
            "description": short_description(operation),
        }
        for operation in operations
    ]
    return {"api": api, "operations": listed}


def _find_api(ctx: ToolContext, called: str) -> str:
    """The API as it is written; one that only its operations speak of is known too."""
    headers = list(headers_of_kinds(ctx, "api"))
    if any(
        called.removeprefix("api:").lower() == str(header["name"]).lower() for header in headers
    ):
        return find_capability(ctx, called, "api").name
    api_names = sorted(
        {str(header["name"]) for header in headers}
        | {container_name(operation) for operation in _iter_operations(ctx)}
    )
    for api_name in api_names:
        if api_name.lower() == called.removeprefix("api:").lower():
            return api_name
    raise UsageError(
        f"there is no API {one_line(called, 80)!r}",
        f"here: {', '.join(api_names[:20]) or 'none yet'}",
    )


def _iter_operations(ctx: ToolContext, api: str = "") -> Iterator[Descriptor]:
    for header in headers_of_kinds(ctx, "operation"):
        is_made = header["source"]["format"] not in ("capability", "catalogue")
        if (
            not api
            or not is_made
            or local_name(str(header["id"])).lower().startswith(f"{api.lower()}.")
        ):
            descriptor = ctx.index.full_descriptor(header)
            if not api or is_part_of(descriptor, api):
                yield descriptor


def infer_operation_type(operation: Descriptor) -> str:
    """query for what only reads, mutation for what may change something."""
    facts = capability_metadata(operation)
    method = text_value(facts, "method").upper()
    return text_value(facts, "type") or (
        "query" if method in _SAFE_METHODS else "mutation" if method else ""
    )


def _get_operation_details(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolAnswer:
    operation = find_capability(
        ctx, arguments["operation"], "operation", within=arguments.get("api", "")
    )
    facts = capability_metadata(operation)
    return {
        "api": container_name(operation),
        "operation": operation.name,
        "id": operation.id,
        "type": infer_operation_type(operation),
        "method": text_value(facts, "method"),
        "path": text_value(facts, "path"),
        "description": short_description(operation),
        "parameters": _operation_parameters(operation, facts),
        "response_schema": facts.get("response_schema") or operation.output_schema or {},
    }


def _operation_parameters(operation: Descriptor, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is sent, those of the body included, which only the schema knows."""
    listed = [dict(record) for record in record_list(facts, "parameters")]
    listed_names = {parameter.get("name") for parameter in listed}
    schema_parameters = parameters(operation.schema).items()
    return listed + [
        {"name": name, **about} for name, about in schema_parameters if name not in listed_names
    ]


def _search_operations(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolAnswer:
    operation_type, api = arguments["operation_type"], arguments.get("api", "")
    is_narrow = operation_type != "any" or api
    search_result = search_capabilities(
        ctx, arguments["query"], WIDE_LIMIT if is_narrow else arguments["limit"], ("operation",)
    )
    home = _find_api(ctx, api) if api else ""
    hits = select_hits(
        search_result,
        arguments["limit"],
        lambda operation: (
            operation_type in ("any", infer_operation_type(operation))
            and (not home or is_part_of(operation, home))
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
    "enum": ["any", "query", "mutation", "subscription"],
    "default": "any",
}

_make_tool = tool_factory("apis", API_KINDS)

TOOLS = (
    _make_tool(
        "list_apis", "List the APIs with type, address and description.", _list_apis, input_schema()
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
