"""Which type does a JSON schema describe, in words that TypeScript and Python both have?

A type says no more than the schema: what neither language can say (patterns, conditions, `not`) is
left out, and what cannot be read is left open. The schemas come from files that nobody vouches
for, so the walk has limits, and what lies beyond them is UnknownType.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.tools.parameter_schema import clean_schema
from capdisc_indexer.validation.schema_walk import SchemaWalk, as_list, as_mapping

MAX_DEPTH = 24
# Schemas with choices of choices multiply; the largest of 1,500 real ones has 1,900 parts.
MAX_PARTS = 20_000
# A longer choice is printed as the type of its values.
MAX_CHOICES = 100
# TypeScript keeps numbers as floats of 64 bits.
_LARGEST_INTEGER = 2**53
_PRIMITIVES = ("string", "integer", "number", "boolean", "null")
# Keywords that describe a type by themselves.
_STRUCTURAL = frozenset(
    """
    type properties patternProperties additionalProperties items prefixItems enum const anyOf oneOf
    allOf $ref
    """.split()
)


@frozen(kw_only=True)
class UnknownType:
    """Any value."""


@frozen(kw_only=True)
class PrimitiveType:
    """A value of one of JSON's types: string, integer, number, boolean or null."""

    name: str


@frozen(kw_only=True)
class LiteralType:
    """One value: a text, a number, a truth value, or null."""

    value: str | int | float | bool | None


@frozen(kw_only=True)
class UnionType:
    """A value of one of several types, of which no two are equal."""

    options: tuple[StubType, ...]


@frozen(kw_only=True)
class ArrayType:
    """A list whose items all have one type."""

    item: StubType


@frozen(kw_only=True)
class TupleType:
    """A list that begins with items of these types, of which the first `required` are there;
    `tail` is the type of further ones, None where there are none.
    """

    items: tuple[StubType, ...]
    required: int
    tail: StubType | None


@frozen(kw_only=True)
class MapType:
    """An object with any names; None for the values of an object that is always empty."""

    value: StubType | None


@frozen(kw_only=True)
class PropertyType:
    """A member of an object, and what its author says of it."""

    name: str
    type: StubType
    required: bool
    description: str


@frozen(kw_only=True)
class ObjectType:
    """An object with these members; `is_open` says that the schema allows others by name."""

    properties: tuple[PropertyType, ...]
    is_open: bool = False


@frozen(kw_only=True)
class ReferenceType:
    """The type of the part of the schema at this pointer; "#" is the whole."""

    pointer: str


StubType: TypeAlias = (
    UnknownType
    | PrimitiveType
    | LiteralType
    | UnionType
    | ArrayType
    | TupleType
    | MapType
    | ObjectType
    | ReferenceType
)
UNKNOWN = UnknownType()


@frozen(kw_only=True)
class SchemaTypes:
    """The types that references in a schema name, by pointer; "#" is the whole schema. None is
    defined by itself alone, and a reference leads to no type that is as short as its name.
    """

    named: Mapping[str, StubType]

    def resolve(self, member: StubType) -> StubType:
        """The type behind a reference where that needs no name of its own."""
        while isinstance(member, ReferenceType):
            target = self.named[member.pointer]
            if not isinstance(target, ReferenceType | UnknownType | PrimitiveType | LiteralType):
                break
            member = target
        return member


def read_types(schema: JsonSchema) -> SchemaTypes:
    """The type that the schema describes, with all that it refers to."""
    reader = _TypeReader(as_mapping(clean_schema(schema)))
    named: dict[str, StubType] = {}
    for pointer in reader.pointers:  # grows while it is read
        named[pointer] = reader.read(reader.walk.target(pointer), 0)
    for pointer in named:
        if _is_ring(pointer, named):
            named[pointer] = UNKNOWN
    return SchemaTypes(named=named)


def _is_ring(pointer: str, named: Mapping[str, StubType]) -> bool:
    """Whether the type is one of its own options: both languages refuse it."""
    seen: set[str] = set()
    pending = [pointer]
    while pending:
        target = named[pending.pop()]
        options = target.options if isinstance(target, UnionType) else (target,)
        pointers = {option.pointer for option in options if isinstance(option, ReferenceType)}
        if pointer in pointers:
            return True
        pending += sorted(pointers - seen)
        seen |= pointers
    return False


class _TypeReader:
    """One reading of a schema: the pointers of its references in the order in which they were met,
    and how many parts may still be read.
    """

    def __init__(self, root: JsonSchema) -> None:
        self.walk = SchemaWalk(root=root, keywords={})
        self.pointers = ["#"]
        self.known_pointers = {"#"}
        self.remaining_parts = MAX_PARTS

    def read(self, schema: Any, depth: int) -> StubType:
        """The type of a part that lies so deep."""
        self.remaining_parts -= 1
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self.remaining_parts < 0:
            return UNKNOWN
        base = {key: value for key, value in schema.items() if key not in ("nullable", "$ref")}
        inner = (
            self._read_reference(schema["$ref"], base, depth)
            if "$ref" in schema
            else self._read_choices(base, depth)
        )
        is_nullable = schema.get("nullable") is True
        return join_types([inner, PrimitiveType(name="null")]) if is_nullable else inner

    def _read_reference(self, pointer: Any, base: JsonObject, depth: int) -> StubType:
        target = self.walk.target(pointer)
        if not isinstance(target, Mapping):
            return UNKNOWN
        if _STRUCTURAL.intersection(base):
            return self.read(_merge_schemas([target, base]), depth + 1)
        if pointer not in self.known_pointers:
            self.known_pointers.add(pointer)
            self.pointers.append(pointer)
        return ReferenceType(pointer=pointer)

    def _read_choices(self, schema: JsonObject, depth: int) -> StubType:
        """The type of a schema whose combinators are joined to the keywords next to them."""
        parts = [part for part in as_list(schema.get("allOf")) if isinstance(part, Mapping)]
        base = {key: value for key, value in schema.items() if key != "allOf"}
        if len(parts) == 1 and not _STRUCTURAL.intersection(base):
            return self.read(parts[0], depth + 1)
        if parts:
            resolved = [self.walk.resolve_schema(part) for part in parts]
            return self.read(_merge_schemas([*resolved, base]), depth + 1)
        for keyword in ("anyOf", "oneOf"):
            options = [
                option
                for option in as_list(base.pop(keyword, None))
                if isinstance(option, Mapping) and _STRUCTURAL.intersection(option)
            ]
            if not options:
                continue
            is_shared = bool(_STRUCTURAL.intersection(base))
            return join_types(
                [
                    self.read(self._join_option(base, option), depth + 1)
                    if is_shared
                    else self.read(option, depth + 1)
                    for option in options
                ]
            )
        return self._read_plain(base, depth)

    def _join_option(self, base: JsonObject, option: JsonSchema) -> JsonObject:
        return _merge_schemas([base, self.walk.resolve_schema(option)])

    def _read_plain(self, schema: JsonObject, depth: int) -> StubType:
        choices = as_list(schema.get("enum"))
        if "const" in schema:
            choices = [schema["const"]]
        if choices:
            return _type_of_choices(choices)
        names = [name for name in as_list(schema.get("type")) if isinstance(name, str)]
        if isinstance(schema.get("type"), str):
            names = [schema["type"]]
        if not names:
            names = _implied_types(schema)
        return join_types([self._read_typed(name, schema, depth) for name in names])

    def _read_typed(self, name: str, schema: JsonObject, depth: int) -> StubType:
        if name in _PRIMITIVES:
            return PrimitiveType(name=name)
        if name == "array":
            return self._read_array(schema, depth)
        return self._read_object(schema, depth) if name == "object" else UNKNOWN

    def _read_array(self, schema: JsonObject, depth: int) -> StubType:
        items = schema.get("items")
        firsts = as_list(schema.get("prefixItems")) or as_list(items)
        if not firsts:
            return ArrayType(item=self.read(items, depth + 1))
        rest_schema = schema.get("additionalItems", True) if isinstance(items, list) else items
        minimum = schema.get("minItems")
        return TupleType(
            items=tuple(self.read(first, depth + 1) for first in firsts),
            required=min(minimum, len(firsts)) if isinstance(minimum, int) else 0,
            tail=None if rest_schema is False else self.read(rest_schema, depth + 1),
        )

    def _read_object(self, schema: JsonObject, depth: int) -> StubType:
        properties = as_mapping(schema.get("properties"))
        required = {name for name in as_list(schema.get("required")) if isinstance(name, str)}
        extra = schema.get("additionalProperties")
        patterns = as_mapping(schema.get("patternProperties"))
        if not properties:
            values = [*patterns.values(), *([extra] if isinstance(extra, Mapping) else [])]
            if extra is False and not values:
                return MapType(value=None)
            types = [self.read(value, depth + 1) for value in values]
            return MapType(value=join_types(types))
        return ObjectType(
            properties=tuple(
                PropertyType(
                    name=str(name),
                    type=self.read(declared, depth + 1),
                    required=name in required,
                    description=_describe(declared),
                )
                for name, declared in properties.items()
                if declared is not False
            ),
            is_open=bool(patterns) or extra is True or isinstance(extra, Mapping),
        )


def join_types(types: list[StubType]) -> StubType:
    """The union of these types; UNKNOWN if one of them is unknown, or if there are none."""
    options: list[StubType] = []
    for member in types:
        options += member.options if isinstance(member, UnionType) else [member]
    # By their text, since True equals 1.
    unique = tuple({repr(option): option for option in options}.values())
    if not unique or UNKNOWN in unique:
        return UNKNOWN
    return unique[0] if len(unique) == 1 else UnionType(options=unique)


def _type_of_choices(choices: list[Any]) -> StubType:
    if len(choices) > MAX_CHOICES:
        return join_types([_type_of_value(choice) for choice in choices])
    return join_types([_literal(choice) for choice in choices])


def _literal(value: Any) -> StubType:
    """The value as a type; texts compare with truth values and numbers by type, too."""
    if value is None or isinstance(value, bool | str):
        return LiteralType(value=value)
    if isinstance(value, int) and abs(value) < _LARGEST_INTEGER:
        return LiteralType(value=value)
    return _type_of_value(value)


def _type_of_value(value: Any) -> StubType:
    if value is None:
        return PrimitiveType(name="null")
    if isinstance(value, bool):
        return PrimitiveType(name="boolean")
    if isinstance(value, str):
        return PrimitiveType(name="string")
    if isinstance(value, int | float) and math.isfinite(value):
        return PrimitiveType(name="integer" if isinstance(value, int) else "number")
    return UNKNOWN


def _implied_types(schema: JsonObject) -> list[str]:
    """The types that a schema without `type` speaks of."""
    if schema.keys() & {"properties", "patternProperties", "additionalProperties", "required"}:
        return ["object"]
    return ["array"] if schema.keys() & {"items", "prefixItems"} else []


def _merge_schemas(parts: list[JsonSchema]) -> JsonObject:
    """One schema for a value that fits all parts, as far as types go: the members of all objects,
    required where one part requires them; of other keywords the first.
    """
    merged: JsonObject = {}
    properties: JsonObject = {}
    required: list[Any] = []
    for part in parts:
        properties = {**as_mapping(part.get("properties")), **properties}
        required += as_list(part.get("required"))
        merged = {**part, **merged}
        # A part that refuses other names does not know those of its neighbours.
        if merged.get("additionalProperties") is False:
            del merged["additionalProperties"]
    merged.pop("properties", None)
    merged.pop("required", None)
    return (
        merged
        | ({"properties": properties} if properties else {})
        | ({"required": required} if required else {})
    )


def _describe(schema: Any) -> str:
    """What the author says of a member, with its format and default."""
    declared = as_mapping(schema)
    description = declared.get("description")
    sentences = [description.strip()] if isinstance(description, str) else []
    if isinstance(declared.get("format"), str):
        sentences.append(f"Format: {declared['format']}.")
    has_default = declared.get("default") not in (None, "", [], {})
    if has_default and "default" not in " ".join(sentences).lower():
        sentences.append(f"Default: {short_json(declared['default'])}.")
    return " ".join(sentence for sentence in sentences if sentence)


def short_json(value: Any) -> str:
    """The value as JSON on one line of at most 80 characters."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
