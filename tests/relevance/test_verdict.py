"""Whether anything here answers a text, by kinds of text: `search` gives hits or says "nothing fits"."""

from __future__ import annotations

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.verdict import MIN_SHOWN_RELEVANCE
from capdisc_indexer.store.snapshot import Index

pytestmark = pytest.mark.relevance

FOREIGN = (
    "zet de lamp in de keuken uit",
    "spegni la luce in bagno",
    "wyłącz światło w kuchni",
    "allume la lumière du salon",
    "aspire le rez-de-chaussée",
    "sluit de rolluiken in de slaapkamer",
)
NAMED = ("merge-pdfs", "git bisect", "`git rebase --onto main`", "pdf", "weather")
STRANGE = (
    "name the moons of Saturn in order of size",
    "teach my parrot to stop screaming",
    "how deep should a fence post be set in clay soil",
    "knit a sweater with a cable pattern",
    "brabb skiftz glonqlm",
    "r",
)


@pytest.fixture
def answer(office):
    """A function from a text to the relevance of its hits."""
    with Index(office) as index:
        encoder = encoders.load_shipped_encoder()
        yield lambda text: [
            hit.relevance for hit in search_index(index, Query(texts=(text,)), encoder).hits
        ]


@pytest.mark.parametrize("text", [*FOREIGN, *NAMED])
def test_a_request_in_another_language_and_a_name_are_answered(answer, text) -> None:
    """What is answered is shown: the first hit has the relevance for that."""
    assert max(answer(text), default=0.0) >= MIN_SHOWN_RELEVANCE


@pytest.mark.parametrize("text", STRANGE)
def test_a_request_for_what_nothing_here_does_is_refused(answer, text) -> None:
    assert answer(text) == []
