"""The trained table written as the files that the package ships."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save
from tokenizers import Tokenizer

NAME, FORMAT, LICENSE = "capdisc-static-1", 1, "Apache-2.0"
GOLDEN_TEXT, GOLDEN_COMPONENTS = "convert a PDF to text", 8


def write_model(folder: Path, tokenizer: Tokenizer, rows: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
    """`table.safetensors`, `tokenizer.json` and, last, `model.json`, each replaced whole."""
    folder.mkdir(parents=True, exist_ok=True)
    table, weight = quantise(rows, weights)
    contents = {
        "table.safetensors": save({"table": table, "weight": weight}),
        "tokenizer.json": tokenizer.to_str().encode(),
    }
    manifest = {
        "name": NAME,
        "format": FORMAT,
        "dim": table.shape[1],
        "vocabulary": table.shape[0],
        "license": LICENSE,
        "files": {name: _fingerprint(content) for name, content in contents.items()},
        "golden": {"text": GOLDEN_TEXT, "vector": _golden(tokenizer, table, weight)},
    }
    contents["model.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    for name, content in contents.items():
        _replace(folder / name, content)


def quantise(rows: NDArray[np.float32], weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as -127..127 and weights that carry each row's scale: `weight[t] * table[t]` is the token's vector."""
    scale = np.maximum(np.abs(rows).max(axis=1), 1e-12) / 127
    return np.rint(rows / scale[:, None]).astype(np.int8), (weights * scale).astype(np.float32)


def embed(tokenizer: Tokenizer, table: NDArray[np.int8], weight: NDArray[np.float32], text: str) -> NDArray[np.float32]:
    """The unit vector of a text, `(dim,)`; zeros for a text without known tokens. The reference for every reader."""
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    vector = (weight[ids, None] * table[ids].astype(np.float32)).sum(axis=0)
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def _golden(tokenizer: Tokenizer, table: NDArray[np.int8], weight: NDArray[np.float32]) -> list[float]:
    vector = embed(tokenizer, table, weight, GOLDEN_TEXT)
    return [round(float(x), 6) for x in vector[:GOLDEN_COMPONENTS]]


def _fingerprint(content: bytes) -> dict[str, str | int]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(path.name + ".new")
    aside.write_bytes(content)
    aside.replace(path)
