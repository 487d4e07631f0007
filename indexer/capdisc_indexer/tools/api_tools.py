"""APIs and their operations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.capability_text import detail_text
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_search import (
    WIDE_LIMIT,
    capability_metadata,
    headers_of_kinds,
    int_value,
    record_list,
    search_capabilities,
    select_hits,
    short_description,
    text_value,
)
from capdisc_indexer.tools.name_lookup import (
    container_name,
    find_capability,
    is_part_of,
    local_name,
)
from capdisc_indexer.tools.tool_types import (
    Tool,
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    name_schema,
    query_schema,
    tool_factory,
)
from capdisc_indexer.validation.arguments.schema_walk import SchemaWalk, as_list, as_mapping

# Everything that a caller of a capability has to know, as plain data.

SUMMARY_CHARACTERS = 120
_SENTENCE = re.compile(r"(.+?[.!?。])(?:\s|$)")


def document_capability(descriptor: Descriptor) -> dict[str, Any]:
    """The full documentation of a capability, with its parameters."""
    return {
        "id": descriptor.id,
        "name": descriptor.name,
        "kind": descriptor.kind,
        "category": descriptor.category or UNCATEGORISED,
        "description": short_description(descriptor),
        "full_documentation": detail_text(descriptor),
        "parameters": parameters(descriptor.schema) or _listed_parameters(descriptor),
    }


def document_tool(tool: Tool) -> dict[str, Any]:
    """The same of one of the discovery tools."""
    return {
        "name": tool.name,
        "category": tool.group,
        "description": tool.description,
        "full_documentation": tool.description,
        "parameters": parameters(tool.input_schema),
    }


def parameters(schema: JsonSchema | None) -> dict[str, dict[str, Any]]:
    """What a schema says of each parameter; a default keeps its JSON type.

    >>> parameters({"properties": {"n": {"type": "integer", "default": 5}}})
    {'n': {'type': 'integer', 'required': False, 'default': 5, 'description': ''}}
    """
    from capdisc_indexer.sources.formats.input_parameters import type_text

    walk = SchemaWalk(root=schema or {}, keywords={})
    needed = as_list(as_mapping(schema).get("required"))
    documented: dict[str, dict[str, Any]] = {}
    for name, declared in as_mapping(as_mapping(schema).get("properties")).items():
        parameter_schema = walk.resolve_schema(declared)
        default = {"default": parameter_schema["default"]} if "default" in parameter_schema else {}
        description = one_line(str(parameter_schema.get("description") or ""))
        documented[name] = {
            "type": type_text(dict(parameter_schema)),
            "required": name in needed,
            **default,
            "description": description,
        }
    return documented


def _listed_parameters(descriptor: Descriptor) -> dict[str, dict[str, Any]]:
    return {
        parameter.name: {
            "type": parameter.type,
            "required": parameter.required,
            "description": one_line(parameter.description),
        }
        for parameter in descriptor.parameters
    }


def summary(description: str) -> str:
    """The first line that says something, as one sentence: neither blank nor a heading that ends
    in a colon.

    >>> summary("Overview:\\n\\nLists the tables. Needs a database.")
    'Lists the tables.'
    """
    lines = [one_line(line) for line in strip_controls(description).split("\n")]
    telling = [line for line in lines if line and not line.endswith(":")]
    first = telling[0] if telling else one_line(description)
    sentence = _SENTENCE.match(first)
    return one_line(sentence[1] if sentence else first, SUMMARY_CHARACTERS)


API_KINDS = ("api", "operation")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def _list_apis(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def _list_operations(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def _get_operation_details(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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


def _search_operations(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
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
