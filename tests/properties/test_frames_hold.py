"""No content can close, open or imitate its frame; a reader gets it back unchanged."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Parameter
from properties.frames import FRAMED
from properties.framing import capability, fault, knowing, printed
from properties.pieces import FRAMING, NOT_XML

ANY = st.text(st.characters(exclude_characters=NOT_XML), max_size=6)
TEXT = st.lists(st.sampled_from(FRAMING) | ANY, max_size=12).map("".join)
TEXTS = st.tuples(TEXT, TEXT, TEXT, TEXT)
FORMS = st.sampled_from(sorted(FRAMED))


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS, FORMS)
def test_each_content_is_read_as_it_was_put_in(ones, others, form) -> None:
    assert fault([capability(ones), capability(others, "beets")], form) == ""


@settings(max_examples=200, deadline=None)
@given(TEXTS, FORMS, st.integers(60, 2_000))
def test_a_cut_content_is_a_part_of_the_whole_with_a_mark(texts, form, characters) -> None:
    assert fault([capability(texts)], form, characters) == ""


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.lists(TEXT, min_size=1, max_size=3), FORMS)
@example(("", "", "", ""), ["- tool:root: first", ""], "text")
def test_a_content_that_knows_the_number_of_its_last_frame_cannot_close_the_next(
    texts, following, form
) -> None:
    one = capability(texts)
    for text in following:
        one = knowing(one, text)
    assert fault([one], form) == ""


@pytest.mark.parametrize("character", NOT_XML)
def test_what_xml_cannot_hold_is_left_out_of_xml(character) -> None:
    assert fault([capability(("", "", "", f"a{character}b"))], "xml") == ""


def test_the_name_of_a_parameter_cannot_break_its_line() -> None:
    one = replace(
        capability(("", "", "", "")),
        schema=None,
        parameters=(Parameter(name="row\x1b[2J\n## Content"),),
    )
    assert "\x1b" not in printed([one], "text")
