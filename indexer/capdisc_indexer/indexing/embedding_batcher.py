"""Texts on their way to vectors: each new one is encoded once, in batches, and its vector kept on
disk meanwhile.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many texts take less time without numpy than its import does.
SMALL_BATCH = 16
_BATCH_SIZE = 2_048


def hash_text(text: str) -> str:
    """A digest of an embedding text; equal text, equal vector."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


class EmbeddingBatcher:
    """Rows of float32 in a file without a name in `scratch`; `position` says which row is whose
    text's.

    Not in a folder that is published meanwhile: network file systems give such a file a name
    there.
    """

    def __init__(
        self, encoder: Encoder | None, known_hashes: Container[str], scratch: Path
    ) -> None:
        self.position: dict[str, int] = {}
        self._encoder, self._known_hashes = encoder, known_hashes
        self._pending: dict[str, str] = {}
        self._file: Any = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    def __enter__(self) -> EmbeddingBatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add_texts(self, embedding_texts: Iterable[str]) -> tuple[str, ...]:
        """The hashes of a capability's embedding texts; those that are not known will be
        encoded.
        """
        texts = {hash_text(text): text for text in embedding_texts}
        if self._encoder is not None:
            new = {
                key: text
                for key, text in texts.items()
                if key not in self.position and key not in self._known_hashes
            }
            self._pending.update(new)
            if len(self._pending) >= _BATCH_SIZE:
                self.encode()
        return tuple(texts)

    @property
    def waiting(self) -> int:
        """How many texts were taken that have to be encoded."""
        return len(self._pending)

    def encode(self) -> None:
        """Encode what was taken and waits for that."""
        if self._encoder is not None and self._pending:
            waiting, self._pending = self._pending, {}
            texts = list(waiting.values())
            if len(texts) <= SMALL_BATCH:
                self._append_rows(waiting, self._encoder.encode_few(texts))
            else:
                self.add(waiting, self._encoder.encode(texts))

    def add(self, hashes: Iterable[str], vectors: NDArray[Any]) -> None:
        """Keep vectors that were made before."""
        self._append_rows(hashes, vectors.astype("float32", copy=False).tobytes())

    def _append_rows(self, hashes: Iterable[str], rows: bytes) -> None:
        start = len(self.position)
        self.position.update((key, row) for row, key in enumerate(hashes, start))
        self._file.write(rows)

    def rows(self, dim: int) -> NDArray[Any]:
        """All rows, (n, dim) float32, which stay on disk until they are used."""
        np = lazy_imports.numpy()
        self._file.flush()
        shape = (len(self.position), dim)
        array: NDArray[Any] = (
            np.memmap(self._file, np.float32, "r", shape=shape)
            if shape[0]
            else np.zeros(shape, "f4")
        )
        return array

    def raw(self) -> bytes:
        """The same as bytes."""
        self._file.seek(0)
        data: bytes = self._file.read()
        return data
