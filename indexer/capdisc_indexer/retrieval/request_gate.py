"""How much is a turn like a request for anything that this index has, and how much like talk
("thanks!", "go on")? `verdict.py` decides.

Two small models decide together. The first reads the text alone: filters over three neighbouring
tokens each (a convolution over rows of the shipped embedding table, as Kim 2014 does it), pooled
over the text, and a few counts. It knows what people say between requests in the languages of
the shipped encoder. The second is a logistic model of the first one's answer and of the evidence
that the search found: a capability that clearly fits makes a request of a doubtful text, and a
text that is clearly a request needs less evidence.

`tools/training/fit_gate.py` fits both, writes `request_gate.json`, and says how well they do.
One decision takes half a millisecond and no numpy.
"""

from __future__ import annotations

import json
import math
import re
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Hit, Ranking
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import (
    MAX_QUERY_CHARACTERS,
    STOP_WORDS,
    compile_late,
    content_words,
    simple_words,
)

MODEL_FILE = Path(__file__).with_name("request_gate.json")
MODEL_FORMAT = 2
# Of a long turn its beginning and its end are read: the request stands before or after what was
# pasted.
MAX_CHARACTERS = 600
MAX_TOKENS = 32
# Tokens that a filter compares: the one before, the one itself, the one after.
WINDOW = 3
# The logit of a text without a word: emoji, signs, nothing but code.
NO_WORDS_LOGIT = -10.0
# How many hits the evidence is read from: the best of them counts.
EVIDENCE_HITS = 3
# The smallest catalogue that the model was fitted to; smaller ones are taken for this.
MIN_CATALOGUE_SIZE = 18
# A request in another language than the catalogue is left alone, since only its meaning can fit:
# (nearly) all of its words are unknown here, or one that says less than this, as an article does.
FOREIGN_SHARE, FUNCTION_WORD_WEIGHT = 0.97, 1.0
# How many words of a request are read to see what it is about.
MAX_SUBJECT_WORDS = 64
QUESTION_MARKS = frozenset("?？؟")
EXCLAMATION_MARKS = frozenset("!！")
CODE_SIGNS = frozenset('/_`"{}<>=\\@#')
_FENCED_CODE = compile_late(r"```.*?(?:```|\Z)", re.DOTALL)


# The text alone.


def may_be_foreign(texts: Sequence[str], encoder: StaticEncoder | None) -> bool:
    """Whether the texts may be in another language than English: they have words that the encoder
    knows, and no English stop word.
    """
    is_plain = encoder is not None and not is_made_up(texts, encoder)
    has_content = any(word not in STOP_WORDS for word in content_words(texts))
    return is_plain and has_content and not has_english_words(texts)


def has_english_words(texts: Sequence[str]) -> bool:
    """Whether a stop word of three letters or more is among the words, or two shorter ones, of
    which one alone is a word of other languages, too ("a", "in", "me").
    """
    words = {word.lower() for text in texts for word in simple_words(text[:MAX_QUERY_CHARACTERS])}
    stop_words = words & STOP_WORDS
    return len(stop_words) > 1 or any(len(word) > 2 for word in stop_words)


def is_made_up(texts: Sequence[str], encoder: StaticEncoder) -> bool:
    """Whether no word of the texts but stop words is in the encoder's vocabulary."""
    return not any(
        encoder.has_known_word(" ".join(content_words([text])) or text) for text in texts
    )


@frozen
class UnknownWords:
    """The words of the texts that no capability mentions: their share of what the texts say, 0..1,
    and the weight of the one that says the least.
    """

    share: float = 0.0
    least_weight: float = 0.0

    @property
    def is_foreign(self) -> bool:
        """Whether the texts seem to be in another language than the catalogue."""
        return self.share >= FOREIGN_SHARE or self.least_weight < FUNCTION_WORD_WEIGHT


def weigh_unknown_words(
    texts: Sequence[str], unmatched: Sequence[str], encoder: StaticEncoder
) -> UnknownWords:
    """How much the `unmatched` words say of what the texts say, where a word says the sum of its
    tokens' weights.
    """
    if not unmatched:
        return UnknownWords()
    unmatched_words = frozenset(unmatched)
    weights = {
        word: sum(map(encoder.token_weight, encoder.token_ids(word)))
        for word in content_words(texts)[:MAX_SUBJECT_WORDS]
    }
    unknown = [weight for word, weight in weights.items() if word in unmatched_words]
    if not sum(unknown):
        return UnknownWords()
    return UnknownWords(sum(unknown) / sum(weights.values()), min(unknown))


@frozen(kw_only=True)
class GateModel:
    """The fitted numbers. `vectors` holds `WINDOW` rows of int8 values for each filter, one for
    each of the tokens side by side; a token's cosine times the row's scale is its share in the
    filter's value. `edges` are the shares of the places before the first token and after the last.
    `hidden` has a row for each hidden unit: weights of each filter's largest and mean value, then
    of the features.
    """

    encoder: str
    vectors: bytes
    scales: Sequence[Sequence[float]]
    edges: Sequence[Sequence[float]]
    biases: Sequence[float]
    hidden: Sequence[Sequence[float]]
    hidden_biases: Sequence[float]
    outputs: Sequence[float]
    output_bias: float
    means: Sequence[float]
    deviations: Sequence[float]
    evidence: Mapping[str, float]
    lexical_evidence: Mapping[str, float]


@lru_cache(maxsize=2)
def load_gate_model(path: Path = MODEL_FILE) -> GateModel:
    """The model as `fit_gate.py` wrote it. Raises EncoderError where the file is another one."""
    try:
        stored = json.loads(path.read_bytes())
        if stored.pop("format") != MODEL_FORMAT:
            raise ValueError("unknown format")
        vectors = a2b_base64(stored.pop("vectors"))
        return GateModel(vectors=vectors, **stored)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(
            f"the model of requests is missing or damaged: {path}", "reinstall capdisc"
        ) from error


def text_logit(model: GateModel, encoder: StaticEncoder, text: str) -> float:
    """How much the text by itself is like a request, in logits: 0 is undecided."""
    turn = shorten_turn(text)
    token_ids = shorten_tokens(encoder.token_ids(turn))
    if not token_ids or not any(map(str.isalnum, turn)):
        return NO_WORDS_LOGIT
    weights = [encoder.token_weight(token_id) for token_id in token_ids]
    features = text_features(turn, weights)
    scaled = [
        (value - mean) / deviation
        for value, mean, deviation in zip(
            features.values(), model.means, model.deviations, strict=True
        )
    ]
    inputs = [*_pool_filters(model, encoder, token_ids), *scaled]
    hidden = [
        max(0.0, bias + sum(map(mul, weights_of_unit, inputs)))
        for weights_of_unit, bias in zip(model.hidden, model.hidden_biases, strict=True)
    ]
    total: float = model.output_bias + sum(map(mul, model.outputs, hidden))
    return total


def _pool_filters(
    model: GateModel, encoder: StaticEncoder, token_ids: Sequence[int]
) -> list[float]:
    """The largest value of each filter over the text, at least 0, then the mean value of each."""
    filters = memoryview(model.vectors).cast("b", (WINDOW * len(model.scales), encoder.dim))
    rows = encoder.token_rows(token_ids)
    distances: Any = memoryview(lazy_imports.simsimd().cdist(filters, rows, metric="cosine"))
    if lazy_imports.numpy_if_loaded() is not None:
        return _pool_distances_numpy(model, distances)
    windows = iter(distances.tolist())
    largest, means = [], []
    for (left, middle, right), (first, last), bias in zip(
        model.scales, model.edges, model.biases, strict=True
    ):
        lefts, middles, rights = next(windows), next(windows), next(windows)
        # A cosine is 1 less the distance: the ones of all three terms are in `maximum`.
        maximum = bias + left + middle + right
        values = [
            max(0.0, maximum - left * before - middle * token - right * after)
            for before, token, after in zip(
                [1.0 - first / left, *lefts[:-1]], middles, [*rights[1:], 1.0 - last / right],
                strict=True,
            )
        ]  # fmt: skip
        largest.append(max(values))
        means.append(sum(values) / len(values))
    return largest + means


def _pool_distances_numpy(model: GateModel, distances: Any) -> list[float]:
    """The same values from the distances (filters x WINDOW, tokens), in a third of the time."""
    np = lazy_imports.numpy()
    lefts, middles, rights = (
        np.asarray(distances).reshape(len(model.scales), WINDOW, -1).swapaxes(0, 1)
    )
    left, middle, right = np.array(model.scales)[:, :, None].swapaxes(0, 1)
    first, last = np.array(model.edges)[:, :, None].swapaxes(0, 1)
    before = np.concatenate([1.0 - first / left, lefts[:, :-1]], axis=1)
    after = np.concatenate([rights[:, 1:], 1.0 - last / right], axis=1)
    maximum = np.array(model.biases)[:, None] + left + middle + right
    values = maximum - left * before - middle * middles - right * after
    shares: list[list[float]] = np.maximum(0.0, values).tolist()
    # Sums one by one: numpy adds in another order.
    return [*map(max, shares), *(sum(row) / len(row) for row in shares)]


def shorten_turn(text: str) -> str:
    """The turn as the model reads it: without fenced code, and of a long text the beginning and the end.

    >>> shorten_turn("why does this fail?\\n```\\nprint(1)\\n```")
    'why does this fail?\\n '
    """
    plain = _FENCED_CODE.sub(" ", text) if "```" in text else text
    half = MAX_CHARACTERS // 2
    return plain if len(plain) <= MAX_CHARACTERS else f"{plain[:half]} {plain[-half:]}"


def shorten_tokens(token_ids: Sequence[int]) -> Sequence[int]:
    """The first and the last tokens of a long text."""
    half = MAX_TOKENS // 2
    return token_ids if len(token_ids) <= MAX_TOKENS else [*token_ids[:half], *token_ids[-half:]]


def text_features(text: str, token_weights: Sequence[float]) -> dict[str, float]:
    """How long the text is, how much its tokens say, and which signs it holds."""
    weights, signs = sorted(token_weights, reverse=True) or [0.0], frozenset(text)
    return {
        "tokens": math.log1p(len(weights)),
        "characters": math.log1p(len(text)),
        "words": math.log1p(len(text.split())),
        "information": math.log1p(sum(weights)),
        "heaviest": math.log1p(weights[0]),
        "heaviest_two": math.log1p(sum(weights[:2])),
        "question": float(bool(signs & QUESTION_MARKS)),
        "exclamation": float(bool(signs & EXCLAMATION_MARKS)),
        "digits": float(any(sign.isdigit() for sign in signs)),
        "code": float(bool(signs & CODE_SIGNS)),
    }


# The text and the evidence together.


def read_evidence(index: Index, ranking: Ranking, encoder: StaticEncoder) -> dict[str, float]:
    """What the search found, by name: mostly the best of the first hits that were asked for."""
    hits = [hit for hit in ranking.hits if not hit.via][:EVIDENCE_HITS]
    words = sum(len(text.split()) for text in ranking.query.texts)
    token_ids = encoder.token_ids(shorten_turn(" ".join(ranking.query.texts)))
    return {
        "cosine": _best_signal(hits, "cosine") - index.generation.background,
        "coverage": _best_signal(hits, "coverage"),
        "meets_query": _best_signal(hits, "meets_query"),
        "meets_name": _best_signal(hits, "meets_name"),
        "meets_description": _best_signal(hits, "meets_description"),
        "relevance": max((hit.relevance for hit in hits), default=0.0),
        "confidence": ranking.confidence,
        "lead": hits[0].score - hits[1].score if len(hits) > 1 else 0.0,
        "unmatched": min(1.0, len(ranking.unmatched) / max(words, 1)),
        "best_score": hits[0].score if hits else 0.0,
        "information": math.log1p(sum(map(encoder.token_weight, token_ids))),
        "catalogue": math.log10(max(len(index.documents), MIN_CATALOGUE_SIZE)),
    }


def combine(weights: Mapping[str, float], logit: float, evidence: Mapping[str, float]) -> float:
    """The score 0..1 of a text with this logit and this evidence; `weights` names what counts.

    A name of two parts ("text*cosine") stands for their product.
    """
    values = {"text": logit, "bias": 1.0, **evidence}
    return logistic(
        sum(
            weight * math.prod(values[part] for part in name.split("*"))
            for name, weight in weights.items()
        )
    )


def logistic(value: float) -> float:
    """The value as a probability, where it would be too large for a float as well."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))


def _best_signal(hits: Sequence[Hit], name: str) -> float:
    return max((hit.signals.get(name, 0.0) for hit in hits), default=0.0)
