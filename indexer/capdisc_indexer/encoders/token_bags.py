"""The two forms in which the meaning of a capability is stored: a vector as int8, and the bag of
its text's pieces, with which the pieces of a query are compared one by one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.embedding_text import BODY_CHARACTERS, readable_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Caps found by measuring: a body's 64 weightiest pieces say what all of its first 2,000 characters
# say.
_MAX_NAME, _MAX_DESCRIPTION, _MAX_BODY = 16, 64, 64

Tokenize = Callable[[str], Sequence[int]]
WeighToken = Callable[[int], float]


def quantise(vectors: NDArray[Any]) -> NDArray[Any]:
    """(n, dim) int8 from (n, dim) float32, each row scaled by itself; a zero row stays zero.

    Cosine does not depend on a row's scale, so each row may use the whole range, and no scale is
    stored.
    """
    peak = abs(vectors).max(axis=1, keepdims=True)
    scaled: NDArray[Any] = vectors * (127.0 / (peak + (peak == 0)))
    return scaled.round().astype("int8")


def quantise_row(vector: array[float]) -> bytes:
    """The row that `quantise` gives for one float32 row, as bytes and without numpy.

    >>> list(quantise_row(array("f", [0.6, -0.8, 0.0])))
    [95, 129, 0]
    """
    peak = max(map(abs, vector), default=0.0)
    (scale,) = array("f", [127.0 / peak if peak else 0.0])
    return array("b", map(round, array("f", [value * scale for value in vector]))).tobytes()


@frozen
class TokenBag:
    """Piece ids without repetition: those of the name, those that the description adds, and those
    that the rest adds.
    """

    name: tuple[int, ...] = ()
    description: tuple[int, ...] = ()
    body: tuple[int, ...] = ()


def build_token_bag(
    descriptor: Descriptor, tokenize: Tokenize, weigh_token: WeighToken
) -> TokenBag:
    """The bag of a capability."""
    d = descriptor
    labels = [d.category, *d.tags, *(p.name for p in d.parameters)]
    body_texts = [
        d.usage_hint,
        *(p.description for p in d.parameters),
        *d.phrases,
        d.content[:BODY_CHARACTERS],
    ]
    name = _unseen_ids(tokenize(readable_name(d.title or d.name)), ())[:_MAX_NAME]
    description = _unseen_ids(
        tokenize(f"{d.description} {' '.join(map(readable_name, labels))}"), name
    )[:_MAX_DESCRIPTION]
    body = sorted(
        _unseen_ids(tokenize("\n".join(body_texts)), (*name, *description)),
        key=weigh_token,
        reverse=True,
    )[:_MAX_BODY]
    return TokenBag(tuple(name), tuple(description), tuple(body))


def encode_bag(token_bag: TokenBag) -> bytes:
    """The bag as bytes: the lengths of its first two parts, then all ids, 32 bits each."""
    return array(
        "I",
        (
            len(token_bag.name),
            len(token_bag.description),
            *token_bag.name,
            *token_bag.description,
            *token_bag.body,
        ),
    ).tobytes()


def decode_bag(data: bytes) -> TokenBag:
    """The bag of these bytes; an empty bag for no bytes."""
    if not data:
        return TokenBag()
    in_name, in_description, *ids = array("I", data)
    end_of_description = in_name + in_description
    return TokenBag(
        tuple(ids[:in_name]),
        tuple(ids[in_name:end_of_description]),
        tuple(ids[end_of_description:]),
    )


def _unseen_ids(ids: Sequence[int], known: Sequence[int]) -> list[int]:
    known_ids = set(known)
    return [token_id for token_id in dict.fromkeys(ids) if token_id not in known_ids]
