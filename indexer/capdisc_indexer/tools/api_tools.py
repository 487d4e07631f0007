"""APIs and their operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer.errors import UsageError
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.documentation import parameters
from capdisc_indexer.tools.finding import WIDE, chosen, find, of_kinds
from capdisc_indexer.tools.held import described, held, number, records, text
from capdisc_indexer.tools.inputs import inputs, limit, name, words
from capdisc_indexer.tools.lookup import is_part, named, tail, whole_of
from capdisc_indexer.tools.values import Desk, ToolAnswer, family
from capdisc_indexer.types import Descriptor

APIS = ("api", "operation")
_READING = ("GET", "HEAD", "OPTIONS")


def _list_apis(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    return {"apis": [_api(desk.index.whole(head)) for head in of_kinds(desk, "api")]}


def _api(descriptor: Descriptor) -> dict[str, Any]:
    facts = held(descriptor)
    shown = {"name": descriptor.name, "type": text(facts, "type") or "openapi", "url": text(facts, "url")}
    return shown | {"description": described(descriptor), "operations": number(facts, "operations")}


def _list_operations(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    api = _api_named(desk, arguments["api"])
    wanted = arguments["operation_type"]
    found = [each for each in _operations(desk, api) if wanted in ("any", type_of(each))]
    listed = [{"name": each.name, "type": type_of(each), "description": described(each)} for each in found]
    return {"api": api, "operations": listed}


def _api_named(desk: Desk, called: str) -> str:
    """The API as it is written; one that only its operations speak of is known too."""
    heads = list(of_kinds(desk, "api"))
    if any(called.removeprefix("api:").lower() == str(head["name"]).lower() for head in heads):
        return named(desk, called, "api").name
    known = sorted({str(head["name"]) for head in heads} | {whole_of(each) for each in _operations(desk)})
    for each in known:
        if each.lower() == called.removeprefix("api:").lower():
            return each
    raise UsageError(f"there is no API {one_line(called, 80)!r}", f"here: {', '.join(known[:20]) or 'none yet'}")


def _operations(desk: Desk, api: str = "") -> Iterator[Descriptor]:
    for head in of_kinds(desk, "operation"):
        is_made = head["source"]["format"] not in ("capability", "catalogue")
        if not api or not is_made or tail(str(head["id"])).lower().startswith(f"{api.lower()}."):
            descriptor = desk.index.whole(head)
            if not api or is_part(descriptor, api):
                yield descriptor


def type_of(operation: Descriptor) -> str:
    """query for what only reads, mutation for what may change something."""
    facts = held(operation)
    method = text(facts, "method").upper()
    return text(facts, "type") or ("query" if method in _READING else "mutation" if method else "")


def _get_operation_details(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    operation = named(desk, arguments["operation"], "operation", within=arguments.get("api", ""))
    facts = held(operation)
    return {
        "api": whole_of(operation),
        "operation": operation.name,
        "id": operation.id,
        "type": type_of(operation),
        "method": text(facts, "method"),
        "path": text(facts, "path"),
        "description": described(operation),
        "parameters": _parameters(operation, facts),
        "response_schema": facts.get("response_schema") or operation.output_schema or {},
    }


def _parameters(operation: Descriptor, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is sent, those of the body included, which only the schema knows."""
    listed = [dict(each) for each in records(facts, "parameters")]
    known = {each.get("name") for each in listed}
    others = parameters(operation.schema).items()
    return listed + [{"name": name, **about} for name, about in others if name not in known]


def _search_operations(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    wanted, api = arguments["operation_type"], arguments.get("api", "")
    is_narrow = wanted != "any" or api
    found = find(desk, arguments["query"], WIDE if is_narrow else arguments["limit"], ("operation",))
    home = _api_named(desk, api) if api else ""
    hits = chosen(
        found,
        arguments["limit"],
        lambda each: wanted in ("any", type_of(each)) and (not home or is_part(each, home)),
        desk,
    )
    return {
        "operations": [
            {
                "id": each.id,
                "api": whole_of(each),
                "operation": each.name,
                "relevance": round(hit.relevance, 2),
                "description": described(each),
            }
            for hit, each in hits
        ]
    }


_TYPE = {"type": "string", "enum": ["any", "query", "mutation", "subscription"], "default": "any"}

_tool = family("apis", APIS)

TOOLS = (
    _tool("list_apis", "List the APIs with type, address and description.", _list_apis, inputs()),
    _tool(
        "list_operations",
        "List the operations of an API.",
        _list_operations,
        inputs("api", api=name("Its name."), operation_type=_TYPE),
        "list_api_operations",
    ),
    _tool(
        "get_operation_details",
        "Method, path, parameters and response of an operation.",
        _get_operation_details,
        inputs("operation", api=name("Where several have it."), operation=name("Its name or id.")),
    ),
    _tool(
        "search_operations",
        "Find the API operations for a task.",
        _search_operations,
        inputs("query", query=words("The task."), limit=limit(5), operation_type=_TYPE, api=name()),
    ),
)
