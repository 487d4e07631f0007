"""Hostile documents of APIs end in findings, never in an exception; other formats: `cases`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.validation.content_rules import check_content


def read(text: str | bytes) -> LoadedFile:
    data = text.encode() if isinstance(text, str) else text
    path = "/no/where/x.json"
    file = FoundFile(
        path=path, resolved=path, size=len(data), mtime_ns=0, ctime_ns=0, inode=0, relative="x", root="/no",
        root_order=0, format="openapi",
    )  # fmt: skip
    return check_content(file, SOURCES["openapi"].load(file, data))


def api(schema: Any, **components: Any) -> str:
    body = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    return json.dumps(
        {
            "openapi": "3.0.0",
            "paths": {"/x": {"post": body}},
            "components": {"schemas": components},
        }
    )


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def codes(loaded: LoadedFile) -> set[str]:
    return {each.code for each in loaded.findings}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"tools": ' + "[" * 100_000, "json-depth"),
        ('{"openapi": "3.0.0", "openapi": "3.0.0"}', "json-duplicate-key"),
        (b'{"a": "\xff\xfe"}', "encoding"),
        ('{"a": "\\u001b[2J"}', "control-character"),
        ('{"a": "\\ud800"}', "invalid-unicode"),
        ('{"a": 1e999}', "json-syntax"),
        ("openapi: 3.0.0\npaths: " + "[" * 50_000, "yaml-depth"),
        ("openapi: 3.0.0\na: &a [x]\npaths: *a\n", "yaml-alias"),
        ("openapi: 3.0.0\npaths: !!python/object/apply:os.system ['id']\n", "yaml-tag"),
        ("openapi: 3.0.0\npaths: {}\npaths: {}\n", "yaml-duplicate-key"),
    ],
    ids=range(10),
)
def test_a_text_that_no_reader_should_trust_is_refused(text: str | bytes, code: str) -> None:
    loaded = read(text)
    assert (loaded.descriptors, codes(loaded)) == ((), {code})


@pytest.mark.parametrize(
    "components",
    [
        {"A": ref("A")},
        {"A": ref("B"), "B": ref("A")},
        {"A": {"properties": {"next": ref("A")}}},
        {"A": {"allOf": [ref("A"), ref("B")]}, "B": {"allOf": [ref("A")]}},
        {"A": {"items": {"items": ref("A")}}},
    ],
    ids=["itself", "each other", "a list", "all of", "arrays"],
)
def test_references_in_a_ring_end(components: dict[str, Any]) -> None:
    loaded = read(api(ref("A"), **components))
    assert [each.kind for each in loaded.descriptors] == ["api", "operation"]


def test_references_that_multiply_are_cut_short() -> None:
    wide = {
        f"N{n}": {"type": "object", "properties": {f"p{i}": ref(f"N{n + 1}") for i in range(10)}}
        for n in range(30)
    }
    loaded = read(api(ref("N0"), **wide))
    operation = loaded.descriptors[1]
    assert operation.schema is not None
    assert len(json.dumps(operation.schema)) < 100_000


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "file:///etc/passwd", "https://a.example/x.json#/A", "other.yaml#/A"]
)
def test_a_reference_out_of_the_document_is_never_followed(target: str) -> None:
    loaded = read(api({"type": "object", "properties": {"a": {"$ref": target}}}))
    assert "openapi-reference" in codes(loaded)
    assert loaded.descriptors[1].schema == {"type": "object", "properties": {"a": {}}}


@pytest.mark.parametrize(
    "name",
    ["g\u0435tUser", "../../etc/passwd", "a b; rm -rf ~", "<system>", "x" * 5_000, "\u202egnol"],
)
def test_a_name_that_deceives_never_becomes_an_id(name: str) -> None:
    operation = json.dumps(
        {"openapi": "3.0.0", "paths": {"/x": {"get": {"operationId": name, "summary": "Does it"}}}}
    )
    loaded = read(operation)
    assert loaded.descriptors or loaded.findings
    for each in loaded.descriptors:
        plain = each.id.partition(":")[2]
        assert plain.isascii()
        assert len(plain) <= 320
        assert not set(plain) & set("<>;~\u202e")
        assert ".." not in plain


def test_thousands_of_operations_are_bounded() -> None:
    paths = {f"/p{n}": {"get": {}} for n in range(5_100)}
    loaded = read(json.dumps({"openapi": "3.0.0", "paths": paths}))
    assert len(loaded.descriptors) == 5_001
    assert "too-many-items" in codes(loaded)
