"""The words in which tools declare what they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Names and wishes are short; a text that is longer is no name, and of a wish the first 4,096
# characters are read.
MAX_NAME = 300
MAX_QUERY = 8_192
MAX_LIMIT = 200


def input_schema(required: str = "", **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with these members and no others; `required` holds names with blanks
    between.
    """
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    return schema | {"additionalProperties": False}


def name_schema(about: str = "") -> dict[str, Any]:
    """The name of one thing."""
    return _with_description({"type": "string", "minLength": 1, "maxLength": MAX_NAME}, about)


def query_schema(about: str = "") -> dict[str, Any]:
    """A wish in words."""
    return _with_description({"type": "string", "minLength": 1, "maxLength": MAX_QUERY}, about)


def limit_schema(default: int) -> dict[str, Any]:
    """How many at most."""
    return {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": default}


def choice_schema(default: str, *alternatives: str) -> dict[str, Any]:
    """One word of several, the default first."""
    return {"type": "string", "enum": [default, *alternatives], "default": default}


def _with_description(schema: dict[str, Any], about: str) -> dict[str, Any]:
    return schema | {"description": about} if about else schema
