"""Where a long text is cut to fit."""

import pytest

from capdisc_indexer.rendering.truncation import cut_pieces, shorten_text


def words(text: str) -> int:
    return len(text.split())


def test_a_cut_comes_before_a_heading_where_that_costs_little() -> None:
    """A cut falls before a heading where that costs little (S139)."""
    pieces = ["# A\n", "one two three\n", "four five six\n\n", "## B\n", "seven eight\n", "nine\n"]
    assert cut_pieces(pieces, 12, words) == pieces[:3]
    assert cut_pieces(pieces, 10, words) == pieces[:3]


def test_a_heading_far_above_is_not_worth_it() -> None:
    pieces = ["# A\n", "one\n", "## B\n", *[f"w{n} x y z\n" for n in range(20)]]
    assert cut_pieces(pieces, 50, words) == pieces[:14]


def test_a_paragraph_is_kept_whole_where_that_costs_less() -> None:
    pieces = [*["w x y z\n"] * 5, "w x y z\n\n", "a b\n", "c d\n", *["e f g\n"] * 9]
    assert cut_pieces(pieces, 28, words) == pieces[:6]


def test_a_line_that_would_leave_most_of_the_room_empty_is_cut_at_a_word() -> None:
    (kept,) = cut_pieces(["word " * 100 + "\n"], 20, words)
    assert kept.endswith("word…\n")
    assert words(kept) == 20


def test_no_heading_is_left_without_its_text() -> None:
    assert cut_pieces(["one two three\n", "## B\n", "a b c d e\n"], 6, words) == [
        "one two three\n"
    ]


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
