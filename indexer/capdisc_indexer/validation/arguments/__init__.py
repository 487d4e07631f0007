"""Arguments held against a JSON schema: everything that is wrong with them at once, and defaults
filled in.

A validator of our own, since schemas come from files that nobody vouches for: no reference leaves
the schema, no pattern runs without an end, and steps are counted. It takes no import; the usual
library takes 60 ms, which every call of a discovery tool would pay. The tests hold it against that
library. Read is JSON Schema 2020-12 with the older spellings of draft 4 to 7, but for
`$dynamicRef` and `unevaluated…`; `format` is a remark there, and here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.validation.arguments import plain_values
from capdisc_indexer.validation.arguments.schema_walk import (
    SchemaTooComplexError,
    SchemaWalk,
    as_mapping,
    unknown_names,
)

# What one call may bring: its JSON text, and how deep it is nested.
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_PROBLEMS = 20

ALL_KEYWORDS = {
    **plain_values.VALUE_KEYWORDS,
    **plain_values.CONTAINER_KEYWORDS,
    **plain_values.COMBINATOR_KEYWORDS,
}


def find_problems(schema: JsonSchema | None, arguments: Any, closed: bool = True) -> list[str]:
    """What is wrong with the arguments, each as `where: what`, at most MAX_PROBLEMS; none when
    they fit.

    With `closed`, a top-level name that the schema does not list is one of them unless it says
    that there may be more: a misspelt option would else be dropped without a word.

    >>> problems({"properties": {"limit": {"type": "integer", "maximum": 50}}, "required": ["query"]}, {"limit": 99})
    ['query: is missing', 'limit: must be at most 50']
    """
    if too_deep(arguments):
        return [f"the arguments: are nested more than {MAX_DEPTH} levels deep"]
    if not isinstance(arguments, Mapping):
        return [f"the arguments: must be an object, not {plain_values.kind_of(arguments)}"]
    walk = SchemaWalk(root=schema or {}, keywords=ALL_KEYWORDS)
    try:
        messages = walk.problems(schema or {}, arguments, "")
    except SchemaTooComplexError:
        return ["the arguments: the schema is too involved to be checked"]
    messages += unknown_names(schema, arguments) if closed else []
    remainder = (
        [f"and {len(messages) - MAX_PROBLEMS:,} more problems"]
        if len(messages) > MAX_PROBLEMS
        else []
    )
    return (
        sorted(messages, key=lambda text: not text.endswith("is missing"))[:MAX_PROBLEMS]
        + remainder
    )


def fill_defaults(schema: JsonSchema | None, arguments: Arguments) -> dict[str, Any]:
    """The arguments with the defaults of those that were not given, in objects that were given
    too.

    >>> filled({"properties": {"limit": {"default": 5}, "query": {}}}, {"query": "x"})
    {'query': 'x', 'limit': 5}
    """
    walk = SchemaWalk(root=schema or {}, keywords={})
    try:
        return _fill_object(walk, schema or {}, arguments)
    except SchemaTooComplexError:
        return dict(arguments)


def _fill_object(walk: SchemaWalk, schema: Any, arguments: Arguments) -> dict[str, Any]:
    filled_arguments = dict(arguments)
    with walk.level():
        declared = walk.resolve_schema(schema).get("properties")
        for name, inner in as_mapping(declared).items():
            inner_schema = walk.resolve_schema(inner)
            if name in filled_arguments:
                filled_arguments[name] = (
                    _fill_object(walk, inner_schema, filled_arguments[name])
                    if isinstance(filled_arguments[name], Mapping)
                    else filled_arguments[name]
                )
            elif "default" in inner_schema:
                filled_arguments[name] = inner_schema["default"]
    return filled_arguments


def too_deep(value: Any) -> bool:
    """Whether the value is nested deeper than MAX_DEPTH; looked at level by level, as recursion
    has an end of its own.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for container in level for item in _inner(container)]
        if not level:
            return False
    return True


def _inner(value: Any) -> list[Any]:
    inner = (
        value.values()
        if isinstance(value, Mapping)
        else value
        if isinstance(value, (list, tuple))
        else ()
    )
    return [item for item in inner if isinstance(item, (Mapping, list, tuple))]
