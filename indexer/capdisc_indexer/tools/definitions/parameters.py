"""Names of parameters that every provider accepts, made of the schema alone, so that a call finds the way back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.walk import mapping
from capdisc_indexer.tools.definitions.schema import object_schema

# What Anthropic's API takes; for one `filter[name]` it refuses the whole request.
ACCEPTED = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_REFUSED = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST, _MARK = 64, 8


def renamed(schema: Mapping[str, Any] | None) -> dict[str, str]:
    """The accepted name of each parameter whose own is not; no two are the same.

    >>> renamed({"properties": {"filter[name]": {}, "page": {}}})
    {'filter[name]': 'filter_name'}
    """
    return _renamed(object_schema(schema)["properties"])


def accepted(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema of the parameters under accepted names."""
    whole = object_schema(schema)
    new = _renamed(whole["properties"])
    if not new:
        return whole
    properties = {new.get(name, name): declared for name, declared in whole["properties"].items()}
    required = {"required": [new.get(name, name) for name in whole["required"]]} if "required" in whole else {}
    return {**whole, "properties": properties, **required}


def own_names(schema: Mapping[str, Any] | None, given: Any) -> Any:
    """The arguments as the capability calls them: an accepted name stands for its own, unless both are given."""
    known = mapping(mapping(schema).get("properties"))
    if not isinstance(given, Mapping) or all(name in known for name in given):
        return given
    own = {new: name for name, new in renamed(schema).items() if name not in given}
    return {own.get(name, name): value for name, value in given.items()}


def _renamed(properties: Mapping[str, Any]) -> dict[str, str]:
    made: dict[str, str] = {}
    for name in sorted(name for name in properties if not ACCEPTED.fullmatch(name)):
        plain = _REFUSED.sub("_", name).strip("_")
        is_free = plain and len(plain) <= _LONGEST and plain not in properties and plain not in made.values()
        made[name] = plain if is_free else f"{plain[: _LONGEST - _MARK - 1]}_{_mark(name)}"
    return made


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK]
