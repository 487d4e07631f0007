"""Texts on their way to vectors: each new one is encoded once, in batches, and its vector kept on disk meanwhile."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.encoders import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many texts take less time without numpy than its import does.
FEW = 16
_BATCH = 2_048


def text_hash(text: str) -> str:
    """A digest of an embedding text; equal text, equal vector."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


class Intake:
    """Rows of float32 in a file without a name in `scratch`; `position` says which row is whose text's.

    Not in a folder that is published meanwhile: network file systems give such a file a name there.
    """

    def __init__(self, encoder: Encoder | None, known: Container[str], scratch: Path) -> None:
        self.position: dict[str, int] = {}
        self._encoder, self._known = encoder, known
        self._waiting: dict[str, str] = {}
        self._file: Any = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def take(self, embedding_texts: Iterable[str]) -> tuple[str, ...]:
        """The hashes of a capability's embedding texts; those that are not known will be encoded."""
        texts = {text_hash(text): text for text in embedding_texts}
        if self._encoder is not None:
            new = {key: text for key, text in texts.items() if key not in self.position and key not in self._known}
            self._waiting.update(new)
            if len(self._waiting) >= _BATCH:
                self.encode()
        return tuple(texts)

    @property
    def waiting(self) -> int:
        """How many texts were taken that have to be encoded."""
        return len(self._waiting)

    def encode(self) -> None:
        """Encode what was taken and waits for that."""
        if self._encoder is not None and self._waiting:
            waiting, self._waiting = self._waiting, {}
            texts = list(waiting.values())
            if len(texts) <= FEW:
                self._keep(waiting, self._encoder.encode_few(texts))
            else:
                self.add(waiting, self._encoder.encode(texts))

    def add(self, hashes: Iterable[str], vectors: NDArray[Any]) -> None:
        """Keep vectors that were made before."""
        self._keep(hashes, vectors.astype("float32", copy=False).tobytes())

    def _keep(self, hashes: Iterable[str], rows: bytes) -> None:
        start = len(self.position)
        self.position.update((key, row) for row, key in enumerate(hashes, start))
        self._file.write(rows)

    def rows(self, dim: int) -> NDArray[Any]:
        """All rows, (n, dim) float32, which stay on disk until they are used."""
        np = engines.numpy()
        self._file.flush()
        shape = (len(self.position), dim)
        found: NDArray[Any] = np.memmap(self._file, np.float32, "r", shape=shape) if shape[0] else np.zeros(shape, "f4")
        return found

    def raw(self) -> bytes:
        """The same as bytes."""
        self._file.seek(0)
        data: bytes = self._file.read()
        return data
