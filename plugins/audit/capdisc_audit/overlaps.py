"""Finds capabilities that compete for the same requests, copies, and capabilities that are not
found by their own example requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit, Query, Ranking
from capdisc_indexer.retrieval.deduplication import merge_near_duplicates
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.exclusions import split_exclusions
from capdisc_indexer.text.normalization import BOILERPLATE_WORDS

# Called with what is done, how much of it, and how much there is.
Progress: TypeAlias = Callable[[str, int, int], None]

# Of 1,793 public skills, 1 pair in 1,000 has descriptions as near as this. In a sample of 200 such
# pairs that are not copies, a request of their shared words found both in the first two places for
# 126.
MIN_COSINE = 0.74
# Both win when the second has at least this share of the first one's score.
MIN_SCORE_SHARE = 0.8
_REQUEST_WORDS = 5
# A word that more capabilities than this have does not tell them apart.
_MAX_WORD_SHARE, _MIN_COMMON = 0.1, 8
_PHRASES_OF_PAIR = 3
# Rows of the matrix that are compared at once: 16 MB for 4,000 capabilities.
_BLOCK_ROWS = 1_000
# An example request should find its own capability among this many hits.
PHRASE_DEPTH = 3

_WORD = re.compile(r"[^\W_][\w+#.]*[\w+#]|[^\W_]")


@frozen(kw_only=True)
class Overlap:
    """Two capabilities that win the same request. `cosine` compares their descriptions; `request`
    is an example request of one of them, or made from the words that they share.
    """

    first: str
    second: str
    cosine: float
    request: str
    is_phrase: bool


@frozen(kw_only=True)
class OverlapReport:
    """The pairs that compete, nearest first. `compared` of `candidates` near pairs were tried;
    `reason` says why none could be ("": they could).
    """

    overlaps: Sequence[Overlap]
    candidates: int
    compared: int
    reason: str = ""


@frozen(kw_only=True)
class LostPhrase:
    """An example request that does not find its capability. `rank` is its place (0: not found),
    `winner` the first hit ("": none).
    """

    id: str
    phrase: str
    rank: int
    winner: str


@frozen(kw_only=True)
class PhraseReport:
    """What the example requests find: how many capabilities have some, how many of all requests
    were tried, and which of them were lost.
    """

    with_phrases: int
    phrases: int
    tried: int
    lost: Sequence[LostPhrase]


def find_copies(headers: Sequence[CapabilityHeader]) -> list[tuple[str, ...]]:
    """The groups of near copies, each in the order of the headers."""
    by_id = {header["id"]: header for header in headers}
    hits = [Hit(id=identifier, score=1.0, relevance=1.0) for identifier in by_id]
    merged = merge_near_duplicates(hits, by_id)
    return [(hit.id, *hit.copies) for hit in merged if hit.copies]


def find_overlaps(
    index: Index,
    headers: Sequence[CapabilityHeader],
    copies: Iterable[Sequence[str]],
    encoder: Encoder | None,
    limit: int,
    progress: Progress,
) -> OverlapReport:
    """The pairs of these capabilities that win the same request, copies left out. At most `limit`
    pairs are tried, the nearest first, at 10 ms each.
    """
    if index.matrix is None:
        return OverlapReport(
            overlaps=(), candidates=0, compared=0, reason="this index has no vectors"
        )
    group_by_id = {
        identifier: number for number, group in enumerate(copies) for identifier in group
    }
    ids = [
        header["id"]
        for header in headers
        if header["id"] not in group_by_id or _is_first(header["id"], copies)
    ]
    by_id = {header["id"]: header for header in headers}
    pairs = find_near_pairs(description_vectors(index, ids), ids)
    overlaps = []
    for done, (cosine, first, second) in enumerate(pairs[:limit], 1):
        overlap = _try_pair(index, encoder, by_id[first], by_id[second], cosine)
        overlaps += [overlap] if overlap else []
        progress("Comparing", done, min(limit, len(pairs)))
    return OverlapReport(overlaps=overlaps, candidates=len(pairs), compared=min(limit, len(pairs)))


def _is_first(identifier: str, copies: Iterable[Sequence[str]]) -> bool:
    return any(group[0] == identifier for group in copies)


def description_vectors(index: Index, ids: Sequence[str]) -> Any:
    """The unit vectors of the descriptions, a row for each id, float32; zero for one without."""
    np, matrix = lazy_imports.numpy(), index.matrix
    assert matrix is not None
    first_rows = matrix.first_rows()
    stored = np.frombuffer(matrix.bytes_of(0, len(matrix)), dtype=np.int8)
    stored = stored.reshape(len(matrix), matrix.dim)
    vectors = np.zeros((len(ids), matrix.dim), dtype=np.float32)
    for number, identifier in enumerate(ids):
        if identifier in first_rows:
            vectors[number] = stored[first_rows[identifier]]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def find_near_pairs(vectors: Any, ids: Sequence[str]) -> list[tuple[float, str, str]]:
    """The pairs whose vectors have a cosine of MIN_COSINE and more, nearest first."""
    np = lazy_imports.numpy()
    pairs: list[tuple[float, str, str]] = []
    for start in range(0, len(ids), _BLOCK_ROWS):
        cosines = vectors[start : start + _BLOCK_ROWS] @ vectors.T
        for row, column in zip(*np.nonzero(cosines >= MIN_COSINE), strict=True):
            if start + row < column:
                # Rounded, since the last digits differ between machines, and they decide an order.
                cosine = round(float(cosines[row, column]), 3)
                pairs.append((cosine, ids[start + row], ids[column]))
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))


def _try_pair(
    index: Index,
    encoder: Encoder | None,
    first: CapabilityHeader,
    second: CapabilityHeader,
    cosine: float,
) -> Overlap | None:
    """The overlap of two capabilities, by the first request that both win; None where there is no such request."""
    phrases = [
        *first.get("phrases", ())[:_PHRASES_OF_PAIR],
        *second.get("phrases", ())[:_PHRASES_OF_PAIR],
    ]
    shared = shared_request(index, first, second)
    for request in (*phrases, *((shared,) if shared else ())):
        if _both_win(_search(index, encoder, request, 4), first["id"], second["id"]):
            return Overlap(
                first=first["id"],
                second=second["id"],
                cosine=cosine,
                request=request,
                is_phrase=request in phrases,
            )
    return None


def shared_request(index: Index, first: CapabilityHeader, second: CapabilityHeader) -> str:
    """A request of the first words that two capabilities share, without those that many have, in
    the order of the first; "" where they share fewer than two.
    """
    documents = index.documents
    most = max(_MIN_COMMON, int(_MAX_WORD_SHARE * len(documents)))
    second_stems = {
        stem for word in documents.words(_request_text(second)) for stem in documents.analyse(word)
    }
    words: dict[str, str] = {}
    for word in _WORD.findall(_request_text(first)):
        is_content = documents.words(word) and word.lower() not in BOILERPLATE_WORDS
        stem = documents.analyse(word)[0] if is_content else ""
        if stem in second_stems and documents.document_frequency(stem) <= most:
            words.setdefault(stem, word if word.isupper() else word.lower())
    shared = list(words.values())[:_REQUEST_WORDS]
    return " ".join(shared) if len(shared) > 1 else ""


def _request_text(header: CapabilityHeader) -> str:
    about = split_exclusions(header["description"]).text
    return f"{re.sub('[-_:/]', ' ', header['name'])} {about}"


def _search(index: Index, encoder: Encoder | None, request: str, limit: int) -> Ranking:
    return search_index(index, Query(texts=(request,), limit=limit), encoder)


def _both_win(ranking: Ranking, first: str, second: str) -> bool:
    """Whether the two have the first two places, and nearly the same score."""
    if len(ranking.hits) < 2:
        return False
    best, other = ranking.hits[0], ranking.hits[1]
    places = [(hit.id, *hit.copies) for hit in (best, other)]
    return (
        (first in places[0] and second in places[1])
        or (second in places[0] and first in places[1])
    ) and other.score >= MIN_SCORE_SHARE * best.score


def check_phrases(
    index: Index,
    headers: Sequence[CapabilityHeader],
    encoder: Encoder | None,
    limit: int,
    progress: Progress,
) -> PhraseReport:
    """Search with the example requests of these capabilities, at most `limit` of them: the first
    of each before the second of any.
    """
    phrases = {
        header["id"]: list(dict.fromkeys(header["phrases"]))
        for header in headers
        if header.get("phrases")
    }
    queue = sorted(
        (number, identifier, phrase)
        for identifier, texts in phrases.items()
        for number, phrase in enumerate(texts)
    )
    lost = []
    for done, (_, identifier, phrase) in enumerate(queue[:limit], 1):
        rank, winner = _find_rank(_search(index, encoder, phrase, 10), identifier)
        if not 1 <= rank <= PHRASE_DEPTH:
            lost.append(LostPhrase(id=identifier, phrase=phrase, rank=rank, winner=winner))
        progress("Asking", done, min(limit, len(queue)))
    return PhraseReport(
        with_phrases=len(phrases),
        phrases=len(queue),
        tried=min(limit, len(queue)),
        lost=sorted(lost, key=lambda phrase: (phrase.id, phrase.phrase)),
    )


def _find_rank(ranking: Ranking, identifier: str) -> tuple[int, str]:
    """The place of a capability, or of a copy of it, and the first hit."""
    winner = ranking.hits[0].id if ranking.hits else ""
    for rank, hit in enumerate(ranking.hits, 1):
        if identifier == hit.id or identifier in hit.copies:
            return rank, winner
    return 0, winner
