"""Tools as model providers want them defined, one form each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.tools.definitions import parameter_schema
from capdisc_indexer.tools.definitions.builders import Definition
from capdisc_indexer.tools.definitions.gemini import gemini_schema
from capdisc_indexer.tools.definitions.parameter_schema import NameRule, assign_names, object_schema


@frozen(kw_only=True)
class ProviderFormat:
    """What a provider accepts as names of functions, how it wants the list, and whether it refuses
    parameters by their names.
    """

    name_rule: NameRule
    is_narrow: bool = False
    format_list: Callable[[Sequence[tuple[str, Definition]]], Any]


def encode_definitions(form: str, definitions: Sequence[Definition]) -> tuple[Any, dict[str, str]]:
    """The definitions in a form of FORMS, ready to be JSON, and under which name each id appears
    in it.
    """
    chosen = DEFINITION_FORMATS[form]
    called = assign_names(definitions, chosen.name_rule)
    return chosen.format_list(
        [(called[definition.id], definition) for definition in definitions]
    ), called


def parameter_renames(form: str, definitions: Sequence[Definition]) -> dict[str, dict[str, str]]:
    """By the id of their function: which own name each parameter stands for that this provider
    would refuse. `execute_tool` and `capdisc run` take either name.
    """
    if not DEFINITION_FORMATS[form].is_narrow:
        return {}
    renames = {
        definition.id: {
            new: own_name
            for own_name, new in parameter_schema.rename_parameters(definition.schema).items()
        }
        for definition in definitions
    }
    return {key: names for key, names in renames.items() if names}


def _format_openai(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    """As chat completions take them. Not strict: strict mode refuses optional parameters, which
    most schemas have.
    """
    return [
        {"type": "function", "function": _openai_function(name, definition)}
        for name, definition in named
    ]


def _format_openai_responses(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [
        {"type": "function", **_openai_function(name, definition)} for name, definition in named
    ]


def _openai_function(name: str, definition: Definition) -> dict[str, Any]:
    return {
        "name": name,
        "description": definition.description,
        "parameters": object_schema(definition.schema),
        "strict": False,
    }


def _format_anthropic(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "description": definition.description,
            "input_schema": parameter_schema.accepted_schema(definition.schema),
        }
        for name, definition in named
    ]


def _format_gemini(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    declarations = []
    for name, definition in named:
        schema = gemini_schema(definition.schema)
        # An object without members is refused; a function without parameters leaves them out.
        taken = {"parameters": schema} if schema.get("properties") else {}
        declarations.append({"name": name, "description": definition.description, **taken})
    return [{"functionDeclarations": declarations}]


def _format_mcp(named: Sequence[tuple[str, Definition]]) -> dict[str, Any]:
    """The result of `tools/list`, by the MCP specification of 2025-06-18."""
    return {"tools": [_mcp_tool(name, definition) for name, definition in named]}


def _mcp_tool(name: str, definition: Definition) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": name}
    if definition.title and definition.title != name:
        shown["title"] = definition.title
    shown |= {
        "description": definition.description,
        "inputSchema": object_schema(definition.schema),
    }
    return shown | ({"annotations": dict(definition.annotations)} if definition.annotations else {})


def _format_own(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "id": definition.id,
            "kind": definition.kind,
            "description": definition.description,
            "input_schema": object_schema(definition.schema),
            "available": definition.is_available,
        }
        for name, definition in named
    ]


_COMMON_RULE = NameRule(refused=r"[^A-Za-z0-9_-]", max_length=64)

DEFINITION_FORMATS: Mapping[str, ProviderFormat] = MappingProxyType(
    {
        "json": ProviderFormat(name_rule=_COMMON_RULE, format_list=_format_own),
        "openai": ProviderFormat(name_rule=_COMMON_RULE, format_list=_format_openai),
        "openai-responses": ProviderFormat(
            name_rule=_COMMON_RULE, format_list=_format_openai_responses
        ),
        "anthropic": ProviderFormat(
            name_rule=_COMMON_RULE, is_narrow=True, format_list=_format_anthropic
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
