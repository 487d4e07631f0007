"""What the graph does to a ranking, on a catalogue made for it."""

import pytest

from capdisc_indexer.graph.capability_graph import add_neighbours
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from case_rows import read_rows


def asked(index, text, mode="lexical", **filters):
    return search_index(index, Query(texts=(text,), **filters), None, mode)


def ids(ranking):
    return [hit.id for hit in ranking.hits]


HUB = read_rows(__file__, "hub")


def test_a_partner_of_many_does_not_pass_what_fits_better(indexed) -> None:
    """A hub with many partners does not outrank what fits the query (S183)."""
    with Index(indexed(*HUB)) as index:
        assert ids(asked(index, "latest news headlines"))[0] == "tool:news"


NEEDY = read_rows(__file__, "needy")


def test_what_a_hit_requires_comes_along_and_says_through_what(indexed) -> None:
    """What a hit requires is listed with the hit that requires it (S184)."""
    with Index(indexed(*NEEDY)) as index:
        hits = {hit.id: hit.via for hit in asked(index, "formal letter to a customer").hits}
    assert hits == {"tool:letter": "", "tool:zebra": "tool:letter", "document:note": "tool:letter"}


def test_filters_hold_for_what_comes_along(indexed) -> None:
    """Kind and exclusion filters hold for what the graph adds (S185)."""
    with Index(indexed(*NEEDY)) as index:
        found = asked(index, "formal letter to a customer", kinds=("tool",))
        assert ids(found) == ["tool:letter", "tool:zebra"]
        assert ids(asked(index, "formal letter to a customer", exclude=("tool:zebra",))) == [
            "tool:letter",
            "document:note",
        ]


@pytest.mark.parametrize("catalogue", [HUB, NEEDY])
def test_the_order_of_the_catalogue_changes_no_score(indexed, catalogue) -> None:
    """The order of the catalogue changes no score (S186)."""
    with Index(indexed(*catalogue)) as index:
        first = [(hit.id, hit.score) for hit in asked(index, "latest formal letter news").hits]
    with Index(indexed(*reversed(catalogue))) as index:
        assert [
            (hit.id, hit.score) for hit in asked(index, "latest formal letter news").hits
        ] == first


RELATED = read_rows(__file__, "related")


def test_related_ones_are_added_only_on_request_with_a_quota_of_their_own(indexed) -> None:
    """Related hits follow at 0.7 of the score, filtered, beyond the limit (S268, S269)."""
    with Index(indexed(*RELATED)) as index:
        found = asked(index, "paint the fence", limit=1, kinds=("tool",))
        assert ids(found) == ["tool:paint"]
        hits = add_neighbours(index, found, 3, lambda head: True)
    assert [(hit.id, hit.via) for hit in hits[1:]] == [
        ("tool:brush", "tool:paint"),
        ("tool:ladder", "tool:paint"),
    ]
    assert hits[1].score == pytest.approx(0.7 * hits[0].score, abs=1e-4)


def test_what_is_not_available_is_not_added_where_only_that_is_asked_for(indexed) -> None:
    with Index(indexed(*RELATED)) as index:
        found = search_index(
            index, Query(texts=("paint the fence",), available=True, limit=1), None, "lexical"
        )
        assert len(add_neighbours(index, found, 3, lambda head: head["id"] != "tool:brush")) == 3
