"""Schemas are shown and never followed; those that harm their readers are reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.indexer.validation.conftest import manifest

RING = {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}}
WIDE = {
    "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(12)},
    "$ref": "#/$defs/d0",
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "https://schemas.example/x.json"}, ["warning schema-remote-ref"]),
        ({"$ref": "file:///etc/passwd"}, ["error schema-remote-ref"]),
        ({"$ref": "#"}, ["warning schema-cycle"]),
        (RING, ["warning schema-cycle"]),
        (WIDE, ["warning schema-too-large"]),
        ({"properties": {"x": {"pattern": "^(a+)+$"}}}, ["warning schema-pattern"]),
        ({"properties": {"x": {"enum": list(range(2_000))}}}, ["warning schema-too-large"]),
        ({"properties": {"__proto__": {"type": "object"}, "constructor": {}}}, []),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string", "pattern": "^[a-z]+$"}}}, []),
    ],
)
def test_a_schema_that_would_harm_its_reader(
    codes: Callable[..., list[str]], schema: Any, expected: list[str]
) -> None:
    assert (
        codes({"a/CAPABILITY.yaml": manifest("a"), "a/schema.json": json.dumps(schema)})
        == expected
    )
