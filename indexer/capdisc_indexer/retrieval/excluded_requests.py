"""Lowers what a request finds although its author excludes such requests.

The words of "Do not use for spreadsheets" are not indexed (`text.exclusions`); here they count
against their capability. Late interaction compares each piece of the request with those of the
exclusions, and with those of the capability's own name and description: what the exclusions meet
better is the excluded share of the request.

Of 72 requests written for what 55 public skills exclude, among 2,039 skills, the excluded skill
was the first hit of 10 and one of the first three of 24. Without the words of exclusions: of 8 and
16; with this stage: of 3 and 9. Of 379 requests that those skills quote as their own, 319 have
their skill first with and without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from capdisc_indexer.encoders.static_encoder import FIXED_POINT_ONE, StaticEncoder
from capdisc_indexer.encoders.word_pieces import decode_bag
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.late_interaction import MAX_QUERY_TOKENS
from capdisc_indexer.store.snapshot import Index

# So many of the first candidates are compared: what stands further down wins nothing.
EXCLUSION_DEPTH = 20
# What a request loses that an exclusion meets wholly, and the capability itself not at all. From
# 0.25 to 1 the 72 requests find their excluded skill first 4 to 3 times, and no own one is lost.
EXCLUDED_WEIGHT = 0.5
_MAX_PIECES = 64


def lower_excluded(
    index: Index,
    encoder: StaticEncoder | None,
    texts: Sequence[Sequence[str]],
    scores: dict[str, float],
    headers: Mapping[str, CapabilityHeader],
    signals: Mapping[str, Mapping[str, float]],
) -> tuple[dict[str, float], Mapping[str, Mapping[str, float]]]:
    """The scores, lowered where a request meets what the capability is not for, and the signals
    with `excluded`, the excluded share 0..1 by id.

    `texts` holds each text with its clauses. A capability keeps its score where one of them is not
    excluded, since a request may have several wishes. Without an encoder nothing is lowered: its
    words alone do not match what is not indexed.
    """
    first_ids = [key for key, _ in fusion.order_scores(scores)[:EXCLUSION_DEPTH]]
    excluding = {
        key: exclusions for key in first_ids if (exclusions := headers[key].get("exclusions"))
    }
    if encoder is None or not excluding:
        return scores, signals
    bags = index.documents.token_bags(list(excluding))
    token_ids = [_distinct_ids(encoder, text)[:MAX_QUERY_TOKENS] for text in chain(*texts)]
    shares = {}
    for key, exclusions in excluding.items():
        bag = decode_bag(bags[key])
        own_ids = (*bag.name, *bag.description)
        excluded_ids = _distinct_ids(encoder, "\n".join(exclusions))[:_MAX_PIECES]
        share = min(_excluded_share(encoder, ids, excluded_ids, own_ids) for ids in token_ids)
        if share > 0.0:
            shares[key] = share
    lowered = {
        key: max(0.0, scores[key] - EXCLUDED_WEIGHT * share) for key, share in shares.items()
    }
    return scores | lowered, {**signals, "excluded": shares}


def _distinct_ids(encoder: StaticEncoder, text: str) -> list[int]:
    return list(dict.fromkeys(encoder.token_ids(text)))


def _excluded_share(
    encoder: StaticEncoder,
    query_ids: Sequence[int],
    excluded_ids: Sequence[int],
    own_ids: Sequence[int],
) -> float:
    """The share 0..1 of the query's token weight by which its best matches among the excluded
    pieces are better than those among the capability's own.
    """
    if not (query_ids and excluded_ids and own_ids):
        return 0.0
    pairwise = encoder.compute_distances(query_ids, [*excluded_ids, *own_ids])
    total, gain = sum(pairwise.weights), 0
    border = len(excluded_ids)
    for distances, weight in zip(pairwise.distances, pairwise.weights, strict=True):
        # A distance above 1 is no match at all. Whole numbers, so that the order of addition
        # cannot change the sum.
        excess = min(1.0, *distances[border:]) - min(1.0, *distances[:border])
        gain += weight * int(FIXED_POINT_ONE * max(0.0, excess))
    # Pieces without any weight: punctuation, numbers.
    return gain / (FIXED_POINT_ONE * total) if total else 0.0
