"""How a body is cut into the passages that search compares with a request."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.text.sections import (
    MAX_CHARACTERS,
    MIN_CHARACTERS,
    find_section,
    split_passages,
)

SENTENCE = "The crane folds both wings down and bends its head before it stands. "
LINES = st.sampled_from(
    [
        "# One",
        "## Two",
        "## Two",
        "### Three",
        "",
        SENTENCE,
        8 * SENTENCE,
        "| a | b |",
        "```",
        "- x",
    ]
)


@given(st.lists(LINES, max_size=60))
def test_passages_hold_every_word_of_a_body_once_and_in_order(lines) -> None:
    body = "\n".join(lines)
    passages = split_passages(body)
    joined = "".join(body[passage.start : passage.end] for passage in passages)
    assert joined.split() == body.split()
    assert all(body[passage.start : passage.end].strip() for passage in passages)


@given(st.lists(LINES, max_size=60))
def test_show_finds_each_section_that_a_passage_names(lines) -> None:
    body = "\n".join(lines)
    for passage in split_passages(body):
        for name in passage.sections:
            assert find_section(body, name) is not None


def test_a_large_section_is_a_passage_and_small_ones_share_one() -> None:
    body = f"# Big\n\n{10 * SENTENCE}\n\n# Small\n\nYes.\n\n## Smaller\n\nNo.\n"
    assert [passage.sections for passage in split_passages(body)] == [
        ("Big",),
        ("Small", "Smaller"),
    ]


def test_a_section_of_a_higher_level_begins_a_passage() -> None:
    body = "# One\n\n## Part\n\nShort.\n\n# Two\n\nShort, too.\n"
    assert [passage.sections for passage in split_passages(body)] == [("One", "Part", "Two")]
    body = "## Part\n\nShort.\n\n# Two\n\nShort, too.\n"
    assert [passage.sections for passage in split_passages(body)] == [("Part",), ("Two",)]


def test_code_and_tables_stay_with_the_paragraph_before_them() -> None:
    code = "```sh\n" + "qpdf --decrypt in.pdf out.pdf\n\n" * 30 + "```\n"
    body = f"# Long\n\n{12 * SENTENCE}\n\nDecrypt it:\n\n{code}\n{12 * SENTENCE}\n"
    texts = [body[passage.start : passage.end] for passage in split_passages(body)]
    assert len(texts) > 1
    (with_code,) = [text for text in texts if "```sh" in text]
    assert "Decrypt it:" in with_code and with_code.count("```") == 2


def test_a_long_section_is_cut_and_each_part_names_it() -> None:
    body = "# Long\n\n" + f"{4 * SENTENCE}\n\n" * 20
    passages = split_passages(body)
    assert {passage.sections for passage in passages} == {("Long",)}
    sizes = [passage.end - passage.start for passage in passages]
    assert max(sizes) <= MAX_CHARACTERS + MIN_CHARACTERS
    assert min(sizes) >= MIN_CHARACTERS


def test_one_line_without_end_is_cut_all_the_same() -> None:
    sizes = [passage.end - passage.start for passage in split_passages("x" * 50_000)]
    assert sum(sizes) == 50_000 and max(sizes) <= 2 * MAX_CHARACTERS
