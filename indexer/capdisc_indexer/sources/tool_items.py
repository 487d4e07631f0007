"""The tools in what programs answer and libraries take: all the shapes that a list of tools comes in."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.nodes import Json

_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
_DEPTH = 6  # envelope, page, tool with declarations: what is deeper is no list of tools
# What only libraries for function calling write; MCP servers give `inputSchema`.
_OF_FUNCTIONS = frozenset({"function", "input_schema"})


@frozen
class Item:
    """One entry of a list. `is_function` says that a library's shape was around it, or is its own."""

    value: Json
    is_function: bool = False


def items(value: Json, is_function: bool = False, depth: int = 0) -> Iterator[Item]:
    """Every tool of a list, of pages, of answers in JSON-RPC envelopes, in their order.

    >>> [item.value for item in items([{"result": {"tools": [{"name": "a"}]}}, {"name": "b"}])]
    [{'name': 'a'}, {'name': 'b'}]
    """
    if isinstance(value, list) and depth < _DEPTH:
        for each in value:
            yield from items(each, is_function, depth + 1)
    elif isinstance(value, dict) and depth < _DEPTH and (inner := _inner(value)):
        for key in inner:
            yield from items(value[key], is_function or key not in ("tools", "result"), depth + 1)
    elif value is not None and not _is_empty_envelope(value):
        is_function = is_function or (isinstance(value, dict) and _is_function(value))
        yield Item(value, is_function)


def server_name(value: Json) -> str:
    """The name that a server gives itself in `serverInfo`, "" where there is none."""
    for each in value if isinstance(value, list) else [value]:
        for place in (each, each.get("result")) if isinstance(each, dict) else ():
            info = place.get("serverInfo") if isinstance(place, dict) else None
            if isinstance(info, dict) and isinstance(name := info.get("name"), str):
                return name
    return ""


def is_list(value: Json) -> bool:
    """Whether there is a list of tools at all, be it empty."""
    if isinstance(value, list):
        return True
    return isinstance(value, dict) and (bool(_inner(value)) or _is_function(value) or "serverInfo" in value)


def _inner(value: dict[str, Json]) -> list[str]:
    found = [key for key in _LISTS if isinstance(value.get(key), list)]
    result = value.get("result")
    if isinstance(result, dict) and ("tools" in result or "serverInfo" in result):
        found.append("result")
    if isinstance(value.get("function"), dict):
        found.append("function")
    return found


def _is_function(value: dict[str, Json]) -> bool:
    return bool(value.keys() & _OF_FUNCTIONS) or value.get("type") == "function"


def _is_empty_envelope(value: Json) -> bool:
    """An answer to another request, or an error in the place of one."""
    return isinstance(value, dict) and bool(value.keys() & {"jsonrpc", "serverInfo"})
