"""The words that describe the types of inputs."""

from __future__ import annotations

import pytest

from capdisc_indexer.sources.formats.parsed_capability import read_parameters, type_text
from case_rows import read_rows


@pytest.mark.parametrize(
    ("declared", "text"),
    read_rows(__file__, "a_type_is_one_word"),
)
def test_a_type_is_one_word(declared: object, text: str) -> None:
    assert type_text(declared) == text


def test_many_choices_are_cut_and_marked() -> None:
    assert type_text({"enum": list(range(100))}).endswith("|...")


@pytest.mark.parametrize("schema", read_rows(__file__, "a_schema_of_any_shape_is_harmless"))
def test_a_schema_of_any_shape_is_harmless(schema: dict[str, object] | None) -> None:
    assert len(read_parameters(schema)) <= 1
