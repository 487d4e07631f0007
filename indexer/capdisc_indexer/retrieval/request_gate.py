"""Does a turn ask for anything that this index has, or is it talk ("thanks!", "go on")?

Two small models decide together. The first reads the text alone: one layer of hidden units over
the static vectors of the text, of its first two words and of its last one, and over a few counts.
It knows what people say between requests in the languages of the shipped encoder. The second is a
logistic model of the first one's answer and of the evidence that the search found: a capability
that clearly fits makes a request of a doubtful text, and a text that is clearly a request needs
less evidence.

`indexer/training/fit_gate.py` fits both, writes `request_gate.json`, and says how well they do.
One decision takes half a millisecond, two for a text of 400 characters, and no numpy.
"""

from __future__ import annotations

import json
import math
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Hit, Ranking
from capdisc_indexer.store.snapshot import Index

MODEL_FILE = Path(__file__).with_name("request_gate.json")
MODEL_FORMAT = 1
# From this score on a turn is a request; the fit moves its scores so that this is the border.
BORDER = 0.5
# What is read of a turn. Whoever writes more than this asks for something, or has said by then
# what it is about; its vector takes most of the gate's time.
MAX_CHARACTERS = 400
HEAD_WORDS = 2
# In scripts without blanks between words, about as much as two words.
HEAD_CHARACTERS = 4
# The evidence is that of the best of so many hits.
EVIDENCE_HITS = 3
QUESTION_MARKS = frozenset("?？؟")
EXCLAMATION_MARKS = frozenset("!！")
CODE_SIGNS = frozenset('/_`"{}<>=\\@#')


@frozen(kw_only=True)
class GateDecision:
    """Whether a turn is a request, the score 0..1 that says so, and what the score comes from.

    `parts` holds, by name, the text's own score 0..1 and the evidence of the search.
    """

    is_request: bool
    score: float
    parts: Mapping[str, float]


def judge_request(index: Index, ranking: Ranking) -> GateDecision:
    """Whether the texts of a finished ranking ask for anything that the index has.

    Of several texts the one that is most like a request counts. A ranking without hits is no
    request for anything here, whatever it says. Without the shipped encoder every ranking with
    hits is one: there is nothing to judge the text by.
    """
    reader = _shipped_reader()
    if reader is None:
        return GateDecision(
            is_request=bool(ranking.hits), score=float(bool(ranking.hits)), parts={}
        )
    model = load_gate_model()
    logit = max(text_logit(model, reader, text) for text in ranking.query.texts or ("",))
    has_vectors = index.generation.fingerprint == model.encoder and ranking.mode != "lexical"
    evidence = read_evidence(index, ranking, reader)
    score = combine(model.evidence if has_vectors else model.lexical_evidence, logit, evidence)
    parts = {"text": round(logistic(logit), 4)}
    parts |= {name: round(value, 4) for name, value in evidence.items()}
    return GateDecision(
        is_request=bool(ranking.hits) and score >= BORDER,
        score=round(score, 4) if ranking.hits else 0.0,
        parts=parts,
    )


# The text alone.


@frozen(kw_only=True)
class GateModel:
    """The fitted numbers. `vectors` holds int8 rows, three for each hidden unit, one for each view
    of a text; a unit's scale makes weights of them.
    """

    encoder: str
    vectors: bytes
    scales: Sequence[float]
    features: tuple[Sequence[float], ...]
    means: Sequence[float]
    deviations: Sequence[float]
    biases: Sequence[float]
    outputs: Sequence[float]
    output_bias: float
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
        features = tuple(stored.pop("features"))
        return GateModel(vectors=vectors, features=features, **stored)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(
            f"the model of requests is missing or damaged: {path}", "reinstall capdisc"
        ) from error


def text_logit(model: GateModel, encoder: StaticEncoder, text: str) -> float:
    """How much the text by itself is like a request, in logits: 0 is undecided."""
    read = text[:MAX_CHARACTERS]
    features = [
        (value - mean) / deviation
        for value, mean, deviation in zip(
            text_features(encoder, read).values(), model.means, model.deviations, strict=True
        )
    ]
    hidden = [
        max(0.0, bias + scale * projection + sum(map(mul, weights, features)))
        for projection, scale, weights, bias in zip(
            _project(model, encoder, read), model.scales, model.features, model.biases, strict=True
        )
    ]
    total: float = model.output_bias + sum(map(mul, model.outputs, hidden))
    return total


def _project(model: GateModel, encoder: StaticEncoder, text: str) -> list[float]:
    """For each hidden unit, the products of its rows with the unit vectors of the text's views."""
    views = [encoder.encode_query(view) for view in text_views(text)]
    lengths = [_length(view) for view in views]
    rows = memoryview(model.vectors).cast("b", (len(views) * len(model.scales), encoder.dim))
    vectors = memoryview(b"".join(views)).cast("b", (len(views), encoder.dim))
    distances: Any = memoryview(lazy_imports.simsimd().cdist(vectors, rows, metric="dot"))
    products: list[list[float]] = distances.tolist()
    return [
        sum(
            products[view][unit * len(views) + view] / length
            for view, length in enumerate(lengths)
        )
        for unit in range(len(model.scales))
    ]


def _length(vector: bytes) -> float:
    """The length of a vector of int8; 1 where it is 0, so that one may divide by it."""
    values = memoryview(vector).cast("b")
    return math.sqrt(sum(map(mul, values, values))) or 1.0


def text_views(text: str) -> tuple[str, str, str]:
    """The text, its first two words and its last one: how a turn begins and ends says what it is.

    >>> text_views("could you merge these")
    ('could you merge these', 'could you', 'these')
    """
    words = text.split()
    if len(words) > 1:
        return text, " ".join(words[:HEAD_WORDS]), words[-1]
    return text, text.strip()[:HEAD_CHARACTERS], text.strip()[-HEAD_CHARACTERS:]


def text_features(encoder: StaticEncoder, text: str) -> dict[str, float]:
    """How long the text is, how much its pieces say, and which signs it holds."""
    weights = sorted(map(encoder.token_weight, encoder.token_ids(text)), reverse=True) or [0.0]
    signs = frozenset(text)
    return {
        "pieces": math.log1p(len(weights)),
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


def _shipped_reader() -> StaticEncoder | None:
    try:
        return load_shipped_encoder()
    except EncoderError:
        return None


# The text and the evidence together.


def read_evidence(index: Index, ranking: Ranking, reader: StaticEncoder) -> dict[str, float]:
    """What the search found, by name: mostly the best of the first hits that were asked for."""
    hits = [hit for hit in ranking.hits if not hit.via][:EVIDENCE_HITS]
    words = sum(len(text.split()) for text in ranking.query.texts)
    pieces = reader.token_ids(" ".join(ranking.query.texts)[:MAX_CHARACTERS])
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
        "information": math.log1p(sum(map(reader.token_weight, pieces))),
        "catalogue": math.log10(max(len(index.documents), 1)),
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
