"""Where a long text is cut to fit."""

import pytest

from capdisc_indexer.rendering.truncation import cut_pieces, shorten_text
from case_rows import read_rows


def words(text: str) -> int:
    return len(text.split())


SECTIONS = ["# A\n", "one two three\n", "four five six\n\n", "## B\n", "seven eight\n", "nine\n"]
FAR_ABOVE = ["# A\n", "one\n", "## B\n", *[f"w{n} x y z\n" for n in range(20)]]
PARAGRAPH = [*["w x y z\n"] * 5, "w x y z\n\n", "a b\n", "c d\n", *["e f g\n"] * 9]
BARE_HEADING = ["one two three\n", "## B\n", "a b c d e\n"]


@pytest.mark.parametrize(
    ("pieces", "room", "kept"),
    read_rows(
        __file__, "a_cut_comes_before_a_heading_or_behind_a_paragraph_where_that_costs_little"
    ),
)
def test_a_cut_comes_before_a_heading_or_behind_a_paragraph_where_that_costs_little(
    pieces, room, kept
) -> None:
    """A cut falls before a heading where that costs little, and never right behind one (S139)."""
    assert cut_pieces(pieces, room, words) == pieces[:kept]


def test_a_line_that_would_leave_most_of_the_room_empty_is_cut_at_a_word() -> None:
    (kept,) = cut_pieces(["word " * 100 + "\n"], 20, words)
    assert kept.endswith("word…\n")
    assert words(kept) == 20


@pytest.mark.parametrize("room", [-5, 0, 1])
def test_no_room_keeps_nothing_or_next_to_it(room) -> None:
    assert words("".join(cut_pieces(["one two\n", "three\n"], room, words))) <= max(room, 0)


def test_a_shortened_text_has_room_for_its_mark() -> None:
    text = "one two three\n" * 20
    made = shorten_text(text, 30, words)
    assert words(made) <= 30
    assert made.endswith("[cut to fit the budget]\n")
    assert shorten_text(text, 60, words) == text
    assert shorten_text(text, 3, words) == ""
