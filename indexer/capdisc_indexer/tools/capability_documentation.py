"""Everything that a caller of a capability has to know, as plain data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.capability_text import detail_text
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.loader_metadata import short_description
from capdisc_indexer.tools.tool_types import Tool
from capdisc_indexer.validation.arguments.schema_walk import SchemaWalk, as_list, as_mapping

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


def parameters(schema: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
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
