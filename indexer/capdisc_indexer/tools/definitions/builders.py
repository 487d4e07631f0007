"""Definitions of discovery tools and of capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.discovery_tools import ANY_KIND
from capdisc_indexer.tools.tool_types import Tool, ToolContext

# One callable thing, whatever stands behind it.


@frozen(kw_only=True)
class Definition:
    """What a model is told of a function. `id` is a capability's, or `capdisc:name` of a discovery
    tool, whose name no capability may take; `schema` is as its author wrote it; `annotations` are
    MCP's hints.
    """

    id: str
    name: str
    description: str
    schema: JsonSchema | None
    kind: str
    title: str = ""
    is_available: bool = True
    is_ours: bool = False
    annotations: Mapping[str, Any] = field(default_factory=dict)


# Of these, one without a schema is a function without parameters.
CALLABLE_KINDS = ("tool", "function", "operation", "command")
# The longest that every provider takes.
DESCRIPTION_CHARACTERS = 1_024
# With more, the definition of discover_capabilities would pass 80 tokens.
MAX_SHOWN_KINDS = 6
# What runs something, or keeps something beside the index.
_WRITING_TOOLS = frozenset({"execute_tool", "resolve_fact", "add_fact", "extract_facts_from_text"})
_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def define_tool(ctx: ToolContext, tool: Tool, is_available: bool) -> Definition:
    """A discovery tool; where it takes a kind, with the kinds that there are."""
    return Definition(
        id=f"capdisc:{tool.name}",
        name=tool.name,
        description=tool.description,
        schema=_schema_for_model(ctx, tool.input_schema),
        kind=tool.group,
        is_available=is_available,
        is_ours=True,
        annotations={"readOnlyHint": tool.name not in _WRITING_TOOLS},
    )


def _schema_for_model(ctx: ToolContext, schema: JsonSchema) -> Mapping[str, Any]:
    """The schema as a model needs it: without what only guards us, and with the kinds that there
    are.
    """
    properties = {name: _strip_limits(declared) for name, declared in schema["properties"].items()}
    kinds = sorted(ctx.index.overview["kinds"])
    if "kind" in properties and len(kinds) <= MAX_SHOWN_KINDS:
        properties["kind"] = {"enum": [ANY_KIND, *kinds]}
    return {key: value for key, value in schema.items() if key != "additionalProperties"} | {
        "properties": properties
    }


def _strip_limits(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in declared.items()
        if key not in ("minLength", "maxLength", "minimum")
    }


def is_callable(descriptor: Descriptor) -> bool:
    """Whether it can be a function to a model: it has a schema, or is of a kind that is called."""
    return descriptor.schema is not None or descriptor.kind in CALLABLE_KINDS


def define_capability(descriptor: Descriptor, is_available: bool) -> Definition:
    """A capability as a function."""
    title = one_line(descriptor.title, 120)
    return Definition(
        id=descriptor.id,
        name=descriptor.name,
        title="" if title == descriptor.name else title,
        description=_shorten_description(strip_controls(descriptor.description).strip()),
        schema=capability_schema(descriptor),
        kind=descriptor.kind,
        is_available=is_available,
        annotations=_build_annotations(descriptor),
    )


def _shorten_description(text: str) -> str:
    return text if len(text) <= DESCRIPTION_CHARACTERS else one_line(text, DESCRIPTION_CHARACTERS)


def capability_schema(descriptor: Descriptor) -> Mapping[str, Any]:
    """The schema that a capability is offered with: its own, else one of its list of
    parameters.
    """
    if descriptor.schema:
        return descriptor.schema
    properties = {
        parameter.name: _property_schema(parameter.type, parameter.description)
        for parameter in descriptor.parameters
    }
    required = [parameter.name for parameter in descriptor.parameters if parameter.required]
    return {"type": "object", "properties": properties} | (
        {"required": required} if required else {}
    )


def _property_schema(type_text: str, description: str) -> dict[str, Any]:
    kind = type_text.partition("<")[0]
    declared: dict[str, Any] = {"type": kind} if kind in _JSON_TYPES else {}
    return declared | ({"description": one_line(description)} if description else {})


def _build_annotations(descriptor: Descriptor) -> dict[str, Any]:
    """The hints that its author gave; where there are none, what the manifest says of risk."""
    hints = descriptor.extra.get("annotations")
    if isinstance(hints, Mapping):
        return {
            key: value
            for key, value in hints.items()
            if str(key).endswith("Hint") and isinstance(value, bool)
        }
    if descriptor.risk in ("high", "critical") or descriptor.confirm:
        return {"destructiveHint": True}
    return {}
