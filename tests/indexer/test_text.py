"""Words, identifiers and scripts."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


LETTERS = st.one_of(st.characters(), st.sampled_from("abcdeisPDFsXyz019_ -.'\n"))


@given(st.text(alphabet=LETTERS, max_size=40))
def test_what_is_added_for_the_text_index_is_what_the_whole_text_holds(given_text) -> None:
    parts, singulars = text.split_identifiers(given_text), text.singular_acronyms(given_text)
    assert text.lexical_text(given_text) == text.bigrams(f"{given_text} {parts} {singulars}".strip())


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=40))
def test_words_of_plain_letters_are_those_that_any_text_has(given_text) -> None:
    assert text.simple_words(given_text) == [word for word in text.simple_words(f"{given_text} é") if word != "é"]


def test_nothing_that_hides_is_printable() -> None:
    """Else `one_line`, which looks at that first, would let it through."""
    assert not any(chr(code).isprintable() for code in range(0x110000) if text.UNSAFE.match(chr(code)))


@given(st.text(max_size=200))
def test_counts_of_lines_are_those_of_the_tokenizer(given_text) -> None:
    counter = tokens.TokenCounter(lambda: lambda line: len(line.encode("utf-8", "replace")))
    lines = tokens.chunks(given_text) * 2
    assert counter.of_lines(lines) == list(map(counter.exact, lines))
