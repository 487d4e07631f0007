"""How many turns of talk get a context, and how many requests: `turns.tsv`, eight languages.

The list was written for this test and is no part of what the gate is fitted to; many of its turns
are harder than most ("thanks for sorting out the hotel").
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

TURNS = Path(__file__).with_name("turns.tsv")
pytestmark = pytest.mark.relevance


def passing_turns(office: Path, kind: str) -> Iterator[tuple[str, bool]]:
    """Each turn of the kind, and whether it is taken for a request."""
    encoder = encoders.load_shipped_encoder()
    with Index(office) as index:
        for line in TURNS.read_text(encoding="utf-8").splitlines():
            turn_kind, _, text = line.split("\t")
            if turn_kind == kind:
                ranking = search_index(index, Query(texts=(text,)), encoder)
                yield text, bool(ranking.gate and ranking.gate.is_request)


def test_little_talk_is_taken_for_a_request(office) -> None:
    passed = [text for text, is_request in passing_turns(office, "talk") if is_request]
    assert len(passed) <= 14, passed


def test_most_requests_in_eight_languages_are_requests(office) -> None:
    missed = [text for text, is_request in passing_turns(office, "request") if not is_request]
    assert len(missed) <= 17, missed
