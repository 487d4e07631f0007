"""Functions as each model provider wants them defined."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.definitions import parameter_schema
from capdisc_indexer.tools.definitions.builders import Definition
from capdisc_indexer.tools.definitions.parameter_schema import (
    NameRule,
    assign_names,
    fitting_examples,
    object_schema,
    with_examples,
)
from capdisc_indexer.validation.arguments.schema_walk import (
    MAX_STEPS,
    SchemaTooComplexError,
    SchemaWalk,
    as_list,
    as_mapping,
)

# Definitions with the names that the provider accepts for them.
NamedDefinitions: TypeAlias = Sequence[tuple[str, Definition]]


@frozen(kw_only=True)
class ProviderFormat:
    """Which names of functions a provider accepts, whether it also refuses names of parameters,
    and the function that writes its list of definitions.
    """

    name_rule: NameRule
    limits_parameter_names: bool = False
    format_list: Callable[[NamedDefinitions], Any]


def encode_definitions(form: str, definitions: Sequence[Definition]) -> tuple[Any, dict[str, str]]:
    """The definitions in a form of DEFINITION_FORMATS, ready to be JSON; and the name in it of
    each id.
    """
    provider = DEFINITION_FORMATS[form]
    names_by_id = assign_names(definitions, provider.name_rule)
    named = [(names_by_id[definition.id], definition) for definition in definitions]
    return provider.format_list(named), names_by_id


def parameter_renames(form: str, definitions: Sequence[Definition]) -> dict[str, dict[str, str]]:
    """The parameters that this provider would refuse: by the id of the function, the own name of
    each by the accepted one. `execute_tool` and `capdisc run` take either name.
    """
    if not DEFINITION_FORMATS[form].limits_parameter_names:
        return {}
    renames_by_id: dict[str, dict[str, str]] = {}
    for definition in definitions:
        renames = parameter_schema.rename_parameters(definition.schema)
        if renames:
            renames_by_id[definition.id] = {
                accepted_name: own_name for own_name, accepted_name in renames.items()
            }
    return renames_by_id


class OpenAiFunction(TypedDict):
    """A function for OpenAI. Not strict: strict mode refuses optional parameters, which most
    schemas have.
    """

    name: str
    description: str
    parameters: JsonSchema
    strict: bool


class OpenAiTool(TypedDict):
    """A tool of OpenAI's chat completions."""

    type: Literal["function"]
    function: OpenAiFunction


def _format_openai(named: NamedDefinitions) -> list[OpenAiTool]:
    return [
        {"type": "function", "function": openai_function(name, definition)}
        for name, definition in named
    ]


def _format_openai_responses(named: NamedDefinitions) -> list[JsonObject]:
    """Tools of OpenAI's Responses API: the function is not nested."""
    return [
        {"type": "function", **openai_function(name, definition)} for name, definition in named
    ]


def openai_function(name: str, definition: Definition) -> OpenAiFunction:
    """The function under this name, as all of OpenAI's APIs have it."""
    return {
        "name": name,
        "description": definition.description,
        "parameters": with_examples(definition, object_schema(definition.schema)),
        "strict": False,
    }


class AnthropicTool(TypedDict):
    """A tool of Anthropic's Messages API."""

    name: str
    description: str
    input_schema: JsonSchema
    input_examples: NotRequired[list[JsonObject]]
    defer_loading: NotRequired[bool]


def _format_anthropic(named: NamedDefinitions) -> list[AnthropicTool]:
    return [_anthropic_tool(name, definition) for name, definition in named]


def _anthropic_tool(name: str, definition: Definition) -> AnthropicTool:
    schema = parameter_schema.accepted_schema(definition.schema)
    bare_schema = {key: value for key, value in schema.items() if key != "examples"}
    tool: AnthropicTool = {
        "name": name,
        "description": definition.description,
        "input_schema": bare_schema,
    }
    if examples := fitting_examples(definition, bare_schema):
        tool["input_examples"] = examples
    return tool


# The schema of a function's parameters in Gemini's own form: a part of OpenAPI 3.0, with types in
# capitals and without references.

# A schema in Gemini's form: type (in capitals), description, enum, properties, items and more.
GeminiSchema: TypeAlias = JsonObject
# How deep objects are nested, references unfolded: the first depth at which the whole has no more
# parts than _MAX_GEMINI_PARTS.
_GEMINI_DEPTHS = (8, 4, 2, 1)
_MAX_GEMINI_PARTS = 1_000
_GEMINI_STRING_FORMATS: Mapping[str, tuple[str, ...]] = {
    "STRING": ("date-time",),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}
_GEMINI_KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "STRING": ("minLength", "maxLength", "pattern"),
    "NUMBER": ("minimum", "maximum"),
    "INTEGER": ("minimum", "maximum"),
    "ARRAY": ("minItems", "maxItems"),
    "OBJECT": ("minProperties", "maxProperties"),
}
_JSON_TYPES = ("string", "number", "integer", "boolean", "array", "object")


def gemini_schema(schema: JsonSchema | None) -> GeminiSchema:
    """The parameters in Gemini's form. What the form has no keyword for stands in the description,
    or is left out: additional and pattern properties, conditions, most formats.
    """
    root_schema = object_schema(schema)
    for depth in _GEMINI_DEPTHS:
        with suppress(SchemaTooComplexError):
            return _adapt_schema(
                SchemaWalk(root=root_schema, keywords={}, steps=MAX_STEPS - _MAX_GEMINI_PARTS),
                root_schema,
                depth,
            )
    return {"type": "OBJECT"}


def _adapt_schema(walk: SchemaWalk, schema: Any, depth: int) -> GeminiSchema:
    with walk.level():
        resolved_schema = _resolve_choice(walk, schema)
        kind = _gemini_type(resolved_schema)
        adapted = _describe_schema(resolved_schema, kind)
        adapted |= {
            key: resolved_schema[key]
            for key in _GEMINI_KEYWORDS.get(kind, ())
            if isinstance(resolved_schema.get(key), int | float | str)
        }
        if resolved_schema.get("format") in _GEMINI_STRING_FORMATS.get(kind, ()):
            adapted["format"] = resolved_schema["format"]
        if kind == "OBJECT" and depth:
            adapted |= _object_members(walk, resolved_schema, depth)
        if kind == "ARRAY":
            items = resolved_schema.get("items") if depth else None
            adapted["items"] = (
                _adapt_schema(walk, items, depth - 1)
                if isinstance(items, Mapping)
                else {"type": "STRING"}
            )
        return adapted


def _resolve_choice(walk: SchemaWalk, schema: Any) -> JsonObject:
    """The schema without references, with the first of its alternatives that is not null;
    `nullable` says that null is one, too.
    """
    resolved_schema = dict(walk.resolve_schema(schema))
    for keyword in ("anyOf", "oneOf", "allOf"):
        options = [
            walk.resolve_schema(option) for option in as_list(resolved_schema.pop(keyword, None))
        ]
        non_null = [option for option in options if option.get("type") != "null"]
        if len(non_null) < len(options):
            resolved_schema["nullable"] = True
        for option in non_null if keyword == "allOf" else non_null[:1]:
            resolved_schema = {**option, **resolved_schema}
    types = as_list(resolved_schema.get("type"))
    if "null" in types:
        resolved_schema["nullable"] = True
    if types:
        resolved_schema["type"] = next((name for name in types if name != "null"), "string")
    return resolved_schema


def _gemini_type(schema: JsonSchema) -> str:
    if schema.get("type") in _JSON_TYPES:
        return str(schema["type"]).upper()
    if "properties" in schema:
        return "OBJECT"
    choices = _enum_values(schema)
    if choices and all(
        isinstance(choice, int) and not isinstance(choice, bool) for choice in choices
    ):
        return "INTEGER"
    return "ARRAY" if "items" in schema else "STRING"


def _enum_values(schema: JsonSchema) -> list[Any]:
    return as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])


def _describe_schema(schema: JsonSchema, kind: str) -> GeminiSchema:
    """Type, description and choices. Gemini's choices are texts; those of any other type stand in
    the description.
    """
    adapted: GeminiSchema = {"type": kind}
    choices = _enum_values(schema)
    sentences = [str(schema["description"])] if isinstance(schema.get("description"), str) else []
    if choices and kind == "STRING":
        adapted["enum"] = [choice for choice in choices if isinstance(choice, str) and choice]
    elif choices:
        sentences.append(
            f"One of {', '.join(one_line(json.dumps(choice), 40) for choice in choices[:20])}."
        )
    if "default" in schema:
        sentences.append(
            f"Default: {one_line(json.dumps(schema['default'], ensure_ascii=False), 80)}."
        )
    if schema.get("nullable") is True:
        adapted["nullable"] = True
    if not adapted.get("enum", True):
        del adapted["enum"]
    return adapted | ({"description": " ".join(sentences)} if sentences else {})


def _object_members(walk: SchemaWalk, schema: JsonSchema, depth: int) -> GeminiSchema:
    properties = {
        name: _adapt_schema(walk, inner, depth - 1)
        for name, inner in as_mapping(schema.get("properties")).items()
    }
    required = [name for name in as_list(schema.get("required")) if name in properties]
    members: GeminiSchema = {"properties": properties} if properties else {}
    return members | ({"required": required} if required else {})


class GeminiFunction(TypedDict):
    """A function declaration of Gemini; a function without parameters leaves them out, as an
    object without members is refused.
    """

    name: str
    description: str
    parameters: NotRequired[GeminiSchema]


class GeminiTool(TypedDict):
    """The one tool of Gemini that holds all functions."""

    functionDeclarations: list[GeminiFunction]


def _format_gemini(named: NamedDefinitions) -> list[GeminiTool]:
    declarations: list[GeminiFunction] = []
    for name, definition in named:
        declaration: GeminiFunction = {"name": name, "description": definition.description}
        schema = gemini_schema(definition.schema)
        if schema.get("properties"):
            declaration["parameters"] = schema
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}]


def _format_mcp(named: NamedDefinitions) -> JsonObject:
    """The result of `tools/list`, by the MCP specification of 2025-06-18."""
    return {"tools": [_mcp_tool(name, definition) for name, definition in named]}


def _mcp_tool(name: str, definition: Definition) -> JsonObject:
    has_title = definition.title and definition.title != name
    return {
        "name": name,
        **({"title": definition.title} if has_title else {}),
        "description": definition.description,
        "inputSchema": with_examples(definition, object_schema(definition.schema)),
        **({"annotations": dict(definition.annotations)} if definition.annotations else {}),
    }


class ListedFunction(TypedDict):
    """A function in our own form, which is no provider's."""

    name: str
    id: str
    kind: str
    description: str
    input_schema: JsonSchema
    available: bool


def _format_own(named: NamedDefinitions) -> list[ListedFunction]:
    return [
        {
            "name": name,
            "id": definition.id,
            "kind": definition.kind,
            "description": definition.description,
            "input_schema": with_examples(definition, object_schema(definition.schema)),
            "available": definition.is_available,
        }
        for name, definition in named
    ]


COMMON_NAMES = NameRule(refused=r"[^A-Za-z0-9_-]", max_length=64)

DEFINITION_FORMATS: Mapping[str, ProviderFormat] = MappingProxyType(
    {
        "json": ProviderFormat(name_rule=COMMON_NAMES, format_list=_format_own),
        "openai": ProviderFormat(name_rule=COMMON_NAMES, format_list=_format_openai),
        "openai-responses": ProviderFormat(
            name_rule=COMMON_NAMES, format_list=_format_openai_responses
        ),
        "anthropic": ProviderFormat(
            name_rule=COMMON_NAMES, limits_parameter_names=True, format_list=_format_anthropic
        ),
        "gemini": ProviderFormat(
            name_rule=NameRule(refused=r"[^A-Za-z0-9_-]", max_length=64, first=r"[A-Za-z_]"),
            format_list=_format_gemini,
        ),
        "mcp": ProviderFormat(
            name_rule=NameRule(refused=r"[^A-Za-z0-9_.-]", max_length=128), format_list=_format_mcp
        ),
    }
)
