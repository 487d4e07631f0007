"""How a query is cut into clauses, and what of it is handed over rather than asked."""

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.retrieval.query_analysis import content_clauses, remove_payload
from case_rows import read_rows


@pytest.mark.parametrize(
    ("text", "parts"),
    read_rows(__file__, "clauses"),
)
def test_clauses(text, parts) -> None:
    assert content_clauses(text) == tuple(parts)


@pytest.mark.parametrize(
    ("payload", "kind"),
    read_rows(__file__, "what_a_long_request_hands_over_is_left_out"),
)
def test_what_a_long_request_hands_over_is_left_out(payload, kind) -> None:
    request = f"please read what I paste here, {payload} and tell me in a few words what to do"
    assert remove_payload(request).split() == request.replace(payload, " ").split()
    assert payload in remove_payload(f"what is {payload}")


def test_a_request_that_is_all_payload_stays_as_it_is() -> None:
    request = '"one two three four five six seven eight nine ten eleven twelve thirteen"'
    assert remove_payload(request) == request


def test_twelve_clauses_are_read_and_no_more() -> None:
    names = "one two three four five six seven eight nine ten eleven twelve thirteen".split()
    clauses = content_clauses(". ".join(f"water plant {name}" for name in names))
    assert len(clauses) == 12
    assert clauses[-1] == "water plant twelve"


def test_blanks_and_dots_without_end_cost_nothing() -> None:
    for run in (" ", ".", ",", "\n", "! "):
        assert len(content_clauses("merge these" + run * 200_000 + "send them")) <= 2


def test_short_names_are_not_taken_for_made_up_words() -> None:
    encoder = encoders.load_shipped_encoder()
    assert encoder.has_known_word("CI/CD")
    assert encoder.has_known_word("UI")
    assert not encoder.has_known_word("zorbl frimq")
