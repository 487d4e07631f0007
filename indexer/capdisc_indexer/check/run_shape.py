"""How a capability says that it is run: `run` held against the schema of the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from capdisc_indexer.arguments import problems
from capdisc_indexer.sources.fields import squeezed
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


@cache
def _schema() -> Mapping[str, Any]:
    text = Path(__file__).with_name("schemas").joinpath("capability.schema.json").read_text(encoding="utf-8")
    return {"properties": {"run": {"$ref": "#/$defs/run"}}, "$defs": json.loads(text)["$defs"]}
