"""Vectors as int8, for the flat matrix and for queries against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def quantise(vectors: NDArray[Any]) -> NDArray[Any]:
    """(n, dim) float32 to (n, dim) int8, each row scaled by itself; a zero row stays zero.

    Cosine does not depend on a row's scale, so each row may use the whole range and no scale is kept.
    """
    peak = abs(vectors).max(axis=1, keepdims=True)
    scaled: NDArray[Any] = vectors * (127.0 / (peak + (peak == 0)))
    return scaled.round().astype("int8")
