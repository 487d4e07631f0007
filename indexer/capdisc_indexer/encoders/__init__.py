"""Encoders turn text into unit vectors. `load` gives the one that a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from capdisc_indexer.encoders.static import StaticEncoder

SHIPPED = "static"


class Encoder(Protocol):
    """What the index needs of an encoder. Vectors of two encoders compare only when their fingerprints are equal."""

    name: str
    dim: int
    fingerprint: str

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows; a row of zeros for a text without any known piece."""
        ...

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The same rows as bytes, by the shortest way for a few texts."""
        ...

    def encode_query(self, text: str) -> bytes:
        """dim int8 values that point where the query's vector points; all zero when nothing is known of it."""
        ...

    def check(self) -> None:
        """Raises EncoderError unless the encoder gives the vectors that its fingerprint promises."""
        ...


def shipped() -> StaticEncoder:
    """The encoder that comes with this package. Raises EncoderError when it is missing or damaged."""
    from capdisc_indexer.encoders.static import MODEL_FOLDER

    return _table(MODEL_FOLDER)


def shipped_fingerprint() -> str:
    """The fingerprint of the encoder that comes with this package; empty when it cannot be used."""
    from capdisc_indexer.errors import EncoderError

    try:
        return shipped().fingerprint
    except EncoderError:
        return ""


def load(name: str = SHIPPED) -> Encoder:
    """The shipped encoder for "static", else a sentence-transformers model by name or path.

    Raises EncoderError when it is missing, damaged, or needs an extra that is not installed.
    """
    if name == SHIPPED:
        return shipped()
    if (Path(name) / "table.safetensors").is_file():
        return _table(Path(name))
    from capdisc_indexer.encoders.transformers import TransformerEncoder

    return TransformerEncoder(name)


def _table(folder: Path) -> StaticEncoder:
    """The table model in the folder, opened anew when its files are others than before."""
    try:
        files = [(folder / name).stat() for name in ("model.json", "table.safetensors")]
    except OSError:
        files = []  # opening it says what is wrong
    return _opened(folder, tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in files))


@lru_cache(maxsize=4)
def _opened(folder: Path, stamps: tuple[tuple[int, int, int], ...]) -> StaticEncoder:
    """Two of a query's steps ask for it, and every query of a server."""
    from capdisc_indexer.encoders.static import StaticEncoder

    return StaticEncoder(folder)
