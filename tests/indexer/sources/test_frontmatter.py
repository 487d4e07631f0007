"""Where front matter begins and ends, and which slips in it are repaired."""

from __future__ import annotations

import pytest

from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Json, as_written
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.readers.yaml_repair import CERTAIN_SLIPS, repair_block
from case_rows import read_rows


def test_block_and_body_know_their_lines() -> None:
    halves = split_front_matter("---\nname: a\n---\n\nBody\n---\nmore\n")
    assert (halves.block, halves.block_line) == ("name: a\n", 2)
    assert (halves.body, halves.body_line) == ("\nBody\n---\nmore\n", 4)
    assert halves.findings == ()


@pytest.mark.parametrize("count", [1, 61, 62, 63, 64, 200])
def test_a_block_of_any_length_ends_at_its_fence(count: int) -> None:
    block, body = "a: b\n" * count, "text\n---\nmore\n\n" * 100
    halves = split_front_matter(f"---\n{block}---\n{body}")
    assert (halves.block, halves.body, halves.body_line) == (block, body, count + 3)


def test_fences_may_carry_blanks_and_dashes_in_a_value_are_no_fence() -> None:
    halves = split_front_matter("---  \ndescription: one --- two\nrule: ---x\n--- \nBody")
    assert halves.block == "description: one --- two\nrule: ---x\n"
    assert halves.body == "Body"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\n\n---\nname: a\n---\nBody", "frontmatter-not-first"),
        ("```yaml\n---\nname: a\n---\n```\nBody", "frontmatter-in-code-fence"),
    ],
)
def test_a_block_in_an_odd_place_is_found_with_a_warning(text: str, code: str) -> None:
    halves = split_front_matter(text)
    assert halves.block == "name: a\n"
    assert halves.body == "Body"
    assert [(finding.code, finding.severity) for finding in halves.findings] == [(code, "warning")]


@pytest.mark.parametrize(
    "text", ["", "# Title\n\n---\nname: a\n---\n", "+++\nname = 'a'\n+++\n", "----\nname: a\n"]
)
def test_a_text_without_a_block_is_all_body(text: str) -> None:
    halves = split_front_matter(text)
    assert halves.block is None
    assert halves.body == text


@pytest.mark.parametrize(
    "text", ["---\nname: a\n", "---\n" + "\n" * 100_000, "---\n" + "-- -\n" * 50_000]
)
def test_a_block_that_never_ends_is_an_error(text: str) -> None:
    assert [(finding.code, finding.severity) for finding in split_front_matter(text).findings] == [
        ("frontmatter-unclosed", "error")
    ]


def repaired(block: str) -> tuple[Json, list[tuple[str, int]]]:
    text, findings = repair_block(block, first_line=2)
    (document,) = read_yaml(text).documents
    return as_written(document), [(finding.code, finding.line) for finding in findings]


@pytest.mark.parametrize(
    ("block", "description", "code"),
    read_rows(__file__, "a_usual_slip_is_put_right_and_named"),
)
def test_a_usual_slip_is_put_right_and_named(block: str, description: str, code: str) -> None:
    fields, findings = repaired(f"name: a\n{block}license: MIT\n")
    assert fields == {"name": "a", "description": description, "license": "MIT"}
    assert findings == [(code, 3)]


def test_slips_inside_a_nested_field_are_put_right_there() -> None:
    fields, findings = repaired(
        "metadata:\n  a: b: c\n  list:\n    - x: y: z\n    - fine\nname: n\n"
    )
    assert fields == {"metadata": {"a": "b: c", "list": ["x: y: z", "fine"]}, "name": "n"}
    assert findings == [("yaml-unquoted-colon", 3), ("yaml-unquoted-colon", 5)]


def test_a_missing_blank_and_a_tab_are_put_right() -> None:
    fields, findings = repaired("name:a\nmetadata:\n\tkey: v\n")
    assert fields == {"name": "a", "metadata": {"key": "v"}}
    assert findings == [("yaml-tab", 4), ("yaml-missing-blank", 2)]


def test_what_is_sound_is_left_alone() -> None:
    block = "name: a\nlist: [a, b]\ntext: |\n  a: b: c\n"
    assert repair_block(block) == (block, ())


def test_only_certain_slips_are_put_right_where_a_file_may_be_half_written() -> None:
    block = 'name: a\ndescription: "cut off\n'
    assert repair_block(block, slips=CERTAIN_SLIPS) == (block, ())
