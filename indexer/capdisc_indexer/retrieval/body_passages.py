"""What the passages of bodies say about a query: which capability has a section that answers it?

A capability's evidence is that of its best passage alone, by words and by vectors, and only what
is above the usual: on a catalogue with bodies some passage shares words with any request. So a
request that one section answers is decided by that section, and one that many bodies touch upon is
left to the descriptions. Evidence raises a score and never lowers one.

The constants were chosen on samples of 11,282 headings from beyond the first 2,000 characters of
bodies and of 1,069 sentences from there (tools/bench/sections.py), and checked on requests that
authors quote in descriptions, beside whole bodies. With passages against without, the skill is
among the first five for 94 and 36 of a hundred headings, and for 81 and 41 of the sentences;
nDCG@10 of the quoted requests is 59.7 and 55.5, and of those whose skill has no long body, in the
same catalogue, 48.7 and 49.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.retrieval.query_analysis import CorrectedQuery
from capdisc_indexer.store.matrix import nearest_rows
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import has_filters

if TYPE_CHECKING:
    from capdisc_indexer.store.passages import FoundPassage, Passages

# How many passages are looked at by words; with filters, up to the second number. And how many by
# vectors alone, where words find none: the nearest of all cost 3 ms, and added nothing to those
# that words find.
PASSAGES_BY_WORDS, MAX_PASSAGES, PASSAGES_BY_VECTORS = 60, 3_840, 40
# The strength of the capability at this rank, of those with the best passages, is the usual one.
# Of 5, 10 and 20, 10 found most headings and cost the others nothing.
COMMON_RANK = 10
# The usual strength is at least this share of the best one, and that of words at least this much:
# a small catalogue has no tenth capability. Of requests for something else (clinc150), the best
# passage of 1,793 skills has 0.23 in the middle; of sentences from a body, their own passage has
# 0.28 or more in 95 of a hundred.
COMMON_SHARE, MIN_STRENGTH = 0.5, 0.2
# What a heading adds that says the same as the request: headings among the first five 83 → 91 in a
# hundred.
HEADING_GAIN = 0.2
# What cosines above the usual one add to the share of words: of sentences their skill first 62 →
# 70 in a hundred, among the first five 83 → 84. With 0.25 three more came first, and requests that
# descriptions answer lost 0.8 points.
COSINE_SHARE = 0.1
# The square lets the many weak passages do nothing: it found as many headings as 2 s did, and cost
# requests that descriptions answer 0.6 points instead of 3.8. Of 6, 9 and 12, 12 found most.
STRENGTH_WEIGHT = 12.0
# Above it all would be equal, whatever else is known of them.
MAX_GAIN = 0.9


@frozen
class BestPassage:
    """The passage of a capability that fits a text best: its number in the body (from 0), the
    section in it that is meant ("" for none), and how far it is above the usual, 0..1.
    """

    number: int
    section: str
    strength: float


@frozen
class PassageEvidence:
    """The best passages for one text by the id of their capability, and the headers of these."""

    best: Mapping[str, BestPassage] = field(default_factory=dict)
    headers: Mapping[str, CapabilityHeader] = field(default_factory=dict)

    @property
    def gains(self) -> dict[str, float]:
        """How much of what a score lacks to 1 each capability's best passage gives it, 0..1."""
        return {
            key: min(MAX_GAIN, STRENGTH_WEIGHT * passage.strength**2)
            for key, passage in self.best.items()
        }


def find_passages(
    index: Index, corrected: CorrectedQuery, query: Query, encoder: StaticEncoder | None, mode: str
) -> PassageEvidence:
    """The evidence of the passages for one text, of capabilities that pass the query's filters.

    Without the shipped encoder (`encoder`) words alone decide, in mode `vector` only vectors.
    """
    passages = index.passages
    if passages is None:
        return PassageEvidence()
    limit = PASSAGES_BY_WORDS if mode != "vector" or encoder is None else 0
    matches = passages.search(corrected.terms, limit) if limit else []
    if has_filters(query):
        offered = _offered_headers(index, _owners(matches), query)
        while len(offered) < COMMON_RANK and len(matches) == limit and 0 < limit < MAX_PASSAGES:
            limit *= 4
            matches = passages.search(corrected.terms, limit)
            offered = _offered_headers(index, _owners(matches), query)
        matches = [passage for passage in matches if passage.owner in offered]
    by_words = _best_by_words(index, frozenset(corrected.terms), matches)
    near = _compare_vectors(passages, corrected.text, encoder, by_words) if encoder else {}
    best = _merge_evidence(_above_usual(by_words, MIN_STRENGTH), _above_usual(near))
    headers = _offered_headers(index, list(best), query)
    return PassageEvidence({owner: best[owner] for owner in headers}, headers)


def _owners(matches: Sequence[FoundPassage]) -> list[str]:
    return list(dict.fromkeys(passage.owner for passage in matches))


def _best_by_words(
    index: Index, terms: frozenset[str], matches: Sequence[FoundPassage]
) -> dict[str, BestPassage]:
    """The best of the found passages of each capability, with the section that is meant."""
    best: dict[str, BestPassage] = {}
    for match in matches:
        passage = _choose_section(index, terms, match)
        owner = match.owner
        if owner not in best or best[owner].strength < passage.strength:
            best[owner] = passage
    return best


def _compare_vectors(
    passages: Passages, text: str, encoder: StaticEncoder, by_words: Mapping[str, BestPassage]
) -> dict[str, BestPassage]:
    """The passages that words found, their cosines as their strengths; where words found none, the
    nearest of all.
    """
    vector, matrix = encoder.encode_query(text), passages.matrix
    if not any(vector) or matrix.dim != encoder.dim:
        return {}
    if by_words:
        rows = [matrix.first_row(owner) + passage.number for owner, passage in by_words.items()]
        return {
            owner: BestPassage(passage.number, passage.section, 1.0 - distance)
            for (owner, passage), distance in zip(
                by_words.items(), matrix.distances_of(vector, rows), strict=True
            )
        }
    distances = matrix.distances(vector)
    nearest: dict[str, BestPassage] = {}
    for row in nearest_rows(distances, PASSAGES_BY_VECTORS)[:PASSAGES_BY_VECTORS]:
        owner, number = matrix.place_of(row)
        nearest.setdefault(owner, BestPassage(number, "", 1.0 - distances[row]))
    return nearest


def _offered_headers(
    index: Index, ids: Sequence[str], query: Query
) -> dict[str, CapabilityHeader]:
    """The headers of the capabilities that pass the filters and are not hidden."""
    headers = index.documents.headers_for(ids, query) if ids else {}
    return {key: header for key, header in headers.items() if not header.get("hidden")}


def _choose_section(index: Index, terms: frozenset[str], passage: FoundPassage) -> BestPassage:
    """A found passage with the section whose heading fits best, the first one if none does."""
    fits = [_heading_fit(index, terms, name) for name in passage.sections]
    best = max(fits, default=0.0)
    section = passage.sections[fits.index(best)] if fits else ""
    return BestPassage(passage.number, section, passage.share + HEADING_GAIN * best**2)


def _heading_fit(index: Index, terms: frozenset[str], heading: str) -> float:
    """The share of the text's words in the heading, times that of the heading's in the text."""
    words = index.documents.heading_terms(heading)
    return len(terms & words) ** 2 / (len(terms) * len(words)) if words and terms else 0.0


def _above_usual(best: Mapping[str, BestPassage], least: float = 0.0) -> dict[str, BestPassage]:
    """The passages, each with how far its strength is above the usual one, which is at least
    `least`.
    """
    strengths = sorted((passage.strength for passage in best.values()), reverse=True)
    usual = max(least, COMMON_SHARE * max(strengths, default=0.0))
    if len(strengths) >= COMMON_RANK:
        usual = max(usual, strengths[COMMON_RANK - 1])
    return {
        owner: replace(passage, strength=passage.strength - usual)
        for owner, passage in best.items()
        if passage.strength > usual
    }


def _merge_evidence(
    by_words: Mapping[str, BestPassage], by_vectors: Mapping[str, BestPassage]
) -> dict[str, BestPassage]:
    """Both kinds of evidence by owner; where words found a passage, that one is named."""
    joined = dict(by_words)
    for owner, passage in by_vectors.items():
        gain = COSINE_SHARE * passage.strength
        earlier = by_words.get(owner)
        joined[owner] = (
            replace(earlier, strength=earlier.strength + gain)
            if earlier
            else replace(passage, strength=gain)
        )
    return joined


def add_gains(scores: Mapping[str, float], gains: Mapping[str, float]) -> dict[str, float]:
    """The scores, and 0 for those without one, each nearer to 1 by its gain."""
    all_scores = {**dict.fromkeys(gains, 0.0), **scores}
    return {key: score + (1.0 - score) * gains.get(key, 0.0) for key, score in all_scores.items()}


def strongest_passages(evidence: Sequence[PassageEvidence]) -> dict[str, BestPassage]:
    """The best passage of each capability for any of the texts."""
    strongest: dict[str, BestPassage] = {}
    for evidence_of_text in evidence:
        for owner, passage in evidence_of_text.best.items():
            if owner not in strongest or strongest[owner].strength < passage.strength:
                strongest[owner] = passage
    return strongest


def terms_in_passages(
    index: Index, terms: Sequence[str], ids: Sequence[str], best: Mapping[str, BestPassage]
) -> dict[str, frozenset[str]]:
    """The terms in the best passage of each capability that has one, by id."""
    if index.passages is None:
        return {}
    numbers = {owner: best[owner].number for owner in ids if owner in best}
    return index.passages.matching_terms(terms, numbers)


def add_sections(index: Index, hits: Sequence[Hit], best: Mapping[str, BestPassage]) -> list[Hit]:
    """The hits, each with the section of its best passage."""
    return [
        replace(hit, section=_section_of(index, hit.id, best[hit.id])) if hit.id in best else hit
        for hit in hits
    ]


def _section_of(index: Index, owner: str, passage: BestPassage) -> str:
    if passage.section or index.passages is None:
        return passage.section
    return next(iter(index.passages.sections(owner, passage.number)), "")
