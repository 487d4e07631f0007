"""Tools as model providers want them defined, one form each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from capdisc_indexer.frozen import frozen
from capdisc_indexer.tools.definitions import parameters
from capdisc_indexer.tools.definitions.gemini import gemini_schema
from capdisc_indexer.tools.definitions.naming import NameRule, names
from capdisc_indexer.tools.definitions.schema import object_schema
from capdisc_indexer.tools.definitions.values import Definition


@frozen(kw_only=True)
class Form:
    """What a provider accepts as names of functions, how it wants the list, and whether it refuses parameters by their
    names."""

    name_rule: NameRule
    is_narrow: bool = False
    made: Callable[[Sequence[tuple[str, Definition]]], Any]


def in_form(form: str, definitions: Sequence[Definition]) -> tuple[Any, dict[str, str]]:
    """The definitions in a form of FORMS, ready to be JSON, and under which name each id appears in it."""
    chosen = FORMS[form]
    called = names(definitions, chosen.name_rule)
    return chosen.made([(called[each.id], each) for each in definitions]), called


def renamed_parameters(form: str, definitions: Sequence[Definition]) -> dict[str, dict[str, str]]:
    """By the id of their function: which own name each parameter stands for that this provider would refuse.
    `execute_tool` and `capdisc run` take either name."""
    if not FORMS[form].is_narrow:
        return {}
    found = {each.id: {new: own for own, new in parameters.renamed(each.schema).items()} for each in definitions}
    return {key: names for key, names in found.items() if names}


def _openai(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    """As chat completions take them. Not strict: strict mode refuses optional parameters, which most schemas have."""
    return [{"type": "function", "function": _function(name, each)} for name, each in named]


def _openai_responses(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [{"type": "function", **_function(name, each)} for name, each in named]


def _function(name: str, each: Definition) -> dict[str, Any]:
    return {"name": name, "description": each.description, "parameters": object_schema(each.schema), "strict": False}


def _anthropic(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": each.description, "input_schema": parameters.accepted(each.schema)}
        for name, each in named
    ]


def _gemini(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    declarations = []
    for name, each in named:
        schema = gemini_schema(each.schema)
        # An object without members is refused; a function without parameters leaves them out.
        taken = {"parameters": schema} if schema.get("properties") else {}
        declarations.append({"name": name, "description": each.description, **taken})
    return [{"functionDeclarations": declarations}]


def _mcp(named: Sequence[tuple[str, Definition]]) -> dict[str, Any]:
    """The result of `tools/list`, by the MCP specification of 2025-06-18."""
    return {"tools": [_mcp_tool(name, each) for name, each in named]}


def _mcp_tool(name: str, each: Definition) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": name}
    if each.title and each.title != name:
        shown["title"] = each.title
    shown |= {"description": each.description, "inputSchema": object_schema(each.schema)}
    return shown | ({"annotations": dict(each.annotations)} if each.annotations else {})


def _own(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "id": each.id,
            "kind": each.kind,
            "description": each.description,
            "input_schema": object_schema(each.schema),
            "available": each.is_available,
        }
        for name, each in named
    ]


_WIDE = NameRule(refused=r"[^A-Za-z0-9_-]", longest=64)

FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "json": Form(name_rule=_WIDE, made=_own),
        "openai": Form(name_rule=_WIDE, made=_openai),
        "openai-responses": Form(name_rule=_WIDE, made=_openai_responses),
        "anthropic": Form(name_rule=_WIDE, is_narrow=True, made=_anthropic),
        "gemini": Form(name_rule=NameRule(refused=r"[^A-Za-z0-9_-]", longest=64, first=r"[A-Za-z_]"), made=_gemini),
        "mcp": Form(name_rule=NameRule(refused=r"[^A-Za-z0-9_.-]", longest=128), made=_mcp),
    }
)
