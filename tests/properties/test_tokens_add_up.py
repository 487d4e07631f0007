"""Token counts of pieces add up to the count of the whole, which every budget relies on."""

from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.text.token_counts import TokenCounter, split_chunks

COUNT = load_token_counter()
HOSTILE = st.text(
    st.sampled_from(
        list("ab1 9.,;:!/#`->|\t\n\n\n\r\u00a0\u2028\u3000é中文한\U0001f600\u0301'\"<")
    ),
    max_size=200,
)


@settings(max_examples=400, deadline=None)
@given(HOSTILE)
def test_chunks_lose_nothing_and_their_counts_add_up(text: str) -> None:
    text = text.replace("\r", "\n")
    pieces = split_chunks(text)
    assert "".join(pieces) == text
    assert sum(COUNT(piece) for piece in pieces) == COUNT(text)


def test_known_counts_need_no_tokenizer() -> None:
    def never():
        raise AssertionError("the tokenizer was loaded")

    counter = TokenCounter(never)
    counter.learn({"hello": 1})
    assert counter.count("hello") == 1


def test_a_text_that_looks_like_a_special_token_is_counted_as_text() -> None:
    assert COUNT("<|endoftext|>") > 1
