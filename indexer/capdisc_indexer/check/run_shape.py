"""How a capability says that it is run: `run` held against the schema of the manifest, its command read as its
programs will read it, and the variables that it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from capdisc_indexer.arguments import problems
from capdisc_indexer.program_text.misuses import describe_misuse, find_misuses
from capdisc_indexer.program_text.steering import is_steering, steering_hint
from capdisc_indexer.sources.fields import squeezed
from capdisc_indexer.sources.nodes import MapNode, Node, place_of
from capdisc_indexer.sources.parts import Part
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Finding, Severity

_HINT = "write {command: [...]}, {mcp: {command, args, tool}} or {http: {method, url, parameters}}"
_SHOWN = 3


def run_shape(part: Part, path: str) -> Iterator[Finding]:
    """The first things for which `capdisc run` would refuse it, or would not read."""
    run = part.descriptor.run if part.descriptor else None
    place = next((entry for key, entry in part.node.entries.items() if squeezed(key) == "run"), part.node)
    for problem in problems(_schema(), {"run": run}, closed=False)[:_SHOWN] if run is not None else ():
        yield Finding(
            code="run-shape",
            severity=Severity.WARNING,
            message=one_line(problem, 200),
            hint=_HINT,
            path=path,
            line=place.line,
            column=place.column,
        )


def program_text(part: Part, path: str) -> Iterator[Finding]:
    """Arguments that a program of the command would run or obey, each where its word stands."""
    descriptor = part.descriptor
    for misuse in find_misuses(descriptor.run, descriptor.schema) if descriptor else ():
        message, hint = describe_misuse(misuse)
        steps: tuple[str | int, ...] = ("command", *misuse.at) if misuse.at else ("stdin",)
        line, column = place_of(_entry(part.node, "run"), steps)
        yield Finding(
            code="program-text",
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            path=path,
            line=line,
            column=column,
        )


def steering_variables(part: Part, path: str) -> Iterator[Finding]:
    """Names among the secrets that decide what programs find, load or start."""
    for name in part.descriptor.secrets if part.descriptor else ():
        if is_steering(name):
            line, column = place_of(part.node, (_key(part.node, "requiredsecrets"),))
            yield Finding(
                code="steering-variable",
                severity=Severity.ERROR,
                message=f"{name} is no secret: it decides what programs find, load or start",
                hint=steering_hint(name),
                path=path,
                line=line,
                column=column,
            )


def _key(node: MapNode, name: str) -> str:
    """The key as it is written; "" where there is none."""
    return next((key for key in node.entries if squeezed(key) in (name, "secrets")), "")


def _entry(node: MapNode, name: str) -> Node:
    return next((entry.value for key, entry in node.entries.items() if squeezed(key) == name), node)


@cache
def _schema() -> Mapping[str, Any]:
    text = Path(__file__).with_name("schemas").joinpath("capability.schema.json").read_text(encoding="utf-8")
    return {"properties": {"run": {"$ref": "#/$defs/run"}}, "$defs": json.loads(text)["$defs"]}
