"""Functions as each model provider wants them defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.tools.definitions import parameter_schema
from capdisc_indexer.tools.definitions.builders import Definition
from capdisc_indexer.tools.definitions.gemini import GeminiSchema, gemini_schema
from capdisc_indexer.tools.definitions.parameter_schema import (
    NameRule,
    assign_names,
    fitting_examples,
    object_schema,
    with_examples,
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
