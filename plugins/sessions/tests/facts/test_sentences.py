"""Sentences of a Markdown text."""

from hypothesis import given
from hypothesis import strategies as st

from capdisc_sessions.fact_texts import (
    MAX_SENTENCE_CHARACTERS,
    spelling_key,
    split_sentences,
    subject_words,
)


def texts(text):
    return [each.text for each in split_sentences(text)]


def test_lines_of_a_paragraph_are_one_text_cut_at_its_sentences() -> None:
    assert texts("One goes\nhere. Two\ngoes there!\n\nThree") == [
        "One goes here.",
        "Two goes there!",
        "Three",
    ]


def test_items_stand_by_themselves_and_know_their_heading() -> None:
    found = list(split_sentences("# Meals\n\n- Lunch: 12\n- Dinner: 30\n"))
    assert [(each.text, each.heading) for each in found] == [
        ("Lunch: 12", "Meals"),
        ("Dinner: 30", "Meals"),
    ]


def test_a_row_of_a_table_stands_under_its_columns() -> None:
    found = list(split_sentences("# Classes\n\n| class | discount |\n|---|---|\n| VIP | 12 % |\n"))
    assert [each.text for each in found] == ["VIP | 12 %"]
    assert "discount" in found[0].heading


def test_code_is_not_read() -> None:
    assert texts("Before.\n\n```\nx = 1.\n```\n\nAfter.") == ["Before.", "After."]


@given(st.text(max_size=300))
def test_no_sentence_has_a_line_break_or_is_longer_than_allowed(text) -> None:
    for each in split_sentences(text):
        assert each.text
        assert "\n" not in each.text
        assert len(each.text) <= MAX_SENTENCE_CHARACTERS


def test_a_subject_is_what_is_left_of_a_question() -> None:
    """The subject of a question keeps its words, and spellings of a name share one key (S51)."""
    assert subject_words("What is the meaning of analysis?") == ["analysis"]
    assert spelling_key("What's the userAge?") == spelling_key("user age")
