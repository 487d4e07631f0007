"""The static encoder: a text's vector is the weighted sum of its pieces' rows in one table.

The table lies on disk as int8 and is memory-mapped; one query reads a dozen rows. Nothing here needs torch, and a
single query needs no numpy either.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.encoders import model_files
from capdisc_indexer.encoders.pieces import Cutter, in_memory, on_disk
from capdisc_indexer.errors import EncoderError
from capdisc_indexer.frozen import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL_FOLDER = Path(__file__).parent / "model"
# The vector of a long text is an average that changes little after the first few hundred pieces.
MAX_PIECES = 512
MAX_CHARACTERS = 8_000
# Texts whose rows are gathered at a time: their table rows as floats should stay in the processor's cache.
_BATCH = 64
# Texts for which loading the vocabulary takes longer than looking their words up on disk.
_FEW = 16
# Worths are compared and added up as so many parts of one: what whole numbers add up to depends on no order.
WHOLE = 1 << 16


@frozen
class Comparison:
    """How far each of some pieces is from each of others (1 - cosine), a row for each of the former, and what each
    piece is worth, in `WHOLE`ths."""

    distances: list[list[float]]
    worth: list[int]
    others_worth: list[int]


class StaticEncoder:
    """An open table model."""

    def __init__(self, folder: Path) -> None:
        facts = model_files.facts(folder)
        self.name: str = facts["name"]
        self.dim: int = facts["dim"]
        self.fingerprint = model_files.fingerprint(facts)
        self._folder = folder
        self._tensors = model_files.open_tensors(folder, facts)
        self._cutter = Cutter(on_disk(self._tensors["pieces"], self._tensors["starts"]))
        self._worth: dict[int, float] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows; a row of zeros for a text without any known piece."""
        np = engines.numpy()
        vectors: NDArray[Any] = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _BATCH):
            vectors[start : start + _BATCH] = self._unit_rows(texts[start : start + _BATCH])
        return vectors

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The same rows as bytes, without numpy, whose import takes as long as all else that a small change needs."""
        return b"".join(array("f", self._unit_row(text)).tobytes() for text in texts)

    def _unit_rows(self, texts: Sequence[str]) -> NDArray[Any]:
        """In double precision, where sums in any order give the same floats: `encode_few` adds piece by piece."""
        np = engines.numpy()
        table, weight = self._arrays
        vectors: NDArray[Any] = np.zeros((len(texts), self.dim))
        cut = list(map(self.pieces if len(texts) <= _FEW else self.bulk_pieces, texts))
        filled = [row for row, ids in enumerate(cut) if ids]
        if filled:
            flat = np.concatenate([cut[row] for row in filled])
            starts = np.cumsum([0, *(len(cut[row]) for row in filled[:-1])])
            vectors[filled] = np.add.reduceat(table[flat] * weight[flat, None].astype(float), starts, axis=0)
        found: NDArray[Any] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
        return found

    def encode_query(self, text: str) -> bytes:
        """dim int8 values that point where the query's vector points; all zero when nothing is known of it."""
        total = self._sum(text)
        peak = max(map(abs, total), default=0.0)
        return array("b", [round(value * 127.0 / peak) for value in total] if peak else [0] * self.dim).tobytes()

    def _sum(self, text: str) -> list[float]:
        weights, table = self._tensors["weight"], self._tensors["table"]
        total = [0.0] * self.dim
        for piece in self.pieces(text):
            row, weight = table[piece * self.dim : (piece + 1) * self.dim], weights[piece]
            total = [t + weight * value for t, value in zip(total, row, strict=True)]
        return total

    def _unit_row(self, text: str) -> list[float]:
        """A row of `encode`."""
        total = self._sum(text)
        length = math.hypot(*total)
        return [value / length for value in total] if length else total

    def pieces(self, text: str) -> list[int]:
        """The ids of the text's pieces, for a few texts."""
        return self._cutter.ids(text[:MAX_CHARACTERS])[:MAX_PIECES]

    def recognises(self, text: str) -> bool:
        """Whether the text holds a word that the vocabulary has as a whole."""
        return self._cutter.recognises(text[:MAX_CHARACTERS])

    def bulk_pieces(self, text: str) -> list[int]:
        """The same for many texts: the first call takes longer, the others less."""
        return self._bulk_cutter.ids(text[:MAX_CHARACTERS])[:MAX_PIECES]

    def compared(self, ones: Sequence[int], others: Sequence[int]) -> Comparison:
        """How far the pieces of the one list and those of the other are apart, and what each of them is worth."""
        mine, theirs = self._rows(ones), self._rows(others)
        distances: Any = memoryview(engines.simsimd().cdist(mine, theirs, metric="cosine"))
        worth, others_worth = (
            [int(WHOLE * length) for length in self._lengths(*each)] for each in ((ones, mine), (others, theirs))
        )
        return Comparison(distances.tolist(), worth, others_worth)

    def _lengths(self, pieces: Sequence[int], rows: memoryview[Any]) -> list[float]:
        """The length of each piece's vector: how much it says."""
        weights = self._tensors["weight"]
        squares = memoryview(engines.simsimd().dot(rows, rows)).tolist()
        return [weights[piece] * math.sqrt(square) for piece, square in zip(pieces, squares, strict=True)]

    def worth_of(self, piece: int) -> float:
        """What one piece is worth, remembered."""
        found = self._worth.get(piece)
        if found is None:
            found = self._worth[piece] = self._lengths([piece], self._rows([piece]))[0]
        return found

    def _rows(self, pieces: Sequence[int]) -> memoryview[Any]:
        table, dim = self._tensors["table"], self.dim
        rows = b"".join([table[piece * dim : (piece + 1) * dim] for piece in pieces])
        return memoryview(rows).cast("b", (len(pieces), dim))

    def check(self) -> None:
        """Reads every byte and compares: digests, and the golden vector. Raises EncoderError on any difference."""
        facts = model_files.facts(self._folder)
        for name, expected in facts["files"].items():
            digest = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()
            if digest != expected["sha256"]:
                raise EncoderError(
                    f"the encoder is damaged: {self._folder / name} does not match its digest", model_files.HINT
                )
        golden = facts["golden"]
        vector = self._unit_row(golden["text"])[: len(golden["vector"])]
        if not max(abs(a - b) for a, b in zip(vector, golden["vector"], strict=True)) <= 1e-3:
            raise EncoderError("the encoder is damaged: it does not give its own golden vector", model_files.HINT)

    @cached_property
    def _bulk_cutter(self) -> Cutter:
        try:
            return Cutter(in_memory(bytes(self._tensors["pieces"])).get)
        except UnicodeDecodeError as error:
            raise EncoderError("the encoder is damaged: its vocabulary cannot be read", model_files.HINT) from error

    @cached_property
    def worths(self) -> list[float]:
        """What every piece of the vocabulary is worth: the very numbers of `worth_of`."""
        every = range(len(self._tensors["weight"]))
        return self._lengths(every, self._tensors["table"].cast("B").cast("b", (len(every), self.dim)))

    @cached_property
    def whole_worths(self) -> NDArray[Any]:
        """What every piece is worth, (vocabulary,) int64 in `WHOLE`ths: the very numbers of `compared`."""
        np = engines.numpy()
        found: NDArray[Any] = (WHOLE * np.array(self.worths)).astype(np.int64)
        return found

    @property
    def table(self) -> NDArray[Any]:
        """The vectors of all pieces, (vocabulary, dim) int8."""
        return self._arrays[0]

    @cached_property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        np = engines.numpy()
        table = np.frombuffer(self._tensors["table"], np.int8).reshape(-1, self.dim)
        return table, np.frombuffer(self._tensors["weight"], np.float32)
