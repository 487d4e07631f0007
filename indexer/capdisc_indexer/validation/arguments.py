"""Checks the arguments of a call against a JSON schema, and fills in its defaults.

Own code, since schemas come from files that nobody vouches for: no reference leaves the schema,
no pattern runs without an end, and the steps of a check are counted
(docs/internals/why-not-a-library.md has what two libraries do instead). The tests compare it with
jsonschema. It reads JSON Schema 2020-12 and the older spellings of draft 4 to 7, except
`$dynamicRef`, `$anchor` and `unevaluated…`; `format` is an annotation, as in the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.json_types import Arguments, JsonObject, JsonSchema
from capdisc_indexer.validation.schema_keywords import KEYWORDS, kind_of
from capdisc_indexer.validation.schema_walk import (
    SchemaTooComplexError,
    SchemaWalk,
    as_mapping,
    unknown_names,
)

# Limits of one call: the size of its JSON text, its nesting, the problems that are listed.
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_PROBLEMS = 20


def find_problems(schema: JsonSchema | None, arguments: Any, closed: bool = True) -> list[str]:
    """All problems of the arguments as `where: what`, missing ones first, at most MAX_PROBLEMS and
    a line that counts the rest; an empty list when the arguments fit.

    With `closed`, a top-level name that the schema does not list is a problem too, unless the
    schema says that there may be more: else nobody would notice a misspelt option.

    >>> schema = {"properties": {"limit": {"type": "integer", "maximum": 50}}, "required": ["query"]}
    >>> find_problems(schema, {"limit": 99})
    ['query: is missing', 'limit: must be at most 50']
    """
    if too_deep(arguments):
        return [f"the arguments: are nested more than {MAX_DEPTH} levels deep"]
    if not isinstance(arguments, Mapping):
        return [f"the arguments: must be an object, not {kind_of(arguments)}"]
    walk = SchemaWalk(root=schema or {}, keywords=KEYWORDS)
    try:
        problems = walk.problems(schema or {}, arguments, "")
    except SchemaTooComplexError:
        return ["the arguments: cannot be checked, the schema is too complex"]
    if closed:
        problems += unknown_names(schema, arguments)
    problems.sort(key=lambda problem: not problem.endswith("is missing"))
    hidden_count = len(problems) - MAX_PROBLEMS
    if hidden_count > 0:
        return [*problems[:MAX_PROBLEMS], f"and {hidden_count:,} more problems"]
    return problems


def fill_defaults(schema: JsonSchema | None, arguments: Arguments) -> JsonObject:
    """The arguments, with the schema's defaults for those that are missing; also inside objects
    that are present.

    >>> fill_defaults({"properties": {"limit": {"default": 5}, "query": {}}}, {"query": "x"})
    {'query': 'x', 'limit': 5}
    """
    walk = SchemaWalk(root=schema or {}, keywords={})
    try:
        return _fill_object(walk, schema or {}, arguments)
    except SchemaTooComplexError:
        return dict(arguments)


def _fill_object(walk: SchemaWalk, schema: Any, arguments: Arguments) -> JsonObject:
    filled = dict(arguments)
    with walk.level():
        for name, declared in as_mapping(walk.resolve_schema(schema).get("properties")).items():
            member_schema = walk.resolve_schema(declared)
            if name not in filled:
                if "default" in member_schema:
                    filled[name] = member_schema["default"]
            elif isinstance(filled[name], Mapping):
                filled[name] = _fill_object(walk, member_schema, filled[name])
    return filled


def too_deep(value: Any) -> bool:
    """Whether the value is nested deeper than MAX_DEPTH. Works level by level: a recursive check
    would hit Python's own limit.
    """
    containers = [value]
    for _ in range(MAX_DEPTH):
        containers = [inner for container in containers for inner in _inner_containers(container)]
        if not containers:
            return False
    return True


def _inner_containers(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        members = list(value.values())
    elif isinstance(value, (list, tuple)):
        members = list(value)
    else:
        members = []
    return [member for member in members if isinstance(member, (Mapping, list, tuple))]
