"""The static encoder: a text's vector is the weighted sum of its word pieces' rows in one table.

The table lies on disk as int8 (safetensors) and is memory-mapped; one query reads a dozen rows. Nothing here needs
torch, and a single query needs no numpy either.

    model.json           name, dim, vocabulary, digests of the two files below, one golden vector
    tokenizer.json       word pieces
    table.safetensors    table int8 (vocabulary, dim), weight float32 (vocabulary,)
"""

from __future__ import annotations

import hashlib
import json
import mmap
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.errors import EncoderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL_FOLDER = Path(__file__).parent / "model"
# The vector of a long text is an average that changes little after the first few hundred pieces.
MAX_PIECES = 512
MAX_CHARACTERS = 8_000
_BATCH = 4_096
_HINT = "reinstall capdisc; until then searching goes by words alone"


class StaticEncoder:
    """An open table model."""

    def __init__(self, folder: Path) -> None:
        facts = _facts(folder)
        self.name: str = facts["name"]
        self.dim: int = facts["dim"]
        self.fingerprint = _fingerprint(facts)
        self._vocabulary: int = facts["vocabulary"]
        self._folder = folder
        self._tokenizer = _tokenizer(folder / "tokenizer.json")
        self._view, self._offsets = _map_tensors(folder / "table.safetensors", facts)

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows; a row of zeros for a text without any known piece."""
        np = engines.numpy()
        rows = [self._encode_batch(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        vectors: NDArray[Any] = np.concatenate([np.zeros((0, self.dim), np.float32), *rows])
        return vectors

    def _encode_batch(self, texts: Sequence[str]) -> NDArray[Any]:
        np = engines.numpy()
        table, weight = self._tensors()
        pieces = self._pieces(texts)
        sums: NDArray[Any] = np.zeros((len(texts), self.dim), np.float32)
        for row, ids in enumerate(pieces):
            if ids:
                sums[row] = weight[ids] @ table[ids].astype(np.float32)
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return sums

    def encode_query(self, text: str) -> bytes:
        """dim int8 values that point where the query's vector points; all zero when nothing is known of it."""
        weights = memoryview(self._view)[self._offsets["weight"] :][: 4 * self._vocabulary].cast("f")
        table = memoryview(self._view)[self._offsets["table"] :][: self._vocabulary * self.dim].cast("b")
        total = [0.0] * self.dim
        for piece in self._pieces([text])[0]:
            row, weight = table[piece * self.dim : (piece + 1) * self.dim], weights[piece]
            total = [t + weight * value for t, value in zip(total, row, strict=True)]
        peak = max(map(abs, total), default=0.0)
        return array("b", [round(value * 127.0 / peak) for value in total] if peak else [0] * self.dim).tobytes()

    def check(self) -> None:
        """Reads every byte and compares: digests, and the golden vector. Raises EncoderError on any difference."""
        facts = _facts(self._folder)
        for name, expected in facts["files"].items():
            digest = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()
            if digest != expected["sha256"]:
                raise EncoderError(f"the encoder is damaged: {self._folder / name} does not match its digest", _HINT)
        golden = facts["golden"]
        vector = self.encode([golden["text"]])[0][: len(golden["vector"])]
        if max(abs(float(a) - b) for a, b in zip(vector, golden["vector"], strict=True)) > 1e-3:
            raise EncoderError("the encoder is damaged: it does not give its own golden vector", _HINT)

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        clean = [_encodable(text) for text in texts]
        encoded = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        return [one.ids[:MAX_PIECES] for one in encoded]

    def _tensors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        np = engines.numpy()
        count = self._vocabulary * self.dim
        table = np.frombuffer(self._view, np.int8, count, self._offsets["table"]).reshape(self._vocabulary, self.dim)
        return table, np.frombuffer(self._view, np.float32, self._vocabulary, self._offsets["weight"])


def _tokenizer(path: Path) -> Any:
    with engines.contained("the encoder is damaged", _HINT, EncoderError):
        return engines.tokenizers().Tokenizer.from_file(str(path))


def _encodable(text: str) -> str:
    # A lone surrogate is a TypeError to the tokenizer, and a word of 10 MB costs it five seconds.
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _facts(folder: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads((folder / "model.json").read_bytes())
        sizes = {name: (folder / name).stat().st_size for name in facts["files"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(f"the encoder is missing or incomplete: {folder}", _HINT) from error
    wrong = [name for name, size in sizes.items() if size != facts["files"][name].get("bytes")]
    if wrong:
        raise EncoderError(f"the encoder is damaged: {folder / wrong[0]} has a wrong size", _HINT)
    return facts


def _fingerprint(facts: dict[str, Any]) -> str:
    text = json.dumps([facts["name"], facts["dim"], facts["files"]], sort_keys=True)
    return f"{facts['name']}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _map_tensors(path: Path, facts: dict[str, Any]) -> tuple[mmap.mmap, dict[str, int]]:
    """The mapped file and where each tensor starts (safetensors: 8 bytes length, JSON header, then the data)."""
    try:
        with path.open("rb") as handle:
            view = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        start = 8 + int.from_bytes(view[:8], "little")
        header = json.loads(view[8:start])
        shapes = {name: header[name]["shape"] for name in ("table", "weight")}
        offsets = {name: start + header[name]["data_offsets"][0] for name in shapes}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(f"the encoder is damaged: {path} cannot be read", _HINT) from error
    if shapes != {"table": [facts["vocabulary"], facts["dim"]], "weight": [facts["vocabulary"]]}:
        raise EncoderError(f"the encoder is damaged: {path} has other shapes than model.json says", _HINT)
    return view, offsets
