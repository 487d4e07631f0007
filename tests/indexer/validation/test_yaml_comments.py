"""Comments in YAML, and values that only look like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.validation.finding_selection import suppression_comments
from case_rows import read_rows

OURS = "# capdisc: ignore=name-case"


def lines(text: str, path: str = "CAPABILITY.yaml") -> list[int]:
    """The lines of the comments that are obeyed."""
    return [each.line for each in suppression_comments(text, path)]


@pytest.mark.parametrize(
    "text",
    [
        f"d: |\n  text\n  {OURS}\n",
        f"d: >-\n\n  {OURS}\n  more\n",
        f"d: |2\n  {OURS}\n",
        f"- d: |\n    {OURS}\n",
        f"a:\n  - |\n    {OURS}\n",
        f"d: !!str |\n  {OURS}\n",
        f"d: &x |\n  {OURS}\n",
        f"d: 'one\n  {OURS}\n  two'\n",
        f'd: "one {OURS}\n  two"\n',
        f'd: ["one\n  {OURS}\n  two"]\n',
        f'"a\n {OURS}\n  b": c\n',
    ],
)
def test_a_value_that_holds_the_words_silences_nothing(text: str) -> None:
    assert lines(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    read_rows(__file__, "a_comment_beside_a_value_is_one"),
)
def test_a_comment_beside_a_value_is_one(text: str, expected: list[int]) -> None:
    assert lines(text) == expected


def test_in_a_text_that_was_repaired_only_its_sound_lines_have_comments() -> None:
    text = (
        f"---\ndescription: Use when: asked  {OURS}\nname: A  {OURS}\nd: |\n  {OURS}\n---\nText\n"
    )
    assert lines(text, "SKILL.md") == [3]


def test_a_text_that_is_no_yaml_has_none() -> None:
    assert lines(f"[[[  {OURS}\n}}}}\n\t- {OURS}\n") == []


def test_a_text_with_more_values_than_are_read_has_none() -> None:
    assert lines("- a\n" * 30_000 + f"- b  {OURS}\n") == []


PIECES = read_rows(__file__, "pieces")


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_is_too_odd_to_be_looked_through(text: str) -> None:
    text = f"---\n{text}\n---\n"
    for path in ("SKILL.md", "CAPABILITY.yaml"):
        lines = range(1, text.count("\n") + 2)
        assert all(comment.line in lines for comment in suppression_comments(text, path))
