"""Arguments as they could be typed, for hints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

# What stands for a value of a type.
_OF_TYPE = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}
_MOST = 3


def example(schema: Mapping[str, Any] | None) -> str:
    """JSON with the first of the parameters that a call needs, or that it may have where it needs none."""
    declared = (schema or {}).get("properties")
    properties = declared if isinstance(declared, Mapping) else {}
    required = (schema or {}).get("required")
    needed = [name for name in properties if isinstance(required, list) and name in required]
    return json.dumps({name: _value(properties[name]) for name in islice(needed or properties, _MOST)})


def _value(schema: Any) -> Any:
    told = schema if isinstance(schema, Mapping) else {}
    if isinstance(choices := told.get("enum"), list) and choices:
        return choices[0]
    kind = told.get("type")
    return told.get("default", _OF_TYPE.get(kind, "...") if isinstance(kind, str) else "...")
