"""Floors on retrieval quality, on 120 capabilities and requests as people write them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

HERE = Path(__file__).parent
pytestmark = pytest.mark.relevance


def _queries(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def _qrels() -> dict[str, dict[str, float]]:
    qrels: dict[str, dict[str, float]] = {}
    for line in (HERE / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        qid, identifier, grade = line.split("\t")
        qrels.setdefault(qid, {})[identifier] = float(grade)
    return qrels


def _ndcg(ids: list[str], gold: dict[str, float]) -> float:
    gained = sum(
        gold.get(identifier, 0.0) / math.log2(rank + 2) for rank, identifier in enumerate(ids[:10])
    )
    best = sorted(gold.values(), reverse=True)[:10]
    return gained / sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))


def _measure(index_dir: Path, mode: str) -> tuple[float, float]:
    """nDCG@10 and the share of queries whose best answer is among the first three, in percent."""
    qrels, encoder, queries = _qrels(), encoders.load_encoder(), _queries("queries.jsonl")
    gains, first = [], 0
    with Index(index_dir) as index:
        for query in queries:
            gold = qrels[query["qid"]]
            ids = [
                hit.id
                for hit in search_index(index, Query(texts=(query["text"],)), encoder, mode).hits
            ]
            gains.append(_ndcg(ids, gold))
            first += max(gold, key=gold.__getitem__) in ids[:3]
    ndcg, share = 100 * sum(gains) / len(gains), 100 * first / len(queries)
    print(f"\n{mode}: nDCG@10 {ndcg:.1f}, best answer in the first three {share:.1f} %")
    return ndcg, share


def test_hybrid_search_keeps_its_floor_and_beats_words_alone(office) -> None:
    hybrid, share = _measure(office, "hybrid")
    lexical, _ = _measure(office, "lexical")
    assert hybrid >= 56
    assert share >= 56
    assert hybrid > lexical


@pytest.mark.parametrize(("kind", "most"), [("made up", 0), ("of another world", 6)])
def test_most_of_what_the_catalogue_cannot_answer_is_refused(office, kind, most) -> None:
    """Queries that the catalogue cannot answer are refused, up to a fixed number (S316)."""
    encoder, nonsense = (
        encoders.load_encoder(),
        [each for each in _queries("nonsense.jsonl") if each["kind"] == kind],
    )
    with Index(office) as index:
        answered = [
            q["text"]
            for q in nonsense
            if search_index(index, Query(texts=(q["text"],)), encoder).hits
        ]
    print(f"\n{kind}: refused {len(nonsense) - len(answered)} of {len(nonsense)}")
    assert len(nonsense) == 10
    assert len(answered) <= most


# Chosen by hand: a sentence without the author's own words, and the capability it means.
SENTENCES = {
    "put these three PDFs in one file": "skill:merge-pdfs",
    "which commit broke the build": "skill:git-bisect",
    "what will the weather be like in Oslo on Friday": "tool:weather-forecast",
    "cancel tomorrow's dentist appointment": "tool:cancel-event",
    "how much protein is in my lunch": "tool:count-calories",
    "is this email a scam": "skill:phishing-check",
    "how many euros are 200 dollars": "tool:convert-currency",
    "turn on the lights in the kitchen": "tool:switch-lights",
    "black out the names before we publish the contract": "skill:redact-pdf",
    "remind me to call the bank at noon": "tool:set-reminder",
    "which flights go to Lisbon next week": "tool:search-flights",
    "our query takes forever, why": "skill:sql-query-tuning",
}


def test_ten_of_twelve_sentences_find_their_capability_in_the_first_three(capdisc, office) -> None:
    known = set(capdisc("list", "--ids").out.split())
    assert set(SENTENCES.values()) <= known
    found = [
        expected in capdisc("search", text, "--ids", "-k", "3").out.split()
        for text, expected in SENTENCES.items()
    ]
    assert sum(found) >= 10, [text for text, hit in zip(SENTENCES, found, strict=True) if not hit]


# Requests for the same English catalogue in sixteen languages, written before their hits were seen.
OTHER_LANGUAGES = {
    "schick dem Kunden eine Rechnung": "tool:create-invoice",
    "combine ces deux PDF en un seul": "skill:merge-pdfs",
    "¿qué tiempo hará mañana en Madrid?": "tool:weather-forecast",
    "accendi la luce in cucina": "tool:switch-lights",
    "converte 200 dólares em euros": "tool:convert-currency",
    "vertaal deze brief naar het Engels": "tool:translate-text",
    "przypomnij mi o spotkaniu z bankiem": "tool:set-reminder",
    "zruš zítřejší schůzku": "tool:cancel-event",
    "выключи свет на кухне": "tool:switch-lights",
    "переклади лист англійською": "tool:translate-text",
    "发送发票给客户": "tool:create-invoice",
    "明日の天気を教えて": "tool:weather-forecast",
    "이 PDF 파일들을 합쳐 줘": "skill:merge-pdfs",
    "mutfaktaki ışıkları kapat": "tool:switch-lights",
    "översätt brevet till engelska": "tool:translate-text",
    "ma holnap esik az eső?": "tool:weather-forecast",
}


def test_most_requests_in_other_languages_find_their_capability_in_the_first_three(
    capdisc, office
) -> None:
    """The shipped encoder answers other languages (S265)."""
    missed = [
        text
        for text, expected in OTHER_LANGUAGES.items()
        if expected not in capdisc("search", text, "--ids", "-k", "3").out.split()
    ]
    assert len(missed) <= 3, missed
