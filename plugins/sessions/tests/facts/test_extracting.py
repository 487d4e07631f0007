"""Facts that a text states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_sessions.fact_texts import read_statements
from case_rows import read_rows


@pytest.mark.parametrize(("line", "rule", "name", "value"), read_rows(__file__, "stated"))
def test_plain_statements_are_found(line, rule, name, value) -> None:
    """Statements such as `X is Y` and `X: Y` give a name and a value (S49)."""
    (found,) = read_statements(line)
    assert (found.rule, found.name, found.value) == (rule, name, value)


@pytest.mark.parametrize(("line", "why"), read_rows(__file__, "skipped"))
def test_everything_else_is_named_as_skipped_with_its_reason(line, why) -> None:
    """A line that states nothing is skipped, with the reason (S49)."""
    (found,) = read_statements(line)
    assert (found.rule, found.why) == ("", why)


@given(st.text(alphabet=st.characters() | st.sampled_from(list(" =:.?\n\t*_-")), max_size=300))
def test_no_text_breaks_it_and_no_line_goes_unnamed(text) -> None:
    for found in read_statements(text):
        assert bool(found.rule) != bool(found.why)
        assert "\n" not in found.name + found.value + found.text


@pytest.mark.parametrize(
    "text", [" " * 60_000 + "is", "a " * 30_000, "is " * 20_000, "_*" * 30_000, "= " * 30_000]
)
def test_long_runs_are_read_in_time_that_grows_with_their_length(text) -> None:
    assert isinstance(read_statements(text), list)
