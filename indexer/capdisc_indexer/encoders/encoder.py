"""What the index needs of an encoder, and the encoder of a name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from capdisc_indexer.model.errors import EncoderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from capdisc_indexer.encoders.static_encoder import StaticEncoder

SHIPPED_ENCODER = "static"
NO_RERANKER = "none"


class Encoder(Protocol):
    """What the index needs of an encoder. Vectors of two encoders can be compared only if their
    fingerprints are equal.
    """

    name: str
    dim: int
    fingerprint: str

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows; a row of zeros for a text without any known piece."""
        ...

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The rows of `encode` as bytes, in the fastest way for a few texts."""
        ...

    def encode_query(self, text: str) -> bytes:
        """dim int8 values in the direction of the query's vector; all zero for a text without any
        known piece.
        """
        ...

    def check(self) -> None:
        """Raises EncoderError if the encoder does not give the vectors of its fingerprint."""
        ...


def load_shipped_encoder() -> StaticEncoder:
    """The encoder of this package. Raises EncoderError if it is missing or damaged."""
    from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER

    return _load_static_encoder(MODEL_FOLDER)


def shipped_fingerprint() -> str:
    """The fingerprint of the encoder of this package; "" if it cannot be used."""
    try:
        return load_shipped_encoder().fingerprint
    except EncoderError:
        return ""


def is_static(name: str) -> bool:
    """Whether the encoder of this name is a table, which loads in milliseconds; any other takes
    seconds.
    """
    return name == SHIPPED_ENCODER or (Path(name) / "table.safetensors").is_file()


def load_encoder(name: str = SHIPPED_ENCODER) -> Encoder:
    """The shipped encoder for "static", else an ONNX or sentence-transformers model by name or
    path.

    Raises EncoderError if it is missing, damaged, or needs an extra that is not installed.
    """
    if name == SHIPPED_ENCODER:
        return load_shipped_encoder()
    if is_static(name):
        return _load_static_encoder(Path(name))
    from capdisc_indexer.encoders import model_encoders

    if model := model_encoders.find_onnx_file(name):
        return model_encoders.open_onnx_encoder(name, model, model.stat().st_mtime_ns)
    return model_encoders.TransformerEncoder(name)


def try_load_encoder(name: str) -> tuple[Encoder | None, str]:
    """The encoder of this name and ""; or None, and why it cannot be loaded."""
    try:
        return load_encoder(name), ""
    except EncoderError as error:
        return None, f"{error.message}; {error.hint}"


def _load_static_encoder(folder: Path) -> StaticEncoder:
    """The static encoder in the folder, opened again if its files have changed."""
    try:
        files = [(folder / name).stat() for name in ("model.json", "table.safetensors")]
    except OSError:
        files = []  # opening it raises the error
    return _open_static_encoder(
        folder, tuple((stamp.st_ino, stamp.st_mtime_ns, stamp.st_size) for stamp in files)
    )


@lru_cache(maxsize=4)
def _open_static_encoder(folder: Path, stamps: tuple[tuple[int, int, int], ...]) -> StaticEncoder:
    """Cached, since two steps of a query ask for it, and every query of a server."""
    from capdisc_indexer.encoders.static_encoder import StaticEncoder

    return StaticEncoder(folder)
