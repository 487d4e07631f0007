"""One entry of a list of tools, in the fields of a manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.catalogue_fields import schema_of
from capdisc_indexer.sources.fields import squeezed
from capdisc_indexer.sources.lead import lead
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.text import spaced_identifiers

_SCHEMAS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "arguments")
_OUTPUTS = ("outputSchema", "output_schema", "response", "responseJsonSchema")
# What other programs know of a tool beyond the usual, under the names that a manifest has for it.
_KEPT = frozenset(
    """
    title displayname category tags keywords phrases examples hypotheticalqueries requires requiredtools
    requiredsecrets requiredbins composedwith related risklevel hassideeffects requiresconfirmation available hidden
    usagehint guidance instructions
    """.split()
)
_UPPER = re.compile(r"[A-Z]{3,}")
_DEPTH = 64


def tool_fields(tool: Mapping[str, Json], kind: str, category: str) -> dict[str, Json]:
    """The fields as far as the entry has them, with a long description's first paragraph in its place."""
    hints = hints_of(tool)
    titles = {"title": hints["title"]} if isinstance(hints.get("title"), str) else {}
    fields: dict[str, Json] = {
        "kind": kind,
        "name": tool.get("name"),
        "category": category,
        **titles,
        **_of_hints(hints),
    }
    fields |= {key: value for key, value in tool.items() if squeezed(key) in _KEPT and value is not None}
    fields |= _described(tool.get("description"))
    for target, keys in (("inputSchema", _SCHEMAS), ("outputSchema", _OUTPUTS)):
        if (schema := _schema(tool, keys)) is not None:
            fields[target] = schema
    return fields


def hints_of(tool: Mapping[str, Json]) -> dict[str, Json]:
    """What the server says of the tool's nature; hints, which a server may give wrongly."""
    hints = tool.get("annotations")
    return hints if isinstance(hints, dict) else {}


def in_words(name: str) -> str:
    """A name as words, for a tool that nobody described.

    >>> in_words("list_openIssues")
    'list open Issues'
    """
    return " ".join(spaced_identifiers(re.sub(r"[_\W]+", " ", name)).split())


def _described(said: Json) -> dict[str, Json]:
    if not isinstance(said, str):
        return {} if said is None else {"description": said}
    short, whole = lead(said)
    return {"description": short, "content": whole} if whole else {"description": short}


def _of_hints(hints: Mapping[str, Json]) -> dict[str, Json]:
    if hints.get("readOnlyHint") is True:
        return {"riskLevel": "low", "hasSideEffects": False}
    destructive = hints.get("destructiveHint")
    if destructive is True:
        return {"riskLevel": "high", "hasSideEffects": True, "requiresConfirmation": True}
    if hints.get("readOnlyHint") is False or destructive is False:
        # The protocol takes a tool that writes for destructive unless it says otherwise.
        return {"riskLevel": "medium", "hasSideEffects": True, "requiresConfirmation": destructive is not False}
    return {}


def _schema(tool: Mapping[str, Json], keys: tuple[str, ...]) -> Json:
    declared = next((tool[key] for key in keys if tool.get(key) not in (None, {})), None)
    if isinstance(declared, list):
        return schema_of([_spoken(each) for each in declared]) if declared else None
    return lowered(declared) if isinstance(declared, dict) else None


def _spoken(parameter: Json) -> Json:
    """A parameter of a flat list, which some write with `desc`."""
    if isinstance(parameter, dict) and "desc" in parameter and "description" not in parameter:
        return {**parameter, "description": parameter["desc"]}
    return parameter


def lowered(schema: Any, depth: int = 0) -> Any:
    """The schema with types as JSON Schema writes them: some libraries write `"type": "OBJECT"`.

    >>> lowered({"type": "ARRAY", "items": {"type": "STRING"}})
    {'type': 'array', 'items': {'type': 'string'}}
    """
    if depth > _DEPTH:
        return schema
    if isinstance(schema, list):
        return [lowered(each, depth + 1) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: lowered(value, depth + 1) for key, value in schema.items()}
    if isinstance(word := changed.get("type"), str) and _UPPER.fullmatch(word):
        changed["type"] = word.lower()
    return changed
