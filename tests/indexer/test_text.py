"""Normalisation of words, identifiers and scripts."""

import doctest
import json
from array import array
from binascii import crc32
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer import lazy_imports
from capdisc_indexer.store import passages
from capdisc_indexer.text import embedding_text, markdown, normalization, token_counts


@pytest.mark.parametrize("module", [embedding_text, markdown, normalization, token_counts])
def test_examples_in_docstrings_hold(module) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_one_line_cuts_on_a_word_and_says_so() -> None:
    assert normalization.one_line("merge several documents into one", 20) == "merge several…"


def test_one_line_drops_what_steers_a_terminal_or_hides() -> None:
    assert normalization.one_line("a\x1b[31mb\u202ec\ufeff\nd") == "a[31mbc d"


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    """Stop words are dropped, unless the query has no other words (S261)."""
    assert normalization.without_stop_words(["how", "are", "you"]) == ["how", "are", "you"]
    assert normalization.without_stop_words(["how", "merge"]) == ["merge"]


LETTERS = st.one_of(st.characters(), st.sampled_from("abcdeisPDFsXyz019_ -.'\n"))


@given(st.text(alphabet=LETTERS, max_size=40))
def test_what_is_added_for_the_text_index_is_what_the_whole_text_holds(given_text) -> None:
    parts, singulars = (
        normalization.split_identifiers(given_text),
        normalization.singular_acronyms(given_text),
    )
    assert normalization.lexical_text(given_text) == normalization.bigrams(
        f"{given_text} {parts} {singulars}".strip()
    )


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=40))
def test_words_of_plain_letters_are_those_that_any_text_has(given_text) -> None:
    assert normalization.simple_words(given_text) == [
        word for word in normalization.simple_words(f"{given_text} é") if word != "é"
    ]


def test_nothing_that_hides_is_printable() -> None:
    """Else `one_line`, which looks at that first, would let it through."""
    assert not any(
        chr(code).isprintable()
        for code in range(0x110000)
        if normalization.UNSAFE_CHARACTERS.match(chr(code))
    )


@given(st.text(max_size=200))
def test_counts_of_lines_are_those_of_the_tokenizer(given_text) -> None:
    counter = token_counts.TokenCounter(lambda: lambda line: len(line.encode("utf-8", "replace")))
    lines = token_counts.split_chunks(given_text) * 2
    assert counter.count_many(lines) == list(map(counter.exact, lines))


def test_lessons_are_taken_until_a_text_is_known() -> None:
    counter, taken = token_counts.TokenCounter(lambda: lambda text: 9), []

    def teach(text: str, count: int) -> None:
        def lesson(pupil: token_counts.TokenCounter) -> None:
            taken.append(text)
            pupil.learn({text: count})

        counter.learn_later(lesson)

    for count, text in enumerate("abc", 1):
        teach(text, count)
    assert (counter.count("b"), taken) == (2, ["a", "b"])
    assert [counter.count(text) for text in "adc"] == [1, 9, 3]
    assert taken == ["a", "b", "c"]


@settings(deadline=None)  # the first example loads the tokenizers
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), max_size=4))
def test_counts_of_a_large_build_are_those_of_a_small_one(texts) -> None:
    small = token_counts.TokenCounter(lazy_imports.load_token_counter)
    large = token_counts.TokenCounter(
        lazy_imports.load_token_counter, load_bulk=lazy_imports.load_bulk_token_counter
    )
    assert large.count_many(texts) == small.count_many(texts)


def test_formats_with_a_folder_of_their_own_are_those_that_the_registry_names() -> None:
    from capdisc_indexer.sources.format_table import SOURCES
    from capdisc_indexer.text.location import FOLDER_FORMATS

    assert {name for name, source in SOURCES.items() if source.owns_folder} == FOLDER_FORMATS


@given(st.lists(st.text("ab é0+\U0001f600", max_size=4), max_size=8).map(" ".join))
def test_a_signature_is_that_of_pairs_of_words(given_text) -> None:
    words = embedding_text._COMPARED_WORD.findall(given_text.lower())
    bins = [0xFFFF] * embedding_text.BINS
    for left, right in pairwise(words):
        value = crc32(f"{left} {right}".encode())
        place = value % embedding_text.BINS
        bins[place] = min(bins[place], (value >> 8) % 0xFFFF)
    expected = array("H", bins).tobytes().hex() if len(set(bins)) > 1 else ""
    assert embedding_text.signature(given_text) == expected


CODE = st.lists(
    st.sampled_from(["```", "~~~", "````x", "` a", "a `b` c", "``` `", "  ~~~~", "", " d"]),
    max_size=9,
).map("\n".join)


@given(CODE)
def test_a_text_without_code_has_its_prose_alone(given_text) -> None:
    shown = markdown.without_code(given_text)
    lines, prose = shown.split("\n"), dict(markdown.prose_lines(given_text))
    assert len(shown) == len(given_text)
    for number, line in enumerate(given_text.split("\n"), 1):
        expected = markdown._SPAN.sub(lambda span: " " * len(span[0]), line)
        assert lines[number - 1] == (expected if number in prose else " " * len(line))


@given(
    st.text(st.sampled_from(list('a"\\\n\x07é\ud800'))), st.lists(st.text(max_size=3), max_size=3)
)
def test_the_head_of_a_passage_is_json(owner, sections) -> None:
    assert passages._write_head(owner, 7, sections) == json.dumps(
        (owner, 7, sections), ensure_ascii=False
    )
