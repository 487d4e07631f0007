"""The query pipeline: text → candidates from words and from vectors → one score → graph → relevance → hits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer import ranking
from capdisc_indexer.collapse import collapse
from capdisc_indexer.encoders import Encoder, shipped
from capdisc_indexer.encoders.static import StaticEncoder
from capdisc_indexer.errors import EncoderError, UsageError
from capdisc_indexer.expansion import Availability, expand
from capdisc_indexer.index import Index
from capdisc_indexer.judgement import JUDGED, confidence, is_answer, judge, says_nothing, unmatched
from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.stuffing import held_back
from capdisc_indexer.types import Hit, Query, Ranking
from capdisc_indexer.wishes import wish

NEAREST_CATEGORIES = 8
MODES = ("auto", "hybrid", "lexical", "vector", "no-graph")


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
    reader = _reader(index, used)
    began = time.perf_counter()
    wishes = [wish(index, text, query, used, reader, mode) for text in query.texts if text.strip()]
    scores = ranking.combine([each.scores for each in wishes])
    found = [looked for each in wishes for looked in each.found]
    heads = {identifier: head for each in found for identifier, head in each.heads.items()}
    if available is not None and query.available:
        heads = {identifier: head for identifier, head in heads.items() if available(head)}
    ranked = time.perf_counter()
    hits = expand(index, query, held_back(scores, heads), heads, wishes, available, mode != "no-graph")
    expanded = time.perf_counter()
    hits = collapse(hits, heads)
    strange = reader is not None and not any(reader.recognises(text) for text in query.texts)
    telling = [] if says_nothing(query.texts) else found
    judged = judge(index, hits[: max(JUDGED, query.limit)], telling, strange, _mode(mode, used))
    fits = is_answer(judged)
    return Ranking(
        query=query,
        hits=tuple(judged[: query.limit]) if fits else (),
        mode=_mode(mode, used),
        degraded=degraded,
        confidence=confidence(judged) if fits else 0.0,
        unmatched=unmatched(index, query),
        categories=_categories(hits, heads),
        candidates=len(heads),
        timings={
            "ranking": 1000 * (ranked - began),
            "vectors": 1000 * sum(each.vectors_s for each in found),
            "graph": 1000 * (expanded - ranked),
            "judgement": 1000 * (time.perf_counter() - expanded),
        },
    )


def _categories(hits: Sequence[Hit], heads: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The categories that come nearest, whether or not a hit fits."""
    found = dict.fromkeys(heads[hit.id].get("category") or UNCATEGORISED for hit in hits if hit.id in heads)
    return tuple(found)[:NEAREST_CATEGORIES]


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


def _reader(index: Index, used: Encoder | None) -> StaticEncoder | None:
    """The shipped encoder, when the index has its pieces; whatever encoder made the vectors."""
    if used is None:
        return None
    if isinstance(used, StaticEncoder) and used.fingerprint == index.generation.pieces:
        return used
    try:
        reader = shipped()
    except EncoderError:
        return None
    return reader if reader.fingerprint == index.generation.pieces else None


def _mode(mode: str, encoder: Encoder | None) -> str:
    return "lexical" if encoder is None else "hybrid" if mode == "auto" else mode
