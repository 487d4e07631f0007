"""Everything that a caller of a capability has to know, as plain data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.walk import Walk, listed, mapping
from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.render.content import detail_text
from capdisc_indexer.text import one_line, plain
from capdisc_indexer.tools.held import described
from capdisc_indexer.tools.values import Tool
from capdisc_indexer.types import Descriptor

SUMMARY_CHARACTERS = 120
_SENTENCE = re.compile(r"(.+?[.!?。])(?:\s|$)")


def of_capability(descriptor: Descriptor) -> dict[str, Any]:
    """The full documentation of a capability, with its parameters."""
    return {
        "id": descriptor.id,
        "name": descriptor.name,
        "kind": descriptor.kind,
        "category": descriptor.category or UNCATEGORISED,
        "description": described(descriptor),
        "full_documentation": detail_text(descriptor),
        "parameters": parameters(descriptor.schema) or _listed_parameters(descriptor),
    }


def of_tool(tool: Tool) -> dict[str, Any]:
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
    from capdisc_indexer.sources.schema import type_text

    walk = Walk(root=schema or {}, keywords={})
    needed = listed(mapping(schema).get("required"))
    found: dict[str, dict[str, Any]] = {}
    for name, declared in mapping(mapping(schema).get("properties")).items():
        one = walk.resolved(declared)
        default = {"default": one["default"]} if "default" in one else {}
        description = one_line(str(one.get("description") or ""))
        found[name] = {"type": type_text(dict(one)), "required": name in needed, **default, "description": description}
    return found


def _listed_parameters(descriptor: Descriptor) -> dict[str, dict[str, Any]]:
    return {
        each.name: {"type": each.type, "required": each.required, "description": one_line(each.description)}
        for each in descriptor.parameters
    }


def summary(description: str) -> str:
    """The first line that says something, as one sentence: neither blank nor a heading that ends in a colon.

    >>> summary("Overview:\\n\\nLists the tables. Needs a database.")
    'Lists the tables.'
    """
    lines = [one_line(line) for line in plain(description).split("\n")]
    telling = [line for line in lines if line and not line.endswith(":")]
    first = telling[0] if telling else one_line(description)
    sentence = _SENTENCE.match(first)
    return one_line(sentence[1] if sentence else first, SUMMARY_CHARACTERS)
