"""The sentence-transformers model that the table learns from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

CHUNK = 65_536
"""Texts sorted by length at a time: enough for batches of equal length, few enough to report progress."""


class Teacher:
    """all-MiniLM-L6-v2 or a relative of it, run in bfloat16 (cosine to float32: above 0.999; int8: 0.944)."""

    def __init__(self, path: Path) -> None:
        self._model = SentenceTransformer(str(path), device="cpu")
        self.tokenizer_file = path / "tokenizer.json"

    def encode(self, texts: Sequence[str], label: str) -> Tensor:
        """Unit vectors `(n, dim)` float16, one a text; progress goes to the terminal."""
        start = time.monotonic()
        parts = []
        for first in range(0, len(texts), CHUNK):
            parts.append(self._encode_chunk(texts[first : first + CHUNK]))
            done = min(first + CHUNK, len(texts))
            print(
                f"{label}: {done:,} of {len(texts):,} texts, {done / (time.monotonic() - start):.0f}/s",
                flush=True,
            )
        return torch.cat(parts)

    def _encode_chunk(self, texts: Sequence[str]) -> Tensor:
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            vectors = self._model.encode(
                list(texts),
                batch_size=64,
                convert_to_tensor=True,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        return vectors.to(torch.float16)


def principal_directions(vectors: Tensor, dim: int) -> Tensor:
    """`(teacher dim, dim)`: the directions that keep most of the vectors' cosines (SVD, not centred)."""
    sample = vectors[
        torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0))[:100_000]
    ].float()
    eigenvalues, directions = torch.linalg.eigh(sample.T @ sample)
    kept = eigenvalues[-dim:].sum() / eigenvalues.sum()
    print(
        f"{dim} of {vectors.shape[1]} dimensions hold {kept:.1%} of the teacher's energy",
        flush=True,
    )
    return directions.flip(1)[:, :dim].contiguous()
