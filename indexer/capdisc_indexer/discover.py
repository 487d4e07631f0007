"""The query pipeline: text → candidates from words and from vectors → one score → graph → relevance → hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer import graph, ranking
from capdisc_indexer.candidates import Candidates, candidates
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import UsageError
from capdisc_indexer.index import Index
from capdisc_indexer.judgement import judge
from capdisc_indexer.types import Hit, Query, Ranking

MODES = ("auto", "hybrid", "lexical", "vector")

Availability = Callable[[Mapping[str, Any]], bool]


def discover(
    index: Index, query: Query, encoder: Encoder | None, mode: str = "auto", available: Availability | None = None
) -> Ranking:
    """The capabilities that fit the query, best first; none when nothing does.

    Without an encoder (or with one whose fingerprint is not the index's) words alone decide, and `degraded` says so.
    Raises UsageError for an empty query.
    """
    if not any(text.strip() for text in query.texts):
        raise UsageError("the query is empty", 'say what you need, for example: capdisc search "merge two PDF files"')
    used, degraded = _usable(index, encoder, mode)
    found = [candidates(index, text, query, used, mode) for text in query.texts if text.strip()]
    scores = ranking.combine([ranking.fuse(each.lexical, each.vector, each.known) for each in found])
    heads = {identifier: head for each in found for identifier, head in each.heads.items()}
    if available is not None and query.available:
        heads = {identifier: head for identifier, head in heads.items() if available(head)}
    hits = _hits(index, query, {key: scores[key] for key in heads}, heads, found, available)
    return judge(index, query, hits, found, _mode(mode, used), degraded)


def _usable(index: Index, encoder: Encoder | None, mode: str) -> tuple[Encoder | None, tuple[str, ...]]:
    if mode == "lexical":
        return None, ()
    if index.matrix is None:
        return None, ("this index has no vectors: searching by words alone",)
    if encoder is None:
        return None, ("the encoder is missing or damaged: searching by words alone",)
    if encoder.fingerprint != index.generation.fingerprint:
        return None, ("the index was made with another encoder: searching by words alone; run: capdisc index",)
    return encoder, ()


def _mode(mode: str, encoder: Encoder | None) -> str:
    return "lexical" if encoder is None else "hybrid" if mode == "auto" else mode


def _hits(
    index: Index,
    query: Query,
    scores: dict[str, float],
    heads: dict[str, dict[str, Any]],
    found: list[Candidates],
    available: Availability | None,
) -> list[Hit]:
    """Scores with the graph's part in them, as hits in order."""
    resolve = _resolver(index, query, available)
    gains = graph.partners(heads, scores, resolve)
    total = {key: min(1.0, score + gains.get(key, 0.0)) for key, score in scores.items()}
    order = [heads[key] for key, _ in ranking.ordered(total)]
    needed = graph.requirements(order, total, resolve)
    total |= {key: score for key, (score, _) in needed.items()}
    return [
        Hit(
            id=key,
            score=score,
            relevance=0.0,
            via=needed[key][1] if key in needed else "",
            signals=_signals(key, found, gains, needed),
        )
        for key, score in ranking.ordered(total)
    ]


def _resolver(index: Index, query: Query, available: Availability | None) -> graph.Resolve:
    """Looks names up once; what filters exclude or authors hide stays out, however it is reached."""
    known: dict[str, Mapping[str, Any] | None] = {}

    def resolve(name: str) -> Mapping[str, Any] | None:
        if name not in known:
            head = index.resolve(name)
            passing = index.documents.passing([head["id"]], query) if head else {}
            shut = query.available and available is not None and head is not None and not available(head)
            known[name] = head if head and passing and not head.get("hidden") and not shut else None
        return known[name]

    return resolve


def _signals(
    key: str, found: list[Candidates], gains: Mapping[str, float], needed: Mapping[str, tuple[float, str]]
) -> dict[str, float]:
    signals = {
        "bm25": max((each.lexical.get(key, 0.0) for each in found), default=0.0),
        "cosine": max((each.vector.get(key, 0.0) for each in found), default=0.0),
        "used_together": gains.get(key, 0.0),
        "required": needed[key][0] if key in needed else 0.0,
    }
    return {name: round(value, 4) for name, value in signals.items() if value}
