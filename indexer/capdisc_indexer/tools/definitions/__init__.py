"""Tools as model providers want them defined, one form each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from capdisc_indexer.arguments.walk import mapping
from capdisc_indexer.tools.definitions.gemini import gemini_schema
from capdisc_indexer.tools.definitions.naming import NameRule, names
from capdisc_indexer.tools.definitions.schema import object_schema
from capdisc_indexer.tools.definitions.values import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a provider accepts as names of functions and parameters ("": anything), and how it wants the list."""

    name_rule: NameRule
    parameter: str = ""
    made: Callable[[Sequence[tuple[str, Definition]]], Any]


def in_form(form: str, definitions: Sequence[Definition]) -> tuple[Any, dict[str, str]]:
    """The definitions in a form of FORMS, ready to be JSON, and under which name each id appears in it."""
    chosen = FORMS[form]
    called = names(definitions, chosen.name_rule)
    return chosen.made([(called[each.id], each) for each in definitions]), called


def refused_parameters(form: str, definitions: Sequence[Definition]) -> dict[str, list[str]]:
    """The parameters, by the id of their function, whose names this provider answers with an error. They are left as
    they are: under another name the call would fail."""
    accepted = FORMS[form].parameter
    names = {each.id: [str(name) for name in mapping(mapping(each.schema).get("properties"))] for each in definitions}
    refused = {key: [name for name in own if not re.fullmatch(accepted, name)] for key, own in names.items()}
    return {key: wrong for key, wrong in refused.items() if wrong and accepted}


def _openai(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    """As chat completions take them. Not strict: strict mode refuses optional parameters, which most schemas have."""
    return [{"type": "function", "function": _function(name, each)} for name, each in named]


def _openai_responses(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [{"type": "function", **_function(name, each)} for name, each in named]


def _function(name: str, each: Definition) -> dict[str, Any]:
    return {"name": name, "description": each.description, "parameters": object_schema(each.schema), "strict": False}


def _anthropic(named: Sequence[tuple[str, Definition]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": each.description, "input_schema": object_schema(each.schema)}
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
        "anthropic": Form(name_rule=_WIDE, parameter=r"[A-Za-z0-9_.-]{1,64}", made=_anthropic),
        "gemini": Form(name_rule=NameRule(refused=r"[^A-Za-z0-9_-]", longest=64, first=r"[A-Za-z_]"), made=_gemini),
        "mcp": Form(name_rule=NameRule(refused=r"[^A-Za-z0-9_.-]", longest=128), made=_mcp),
    }
)
