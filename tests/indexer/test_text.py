"""Words, identifiers and scripts."""

import doctest

import pytest

from capdisc_indexer import text, tokens


@pytest.mark.parametrize("module", [text, tokens])
def test_examples_in_docstrings_hold(module) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_one_line_cuts_on_a_word_and_says_so() -> None:
    assert text.one_line("merge several documents into one", 20) == "merge several…"


def test_one_line_drops_what_steers_a_terminal_or_hides() -> None:
    assert text.one_line("a\x1b[31mb\u202ec\ufeff\nd") == "a[31mbc d"


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    """S261."""
    assert text.without_stop_words(["how", "are", "you"]) == ["how", "are", "you"]
    assert text.without_stop_words(["how", "merge"]) == ["merge"]
