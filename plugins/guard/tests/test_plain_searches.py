"""The rules look for plain characters and words before they run an expression; they find the same."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_guard import hidden_text, injection_phrases, markup, payloads
from capdisc_indexer.text.markdown import without_code
from case_rows import read_rows

HIDDEN = st.text(
    st.sampled_from(
        list(
            "ab \n\t\x07\x1b\u00ad\u3164\u115f\u1160\u1161\u2800\u2801\u200b\u200d\u2060\ufeff\ufe0f\ufe0e\u4e00"
            "\u0600\u26a0\ue000\U000e0100\U000e0041\U0001f3f4\ud800\u0301\u2028"
        )
    ),
    max_size=40,
)
ORDERS = st.lists(
    st.sampled_from(
        "ignore disregard all previous instructions rules forget override bypass you are now an unrestricted do not"
        " don't never tell inform the user without telling new system prompt: send post conversation to https: ignoreall"
        ' undo \n . " it'.split(" ")
    ),
    max_size=25,
).map(" ".join)
COMMENTS = st.lists(st.sampled_from(read_rows(__file__, "comments")), max_size=20).map("".join)


@settings(max_examples=300)
@given(HIDDEN)
@pytest.mark.parametrize("name", ["_BLANK", "_STRAY", "_UNASSIGNED", "_SELECTORS"])
def test_signs_lead_to_what_the_expression_finds(name: str, text: str) -> None:
    signs = {"_BLANK": "_BLANK_SIGN", "_STRAY": "_WIDTHLESS", "_SELECTORS": "_SELECTOR"}
    pattern = getattr(hidden_text, name)
    sign = getattr(hidden_text, signs.get(name, name))
    unusual = hidden_text._unusual_characters(text)
    matches = [match.span() for match in pattern.finditer(text)]
    assert [match.span() for match in hidden_text._find_matches(pattern, sign, text)] == matches
    assert not matches or sign.search(unusual)


@settings(max_examples=300)
@given(HIDDEN)
def test_what_is_unusual_is_all_that_hides(text: str) -> None:
    unusual = hidden_text._unusual_characters(text)
    for pattern in (
        hidden_text._ANY_OF_THEM,
        hidden_text._BIDI,
        hidden_text._CONTROL,
        hidden_text._TAGS,
    ):
        assert bool(pattern.search(unusual)) == bool(pattern.search(text))


@settings(max_examples=500)
@given(ORDERS)
def test_orders_are_found_where_they_begin(text: str) -> None:
    for _, beginnings, pattern in injection_phrases._INJECTION:
        matches = injection_phrases._find_matches(pattern, beginnings, text)
        assert [match.span() for match in matches] == [
            match.span() for match in pattern.finditer(text)
        ]


@settings(max_examples=500)
@given(COMMENTS)
def test_comments_begin_where_the_expression_says(text: str) -> None:
    definition = markup._DEFINITION.pattern
    expression = re.compile(f"<!--|^{definition}", re.MULTILINE)
    starts = [
        match.start() for match in re.finditer(f"(?=<!--|^{definition})", text, re.MULTILINE)
    ]
    assert markup._comment_starts(text) == starts
    assert {match.start() for match in expression.finditer(text)} <= set(starts)


@given(
    st.integers(0, 500), st.integers(300, 500), st.sampled_from([" ", "\t", "\u00a0", " \u3000"])
)
def test_blanks_out_of_sight_are_seen_in_a_hundredth_of_the_text(
    before: int, count: int, blank: str
) -> None:
    text = "x" * before + (blank * count)[:count] + "x"
    assert not markup._BLANKS.search(text) or markup._SPARSE_BLANKS.search(text[::100])


@given(st.integers(0, 20), st.integers(150, 300), st.sampled_from(["a", "Z9+/", "0f"]))
def test_long_codes_are_seen_in_a_quarter_of_the_text(
    before: int, count: int, letters: str
) -> None:
    text = " " * before + (letters * count)[:count] + " "
    assert not payloads._LONG_CODE.search(text) or payloads._may_hold_long_code(text)


LINKS = st.lists(st.sampled_from(read_rows(__file__, "links")), max_size=12).map("".join)


@settings(max_examples=500)
@given(LINKS)
def test_a_script_link_stands_behind_a_sign(text: str) -> None:
    assert not payloads._SCRIPT.search(text) or payloads._may_link_script(text)


@given(st.text(st.sampled_from(list("aB`~\n \t[]#")), max_size=40))
def test_small_letters_do_not_change_what_is_code(text: str) -> None:
    assert without_code(text).lower() == without_code(text.lower())
