"""Tells siblings apart: capabilities whose names and descriptions meet a request about equally.

What differs is said in three places. Their bodies go on where a description ends: the one that is
meant has several passages about the request, and each of the others has one that happens to share
its words. Authors of siblings write whose a task is: "For popup copy, see popup-cro" in the
description of one speaks for the other. (`lower_excluded` lowers the one that says so.) And a
request that tells a symptom ("why did my job fail?") has the words of what fails; the sibling
whose name says that it finds faults is meant.

Measured on 667 prompts for 26 siblings of one vendor: the right one is first for 79 in a hundred
(63 without this stage, 73 with bodies alone, 68 with referrals alone, 76 with both) and among the
first three for 91 (82, 88, 85, 89). On half of them the constants of bodies and referrals were
chosen; the other half has the same figures.

A description may also say what its capability is not for. The words of "Do not use for
spreadsheets" are not indexed (`text.exclusions`); here they count against it. Late interaction
compares each piece of the request with those of the exclusions, and with those of the capability's
own name and description: what the exclusions meet better is the excluded share of the request.

Of 72 requests written for what 55 public skills exclude, among 2,039 skills, the excluded skill
was the first hit of 10 and one of the first three of 24. Without the words of exclusions: of 8 and
16; with this stage: of 3 and 9. Of 379 requests that those skills quote as their own, 319 have
their skill first with and without it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from capdisc_indexer.encoders.static_encoder import FIXED_POINT_ONE, StaticEncoder
from capdisc_indexer.encoders.word_pieces import decode_bag
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.late_interaction import MAX_QUERY_TOKENS
from capdisc_indexer.retrieval.query_analysis import AnalysedText
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import FUZZY_SUFFIX
from capdisc_indexer.text.normalization import compile_late

# So many of the first candidates are compared, by so many of their passages. With 20 and 100 the
# figures are the same within a point.
DEPTH, MAX_PASSAGES = 12, 60
# The evidence of a body is the sum of its best five passages: with three the vendor's right skill
# is first for two in a hundred fewer.
BEST_PASSAGES = 5
# A request of two words is a name or a phrase of a description, and bodies mislead: they cost
# requests that descriptions quote 5 points of nDCG@10. They weigh fully from eight words on.
FEW_TERMS, MANY_TERMS = 2, 8
# What a capability gains whose sibling refers the whole request to it. 0.15 to 0.45 give the same;
# to lower the sibling by as much cost what this gains.
REFERRAL_WEIGHT = 0.3
# What the sibling that finds faults gains where the request tells a symptom; 0.6 gives the same.
# Of 12 symptoms told to 12 siblings of another vendor it is first for 7 (2 without), beside 550
# other skills for 10 (2); of 18 other requests for them none changes.
FAULT_WEIGHT = 0.45
_SYMPTOM = compile_late(
    # "Explain why we have roles" tells none.
    r"\bwhy (?:did|do|does|is|are|was|were|has|have|wo|ca|my)(?:n't)?\b|\bwhy\s*\?|\bfind (?:out )?why\b"
    r"|\bwhat(?:'s| is| went)(?: going)? wrong\b|\bwhat (?:broke|changed|happened)\b"
    r"|\b(?:root|the) cause\b|\b(?:diagnose|investigate|triage)\b|为什么|なぜ"
    r"|\b(?:warum|wieso|pourquoi|por qué|perché|waarom|dlaczego|proč|varför|hvorfor|почему|чому)\b",
    re.IGNORECASE,
)
# Stems.
_FAULT_TERMS = frozenset("troubleshoot diagnos diagnost debug debugg investig triag".split())
# A shorter name, or one of a single word, is also a word of other sentences.
_MIN_NAME = 5
_MAX_CLAUSE = 300
_CLAUSE_END = compile_late(r"[.;!?\n](?=\s)|→\s*\S+")
# So many of the first candidates are compared: what stands further down wins nothing.
EXCLUSION_DEPTH = 20
# What a request loses that an exclusion meets wholly, and the capability itself not at all. From
# 0.25 to 1 the 72 requests find their excluded skill first 4 to 3 times, and no own one is lost.
EXCLUDED_WEIGHT = 0.5
_MAX_PIECES = 64


def prefer_meant_siblings(
    index: Index,
    texts: Sequence[AnalysedText],
    scores: dict[str, float],
    headers: Mapping[str, CapabilityHeader],
    signals: Mapping[str, Mapping[str, float]],
) -> tuple[dict[str, float], Mapping[str, Mapping[str, float]]]:
    """The scores 0..1, those of the first candidates in the order that bodies, referrals and names
    give them, and the signals with `body`, `referred` and `finds_fault`: by id what each adds.

    The same scores change places: how far they lie apart tells confidence and the hook how sure a
    ranking is, and they were fitted to that. A body counts by how far its evidence is from the
    mean of the others, so that a capability without passages is judged by its own score. Of
    several texts each has its share.
    """
    first = fusion.order_scores(scores)[:DEPTH]
    first_ids = [key for key, _ in first]
    changes = {
        "body": _compare_bodies(index, texts, first_ids),
        "referred": _weigh_referrals(index, texts, first_ids, headers),
        "finds_fault": _weigh_fault_finders(index, texts, first_ids, headers),
    }
    sums = {
        key: score + math.fsum(values.get(key, 0.0) for values in changes.values())
        for key, score in first
    }
    ordered_ids = [key for key, _ in fusion.order_scores(sums)]
    moved = {key: score for key, (_, score) in zip(ordered_ids, first, strict=True)}
    return scores | moved, {
        **signals,
        **{name: values for name, values in changes.items() if values},
    }


def _compare_bodies(
    index: Index, texts: Sequence[AnalysedText], ids: Sequence[str]
) -> dict[str, float]:
    """What each body adds to its score or takes from it, by id; those without passages are not
    among them.
    """
    changes: dict[str, float] = {}
    if index.passages is None or len(ids) < 2:
        return changes
    for text in texts:
        terms = text.parts[0].terms
        share = min(1.0, (len(terms) - FEW_TERMS) / (MANY_TERMS - FEW_TERMS))
        if share * text.weights.body <= 0.0:
            continue
        shares_of_id: dict[str, list[float]] = {}
        for passage in index.passages.search(terms, MAX_PASSAGES, ids):
            shares_of_id.setdefault(passage.owner, []).append(passage.share)
        evidence = {key: math.fsum(shares[:BEST_PASSAGES]) for key, shares in shares_of_id.items()}
        best = max(evidence.values(), default=0.0)
        if best <= 0.0:
            continue
        weight = text.weights.body * share / (best * len(texts))
        mean = math.fsum(evidence.values()) / len(evidence)
        for key, value in evidence.items():
            changes[key] = changes.get(key, 0.0) + weight * (value - mean)
    return changes


def _weigh_referrals(
    index: Index,
    texts: Sequence[AnalysedText],
    ids: Sequence[str],
    headers: Mapping[str, CapabilityHeader],
) -> dict[str, float]:
    """What each capability gains to which another one refers such requests, by id."""
    gains: dict[str, float] = {}
    # A word that only referrals have is unknown to the index, which has no exclusions.
    wishes = list(map(_plain_terms, texts))
    for key, clause in _find_referrals(ids, headers):
        words = index.documents.heading_terms(clause)
        for wish in wishes:
            share = len(words & wish) / max(2, len(words))
            if share > 0.0:
                gains[key] = max(gains.get(key, 0.0), REFERRAL_WEIGHT * share)
    return gains


def _plain_terms(text: AnalysedText) -> set[str]:
    return {term.removesuffix(FUZZY_SUFFIX) for term in text.parts[0].terms}


def _weigh_fault_finders(
    index: Index,
    texts: Sequence[AnalysedText],
    ids: Sequence[str],
    headers: Mapping[str, CapabilityHeader],
) -> dict[str, float]:
    """What each capability gains whose name says that it finds faults, by id, where a text tells a
    symptom. All else in its name is asked for, or stands in half of the names.
    """
    terms_of_id = {key: index.documents.heading_terms(headers[key]["name"]) for key in ids}
    if not any(terms & _FAULT_TERMS for terms in terms_of_id.values()):
        return {}
    symptoms = [text for text in texts if _SYMPTOM.search(text.part_texts[0])]
    if not symptoms:
        return {}
    counts = Counter(chain.from_iterable(terms_of_id.values()))
    shared = {term for term, count in counts.items() if 2 * count >= len(ids)}
    shared = shared.union(*map(_plain_terms, symptoms)) - _FAULT_TERMS
    return {
        key: FAULT_WEIGHT
        for key, terms in terms_of_id.items()
        if shared & terms and set() < terms - shared <= _FAULT_TERMS
    }


def _find_referrals(
    ids: Sequence[str], headers: Mapping[str, CapabilityHeader]
) -> Iterator[tuple[str, str]]:
    """Each capability whose name stands in the text of another one, and the clause before it."""
    named = [(headers[key]["name"], key) for key in ids]
    referable = [(name, key) for name, key in named if "-" in name and len(name) >= _MIN_NAME]
    for key in ids:
        header = headers[key]
        for text in (header["description"], header.get("usage_hint", "")):
            for name, other in referable:
                if name in text and name != header["name"]:
                    yield from ((other, clause) for clause in _read_clauses(text, name))


@lru_cache(maxsize=4_096)  # a server asks for the same ones again and again
def _read_clauses(text: str, name: str) -> tuple[str, ...]:
    """What stands before each mention of the name in its sentence."""
    clauses = []
    for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
        *_, clause = _CLAUSE_END.split(text[max(0, match.start() - _MAX_CLAUSE) : match.start()])
        clauses.append(clause)
    return tuple(clauses)


# What its author excludes.


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
