"""The vector half of a build: encode the texts that are new, take the others from the last generation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.background import background
from capdisc_indexer.embedding_text import embedding_texts
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.previous import Previous
from capdisc_indexer.reconcile import Progress
from capdisc_indexer.store import matrix, vectors
from capdisc_indexer.types import Descriptor

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """How many vectors there are, how many texts had to be encoded for them, and what meaningless queries reach."""

    rows: int
    embedded: int
    background: float = 0.0


def text_hashes(descriptor: Descriptor) -> tuple[str, ...]:
    """A digest of each embedding text; equal text, equal vector."""
    return tuple(
        hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32] for text in embedding_texts(descriptor)
    )


def write_vectors(
    target: Path,
    last: Previous,
    wanted: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    encoder: Encoder,
    progress: Progress,
) -> Encoded:
    """Write the table and the matrix for `wanted` (id → text hashes); `texts` holds every text that may be new."""
    ids = sorted(wanted)
    rows = [(owner, part, text_hash) for owner, key in enumerate(ids) for part, text_hash in enumerate(wanted[key])]
    hashes = list(dict.fromkeys(text_hash for _, _, text_hash in rows))
    known, old = _reusable(last, encoder)
    missing = [text_hash for text_hash in hashes if text_hash not in known]
    fresh = _encode([texts[text_hash] for text_hash in missing], encoder, progress)
    np = engines.numpy()
    both = np.concatenate([old, fresh]) if len(old) else fresh
    position = {**known, **{text_hash: len(old) + i for i, text_hash in enumerate(missing)}}
    all_rows = both[[position[text_hash] for _, _, text_hash in rows]].reshape(len(rows), encoder.dim)
    vectors.write(
        target / "vectors", [ids[o] for o, _, _ in rows], [p for _, p, _ in rows], [h for *_, h in rows], all_rows
    )
    matrix.write(target / "matrix", all_rows, [owner for owner, _, _ in rows], ids)
    return Encoded(
        rows=len(rows),
        embedded=len(missing),
        background=background(encoder, all_rows),
    )


def _reusable(last: Previous, encoder: Encoder) -> tuple[dict[str, int], NDArray[Any]]:
    """The last generation's vectors, when they are this encoder's."""
    if last.folder is None or last.generation is None or last.generation.fingerprint != encoder.fingerprint:
        return {}, engines.numpy().zeros((0, encoder.dim), "float32")
    return vectors.read(last.folder / "vectors")


def _encode(texts: Sequence[str], encoder: Encoder, progress: Progress) -> NDArray[Any]:
    np = engines.numpy()
    parts = [np.zeros((0, encoder.dim), np.float32)]
    for start in range(0, len(texts), _BATCH):
        progress("Encoding", start, len(texts))
        parts.append(encoder.encode(texts[start : start + _BATCH]))
    progress("Encoding", len(texts), len(texts))
    vectors: NDArray[Any] = np.concatenate(parts)
    return vectors
