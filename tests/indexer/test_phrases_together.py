"""What the phrases of a capability say together: for the order of hits, and for confidence."""

import json
from collections.abc import Mapping, Sequence

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query, Ranking
from capdisc_indexer.retrieval.confidence import PHRASE_SIGNS, SIGNS, load_calibration
from capdisc_indexer.retrieval.late_interaction import CENTROID
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from case_rows import read_rows

PHRASES = read_rows(__file__, "phrases")


@pytest.fixture
def search(tmp_path):
    """A function that builds a catalogue of intents with these phrases and asks it."""

    def ask(phrases: Mapping[str, Sequence[str]], text: str) -> Ranking:
        root = tmp_path / "set"
        root.mkdir(exist_ok=True)
        rows = [
            {
                "id": name,
                "kind": "intent",
                "name": name,
                "description": name,
                "phrases": list(texts),
            }
            for name, texts in phrases.items()
        ]
        (root / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        build_index([root], tmp_path / "index", BuildOptions())
        with Index(tmp_path / "index") as index:
            return search_index(index, Query(texts=(text,)), encoders.load_shipped_encoder())

    return ask


def test_one_stray_phrase_does_not_outweigh_the_others(search) -> None:
    stray = PHRASES | {"music": (*PHRASES["music"][:4], "play music when i wake up at seven")}
    ranking = search(stray, "please wake me up at seven tomorrow")
    assert ranking.hits[0].id == "alarm"
    values = {hit.id: hit.signals[CENTROID] for hit in ranking.hits if CENTROID in hit.signals}
    assert max(values, key=values.__getitem__) == "alarm"
    assert all(0 < value <= 1 for value in values.values())


def test_few_phrases_are_examples_and_not_compared_together(search) -> None:
    few = {name: texts[:2] for name, texts in PHRASES.items()}
    few["alarm"] = PHRASES["alarm"]
    ranking = search(few, "set an alarm for nine")
    assert ranking.hits[0].id == "alarm"
    assert not any(CENTROID in hit.signals for hit in ranking.hits)


def test_a_request_for_something_else_is_less_sure_among_phrases(search) -> None:
    own = [search(PHRASES, text).confidence for text in ("set an alarm for nine", "fly to madrid")]
    lacking = [
        search(PHRASES, text).confidence
        for text in ("is autism a genetic disease", "how do i find the area of a circle")
    ]
    assert min(own) > 0.6 > 0.4 > max(lacking)


def test_the_calibration_has_weights_for_phrases() -> None:
    """Another table needs another fit: tools/training/fit_phrase_confidence.py."""
    calibration = load_calibration()
    assert calibration.phrase_weights.keys() == {*SIGNS, *PHRASE_SIGNS}
    assert min(calibration.phrase_weights[name] for name in PHRASE_SIGNS) > 0
