"""JSON schemas are shown and never followed or run; what would harm a program that does is said
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer.model.types import Finding, Severity

MAX_NODES = 10_000  # of the schema with every reference written out
MAX_VALUES = 1_000
LONG_PATTERN = 500  # characters; looking for the worst ones takes quadratic time itself

# A repeated group that itself repeats: (a+)+, (\w*)*, (a|a)+ and the like take exponential time in
# most engines.
_CATASTROPHIC = re.compile(
    r"\((?:[^()\\]|\\.)*(?:[+*]|\{\d+,\d*\}|\|)(?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\d*\})"
)


def schema_rules(schema: Mapping[str, Any], path: str, line: int = 1) -> Iterator[Finding]:
    """What is wrong with one schema: the first finding of each kind."""
    reported: set[str] = set()
    for code, severity, message, hint in _problems(schema):
        if code not in reported:
            reported.add(code)
            yield Finding(
                code=code, severity=severity, message=message, hint=hint, path=path, line=line
            )


def _problems(schema: Mapping[str, Any]) -> Iterator[tuple[str, Severity, str, str]]:
    references = []
    for key, value in _members(schema):
        if key in ("$ref", "$dynamicRef") and isinstance(value, str):
            references.append(value)
            yield from _reference(value)
        elif key == "pattern" and isinstance(value, str) and _is_catastrophic(value):
            message = "a pattern that takes exponential time on some inputs, or is too long to tell"
            yield "schema-pattern", Severity.WARNING, message, "repeat no group that repeats inside"
        elif key == "enum" and isinstance(value, list) and len(value) > MAX_VALUES:
            yield (
                "schema-too-large",
                Severity.WARNING,
                f"a choice of {len(value):,} values",
                "describe them instead",
            )
    if any(reference.startswith("#") for reference in references):
        yield from _expansion(schema)


def _is_catastrophic(pattern: str) -> bool:
    return len(pattern) > LONG_PATTERN or bool(_CATASTROPHIC.search(pattern))


def _reference(target: str) -> Iterator[tuple[str, Severity, str, str]]:
    if target.startswith("#"):
        return
    is_local = target.lower().startswith(("file:", "/", "..")) or "\\" in target
    severity = Severity.ERROR if is_local else Severity.WARNING
    what = "a file of this machine" if is_local else "another document"
    yield (
        "schema-remote-ref",
        severity,
        f"a reference to {what}, which is never read",
        "write the schema out",
    )


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth; what a schema is depth-limited to was checked when
    it was read.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner
            yield from _members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _members(inner)


def _expansion(schema: Mapping[str, Any]) -> Iterator[tuple[str, Severity, str, str]]:
    size = _size(schema, schema, frozenset(), {})
    if size < 0:
        message = "a reference leads back to itself"
        yield "schema-cycle", Severity.WARNING, message, "describe the inner levels in words"
    elif size > MAX_NODES:
        message = f"{size:.0e} values with every reference written out"
        yield "schema-too-large", Severity.WARNING, message, "make it flatter"


def _size(
    value: Any, schema: Mapping[str, Any], above: frozenset[str], sizes: dict[str, int]
) -> int:
    """The number of values with references written out, counted without writing any; -1 for a ring
    of references.
    """
    if isinstance(value, list):
        return _sum(_size(inner, schema, above, sizes) for inner in value)
    if not isinstance(value, Mapping):
        return 1
    size = _sum(_size(inner, schema, above, sizes) for key, inner in value.items() if key != "$ref")
    target = value.get("$ref")
    if size < 0 or not isinstance(target, str) or not target.startswith("#"):
        return size
    if target in above:
        return -1
    if target not in sizes:
        sizes[target] = _size(_referenced_schema(schema, target), schema, above | {target}, sizes)
    return -1 if sizes[target] < 0 else size + sizes[target]


def _sum(sizes: Iterator[int]) -> int:
    total = 1
    for size in sizes:
        if size < 0:
            return -1
        total += size
    return total


def _referenced_schema(schema: Mapping[str, Any], target: str) -> Any:
    """What a reference such as `#/$defs/Size` leads to; None where that is nothing."""
    node: Any = schema
    for step in target.lstrip("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if isinstance(node, Mapping) else None
    return node
