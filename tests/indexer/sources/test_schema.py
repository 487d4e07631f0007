"""The words that describe the types of inputs."""

from __future__ import annotations

import pytest

from capdisc_indexer.sources.formats.parsed_capability import read_parameters, type_text


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({}, "any"),
        ({"type": "string"}, "string"),
        ({"type": "array"}, "array"),
        ({"items": {"type": "array", "items": {"enum": [1, 2]}}}, "array<array<1|2>>"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Size"}]}, "string|Size"),
        ({"const": 3}, "3"),
        ({"properties": {}}, "object"),
        ({"type": 5, "enum": "x"}, "any"),
        (True, "any"),
    ],
)
def test_a_type_is_one_word(declared: object, text: str) -> None:
    assert type_text(declared) == text


def test_many_choices_are_cut_and_marked() -> None:
    assert type_text({"enum": list(range(100))}).endswith("|...")


@pytest.mark.parametrize(
    "schema", [None, {}, {"properties": []}, {"properties": {"a": 1}, "required": "a"}]
)
def test_a_schema_of_any_shape_is_harmless(schema: dict[str, object] | None) -> None:
    assert len(read_parameters(schema)) <= 1
