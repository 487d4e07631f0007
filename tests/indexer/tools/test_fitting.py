"""Answers cut to a limit of tokens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc.commands.call import truncate_answer
from capdisc_indexer.model.errors import UsageError


def length(answer: dict) -> int:
    return len(json.dumps(answer))


def test_what_fits_stays_as_it_is() -> None:
    """An answer that fits its limit is unchanged (S126)."""
    assert truncate_answer({"a": [1, 2]}, 100, length) == {"a": [1, 2]}


def test_a_list_is_cut_and_what_is_missing_is_counted() -> None:
    """A long list is cut to the limit, and the entries left out are counted (S126)."""
    cut = truncate_answer({"query": "x", "tools": list(range(1000))}, 200, length)
    assert cut["truncated"] is True
    assert len(cut["tools"]) + cut["left_out"]["tools"] == 1000
    assert cut["tools"] == list(range(len(cut["tools"])))
    assert 190 <= length(cut) <= 200


def test_a_long_text_inside_is_cut_too() -> None:
    """A long text inside an answer is cut, and the characters left out are counted (S126)."""
    cut = truncate_answer({"tool": {"name": "x", "text": "word " * 500}}, 300, length)
    assert length(cut) <= 300
    assert cut["left_out"]["tool.text"] + len(cut["tool"]["text"]) == 2500


def test_a_limit_too_small_for_anything_is_an_error() -> None:
    """A limit too small for any answer is a usage error (S126)."""
    with pytest.raises(UsageError):
        truncate_answer({"a": [1, 2, 3], "b": "x" * 50}, 20, length)


@given(
    st.dictionaries(
        st.sampled_from("abc"), st.lists(st.text(max_size=20), max_size=30) | st.text(max_size=300)
    ),
    st.integers(60, 600),
)
def test_the_limit_holds_or_is_refused(answer, limit) -> None:
    try:
        assert length(truncate_answer(answer, limit, length)) <= limit
    except UsageError:
        assert length(answer) > limit
