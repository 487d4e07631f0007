"""The int8 form in which vectors are stored, with numpy and without."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports

if TYPE_CHECKING:
    from numpy.typing import NDArray


def quantise(vectors: NDArray[Any]) -> NDArray[Any]:
    """(n, dim) int8 from (n, dim) float32, each row scaled by itself; a zero row stays zero.

    Cosine does not depend on a row's scale, so each row may use the whole range, and no scale is
    stored.
    """
    peak = abs(vectors).max(axis=1, keepdims=True)
    scaled: NDArray[Any] = vectors * (127.0 / (peak + (peak == 0)))
    return scaled.round().astype("int8")


def quantise_rows(rows: bytes | memoryview, dim: int, are_many: bool) -> bytes:
    """The rows that `quantise` gives for float32 rows, one after the other; with numpy where it is
    installed and they are many.
    """
    if np := lazy_imports.numpy_if_installed(are_many):
        return quantise(np.frombuffer(rows, np.float32).reshape(-1, dim)).tobytes()
    floats = memoryview(rows).cast("f")
    return b"".join(
        quantise_row(array("f", floats[start : start + dim]))
        for start in range(0, len(floats), dim)
    )


def quantise_row(vector: array[float]) -> bytes:
    """The row that `quantise` gives for one float32 row, as bytes and without numpy.

    >>> list(quantise_row(array("f", [0.6, -0.8, 0.0])))
    [95, 129, 0]
    """
    peak = max(map(abs, vector), default=0.0)
    (scale,) = array("f", [127.0 / peak if peak else 0.0])
    return array("b", map(round, array("f", [value * scale for value in vector]))).tobytes()
