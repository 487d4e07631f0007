"""The trained table written as the files that the package ships."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from capdisc_indexer.encoders.word_pieces import (
    WordPieceTokenizer,
    pack_vocabulary,
    unpack_vocabulary,
)

NAME, FORMAT, LICENSE = "capdisc-static-2", 2, "Apache-2.0"
GOLDEN_TEXT, GOLDEN_COMPONENTS = "convert a PDF to text", 8
Tensors = dict[str, NDArray]


class Table:
    """A written model read back with numpy: the reference for every reader."""

    def __init__(self, tensors: Tensors) -> None:
        self.vectors = tensors["table"].astype(np.float32) * tensors["weight"][:, None]
        self.lookup = unpack_vocabulary(tensors["pieces"].tobytes())
        self._cutter = WordPieceTokenizer(self.lookup.get)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """`(n, dim)` unit vectors; zeros for a text without known pieces."""
        sums = np.stack([self.vectors[self._cutter.ids(text)].sum(axis=0) for text in texts])
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)


def read_model(folder: Path) -> Table:
    """The model of a folder that `write_model` wrote."""
    return Table(load_file(folder / "table.safetensors"))


def write_model(
    folder: Path, pieces: Sequence[str], rows: NDArray[np.float32], weights: NDArray[np.float32]
) -> None:
    """`table.safetensors` and, last, `model.json`, each replaced whole. `pieces` are sorted by their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = tensors_of(pieces, rows, weights)
    contents = {"table.safetensors": save(tensors)}
    golden = Table(tensors).encode([GOLDEN_TEXT])[0, :GOLDEN_COMPONENTS]
    manifest = {
        "name": NAME,
        "format": FORMAT,
        "dim": rows.shape[1],
        "vocabulary": len(pieces),
        "license": LICENSE,
        "files": {name: _fingerprint(content) for name, content in contents.items()},
        "golden": {"text": GOLDEN_TEXT, "vector": [round(float(x), 6) for x in golden]},
    }
    contents["model.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    for name, content in contents.items():
        _replace(folder / name, content)


def tensors_of(
    pieces: Sequence[str], rows: NDArray[np.float32], weights: NDArray[np.float32]
) -> Tensors:
    """Rows as -127..127, weights that carry each row's scale, and the packed vocabulary with its line starts."""
    scale = np.maximum(np.abs(rows).max(axis=1), 1e-12) / 127
    text, starts = pack_vocabulary(pieces)
    return {
        "table": np.rint(rows / scale[:, None]).astype(np.int8),
        "weight": (weights * scale).astype(np.float32),
        "pieces": np.frombuffer(text, np.uint8),
        "starts": np.array(starts, np.uint32),
    }


def _fingerprint(content: bytes) -> dict[str, str | int]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(path.name + ".new")
    aside.write_bytes(content)
    aside.replace(path)
