"""Entities that declared rules find in results."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_sessions.session_types import MAX_TEXT
from capdisc_sessions.transitions import ExtractionRule, extract_entities, parse_rule
from case_rows import read_rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "items", "type"]), inner)
    ),
    max_leaves=10,
)
PAGES = {"path": "items", "type": "page", "nameField": "name", "isArray": True}


def found(declared, result):
    rule = parse_rule(declared)
    assert isinstance(rule, ExtractionRule), rule
    return extract_entities(rule, result, "tool:x")


@pytest.mark.parametrize(("declared", "result", "named"), read_rows(__file__, "found"))
def test_a_rule_finds_what_it_names(declared, result, named) -> None:
    entities = found(declared, result).entities
    assert [[each.type, each.id, each.name] for each in entities] == named


@pytest.mark.parametrize(
    ("result", "why"),
    [
        *read_rows(__file__, "nothing"),
        ({"items": [{"id": "x" * (MAX_TEXT + 1)}]}, "has no id"),
        (None, "nothing at items"),
    ],
)
def test_nothing_is_guessed_and_the_reason_is_given(result, why) -> None:
    """A result that the rule does not fit yields no entity, and the reason is given (S286)."""
    done = found(PAGES, result)
    assert done.entities == ()
    assert why in done.why


@pytest.mark.parametrize("wrong", read_rows(__file__, "rules"))
def test_a_rule_that_says_nothing_is_said(wrong) -> None:
    assert isinstance(parse_rule(wrong), str)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(JSON, st.booleans())
def test_no_result_breaks_it_and_all_that_comes_out_is_one_line(result, many) -> None:
    for each in found({**PAGES, "typeField": "type", "isArray": many}, result).entities:
        assert all(
            text and "\n" not in text and len(text) <= MAX_TEXT
            for text in (each.type, each.id, each.name)
        )
