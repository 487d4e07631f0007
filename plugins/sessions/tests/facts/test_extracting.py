"""Facts that a text states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_sessions.fact_texts import PATTERNS, read_statements
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


def test_a_new_value_in_a_request_is_proposed_and_kept_only_when_asked(call) -> None:
    """A new value in a request is proposed as a fact and stored only with `save` (S88)."""
    done = call("extract_facts_from_text", text="change my age to 50")
    assert [(each["name"], each["value"]) for each in done["facts"]] == [("age", "50")]
    assert done["saved"] is False
    assert call("list_known_facts")["total"] == 0
    assert call("extract_facts_from_text", text="change my age to 50", save=True)["saved"] is True
    assert call("resolve_fact", question="What is my age?")["answer"] == "50"


def test_the_tool_says_its_rules_and_counts_what_it_skipped(call) -> None:
    """The tool names its rules and needs no language model (S49, S311)."""
    done = call("extract_facts_from_text", text="a = 1\n" + "Well, well.\n" * 60)
    assert done["rules"] == list(PATTERNS)
    assert (len(done["facts"]), len(done["skipped"]), done["skipped_total"]) == (1, 50, 120 // 2)
    assert "no language model" in done["note"]


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
