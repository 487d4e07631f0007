"""Documents of APIs that grow without end are cut short; other hostile ones: `cases/openapi.case`."""

from __future__ import annotations

import json
from typing import Any

from loaded_folders import Load


def load_api(load: Load, paths: dict[str, Any], **more: Any) -> Any:
    return load({"openapi.json": json.dumps({"openapi": "3.0.0", "paths": paths, **more})})


def test_references_that_multiply_are_cut_short(load: Load) -> None:
    def refer(number: int) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/N{number}"}

    wide = {
        f"N{n}": {"type": "object", "properties": {f"p{i}": refer(n + 1) for i in range(10)}}
        for n in range(30)
    }
    body = {"content": {"application/json": {"schema": refer(0)}}}
    paths = {"/x": {"post": {"requestBody": body}}}
    schema = load_api(load, paths, components={"schemas": wide}).descriptors[1].schema
    assert schema is not None
    assert len(json.dumps(schema)) < 100_000


def test_thousands_of_operations_are_bounded(load: Load) -> None:
    loaded = load_api(load, {f"/p{n}": {"get": {}} for n in range(5_100)})
    assert len(loaded.descriptors) == 5_001
    assert "too-many-items" in {each.code for each in loaded.findings}
