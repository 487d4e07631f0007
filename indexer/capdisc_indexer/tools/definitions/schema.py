"""The schema of a function's parameters, as every provider takes it: an object at its root, and no surprises in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.walk import Walk, listed, mapping
from capdisc_indexer.text import plain

MAX_DEPTH = 24
# A schema with more parts than that fills a context by itself.
MAX_PARTS = 5_000
_JOINED = ("allOf", "anyOf", "oneOf")
# What is said about the document rather than about the parameters.
_ABOUT = ("$schema", "$id", "id", "$comment")


def object_schema(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema as JSON with `type: object` and `properties` at its root. Choices at the root, which no provider
    takes, become one object with the members of all; only what every choice requires is required."""
    whole = cleaned(schema or {})
    root = {key: value for key, value in (whole if isinstance(whole, dict) else {}).items() if key not in _ABOUT}
    merged = _merged(Walk(root=root, keywords={}), root, 0)
    kept = {key: value for key, value in root.items() if key not in (*_JOINED, "$ref", "not", "enum", "const")}
    properties = mapping(merged.get("properties"))
    required = [name for name in merged.get("required", ()) if name in properties]
    made = {**kept, "type": "object", "properties": dict(properties)}
    made.pop("required", None)
    return made | ({"required": required} if required else {})


def _merged(walk: Walk, schema: Any, depth: int) -> dict[str, Any]:
    """Properties and required names of an object with all that is joined to it."""
    one = walk.resolved(schema)
    properties = dict(mapping(one.get("properties")))
    required = [name for name in listed(one.get("required")) if isinstance(name, str)]
    for word in _JOINED if depth < MAX_DEPTH // 4 else ():
        parts = [_merged(walk, part, depth + 1) for part in listed(one.get(word))[:50]]
        for part in parts:
            properties = {**part["properties"], **properties}
        needed = [set(part["required"]) for part in parts]
        joined = set().union(*needed) if word == "allOf" else set.intersection(*needed) if needed else set()
        required += sorted(joined)
    return {"properties": properties, "required": list(dict.fromkeys(required))}


def cleaned(value: Any) -> Any:
    """The value as JSON without characters that hide; an empty schema where it is too large or too deep."""
    left = [MAX_PARTS]
    return _cleaned(value, 0, left)


def _cleaned(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        return {}
    if isinstance(value, Mapping):
        return {plain(str(key)): _cleaned(item, depth + 1, left) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(item, depth + 1, left) for item in value if left[0] > 0]
    if isinstance(value, str):
        return plain(value)
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return None if is_odd else value
