"""Tokens counted by the mapped vocabulary are those that the tokenizer's library counts."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer import lazy_imports
from capdisc_indexer.text import o200k

COUNT = lazy_imports.load_token_counter()
MAPPED = o200k.O200kCounter()
SIGNS = st.text(
    st.sampled_from(
        list(
            "abAB sStTlLdD'\n\r\t/.,-_#{}[]\"\\<>&0123\u00e9\u00c9\u00df\u017f\u01c5\u02b0\u3042\u6f22\u0301\u0640\u2460\u2163\u00bd"
        )
        + list("\u00a0\u3000\u2028\u2014\u2192\u2705\U0001f600\u200d\x85\x0b\x0c\x1c\x00\x01\x02")
    ),
    max_size=60,
)


@settings(max_examples=1_500, deadline=None)
@given(SIGNS | st.text(max_size=40))
def test_every_text_has_as_many_tokens(text: str) -> None:
    try:
        counted = MAPPED._count_by_file(text)
    except o200k._UncountableError:  # left to the library
        return
    assert counted == COUNT(text)


def test_every_token_has_its_rank() -> None:
    openai = pytest.importorskip("rs_bpe.bpe").openai
    vocabulary, ranks = openai.o200k_base().bpe(), o200k._Ranks(o200k.VOCABULARY)
    for rank in range(199_998):
        assert ranks[bytes(vocabulary.decode_tokens([rank]))] == rank


def test_much_text_and_long_words_are_left_to_the_library(monkeypatch) -> None:
    loaded = []
    monkeypatch.setattr(
        o200k.lazy_imports, "load_token_counter", lambda: loaded.append(1) or COUNT
    )
    long_word = "\u2500" * 200
    assert o200k.load_counter()(long_word) == COUNT(long_word)
    count = o200k.load_counter()
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(four) for four in product(letters, letters, "aeiouy", letters)]
    texts = [" ".join(words[start : start + 500]) for start in range(0, 15_000, 500)]
    assert [count(text) for text in texts] == [COUNT(text) for text in texts]
    assert loaded == [1, 1]


def test_without_the_file_the_library_counts(monkeypatch, tmp_path) -> None:
    assert o200k.O200kCounter(str(tmp_path / "none.bin")).count("two words") == 2


@pytest.mark.parametrize("form", ["text", "markdown", "json", "xml", "skills-xml", "messages"])
def test_no_format_loads_a_tokenizer(form, capdisc, small, monkeypatch) -> None:
    def never() -> None:
        raise AssertionError("the tokenizer was loaded")

    monkeypatch.setattr(lazy_imports, "load_token_counter", never)
    done = capdisc("render", "merge PDF files", "--budget", "1850", "--format", form)
    assert done.code == 0, done.err
    assert 0 < COUNT(done.out) <= 1850
