"""The schema of a function's parameters, as every provider takes it: an object at its root, and no
surprises in it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import strip_controls
from capdisc_indexer.tools.definitions.builders import Definition
from capdisc_indexer.tools.name_lookup import local_name
from capdisc_indexer.validation.arguments.schema_walk import SchemaWalk, as_list, as_mapping

# Names that a provider accepts, each once, and the same for a capability however many others
# there are with it.

_HASH_LENGTH = 8


@frozen(kw_only=True)
class NameRule:
    """What a name must be: without the `refused` characters, at most so long, beginning as `first`
    says.
    """

    refused: str
    max_length: int
    first: str = r"[A-Za-z0-9_-]"


def assign_names(definitions: Sequence[Definition], rule: NameRule) -> dict[str, str]:
    """The name of each by its id: its own where that is free and accepted; with its server,
    database or API before it where several share one; with a mark of its id where that is not
    enough either. Ours keep theirs in any case.
    """
    called = {
        definition.id: definition.name
        if definition.is_ours
        else make_valid_name(definition.name, definition.id, rule)
        for definition in definitions
    }
    ours = {definition.name for definition in definitions if definition.is_ours}
    for further in (_qualify_name, _add_suffix):
        name_counts = Counter(called.values())
        for definition in definitions:
            if not definition.is_ours and (
                name_counts[called[definition.id]] > 1 or called[definition.id] in ours
            ):
                called[definition.id] = further(definition, rule)
    return called


def make_valid_name(name: str, identifier: str, rule: NameRule) -> str:
    """The name without what is refused; one that is too long, or has nothing left, ends in a mark
    of its id.

    >>> make_valid_name("Summarize Detection", "tool:x", NameRule(refused_pattern="[^a-zA-Z0-9_-]", max_length=64))
    'Summarize_Detection'
    """
    valid_name = (
        re.sub(r"_{2,}", "_", re.sub(rule.refused, "_", name))
        if re.search(rule.refused, name)
        else name
    )
    if not re.search("[A-Za-z0-9]", valid_name):
        valid_name = f"{identifier.partition(':')[0]}_{_id_suffix(identifier)}"
    if not re.match(rule.first, valid_name):
        valid_name = f"_{valid_name}"
    return (
        valid_name
        if len(valid_name) <= rule.max_length
        else f"{valid_name[: rule.max_length - _HASH_LENGTH - 1]}_{_id_suffix(identifier)}"
    )


def _qualify_name(definition: Definition, rule: NameRule) -> str:
    path = local_name(definition.id)
    return make_valid_name(
        path.replace(".", "_") if "." in path else f"{definition.kind}_{definition.name}",
        definition.id,
        rule,
    )


def _add_suffix(definition: Definition, rule: NameRule) -> str:
    return f"{make_valid_name(definition.name, definition.id, rule)[: rule.max_length - _HASH_LENGTH - 1]}_{_id_suffix(definition.id)}"


def _id_suffix(identifier: str) -> str:
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:_HASH_LENGTH]


MAX_DEPTH = 24
# A schema with more parts than that fills a context by itself.
MAX_PARTS = 5_000
_COMBINATORS = ("allOf", "anyOf", "oneOf")
# What is said about the document rather than about the parameters.
_META_KEYWORDS = ("$schema", "$id", "id", "$comment")


def object_schema(schema: JsonSchema | None) -> dict[str, Any]:
    """The schema as JSON with `type: object` and `properties` at its root. Choices at the root,
    which no provider takes, become one object with the members of all; only what every choice
    requires is required.
    """
    cleaned_schema = clean_schema(schema or {})
    root = {
        key: value
        for key, value in (cleaned_schema if isinstance(cleaned_schema, dict) else {}).items()
        if key not in _META_KEYWORDS
    }
    merged = _merge_schemas(SchemaWalk(root=root, keywords={}), root, 0)
    remaining = {
        key: value
        for key, value in root.items()
        if key not in (*_COMBINATORS, "$ref", "not", "enum", "const")
    }
    properties = as_mapping(merged.get("properties"))
    required = [name for name in merged.get("required", ()) if name in properties]
    object_root = {**remaining, "type": "object", "properties": dict(properties)}
    object_root.pop("required", None)
    return object_root | ({"required": required} if required else {})


def _merge_schemas(walk: SchemaWalk, schema: Any, depth: int) -> dict[str, Any]:
    """Properties and required names of an object with all that is joined to it."""
    resolved_schema = walk.resolve_schema(schema)
    properties = dict(as_mapping(resolved_schema.get("properties")))
    required = [name for name in as_list(resolved_schema.get("required")) if isinstance(name, str)]
    for word in _COMBINATORS if depth < MAX_DEPTH // 4 else ():
        parts = [
            _merge_schemas(walk, part, depth + 1)
            for part in as_list(resolved_schema.get(word))[:50]
        ]
        for part in parts:
            properties = {**part["properties"], **properties}
        needed = [set(part["required"]) for part in parts]
        joined = (
            set().union(*needed)
            if word == "allOf"
            else set.intersection(*needed)
            if needed
            else set()
        )
        required += sorted(joined)
    return {"properties": properties, "required": list(dict.fromkeys(required))}


def clean_schema(value: Any) -> Any:
    """The value as JSON without characters that hide; an empty schema where it is too large or too
    deep.
    """
    left = [MAX_PARTS]
    return _clean_value(value, 0, left)


def _clean_value(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        return {}
    if isinstance(value, Mapping):
        return {
            strip_controls(str(key)): _clean_value(item, depth + 1, left)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_clean_value(item, depth + 1, left) for item in value if left[0] > 0]
    if isinstance(value, str):
        return strip_controls(value)
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return None if is_odd else value


# Names of parameters that every provider accepts, made of the schema alone, so that a call finds
# the way back.

# What Anthropic's API takes; for one `filter[name]` it refuses the whole request.
ACCEPTED_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_REFUSED_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_LENGTH, _SUFFIX_LENGTH = 64, 8


def rename_parameters(schema: JsonSchema | None) -> dict[str, str]:
    """The accepted name of each parameter whose own is not; no two are the same.

    >>> rename_parameters({"properties": {"filter[name]": {}, "page": {}}})
    {'filter[name]': 'filter_name'}
    """
    return _rename_properties(object_schema(schema)["properties"])


def accepted_schema(schema: JsonSchema | None) -> dict[str, Any]:
    """The schema of the parameters under accepted names."""
    root_schema = object_schema(schema)
    new = _rename_properties(root_schema["properties"])
    if not new:
        return root_schema
    properties = {
        new.get(name, name): declared for name, declared in root_schema["properties"].items()
    }
    required = (
        {"required": [new.get(name, name) for name in root_schema["required"]]}
        if "required" in root_schema
        else {}
    )
    return {**root_schema, "properties": properties, **required}


def restore_names(schema: JsonSchema | None, arguments: Any) -> Any:
    """The arguments as the capability calls them: an accepted name stands for its own, unless both
    are given.
    """
    properties = as_mapping(as_mapping(schema).get("properties"))
    if not isinstance(arguments, Mapping) or all(name in properties for name in arguments):
        return arguments
    original_names = {
        new: name for name, new in rename_parameters(schema).items() if name not in arguments
    }
    return {original_names.get(name, name): value for name, value in arguments.items()}


def _rename_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for name in sorted(name for name in properties if not ACCEPTED_NAME.fullmatch(name)):
        plain = _REFUSED_CHARACTERS.sub("_", name).strip("_")
        is_free = (
            plain
            and len(plain) <= _MAX_LENGTH
            and plain not in properties
            and plain not in renames.values()
        )
        renames[name] = (
            plain
            if is_free
            else f"{plain[: _MAX_LENGTH - _SUFFIX_LENGTH - 1]}_{_name_suffix(name)}"
        )
    return renames


def _name_suffix(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_SUFFIX_LENGTH]
