"""Does anything here answer a text, and which hits do? Search, render, the tools of agents, the
library and the audit all get their answer from here.

The verdict is that of the first five hits, whatever number is printed. Two things decide. A fitted
model of what the search found says whether anything fits. Whether the text asks for something, or
is talk that meets a hit by accident ("thanks!"), `request_gate.py` says from the text and what was
found together: whoever prints unasked, as `render` does, leaves talk alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Hit, Ranking, Verdict
from capdisc_indexer.retrieval.confidence import load_calibration
from capdisc_indexer.retrieval.request_gate import (
    combine,
    is_made_up,
    load_gate_model,
    logistic,
    may_be_foreign,
    read_evidence,
    text_logit,
    weigh_unknown_words,
)
from capdisc_indexer.store.snapshot import Index

AUTO, OFF = GATE_MODES = ("auto", "off")
JUDGED_HITS = 5
# How many hits relevance is graded over; it is the same whether more or fewer are printed.
GRADED_HITS = 20
# Below this relevance a hit only fills the place of an answer: measured on requests for something
# that the catalogue does not have.
MIN_SHOWN_RELEVANCE = 0.05
# The relevance that the best hit needs where the signs of an answer are not known; a text that is
# clearly a request needs less. Where it may be in another language than the catalogue it needs
# still less, since no word can match.
MIN_RELEVANCE, MIN_REQUEST_RELEVANCE, MIN_FOREIGN_RELEVANCE = 0.12, 0.08, 0.01
# The model reads the logit of a text clipped to the range from 0 to this.
MAX_REQUEST_LOGIT = 6.0
# Where words with this share of what a text says are unknown here, the reason names them.
UNKNOWN_SHARE = 0.62
# From this score on a turn is a request; the fit moves its scores so that this is the border.
# Where something fits, a text that by its words alone is likelier a request than talk is one, too,
# and with this confidence one that is not clearly talk. What is not clearly a request needs an
# answer that fits by this rating. Of requests in eleven sets 96.3 in a hundred pass, of 306 turns
# of talk 1.3.
BORDER, LIKELY_LOGIT, SURE_CONFIDENCE = 0.5, 0.0, 0.4
MIN_RATING_OF_UNCLEAR = 2.5
# From here on a text is clearly a request, whatever was found.
CLEAR_LOGIT = 1.5
# A text with a lower logit is called talk. Of any other that is refused the reason says less: to
# call a request talk annoys more than the other mistake.
CLEAR_TALK_LOGIT = -1.5
# In a catalogue of at most this many capabilities, something comes near to any text.
SMALL_CATALOGUE_SIZE = 8
# Why a turn gets nothing.
TALK, UNCLEAR, UNKNOWN_WORDS, NOTHING_FITS = (
    "talk", "unclear", "unknown-words", "nothing-fits",
)  # fmt: skip
# A hit with this share of the best score is near it, and as relevant as is shown at least, where
# the best one is: over seven judged sets 90.4 in a hundred of the right answers are shown so with
# 37 hits of a hundred, and 87.3 with 33 by their own relevance alone. (With a share of 0.3 it is
# 90.9 with 43, but two of three capabilities of a small catalogue.)
NEAR_SHARE = 0.4
# How many hits a context without a budget lists whatever their scores; further ones only if they
# are near the best one.
ALWAYS_LISTED = 5


def judge(index: Index, ranking: Ranking, signs: Mapping[str, float]) -> Verdict:
    """Whether a hit of the ranking answers its texts, and whether these ask for anything.

    The ranking has all hits that the search found, with their own relevance and the confidence as
    it was read, and `signs` those of the answer, none where they are not known. Of several texts
    the one that is most like a request counts. Without the shipped encoder relevance alone
    decides: there is nothing to judge the text by.
    """
    best = max((hit.relevance for hit in ranking.hits[:JUDGED_HITS]), default=0.0)
    try:
        encoder = load_shipped_encoder()
    except EncoderError:
        fits = best >= MIN_RELEVANCE
        reason = "" if fits else NOTHING_FITS
        return Verdict(fits=fits, is_request=fits, score=float(fits), parts={}, reason=reason)
    model, texts = load_gate_model(), ranking.query.texts
    logit = max(text_logit(model, encoder, text) for text in texts or ("",))
    has_vectors = index.generation.fingerprint == model.encoder and ranking.mode != "lexical"
    evidence = read_evidence(index, ranking, encoder)
    score = combine(model.evidence if has_vectors else model.lexical_evidence, logit, evidence)
    unknown = weigh_unknown_words(texts, ranking.unmatched, encoder)
    is_foreign, is_clear = may_be_foreign(texts, encoder), logit >= CLEAR_LOGIT
    has_known_words = bool(evidence["coverage"])
    if signs:
        values = {
            **signs,
            "request": max(0.0, min(MAX_REQUEST_LOGIT, logit)),
            "unknown_english": 0.0 if is_foreign else unknown.share,
            "catalogue": evidence["catalogue"],
        }
        rating = rate_answer(values)
        # Some texts are rated well and near nothing: "What is the capital of Peru?" where there
        # are few tools, and "thanks!" where there are very few.
        is_near = best >= MIN_FOREIGN_RELEVANCE or is_foreign
        if len(index.documents) <= SMALL_CATALOGUE_SIZE:
            is_near = best >= MIN_FOREIGN_RELEVANCE and logit >= CLEAR_TALK_LOGIT
        fits = rating >= 0.0 and (is_near or has_known_words)
        may_be_request = is_clear or rating >= MIN_RATING_OF_UNCLEAR
    else:
        needed = MIN_FOREIGN_RELEVANCE if is_foreign else MIN_REQUEST_RELEVANCE
        fits, may_be_request = best >= (needed if is_clear else MIN_RELEVANCE), True
    if not has_known_words:
        # One letter asks for nothing, nor does what no language has, unless it is a name: "r".
        is_letter = all(len(text) < 2 and text.isascii() for text in texts)
        fits = fits and not is_letter and not is_made_up(texts, encoder)
    is_sure = has_vectors and (
        logit >= LIKELY_LOGIT
        or (ranking.confidence >= SURE_CONFIDENCE and logit >= CLEAR_TALK_LOGIT)
    )
    is_request = fits and may_be_request and (score >= BORDER or is_sure)
    reason = "" if is_request else _find_reason(texts, encoder, logit, fits, unknown.share)
    parts = {"text": logistic(logit), **evidence, "unknown": unknown.share}
    return Verdict(
        fits=fits,
        is_request=is_request,
        score=round(score, 4) if fits or best >= MIN_SHOWN_RELEVANCE else 0.0,
        parts={name: round(value, 4) for name, value in parts.items()},
        reason=reason,
    )


def rate_answer(values: Mapping[str, float]) -> float:
    """How surely an answer with these values fits, in logits; from 0 on it is given.

    A logistic model (`tools/training/fit_verdict.py`) of requests to catalogues that have
    what is asked for, against requests to catalogues of another world: of eleven judged sets 1.2
    in a hundred requests are refused (1.8 by rules), over 27 pairs of requests and catalogues of
    another world 48 are answered (73).
    """
    calibration = load_calibration()
    weights = calibration.verdict_weights
    return calibration.verdict_bias + sum(
        weight * values[name] for name, weight in weights.items()
    )


def _find_reason(
    texts: Sequence[str], encoder: StaticEncoder, logit: float, fits: bool, unknown_share: float
) -> str:
    """Why the texts get nothing. Talk holds a word that the encoder knows, or none at all."""
    has_words = any(map(str.isalnum, "".join(texts)))
    if logit < CLEAR_TALK_LOGIT and not (
        has_words and not any(map(encoder.has_known_word, texts))
    ):
        return TALK
    if fits:
        return UNCLEAR
    return UNKNOWN_WORDS if unknown_share >= UNKNOWN_SHARE else NOTHING_FITS


def drop_hits_of_talk(ranking: Ranking) -> Ranking:
    """The judged ranking; without its hits where its texts are no request."""
    if ranking.gate is None or ranking.gate.is_request:
        return ranking
    return replace(ranking, hits=(), confidence=0.0)


def check_gate_mode(gate: str) -> None:
    """Raises UsageError for another mode than auto and off."""
    if gate not in GATE_MODES:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("gate", gate, GATE_MODES)


# Which hits.


def grade_relevance(hits: Sequence[Hit], *, fits: bool = False) -> list[Hit]:
    """The hits with a relevance that falls with their rank, so that those of some relevance are
    the first ones.

    The relevance that a hit is measured by knows words and meaning alone: it reaches 1 for all of
    eight channels that send messages, and may be higher for the second hit than for the first,
    which stands there for other signs. So what lies above the least relevance that is shown is
    multiplied by the square root of the share that the score has of the best score, and hits that
    still rise get their mean (isotonic regression by pooling adjacent violators). Of right hits
    among the first ten in catalogues of 120, 97.1 in a hundred are shown so, 95.7 of hits by their
    own relevance and 94.9 of those before the first of little relevance. A hit near the best one
    by its score has at least the relevance that is shown, if the best one has it or the answer
    `fits`. What another hit requires keeps its own.
    """
    asked = [hit for hit in hits[:GRADED_HITS] if not hit.via]
    best = max((hit.score for hit in asked), default=0.0) or 1.0
    pools: list[tuple[float, int]] = []
    for hit in asked:
        excess = max(0.0, hit.relevance - MIN_SHOWN_RELEVANCE)
        total, count = hit.relevance - excess * (1 - (max(0.0, hit.score) / best) ** 0.5), 1
        while pools and pools[-1][0] / pools[-1][1] < total / count:
            earlier_total, earlier_count = pools.pop()
            total, count = total + earlier_total, count + earlier_count
        pools.append((total, count))
    values = [total / count for total, count in pools for _ in range(count)]
    values += [hit.relevance for hit in hits[GRADED_HITS:] if not hit.via]
    near = MIN_SHOWN_RELEVANCE if fits or max(values, default=0.0) >= MIN_SHOWN_RELEVANCE else 0.0
    graded = accumulate(values, min)
    return [
        hit
        if hit.via
        else replace(
            hit,
            relevance=max(round(next(graded), 4), near if hit.score >= NEAR_SHARE * best else 0.0),
        )
        for hit in hits
    ]


def select_shown_hits(
    hits: Iterable[Hit], min_relevance: float = MIN_SHOWN_RELEVANCE
) -> Iterator[Hit]:
    """The hits that fit: those that are relevant enough, and what those require.

    A required hit comes after the one that requires it, whose score is higher.
    """
    shown_ids: set[str] = set()
    for hit in hits:
        if hit.via in shown_ids or (hit.relevance >= min_relevance and not hit.via):
            shown_ids.add(hit.id)
            yield hit


def select_context_hits(
    hits: Iterable[Hit],
    min_relevance: float = MIN_SHOWN_RELEVANCE,
    *,
    with_distant_hits: bool = False,
) -> tuple[Hit, ...]:
    """The hits that a context lists: relevant enough and, without `with_distant_hits`, near the
    best one. Whoever names the number of hits gets distant ones as well.
    """
    shown = list(select_shown_hits(hits, min_relevance))
    return tuple(shown if with_distant_hits else _select_near_hits(shown))


def _select_near_hits(hits: Sequence[Hit]) -> list[Hit]:
    """The first hits, and of the others those that come near the best one."""
    best = max((hit.score for hit in hits), default=0.0)
    return [
        hit
        for rank, hit in enumerate(hits)
        if rank < ALWAYS_LISTED or hit.score >= NEAR_SHARE * best
    ]
