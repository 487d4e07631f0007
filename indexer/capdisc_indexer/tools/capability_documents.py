"""What a caller has to know of a capability or of a discovery tool: its documentation as JSON."""

from __future__ import annotations

import re
from typing import Any, TypedDict

from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.capability_text import reference_text
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_lookup import short_description
from capdisc_indexer.tools.tool_types import Tool
from capdisc_indexer.validation.arguments.schema_walk import SchemaWalk, as_list, as_mapping

SUMMARY_CHARACTERS = 120
_SENTENCE = re.compile(r"(.+?[.!?。])(?:\s|$)")


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
