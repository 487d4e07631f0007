"""APIs and their operations: listed, described, and searched."""

from __future__ import annotations

from functools import partial
from typing import TypedDict

from capdisc_data.data_lookup import iter_parts, search_parts, unknown_container
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.tools.capability_lookup import (
    Metadata,
    capability_metadata,
    container_name,
    find_capability,
    headers_of_kinds,
    int_value,
    record_list,
    short_description,
    text_value,
)
from capdisc_indexer.tools.discovery_tools import document_parameters
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext

ANY_TYPE = "any"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class ApiRow(TypedDict):
    """An API in a list; `operations` is how many it has, None where nobody counted."""

    name: str
    type: str
    url: str
    description: str
    operations: int | None


def list_apis(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """All APIs."""
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


def list_operations(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The operations of an API, of one type where that is asked for."""
    api = find_api(ctx, arguments["api"])
    return {
        "api": api,
        "operations": [
            {
                "name": operation.name,
                "type": _infer_operation_type(operation),
                "description": short_description(operation),
            }
            for operation in iter_parts(ctx, "operation", api)
            if _has_type(arguments["operation_type"], operation)
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
        | {container_name(operation) for operation in iter_parts(ctx, "operation")}
    )
    for api_name in api_names:
        if api_name.lower() == lower_name:
            return api_name
    raise unknown_container("API", requested_name, api_names)


def _infer_operation_type(operation: Descriptor) -> str:
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


def _has_type(operation_type: str, operation: Descriptor) -> bool:
    return operation_type in (ANY_TYPE, _infer_operation_type(operation))


def get_operation_details(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """What a call of an operation needs, and what it answers."""
    operation = find_capability(
        ctx, arguments["operation"], "operation", within=arguments.get("api", "")
    )
    metadata = capability_metadata(operation)
    return {
        "api": container_name(operation),
        "operation": operation.name,
        "id": operation.id,
        "type": _infer_operation_type(operation),
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


def search_operations(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The operations that fit a task."""
    operation_type = arguments["operation_type"]
    fits = None if operation_type == ANY_TYPE else partial(_has_type, operation_type)
    return search_parts(ctx, arguments, "operation", "api", find_api, fits)
