"""How sure the answer is: the absolute relevance of each hit, and from it refusal and confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from capdisc_indexer import ranking
from capdisc_indexer.candidates import Candidates
from capdisc_indexer.frozen import replace
from capdisc_indexer.index import Index
from capdisc_indexer.spelling import worded
from capdisc_indexer.text import MAX_QUERY_CHARACTERS, STOP_WORDS, simple_words, without_stop_words, words
from capdisc_indexer.types import Hit, Query

# When no hit reaches this, nothing is returned: none shares enough of what the query says, in words or in meaning.
LEAST_RELEVANCE = 0.1
# How many hits are judged; the order is settled before, so that the first ones are what counts.
JUDGED = 20
# How far above what meaningless queries reach a cosine has to be to stand for a full match: half of all real queries
# come closer than that (eight data sets, the shipped encoder).
STRONG = 0.42
# What is left of a likeness in meaning when no word of the query is a word in any language that the encoder knows: its
# pieces still mean something, by accident. Of made-up queries 96 in a hundred are refused so, 90 without it.
STRANGE = 0.2
# A logistic model of "the first hit is right". Fitted on seven data sets it says of the eighth: where it gives 0.32, 35
# in a hundred are right; 0.51, 51; 0.69, 69; 0.89, 92.
BIAS, OF_RELEVANCE, OF_LEAD, MOST_LEAD = -1.36, 1.76, 8.29, 0.4
# Where there is nothing to lead before.
LEAD_OF_ONE = 0.1


def judge(index: Index, hits: Sequence[Hit], found: Sequence[Candidates], strange: bool, mode: str) -> list[Hit]:
    """The hits with their relevance, from a query's candidates; `strange`: none of its words is one."""
    terms = list(dict.fromkeys(term for each in found for term in each.information))
    held = index.documents.holding(terms, [hit.id for hit in hits])
    level, share = index.generation.background, STRANGE if strange else 1.0
    return [_judged(hit, held.get(hit.id, frozenset()), found, mode, level, share) for hit in hits]


def says_nothing(texts: Sequence[str]) -> bool:
    """Whether the texts hold nothing but small words ("how are you"): sharing those means nothing."""
    return all(word.lower() in STOP_WORDS for text in texts for word in simple_words(text[:MAX_QUERY_CHARACTERS]))


def is_answer(judged: Sequence[Hit]) -> bool:
    """Whether one of the first hits says enough about the query."""
    return any(hit.relevance >= LEAST_RELEVANCE for hit in judged[:JUDGED])


def _judged(hit: Hit, held: frozenset[str], found: Sequence[Candidates], mode: str, level: float, share: float) -> Hit:
    covered = max((ranking.coverage(each.information, held) for each in found), default=0.0)
    signals = {name: round(value, 4) for name, value in hit.signals.items()}
    cosine = signals.get("cosine", 0.0)
    similar = None if mode == "lexical" else share * ranking.similarity(cosine, level, level + STRONG)
    signals["coverage"] = round(covered, 4)
    return replace(hit, relevance=round(ranking.relevance(covered, similar), 4), signals=signals)


def confidence(judged: Sequence[Hit]) -> float:
    """How likely the first hit is right, 0..1, from its relevance and its lead over the next one that was asked for."""
    hits = [hit for hit in judged if not hit.via]
    if not hits:
        return 0.0
    lead = min(MOST_LEAD, hits[0].score - hits[1].score) if len(hits) > 1 else LEAD_OF_ONE
    return round(1.0 / (1.0 + math.exp(-(BIAS + OF_RELEVANCE * hits[0].relevance + OF_LEAD * lead))), 4)


def unmatched(index: Index, query: Query) -> tuple[str, ...]:
    """The words of the query that no capability uses."""
    kept = without_stop_words([word for text in query.texts for word in words(text[:MAX_QUERY_CHARACTERS])])
    documents = index.documents
    return tuple(
        word
        for word in dict.fromkeys(kept)
        if not any(documents.frequency(term) for term in worded(documents, word).terms)
    )
