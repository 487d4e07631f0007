"""Answers cut to a limit of tokens."""

import json

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
