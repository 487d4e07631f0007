"""Names and parameter schemas that every provider takes.

A schema gets an object at its root, and nothing that hides in it. A name is the same whatever
other functions are defined with it, as far as names stay different from each other; that of a
parameter is made from its schema alone, so that a call finds the way back.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.text.normalization import strip_controls
from capdisc_indexer.tools.capability_lookup import local_name
from capdisc_indexer.tools.function_definitions import Definition
from capdisc_indexer.validation.arguments import find_problems
from capdisc_indexer.validation.schema_walk import SchemaWalk, as_list, as_mapping

_HASH_LENGTH = 8
MAX_DEPTH = 24
# A schema with more parts than that fills a context by itself.
MAX_PARTS = 5_000
_COMBINATORS = ("allOf", "anyOf", "oneOf")
# Keywords that speak of the document rather than of the parameters.
_META_KEYWORDS = ("$schema", "$id", "id", "$comment")
# The names of parameters that Anthropic's API takes; for a single `filter[name]` it refuses the
# whole request.
ACCEPTED_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_REFUSED_CHARACTERS = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_LENGTH = 64


@frozen(kw_only=True)
class NameRule:
    """What a name of a function must be: without a character that the pattern `refused` fits, of
    at most `max_length` characters, with a first character that the pattern `first` fits, and
    none of the `reserved` names, which the provider's own tools have.
    """

    refused: str
    max_length: int
    first: str = r"[A-Za-z0-9_-]"
    reserved: frozenset[str] = frozenset()


def assign_names(definitions: Sequence[Definition], rule: NameRule) -> dict[str, str]:
    """The name of each definition by its id, no two alike.

    A capability has its own name where that is accepted and free; with its server, database or API
    before it where several share it; with a hash of its id where that is not enough either.
    Discovery tools have theirs in any case.
    """
    names_by_id = {
        definition.id: definition.name
        if definition.is_ours
        else make_valid_name(definition.name, definition.id, rule)
        for definition in definitions
    }
    our_names = {definition.name for definition in definitions if definition.is_ours}
    our_names |= rule.reserved
    for make_distinct in (_qualify_name, _add_suffix):
        name_counts = Counter(names_by_id.values())
        for definition in definitions:
            name = names_by_id[definition.id]
            if not definition.is_ours and (name_counts[name] > 1 or name in our_names):
                names_by_id[definition.id] = make_distinct(definition, rule)
    return names_by_id


def make_valid_name(name: str, identifier: str, rule: NameRule) -> str:
    """The name without what the rule refuses; one that is too long, or of which nothing is left,
    ends in a hash of its id.

    >>> rule = NameRule(refused="[^a-zA-Z0-9_-]", max_length=64)
    >>> make_valid_name("Summarize Detection", "tool:x", rule)
    'Summarize_Detection'
    """
    valid_name = name
    if re.search(rule.refused, name):
        valid_name = re.sub(r"_{2,}", "_", re.sub(rule.refused, "_", name))
    if not re.search("[A-Za-z0-9]", valid_name):
        valid_name = f"{identifier.partition(':')[0]}_{_short_hash(identifier)}"
    if not re.match(rule.first, valid_name):
        valid_name = f"_{valid_name}"
    if len(valid_name) > rule.max_length:
        return _end_in_hash(valid_name, rule.max_length, identifier)
    return valid_name


def _qualify_name(definition: Definition, rule: NameRule) -> str:
    path = local_name(definition.id)
    return make_valid_name(
        path.replace(".", "_") if "." in path else f"{definition.kind}_{definition.name}",
        definition.id,
        rule,
    )


def _add_suffix(definition: Definition, rule: NameRule) -> str:
    valid_name = make_valid_name(definition.name, definition.id, rule)
    return _end_in_hash(valid_name, rule.max_length, definition.id)


def _end_in_hash(name: str, max_length: int, hashed_text: str) -> str:
    return f"{name[: max_length - _HASH_LENGTH - 1]}_{_short_hash(hashed_text)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_LENGTH]


def object_schema(schema: JsonSchema | None) -> JsonObject:
    """The schema as JSON with `type: object` and `properties` at its root. Choices at the root,
    which no provider takes, become one object with the members of all; only what every choice
    requires is required.
    """
    cleaned = as_mapping(clean_schema(schema or {}))
    root = {key: value for key, value in cleaned.items() if key not in _META_KEYWORDS}
    merged = _merge_schemas(SchemaWalk(root=root, keywords={}), root, 0)
    remaining = {
        key: value
        for key, value in root.items()
        if key not in (*_COMBINATORS, "$ref", "not", "enum", "const")
    }
    properties = merged["properties"]
    required = [name for name in merged["required"] if name in properties]
    object_root = {**remaining, "type": "object", "properties": properties}
    object_root.pop("required", None)
    return object_root | ({"required": required} if required else {})


class _ObjectMembers(TypedDict):
    """The properties of an object by name, and the names of those that are required."""

    properties: JsonObject
    required: list[str]


def _merge_schemas(walk: SchemaWalk, schema: Any, depth: int) -> _ObjectMembers:
    """The members of an object and of everything that combinators join to it."""
    resolved_schema = walk.resolve_schema(schema)
    properties = dict(as_mapping(resolved_schema.get("properties")))
    required = [name for name in as_list(resolved_schema.get("required")) if isinstance(name, str)]
    for keyword in _COMBINATORS if depth < MAX_DEPTH // 4 else ():
        parts = [
            _merge_schemas(walk, part, depth + 1)
            for part in as_list(resolved_schema.get(keyword))[:50]
        ]
        for part in parts:
            properties = {**part["properties"], **properties}
        required_by_part = [set(part["required"]) for part in parts]
        if parts:
            combine = set.union if keyword == "allOf" else set.intersection
            required += sorted(combine(*required_by_part))
    return {"properties": properties, "required": list(dict.fromkeys(required))}


def clean_schema(value: Any) -> Any:
    """The value as JSON without characters that hide, and without numbers that JSON does not have;
    an empty schema for a part that is too deep, or for which nothing is left of MAX_PARTS.
    """
    return _clean_value(value, 0, [MAX_PARTS])


def _clean_value(value: Any, depth: int, remaining_parts: list[int]) -> Any:
    """The cleaned value; counts down the one number in `remaining_parts`."""
    remaining_parts[0] -= 1
    if depth > MAX_DEPTH or remaining_parts[0] < 0:
        return {}
    if isinstance(value, Mapping):
        return {
            strip_controls(str(key)): _clean_value(item, depth + 1, remaining_parts)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _clean_value(item, depth + 1, remaining_parts)
            for item in value
            if remaining_parts[0] > 0
        ]
    if isinstance(value, str):
        return strip_controls(value)
    is_in_json = not isinstance(value, float) or math.isfinite(value)
    return value if is_in_json else None


def rename_parameters(schema: JsonSchema | None) -> dict[str, str]:
    """The accepted name of each parameter whose own is refused; no two are the same.

    >>> rename_parameters({"properties": {"filter[name]": {}, "page": {}}})
    {'filter[name]': 'filter_name'}
    """
    return _rename_properties(object_schema(schema)["properties"])


def accepted_schema(schema: JsonSchema | None) -> JsonSchema:
    """The schema of the parameters under accepted names."""
    root_schema = object_schema(schema)
    renames = _rename_properties(root_schema["properties"])
    if not renames:
        return root_schema
    properties = {
        renames.get(name, name): declared for name, declared in root_schema["properties"].items()
    }
    renamed_schema = root_schema | {"properties": properties}
    if "required" in root_schema:
        renamed_schema["required"] = [renames.get(name, name) for name in root_schema["required"]]
    return renamed_schema


def fitting_examples(definition: Definition, schema: JsonSchema) -> list[JsonObject]:
    """The examples of the definition that the schema accepts, with the parameter names of that
    schema: a provider refuses a whole request for one example that does not fit.
    """
    if not definition.input_examples:
        return []
    properties = as_mapping(schema.get("properties"))
    renames = {
        own_name: accepted_name
        for own_name, accepted_name in rename_parameters(definition.schema).items()
        if own_name not in properties
    }
    examples = [
        {
            renames.get(name, name): value
            for name, value in as_mapping(clean_schema(example)).items()
        }
        for example in definition.input_examples
    ]
    return [example for example in examples if not find_problems(schema, example)]


def with_examples(definition: Definition, schema: JsonSchema) -> JsonSchema:
    """The schema with the examples of the definition under JSON Schema's own keyword, for
    providers that have no field for them.
    """
    bare_schema = {key: value for key, value in schema.items() if key != "examples"}
    examples = fitting_examples(definition, bare_schema)
    return bare_schema | ({"examples": examples} if examples else {})


def restore_names(schema: JsonSchema | None, arguments: Any) -> Any:
    """The arguments under the capability's own names. An accepted name stands for its own one,
    unless both are there.
    """
    properties = as_mapping(as_mapping(schema).get("properties"))
    if not isinstance(arguments, Mapping) or all(name in properties for name in arguments):
        return arguments
    own_names = {
        accepted_name: own_name
        for own_name, accepted_name in rename_parameters(schema).items()
        if own_name not in arguments
    }
    return {own_names.get(name, name): value for name, value in arguments.items()}


def _rename_properties(properties: JsonObject) -> dict[str, str]:
    renames: dict[str, str] = {}
    for name in sorted(name for name in properties if not ACCEPTED_NAME.fullmatch(name)):
        plain_name = _REFUSED_CHARACTERS.sub("_", name).strip("_")
        is_free = plain_name not in properties and plain_name not in renames.values()
        if not (plain_name and len(plain_name) <= _MAX_LENGTH and is_free):
            plain_name = _end_in_hash(plain_name, _MAX_LENGTH, name)
        renames[name] = plain_name
    return renames
