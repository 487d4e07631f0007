"""The inputs that a JSON schema declares, as names and types short enough for a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Parameter

MAX_PARAMETERS = 64
_MAX_DEPTH = 3
_MAX_CHOICES = 12
_MAX_TYPE_CHARACTERS = 120


def read_parameters(schema: JsonSchema | None) -> tuple[Parameter, ...]:
    """The top-level properties, at most MAX_PARAMETERS. References are named, never followed.

    >>> read_parameters({"properties": {"tags": {"type": "array", "items": {"type": "string"}}}, "required": ["tags"]})
    (Parameter(name='tags', type='array<string>', required=True, description=''),)
    """
    if schema is None or not isinstance(properties := schema.get("properties"), Mapping):
        return ()
    required = {name for name in _list_under(schema, "required") if isinstance(name, str)}
    shown = list(properties.items())[:MAX_PARAMETERS]
    return tuple(_parameter(str(name), declared, name in required) for name, declared in shown)


def type_text(declared: object, depth: int = 0) -> str:
    """The type in one word: `string`, `array<string>`, `a|b` for choices, `any` if none is
    declared.

    >>> type_text({"enum": ["low", "high"]}), type_text({"type": ["string", "null"]}), type_text({"$ref": "#/x/Size"})
    ('low|high', 'string|null', 'Size')
    """
    if not isinstance(declared, Mapping) or depth > _MAX_DEPTH:
        return "any"
    if choices := _list_under(declared, "enum"):
        return _join_words(str(choice) for choice in choices)
    if isinstance(reference := declared.get("$ref"), str):
        return reference.rpartition("/")[2] or "any"
    if options := _list_under(declared, "anyOf") or _list_under(declared, "oneOf"):
        return _join_words(type_text(option, depth + 1) for option in options)
    if "const" in declared:
        return str(declared["const"])[:_MAX_TYPE_CHARACTERS]
    return _plain_type(declared, depth)


def _plain_type(declared: Mapping[str, object], depth: int) -> str:
    if names := _list_under(declared, "type"):
        return _join_words(str(name) for name in names)
    name = declared.get("type")
    if name == "array" or (name is None and "items" in declared):
        inner = type_text(declared.get("items"), depth + 1)
        return "array" if inner == "any" else f"array<{inner}>"
    if isinstance(name, str):
        return name
    return "object" if "properties" in declared else "any"


def _parameter(name: str, declared: object, is_required: bool) -> Parameter:
    text = declared.get("description") if isinstance(declared, Mapping) else None
    description = " ".join(text.split()) if isinstance(text, str) else ""
    return Parameter(
        name=name, type=type_text(declared), required=is_required, description=description
    )


def _list_under(declared: Mapping[str, object], key: str) -> list[object]:
    value = declared.get(key)
    return value if isinstance(value, list) else []


def _join_words(words: Iterable[str]) -> str:
    unique = list(dict.fromkeys(words))
    shown = [*unique[:_MAX_CHOICES], "..."] if len(unique) > _MAX_CHOICES else unique
    text = "|".join(shown)
    return text if len(text) <= _MAX_TYPE_CHARACTERS else text[:_MAX_TYPE_CHARACTERS] + "..."
