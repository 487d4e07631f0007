"""The static encoder: a text's vector is the weighted sum of its pieces' rows in one table.

The table lies on disk as int8 and is memory-mapped; one query reads a dozen rows. Nothing here
needs torch, and a single query needs no numpy either. A model is a folder of two files:

- model.json: name, dim, vocabulary, size and digest of the other file, one golden vector
- table.safetensors: `table` int8 (vocabulary, dim) and `weight` float32 (vocabulary,), whose
  product is a piece's vector; `pieces` uint8, the pieces in the order of their bytes, a line each;
  `starts` uint32 (vocabulary + 1,), the offsets of the lines
"""

from __future__ import annotations

import json
import math
import mmap
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.word_pieces import (
    WordPieceTokenizer,
    make_disk_lookup,
    unpack_vocabulary,
)
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL_FOLDER = Path(__file__).parent / "model"
# The vector of a long text is an average that changes little after the first few hundred pieces.
MAX_PIECES = 512
MAX_CHARACTERS = 8_000
# Up to this number of texts, looking words up on disk takes less time than loading the vocabulary.
_SMALL_BATCH = 16
# The vectors of up to this number of queries are kept, each with its text of at most
# MAX_CHARACTERS.
_KEPT_QUERIES = 64
# Weights are compared and added as whole numbers of such parts, whose sum does not depend on the
# order.
FIXED_POINT_ONE = 1 << 16
REINSTALL_HINT = "reinstall capdisc; until then searching goes by words alone"
TABLE_FILE = "table.safetensors"
MODEL_FORMAT = 2
# The memoryview format of each element type.
_TYPES: dict[str, Literal["b", "B", "I", "f"]] = {"I8": "b", "U8": "B", "U32": "I", "F32": "f"}


class FileFacts(TypedDict):
    """What model.json says of one file."""

    bytes: int
    sha256: str


class GoldenVector(TypedDict):
    """A text and the first components of its unit vector."""

    text: str
    vector: list[float]


class ModelFacts(TypedDict):
    """The contents of model.json."""

    format: int
    name: str
    dim: int
    vocabulary: int
    files: Mapping[str, FileFacts]
    golden: GoldenVector


@frozen
class PairwiseDistances:
    """The distances (1 - cosine, 0..2) of two lists of pieces, (pieces, other pieces), and the
    weight of each piece in `FIXED_POINT_ONE`ths.
    """

    distances: list[list[float]]
    weights: list[int]
    other_weights: list[int]


class StaticEncoder:
    """An open model. Raises EncoderError if its files are missing or damaged."""

    def __init__(self, folder: Path) -> None:
        facts = load_model_facts(folder)
        self.name: str = facts["name"]
        self.dim: int = facts["dim"]
        self.fingerprint = fingerprint(facts)
        self._folder = folder
        self._tensors = open_tensors(folder, facts)
        self._tokenizer = WordPieceTokenizer(
            make_disk_lookup(self._tensors["pieces"], self._tensors["starts"])
        )
        self._is_vocabulary_loaded = False
        self._weights: dict[int, float] = {}
        self._query_vectors: dict[str, bytes] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows; a row of zeros for a text without any known piece."""
        np = lazy_imports.numpy()
        if len(texts) > _SMALL_BATCH:
            self.load_vocabulary()
        # First all pieces, then all rows: each goes through a large table, and both do not fit
        # into the processor's cache.
        unit_rows: NDArray[Any] = self._unit_rows(list(map(self.token_ids, texts))).astype(
            np.float32
        )
        return unit_rows

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The rows of `encode` as bytes, without numpy, whose import takes as long as the rest of
        a small build.
        """
        return b"".join(array("f", self._unit_row(text)).tobytes() for text in texts)

    def _unit_rows(self, token_ids: Sequence[array[int]]) -> NDArray[Any]:
        """Rows of `encode` for texts of these pieces, summed in double precision, so that they
        round to the same floats as those of `encode_few`, which adds in another order.
        """
        np = lazy_imports.numpy()
        table, weight = self._arrays
        vectors: NDArray[Any] = np.zeros((len(token_ids), self.dim))
        # One product for each text: in one for several, most counts of pieces are zero, and
        # numpy's library takes threads, which wait for each other: ten times the processor time.
        for row, ids in enumerate(token_ids):
            vectors[row] = weight.take(ids) @ table.take(ids, 0).astype(float)
        unit_rows: NDArray[Any] = vectors / np.maximum(
            np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny
        )
        return unit_rows

    def encode_query(self, text: str) -> bytes:
        """dim int8 values in the direction of the query's vector; all zero for a text without any
        known piece. Those of the last texts are kept: the stages of a search ask for the same
        ones.
        """
        text = text[:MAX_CHARACTERS]  # all that is read of it
        vector = self._query_vectors.get(text)
        if vector is None:
            if len(self._query_vectors) >= _KEPT_QUERIES:
                self._query_vectors.clear()
            vector = self._query_vectors[text] = self._encode_query(text)
        return vector

    def _encode_query(self, text: str) -> bytes:
        total = self._sum_rows(text)
        peak = max(map(abs, total), default=0.0)
        scaled = [round(value * 127.0 / peak) for value in total] if peak else [0] * self.dim
        return array("b", scaled).tobytes()

    def _sum_rows(self, text: str) -> list[float]:
        if lazy_imports.numpy_if_loaded() is not None:
            return self._sum_rows_numpy(text)
        weights, table = self._tensors["weight"], self._tensors["table"]
        total = [0.0] * self.dim
        for token_id in self.token_ids(text):
            row = table[token_id * self.dim : (token_id + 1) * self.dim]
            weight = weights[token_id]
            total = [
                component + weight * value for component, value in zip(total, row, strict=True)
            ]
        return total

    def _sum_rows_numpy(self, text: str) -> list[float]:
        """The same floats in a tenth of the time: each row is added to the sum of those before."""
        table, weights = self._arrays
        ids = self.token_ids(text)
        components: list[float] = (weights.take(ids)[:, None] * table.take(ids, 0)).sum(0).tolist()
        return components

    def _unit_row(self, text: str) -> list[float]:
        """A row of `encode`."""
        total = self._sum_rows(text)
        length = math.hypot(*total)
        return [value / length for value in total] if length else total

    def token_ids(self, text: str) -> array[int]:
        """The ids of the text's pieces."""
        return self._tokenizer.ids(text[:MAX_CHARACTERS])[:MAX_PIECES]

    def has_known_word(self, text: str) -> bool:
        """Whether the vocabulary has a word of the text as a whole."""
        return self._tokenizer.has_known_word(text[:MAX_CHARACTERS])

    def words_with_prefix(self, prefix: str) -> list[str]:
        """The words of the vocabulary that begin with the prefix, of ASCII letters."""
        pieces, starts = self._tensors["pieces"], self._tensors["starts"]

        def start_of(number: int) -> bytes:
            return bytes(pieces[starts[number] : starts[number] + len(prefix)])

        numbers, key = range(len(starts) - 1), prefix.encode()
        first = bisect_left(numbers, key, key=start_of)
        last = bisect_right(numbers, key, key=start_of)
        return bytes(pieces[starts[first] : starts[last]]).decode().split()

    def load_vocabulary(self) -> None:
        """Loads the vocabulary into memory, which pays off for many texts."""
        if self._is_vocabulary_loaded:
            return
        try:
            pieces = unpack_vocabulary(bytes(self._tensors["pieces"]))
        except UnicodeDecodeError as error:
            raise EncoderError(
                "the encoder is damaged: its vocabulary cannot be read", REINSTALL_HINT
            ) from error
        self._tokenizer = WordPieceTokenizer(pieces.get)
        self._is_vocabulary_loaded = True

    def compute_distances(
        self, token_ids: Sequence[int], other_ids: Sequence[int]
    ) -> PairwiseDistances:
        """The distances between the pieces of two lists, and their weights."""
        rows, other_rows = self.token_rows(token_ids), self.token_rows(other_ids)
        distances: Any = memoryview(
            lazy_imports.simsimd().cdist(rows, other_rows, metric="cosine")
        )
        weights, other_weights = (
            [int(FIXED_POINT_ONE * length) for length in self._compute_weights(*ids_and_rows)]
            for ids_and_rows in ((token_ids, rows), (other_ids, other_rows))
        )
        return PairwiseDistances(distances.tolist(), weights, other_weights)

    def _compute_weights(self, token_ids: Sequence[int], rows: memoryview[Any]) -> list[float]:
        """The length of each piece's vector, which is its share in the vector of a text."""
        weights = self._tensors["weight"]
        squares = memoryview(lazy_imports.simsimd().dot(rows, rows)).tolist()
        return [
            weights[token_id] * math.sqrt(square)
            for token_id, square in zip(token_ids, squares, strict=True)
        ]

    def token_weight(self, token_id: int) -> float:
        """The weight of one piece, cached."""
        weight = self._weights.get(token_id)
        if weight is None:
            (weight,) = self._compute_weights([token_id], self.token_rows([token_id]))
            self._weights[token_id] = weight
        return weight

    def token_rows(self, token_ids: Sequence[int]) -> memoryview[Any]:
        """(pieces, dim) int8, the rows of these pieces in the table."""
        table, dim = self._tensors["table"], self.dim
        rows = b"".join([table[token_id * dim : (token_id + 1) * dim] for token_id in token_ids])
        return memoryview(rows).cast("b", (len(token_ids), dim))

    def check(self) -> None:
        """Reads every byte. Raises EncoderError if a digest or the golden vector differs."""
        from hashlib import sha256  # large files, which OpenSSL reads faster

        facts = load_model_facts(self._folder)
        for name, expected in facts["files"].items():
            digest = sha256((self._folder / name).read_bytes()).hexdigest()
            if digest != expected["sha256"]:
                raise EncoderError(
                    f"the encoder is damaged: {self._folder / name} does not match its digest",
                    REINSTALL_HINT,
                )
        golden = facts["golden"]
        vector = self._unit_row(golden["text"])[: len(golden["vector"])]
        if not max(abs(a - b) for a, b in zip(vector, golden["vector"], strict=True)) <= 1e-3:
            raise EncoderError(
                "the encoder is damaged: it does not give its own golden vector", REINSTALL_HINT
            )

    @cached_property
    def token_weights(self) -> list[float]:
        """The weights of all pieces of the vocabulary, equal to those of `token_weight`."""
        all_ids = range(len(self._tensors["weight"]))
        return self._compute_weights(
            all_ids, self._tensors["table"].cast("B").cast("b", (len(all_ids), self.dim))
        )

    @cached_property
    def fixed_point_weights(self) -> NDArray[Any]:
        """The weights of all pieces, (vocabulary,) int64 in `FIXED_POINT_ONE`ths, equal to those
        of `compute_distances`.
        """
        np = lazy_imports.numpy()
        fixed_point: NDArray[Any] = (FIXED_POINT_ONE * np.array(self.token_weights)).astype(
            np.int64
        )
        return fixed_point

    @property
    def table(self) -> NDArray[Any]:
        """The vectors of all pieces, (vocabulary, dim) int8."""
        return self._arrays[0]

    @cached_property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        np = lazy_imports.numpy()
        table = np.frombuffer(self._tensors["table"], np.int8).reshape(-1, self.dim)
        return table, np.frombuffer(self._tensors["weight"], np.float32).astype(float)


def load_model_facts(folder: Path) -> ModelFacts:
    """The contents of model.json. Raises EncoderError if a field is missing, or the sizes of the
    files differ from it.
    """
    try:
        model_facts: ModelFacts = json.loads((folder / "model.json").read_bytes())
        required = (
            model_facts["name"],
            model_facts["dim"],
            model_facts["vocabulary"],
            model_facts["golden"],
            model_facts["files"][TABLE_FILE]["sha256"],
        )
        wrong_files = [
            name
            for name, file_facts in model_facts["files"].items()
            if (folder / name).stat().st_size != file_facts["bytes"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"the encoder is missing or incomplete: {folder}", REINSTALL_HINT
        ) from error
    damage = ""
    if wrong_files:
        damage = f"{folder / wrong_files[0]} has a wrong size"
    elif any(value is None for value in required):
        damage = f"{folder / 'model.json'} lacks a value"
    elif model_facts.get("format") != MODEL_FORMAT:
        damage = f"{folder} has an unknown format"
    if damage:
        raise EncoderError(f"the encoder is damaged: {damage}", REINSTALL_HINT)
    return model_facts


def fingerprint(model_facts: ModelFacts) -> str:
    """A text that is the same for the same model only: its name and sixteen digits."""
    text = json.dumps(
        [model_facts["name"], model_facts["dim"], model_facts["files"]], sort_keys=True
    )
    return f"{model_facts['name']}:{lazy_imports.hex_sha256(text.encode())[:16]}"


def open_tensors(folder: Path, model_facts: ModelFacts) -> dict[str, memoryview[Any]]:
    """Each tensor as a flat view of the mapped file. Raises EncoderError if one is missing or has
    another shape than model.json says.
    """
    path = folder / TABLE_FILE
    try:
        tensors = _map_tensors(path)
        rows, dim = model_facts["vocabulary"], model_facts["dim"]
        expected_sizes = {
            "table": rows * dim,
            "weight": rows,
            "starts": rows + 1,
            "pieces": tensors["starts"][rows],
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise EncoderError(
            f"the encoder is damaged: {path} cannot be read", REINSTALL_HINT
        ) from error
    if {name: len(tensors[name]) for name in tensors} != expected_sizes:
        raise EncoderError(
            f"the encoder is damaged: {path} has other shapes than model.json says", REINSTALL_HINT
        )
    return tensors


def _map_tensors(path: Path) -> dict[str, memoryview[Any]]:
    """All tensors of a safetensors file: 8 bytes with the length of the header, the header in
    JSON, then the data.
    """
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    start = 8 + int.from_bytes(view[:8], "little")
    header = json.loads(bytes(view[8:start]))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        tensors[name] = view[start + first : start + end].cast(_TYPES[entry["dtype"]])
    return tensors
