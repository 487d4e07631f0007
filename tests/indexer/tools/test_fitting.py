"""Answers cut to a limit of tokens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc.commands.call import truncate_answer
from capdisc_indexer.model.errors import UsageError


def length(answer: dict) -> int:
    return len(json.dumps(answer))


def test_a_list_is_cut_as_little_as_the_limit_needs() -> None:
    """A long list is cut to the limit (S126)."""
    cut = truncate_answer({"query": "x", "tools": list(range(1000))}, 200, length)
    assert cut["tools"] == list(range(len(cut["tools"])))
    assert 190 <= length(cut) <= 200


def test_a_long_text_inside_is_cut_too() -> None:
    """A long text inside an answer is cut, and the characters left out are counted (S126)."""
    cut = truncate_answer({"tool": {"name": "x", "text": "word " * 500}}, 300, length)
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
    """What fits is unchanged; else what is left out is counted (S126)."""
    try:
        cut = truncate_answer(answer, limit, length)
    except UsageError:
        assert length(answer) > limit
        return
    assert length(cut) <= limit
    assert cut == answer if length(answer) <= limit else cut["truncated"] is True
    for key, value in answer.items():
        assert len(cut[key]) + cut.get("left_out", {}).get(key, 0) == len(value)
