"""What kind of work does a turn ask for, and is it one of a session with a coding agent?

Linear models read the turn by its vectors, those of its first line and of its beginning, and by a
few marks: code, log lines, identifiers, a question. Most turns of such a session ("go on", "what
does this function do?") are of the kind none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.retrieval.request_gate import load_gate_model, text_logit
from capdisc_indexer.suggestion.model import LinearRows, SuggestionModel, compare_rows

HEAD_CHARACTERS, TEXT_CHARACTERS = 400, 1_200
# How much the turns before say about this one being a part of a coding session, besides itself.
CONTEXT_SHARE, FULL_CONTEXT = 0.6, 2
_LOG_BEGINNINGS = (
    "at ", 'File "', "Error", "ERROR", "error:", "FAIL", "=== ", "$ ", "% ", "❯", "> ", "Traceback",
)  # fmt: skip
_LOG_LINES = 40
_ADDRESSING_WORDS = frozenset(
    "i me my we us our you your let lets let's please can could should would why how what ok yes no"
    .split()
)  # fmt: skip


@frozen
class EarlierTurns:
    """The turns before in the session: their number, and the mean of their `coding` logits."""

    count: int = 0
    coding: float = 0.0


@frozen(kw_only=True)
class TurnProfile:
    """A turn as the model sees it: `head` is the vector of its first line (dim int8), `kinds` the
    probability of each kind of work. `coding` is the logit that it is part of a coding session by
    itself, `coding_here` together with the turns before, of which there are `earlier_turns`.
    `asks` and `head_asks` are logits of the gate: how much the turn and its first line read as a
    request of any kind.
    """

    head: bytes
    kinds: Sequence[float]
    coding: float
    coding_here: float
    words: int
    characters: int
    head_characters: int
    earlier_turns: int
    asks: float
    head_asks: float


def first_line(text: str) -> str:
    """The first line of a turn that is not blank; what follows is often pasted."""
    stripped = text.strip()
    return stripped.partition("\n")[0].strip() or stripped


def encode_head(encoder: StaticEncoder, text: str) -> bytes:
    """The vector of the first line of a turn, dim int8: what is remembered of it."""
    return encoder.encode_query(first_line(text)[:HEAD_CHARACTERS])


def profile_turn(
    model: SuggestionModel,
    encoder: StaticEncoder,
    text: str,
    earlier: EarlierTurns = EarlierTurns(),
) -> TurnProfile:
    """The profile of a turn, also of one without a letter."""
    head_text = first_line(text)
    head = encode_head(encoder, text)
    beginning = encoder.encode_query(text.strip()[:TEXT_CHARACTERS])
    marks = read_marks(text, head_text)
    of_vectors = zip(
        _apply(model, model.of_head, head),
        _apply(model, model.of_text, beginning),
        model.of_marks,
        strict=True,
    )
    logits = [
        by_head + by_text + sum(weight * mark for weight, mark in zip(weights, marks, strict=True))
        for by_head, by_text, weights in of_vectors
    ]
    *kind_logits, coding = logits
    share = CONTEXT_SHARE * min(earlier.count, FULL_CONTEXT) / FULL_CONTEXT
    return TurnProfile(
        head=head,
        kinds=_softmax(kind_logits),
        coding=coding,
        coding_here=coding + share * earlier.coding,
        words=max(len(text.split()), 1),
        characters=len(text),
        head_characters=len(head_text),
        earlier_turns=earlier.count,
        asks=text_logit(load_gate_model(), encoder, text),
        head_asks=text_logit(load_gate_model(), encoder, head_text),
    )


def read_marks(text: str, head: str) -> list[float]:
    """What a turn has besides its words, 0 or 1 each, for the whole and for its first line; last,
    how long it is.
    """
    return [*_find_marks(text), *_find_marks(head), min(1.0, math.log1p(len(text)) / 8), 1.0]


def _find_marks(text: str) -> list[float]:
    beginning = text[:TEXT_CHARACTERS]
    lines = beginning.splitlines()[:_LOG_LINES]
    words = beginning.split()
    lower_words = {word.strip(".,:;!?()").lower() for word in words}
    marks = (
        "```" in text,
        any(line.lstrip().startswith(_LOG_BEGINNINGS) for line in lines),
        any(_is_identifier(word) for word in words),
        any("/" in word.strip("/") and "://" not in word for word in words),
        "?" in text,
        "://" in text,
        any(word.startswith("@") and len(word) > 1 for word in words),
        beginning[:1].isdigit(),
        "plan" in lower_words,
        bool(lower_words & _ADDRESSING_WORDS),
        any(line.startswith("#") for line in lines),
        any(line.startswith(">") for line in lines),
    )
    return [float(mark) for mark in marks]


def _is_identifier(word: str) -> bool:
    """Whether a word reads as a name in code: `userStore`, `user_store`, `store.get(`."""
    inner = word.strip("`\"'.,:;!?()[]{}*")
    is_camel = inner[1:] != inner[1:].lower() and not inner.isupper() and inner[:1].isalpha()
    return is_camel or "_" in inner or ".get(" in word or "()" in word


def _apply(model: SuggestionModel, linear: LinearRows, vector: bytes) -> list[float]:
    """The value of each of the linear models for a vector; 0 each for a text without meaning."""
    count = len(linear.scales)
    if not any(vector):
        return [0.0] * count
    query = memoryview(vector).cast("b", (1, model.dim))
    (cosines,) = compare_rows(query, model.rows(linear.start, count))
    return [scale * cosine for scale, cosine in zip(linear.scales, cosines, strict=True)]


def _softmax(logits: Sequence[float]) -> list[float]:
    peak = max(logits)
    values = [math.exp(logit - peak) for logit in logits]
    total = sum(values)
    return [value / total for value in values]
