"""Which YAML is read, what is refused, and where the finding points."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_indexer.sources.readers.yaml_nodes import (
    Json,
    YamlResult,
    as_written,
    place_of,
    to_json,
)
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from case_rows import read_rows


def written(text: str) -> list[Json]:
    return [as_written(document) for document in read_yaml(text).documents]


def refusal(text: str) -> tuple[str, int, int]:
    finding = read_yaml(text).finding
    assert finding is not None
    return finding.code, finding.line, finding.column


def test_scalars_stay_the_text_as_written() -> None:
    text = "a: no\nb: 2024-02-30\nc: 0777\nd: 1e3\ne: 12:30:45\nf: 1.10\n"
    assert written(text) == [
        {"a": "no", "b": "2024-02-30", "c": "0777", "d": "1e3", "e": "12:30:45", "f": "1.10"},
    ]


def test_typing_follows_the_core_schema_and_leaves_quoted_text_alone() -> None:
    (document,) = read_yaml(
        "[1, -2, 0x1F, 1.5, 1e3, true, 'true', no, ~, \"3\", 2024-01-31, .inf, 1e999]"
    ).documents
    expected = [
        1,
        -2,
        31,
        1.5,
        1000.0,
        True,
        "true",
        "no",
        None,
        "3",
        "2024-01-31",
        ".inf",
        "1e999",
    ]
    assert to_json(document) == expected


def test_exact_typing_changes_no_number_that_would_print_otherwise() -> None:
    (document,) = read_yaml("[1, 1.0, 1.10, 0777, 1e3, 12345678901234567890, false]").documents
    assert to_json(document, exact=True) == [
        1,
        1.0,
        "1.10",
        "0777",
        "1e3",
        "12345678901234567890",
        False,
    ]


def test_several_documents_are_read_and_empty_ones_dropped() -> None:
    assert written("a: 1\n---\n---\nb: 2\n---\n") == [{"a": "1"}, {"b": "2"}]
    assert written("# nothing\n") == []


def test_the_place_of_each_key_can_be_asked() -> None:
    (document,) = read_yaml("a: 1\nb:\n  c:\n    - x\n    - y\n", first_line=10).documents
    assert place_of(document, ["b", "c"]) == (12, 3)
    assert place_of(document, ["b", "c", 1]) == (14, 7)
    assert place_of(document, ["b", "gone"]) == (11, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    read_rows(__file__, "what_is_refused_is_named_with_its_place"),
)
def test_what_is_refused_is_named_with_its_place(
    text: str, expected: tuple[str, int, int]
) -> None:
    assert refusal(text) == tuple(expected)


def test_a_refusal_says_what_to_do() -> None:
    finding = read_yaml("description: Use when: asked").finding
    assert finding is not None
    assert "quotes" in finding.hint


def test_too_many_values_are_refused() -> None:
    assert (
        refusal("\n".join(f"k{number}: v" for number in range(12_000)))[0] == "yaml-too-many-nodes"
    )


@pytest.mark.parametrize("text", ["\ud800", 'a: "\\ud800"'])
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    assert read_yaml(text).finding is not None


@pytest.mark.parametrize("unit", ["[", "{", "- ", "? ", "a: [", "[{a: "])
def test_a_million_nested_brackets_do_no_harm_on_a_small_stack(unit: str) -> None:
    results: list[YamlResult] = []
    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(read_yaml(unit * 1_000_000)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert results[0].finding is not None


def test_the_deepest_document_that_is_allowed_is_read_on_a_small_stack() -> None:
    results: list[YamlResult] = []
    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(read_yaml("[" * 32 + "]" * 32)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert results[0].finding is None


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    """Expanded it would be 9**9 items; no test would live to see its end."""
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
    )
    assert refusal(bomb)[:2] == ("yaml-alias", 2)


_PIECES = read_rows(__file__, "pieces")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from(_PIECES)).map("".join))
def test_simple_fields_are_read_as_the_parser_reads_them(pieces: str) -> None:
    for text in (pieces, f"k: a{pieces}", f"k: 'a{pieces}'\n", f'k: "{pieces}"\nj: b'):
        # A comment is not simple, so that the parser reads the text.
        assert read_yaml(text) == read_yaml(f"#\n{text}", first_line=0)
