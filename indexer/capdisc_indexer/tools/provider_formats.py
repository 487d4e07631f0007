"""Functions as each model provider wants them defined: all at once, or loaded when a search finds
them.

Anthropic takes every definition with the request; those with `defer_loading` enter the context
when a search names them in a `tool_reference`. OpenAI's Responses API takes no more than the tool
search where the caller runs it: the answer brings the definitions. Where the provider searches by
itself it takes them all, tools of one server grouped into a namespace.

Sources: Anthropic's documentation of the tool search tool, OpenAI's guide on tool search, and the
types of both SDKs (anthropic 2.12, openai 3.54).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, TypeAlias

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.function_definitions import Definition
from capdisc_indexer.tools.gemini_schema import gemini_schema
from capdisc_indexer.tools.parameter_schema import (
    NameRule,
    accepted_schema,
    assign_names,
    fitting_examples,
    object_schema,
    rename_parameters,
    with_examples,
)

# Anthropic's limit for the deferred tools of one request.
MAX_DEFERRED = 10_000
# Searches by natural language; the provider's other variant takes regular expressions.
_HOSTED_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
COMMON_NAMES = NameRule(refused=r"[^A-Za-z0-9_-]", max_length=64)
_NAMES_BESIDE_SEARCH = replace(
    COMMON_NAMES,
    reserved=frozenset({"tool_search_tool_bm25", "tool_search_tool_regex", "tool_search"}),
)
# The model sees no more than this of a namespace until a search loads it.
_NAMESPACE_CHARACTERS = 300
# Definitions with the names that the provider accepts for them.
NamedDefinitions: TypeAlias = Sequence[tuple[str, Definition]]


@frozen(kw_only=True)
class ProviderFormat:
    """How a provider wants a function defined (`define`, from its name there), what stands around
    the list of them, which names it accepts, and whether it also refuses names of parameters.
    """

    define: Callable[[str, Definition], JsonObject]
    enclose: Callable[[list[JsonObject]], Any] = list
    name_rule: NameRule = COMMON_NAMES
    limits_parameter_names: bool = False


def encode_definitions(form: str, definitions: Sequence[Definition]) -> tuple[Any, dict[str, str]]:
    """The definitions in a form of DEFINITION_FORMATS, ready to be JSON; and the name in it of
    each id.
    """
    provider = DEFINITION_FORMATS[form]
    names = assign_names(definitions, provider.name_rule)
    functions = [provider.define(names[definition.id], definition) for definition in definitions]
    return provider.enclose(functions), names


def parameter_renames(form: str, definitions: Sequence[Definition]) -> dict[str, dict[str, str]]:
    """The parameters that this provider would refuse: by the id of the function, the own name of
    each by the accepted one. `execute_tool` and `capdisc run` take either name.
    """
    if not DEFINITION_FORMATS[form].limits_parameter_names:
        return {}
    return {
        definition.id: {accepted_name: own_name for own_name, accepted_name in renames.items()}
        for definition in definitions
        if (renames := rename_parameters(definition.schema))
    }


def _define_openai(name: str, definition: Definition) -> JsonObject:
    """The function for OpenAI. Not strict: strict mode refuses optional parameters, which most
    schemas have.
    """
    return {
        "name": name,
        "description": definition.description,
        "parameters": with_examples(definition, object_schema(definition.schema)),
        "strict": False,
    }


def _define_anthropic(name: str, definition: Definition) -> JsonObject:
    schema = accepted_schema(definition.schema)
    bare_schema = {key: value for key, value in schema.items() if key != "examples"}
    examples = fitting_examples(definition, bare_schema)
    return {
        "name": name,
        "description": definition.description,
        "input_schema": bare_schema,
        **({"input_examples": examples} if examples else {}),
    }


def _define_gemini(name: str, definition: Definition) -> JsonObject:
    """Without parameters where there are none, as an object without members is refused."""
    schema = gemini_schema(definition.schema)
    parameters = {"parameters": schema} if schema.get("properties") else {}
    return {"name": name, "description": definition.description, **parameters}


def _define_mcp(name: str, definition: Definition) -> JsonObject:
    """A tool as `tools/list` has it, by the MCP specification of 2025-06-18."""
    has_title = definition.title and definition.title != name
    return {
        "name": name,
        **({"title": definition.title} if has_title else {}),
        "description": definition.description,
        "inputSchema": with_examples(definition, object_schema(definition.schema)),
        **({"annotations": dict(definition.annotations)} if definition.annotations else {}),
    }


def _define_own(name: str, definition: Definition) -> JsonObject:
    return {
        "name": name,
        "id": definition.id,
        "kind": definition.kind,
        "description": definition.description,
        "input_schema": with_examples(definition, object_schema(definition.schema)),
        "available": definition.is_available,
    }


DEFINITION_FORMATS: Mapping[str, ProviderFormat] = MappingProxyType(
    {
        "json": ProviderFormat(define=_define_own),
        "openai": ProviderFormat(
            define=lambda name, definition: {
                "type": "function",
                "function": _define_openai(name, definition),
            }
        ),
        "openai-responses": ProviderFormat(
            define=lambda name, definition: {
                "type": "function",
                **_define_openai(name, definition),
            }
        ),
        "anthropic": ProviderFormat(define=_define_anthropic, limits_parameter_names=True),
        "gemini": ProviderFormat(
            define=_define_gemini,
            enclose=lambda functions: [{"functionDeclarations": functions}],
            name_rule=replace(COMMON_NAMES, first=r"[A-Za-z_]"),
        ),
        "mcp": ProviderFormat(
            define=_define_mcp,
            enclose=lambda functions: {"tools": functions},
            name_rule=NameRule(refused=r"[^A-Za-z0-9_.-]", max_length=128),
        ),
    }
)


# Definitions that load when a search finds them.


@frozen(kw_only=True)
class DeferredRequest:
    """What a request defines: the tool `search` that finds definitions, those that load at once,
    and those that load when they are found. With `is_hosted`, the provider searches by itself.
    """

    search: Definition
    loaded: Sequence[Definition]
    deferred: Sequence[Definition]
    is_hosted: bool = False


@frozen(kw_only=True)
class DeferringFormat:
    """How a provider defers: the function that writes its list of tools, and the one that writes
    the answer of a search from what was found, for the call of an id ("" where it is unknown).
    """

    format_request: Callable[[DeferredRequest, Mapping[str, str]], list[JsonObject]]
    format_answer: Callable[[NamedDefinitions, str], JsonObject]


def defer_definitions(
    form: str, request: DeferredRequest
) -> tuple[list[JsonObject], dict[str, str]]:
    """The tools of a request in a form of DEFERRING_FORMATS, and the name in it of each id. At
    least one of them is not deferred. Raises UsageError where the request would hold more than
    MAX_DEFERRED.
    """
    names = deferred_names(request.search, [*request.loaded, *request.deferred])
    return DEFERRING_FORMATS[form].format_request(request, names), names


def deferred_names(search: Definition, definitions: Sequence[Definition]) -> dict[str, str]:
    """The name of each id. It depends on the set and not on its order, so that the answer of a
    later search names what the request defined.
    """
    return assign_names([search, *definitions], _NAMES_BESIDE_SEARCH)


def format_search_answer(
    form: str, definitions: Sequence[Definition], names: Mapping[str, str], call_id: str
) -> JsonObject:
    """The answer of a search, as the message for the model that the provider takes."""
    return DEFERRING_FORMATS[form].format_answer(_name(definitions, names), call_id)


def _name(definitions: Sequence[Definition], names: Mapping[str, str]) -> NamedDefinitions:
    return [(names[definition.id], definition) for definition in definitions]


def _anthropic_request(request: DeferredRequest, names: Mapping[str, str]) -> list[JsonObject]:
    """The search first, as it is never deferred."""
    _check_count(request)
    search, _ = encode_definitions("anthropic", [request.search])
    loaded = [_anthropic_tool(definition, names) for definition in request.loaded]
    deferred = [
        {**_anthropic_tool(definition, names), "defer_loading": True}
        for definition in request.deferred
    ]
    return [dict(_HOSTED_SEARCH) if request.is_hosted else search[0], *loaded, *deferred]


def _check_count(request: DeferredRequest) -> None:
    if len(request.deferred) > MAX_DEFERRED:
        raise UsageError(
            f"{len(request.deferred):,} definitions would be deferred; at most {MAX_DEFERRED:,} are accepted",
            "index fewer folders, or leave out --defer: capdisc tools QUERY prints what fits",
        )


def _anthropic_tool(definition: Definition, names: Mapping[str, str]) -> JsonObject:
    """Without `input_examples`, refused next to a tool search; the schema holds the examples."""
    return {
        "name": names[definition.id],
        "description": definition.description,
        "input_schema": with_examples(definition, accepted_schema(definition.schema)),
    }


def _anthropic_answer(named: NamedDefinitions, call_id: str) -> JsonObject:
    references = [{"type": "tool_reference", "tool_name": name} for name, _ in named]
    nothing = [{"type": "text", "text": "No tool fits. Search again in other words."}]
    return {
        "type": "tool_result",
        **({"tool_use_id": call_id} if call_id else {}),
        "content": references or nothing,
    }


def _openai_request(request: DeferredRequest, names: Mapping[str, str]) -> list[JsonObject]:
    """A search that the caller runs brings definitions with its answer, so that the request holds
    none of them. One that OpenAI runs needs all of them.
    """
    loaded_ids = {definition.id for definition in request.loaded}
    if request.is_hosted:
        _check_count(request)
        definitions = [*request.loaded, *request.deferred]
        return [
            *_group_functions(_name(definitions, names), loaded_ids),
            {"type": "tool_search"},
        ]
    search: JsonObject = {
        "type": "tool_search",
        "execution": "client",
        "description": request.search.description,
        "parameters": object_schema(request.search.schema),
    }
    return [search, *_group_functions(_name(request.loaded, names), loaded_ids)]


def _openai_answer(named: NamedDefinitions, call_id: str) -> JsonObject:
    return {
        "type": "tool_search_output",
        **({"call_id": call_id} if call_id else {}),
        "execution": "client",
        "status": "completed",
        "tools": _group_functions(named, frozenset()),
    }


def _group_functions(named: NamedDefinitions, loaded_ids: Set[str]) -> list[JsonObject]:
    """The functions, deferred but for `loaded_ids`; those of one container in a namespace, which
    stands where its first function would.
    """
    namespaces = _name_namespaces(named)
    groups: dict[tuple[str, str], list[JsonObject]] = {}
    for name, definition in named:
        function: JsonObject = {"type": "function", **_define_openai(name, definition)}
        if definition.id not in loaded_ids:
            function["defer_loading"] = True
        container = definition.container
        groups.setdefault((container, "" if container else name), []).append(function)
    tools: list[JsonObject] = []
    for (container, _), functions in groups.items():
        if container:
            tools.append(_namespace(namespaces[container], container, functions))
        else:
            tools += functions
    return tools


def _name_namespaces(named: NamedDefinitions) -> dict[str, str]:
    """The accepted name of each container."""
    containers = sorted({definition.container for _, definition in named} - {""})
    owners = [
        Definition(
            id=f"namespace:{name}", name=name, description="", schema=None, kind="namespace"
        )
        for name in containers
    ]
    names = assign_names(owners, COMMON_NAMES)
    return {owner.name: names[owner.id] for owner in owners}


def _namespace(name: str, container: str, functions: list[JsonObject]) -> JsonObject:
    function_names = ", ".join(str(function["name"]) for function in functions)
    return {
        "type": "namespace",
        "name": name,
        "description": one_line(f"Tools of {container}: {function_names}", _NAMESPACE_CHARACTERS),
        "tools": functions,
    }


DEFERRING_FORMATS: Mapping[str, DeferringFormat] = MappingProxyType(
    {
        "anthropic": DeferringFormat(
            format_request=_anthropic_request, format_answer=_anthropic_answer
        ),
        "openai-responses": DeferringFormat(
            format_request=_openai_request, format_answer=_openai_answer
        ),
    }
)
