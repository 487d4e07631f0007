"""schema.json beside a sound manifest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hostile.case import Case, Writer, accepted, rejected, unfit, warned
from hostile.writing import MANIFEST, NAME, TOOL, fields, files


def _beside(schema: str | bytes | Callable[[], str]) -> Writer:
    return files({MANIFEST: fields(), f"{NAME}/schema.json": schema})


def _properties(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _warned(name: str, codes: str, schema: dict[str, Any], **more: Any) -> Case:
    return warned(name, codes, _beside(json.dumps(schema)), indexed=(TOOL,), **more)


_REMOTE = _properties(row={"$ref": "https://example.com/row.json"})
_FILE = _properties(row={"$ref": "file:///etc/passwd"})
_SELF = _properties(row={"$ref": "#/definitions/row"}) | {
    "definitions": {"row": {"$ref": "#/definitions/row"}}
}
_RING = _properties(row={"$ref": "#/definitions/a"}) | {
    "definitions": {
        "a": _properties(next={"$ref": "#/definitions/b"}),
        "b": _properties(next={"$ref": "#/definitions/a"}),
    }
}
# Twelve levels, each of ten references to the next: a million million nodes when expanded.
_EXPANSION = _properties(row={"$ref": "#/definitions/l0"}) | {
    "definitions": {
        f"l{level}": _properties(
            **{f"k{number}": {"$ref": f"#/definitions/l{level + 1}"} for number in range(10)}
        )
        for level in range(12)
    }
    | {"l12": {"type": "string"}}
}
_PATTERN = _properties(
    row={"type": "string", "pattern": "^(a+)+$"}, soil={"type": "string", "pattern": "(x|x)*y"}
)
_ENUM = _properties(row={"enum": [f"row-{number:05}" for number in range(20_000)]})
_ESCAPE = _properties(row={"type": "string", "description": "The row.\x1b[2J\x1b]0;title\x07"})
_PROTO = _properties(
    **{
        name: {"type": "string"}
        for name in ("__proto__", "constructor", "toString", "__class__", "$where")
    }
)

CASES = (
    unfit("schema-not-json", "json-syntax", _beside("{type: object,}\n")),
    unfit("schema-empty", "json-syntax", _beside("")),
    unfit("schema-top-level-array", "schema-type", _beside('[{"type": "object"}]\n')),
    unfit(
        "schema-duplicate-keys",
        "json-duplicate-key",
        _beside('{"properties": {"row": {"type": "string"}, "row": {"type": "integer"}}}\n'),
    ),
    unfit(
        "schema-nan-infinity",
        "json-syntax",
        _beside(
            '{"properties": {"row": {"minimum": NaN, "maximum": Infinity, "default": 1e999}}}\n'
        ),
    ),
    unfit(
        "schema-deep",
        "json-depth file-too-large",
        _beside(lambda: '{"a":' * 50_000 + "1" + "}" * 50_000),
    ),
    unfit("schema-lone-surrogate", "invalid-unicode", _beside('{"title": "row \\ud800"}\n')),
    unfit("schema-escape-in-description", "control-character", _beside(json.dumps(_ESCAPE))),
    _warned("schema-remote-ref", "schema-remote-ref", _REMOTE),
    rejected(
        "schema-file-ref",
        "schema-remote-ref path-escape",
        _beside(json.dumps(_FILE)),
        unsaid=("root:x:0:0",),
    ),
    _warned("schema-self-ref", "schema-cycle", _SELF),
    _warned("schema-ref-cycle", "schema-cycle", _RING),
    _warned("schema-ref-expansion", "schema-too-large schema-cycle", _EXPANSION, seconds=2),
    _warned("schema-catastrophic-pattern", "schema-pattern", _PATTERN, seconds=2),
    _warned("schema-huge-enum", "schema-too-large file-large", _ENUM),
    accepted("schema-proto-keys", _beside(json.dumps(_PROTO)), indexed=(TOOL,)),
    unfit("schema-latin1", "encoding", _beside('{"title": "R\u00fcbe"}\n'.encode("latin-1"))),
)
