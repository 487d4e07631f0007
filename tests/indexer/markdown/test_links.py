"""The links of a Markdown text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.text.markdown import find_links
from case_rows import read_rows


def _targets(text: str) -> list[str]:
    return [link.target for link in find_links(text)]


@pytest.mark.parametrize(
    ("text", "targets"),
    read_rows(__file__, "links_are_found_where_a_reader_would_see_them"),
)
def test_links_are_found_where_a_reader_would_see_them(text, targets) -> None:
    assert _targets(text) == targets


def test_a_link_says_its_words_and_its_line() -> None:
    (link,) = find_links("one\n\n[the guide](g.md)")
    assert (link.text, link.target, link.line, link.column) == ("the guide", "g.md", 3, 1)


@pytest.mark.parametrize(
    ("line", "column"),
    read_rows(__file__, "a_link_says_in_which_column_it_begins"),
)
def test_a_link_says_in_which_column_it_begins(line, column) -> None:
    (link,) = find_links(line)
    assert link.column == column


def test_an_escaped_tick_before_others_is_no_code() -> None:
    assert [link.target for link in find_links(r"\`` [a](b.md)")] == ["b.md"]


@given(st.text(alphabet="[]()<>`\\!\"' a:/#.\nhtps~", max_size=400))
def test_any_text_can_be_walked_through(text) -> None:
    for link in find_links(text):
        assert 1 <= link.column <= len(text.split("\n")[link.line - 1])
        assert 1 <= link.line <= text.count("\n") + 1
        assert "\n" not in link.target


@pytest.mark.parametrize(
    "unit", ["](", "[", "[a](", "`", "[a](<", "<h:", '[a](b "', "[a]((", "https://", "[](", "\\["]
)
def test_a_link_that_is_never_closed_is_looked_at_once(unit, monkeypatch) -> None:
    """Counted in steps, not seconds: twice the text takes about twice the steps."""
    import sys

    def steps(size: int) -> int:
        count = 0

        def tracer(frame, event, arg):
            nonlocal count
            count += 1
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            for _ in find_links(unit * size):
                pass
        finally:
            sys.settrace(before)
        return count

    assert steps(400) <= 2.5 * steps(200) + 200
