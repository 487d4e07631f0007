"""A query that nothing fits finds nothing, however large the catalogue."""

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.indexing.embeddings import null_queries
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def many(hermetic, write_skill):
    """A few hundred skills: enough that something is always a little near."""
    nouns = "invoice kernel garden protein ticket song contract river engine poem".split()
    verbs = "writes checks draws sorts counts repairs translates plans reviews sells".split()
    for noun in nouns:
        for verb in verbs:
            for place in ("office", "lab", "kitchen"):
                name = f"{verb}-{noun}-{place}"
                write_skill(
                    hermetic / "skills",
                    name,
                    f"{verb.title()} every {noun} of the {place}. Use when asked.",
                )
    build_index([hermetic / "skills"], hermetic / "index", BuildOptions())
    return hermetic / "index"


def test_made_up_words_find_nothing_in_a_large_catalogue(many) -> None:
    """Invented words find nothing, measured against the index's background (S255)."""
    encoder = encoders.load_encoder()
    with Index(many) as index:
        assert index.generation.background > 0.15
        answered = [
            text
            for text in null_queries()[:30]
            if search_index(index, Query(texts=(text,)), encoder).hits
        ]
        assert len(answered) <= 9
        ranking = search_index(index, Query(texts=("zorble frimp",)), encoder)
        assert (ranking.hits, ranking.unmatched) == ((), ("zorble", "frimp"))


def test_a_real_request_is_sure_of_itself(many) -> None:
    with Index(many) as index:
        ranking = search_index(
            index, Query(texts=("repair the engine in the lab",)), encoders.load_encoder()
        )
        assert ranking.hits[0].id == "skill:repairs-engine-lab"
        assert ranking.confidence > 0.5
        assert ranking.unmatched == ()


def test_relevance_and_score_stay_on_0_to_1(many) -> None:
    with Index(many) as index:
        hits = [
            hit
            for text in ("song", "sell the river", "plan plan plan", "the of and")
            for hit in search_index(index, Query(texts=(text,)), encoders.load_encoder()).hits
        ]
    assert hits
    for hit in hits:
        assert 0 <= hit.relevance <= 1
        assert 0 <= hit.score <= 1


def test_an_empty_query_is_an_error(many) -> None:
    with Index(many) as index, pytest.raises(UsageError, match="empty"):
        search_index(index, Query(texts=("  ", "")), None)
