"""The static encoder: a text's vector is the weighted sum of its pieces' rows in one table.

The table lies on disk as int8 and is memory-mapped; one query reads a dozen rows. Nothing here
needs torch, and a single query needs no numpy either.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Text cut into the pieces of a vocabulary: what the static encoder looks up in its table.
#
# Our own cutter because both ends matter here: a query must find its dozen pieces in a memory-mapped
# vocabulary without reading it (0.1 ms, where loading a tokenizer's file costs 25 ms and more), and
# a build must cut a hundred thousand words a second (a remembered word is one look-up). The rules
# are those of WordPiece (longest piece first, `##` marks a continuation) with three differences:
# compound identifiers are split, only Western accents and Semitic vowel points are dropped, and an
# unknown character is skipped where WordPiece gives up the whole word.

CONTINUATION = "##"
LONGEST_PIECE = 24
# A remembered word costs about 200 bytes; a build forgets them all at this many.
_CACHE_SIZE = 200_000
_MAX_WORD_CHARACTERS = 200
_FIRST_UNSPACED = "\u2e80"

_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Accents of Latin, Greek and Cyrillic; Hebrew and Arabic vowel points. Marks of other scripts are
# letters.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
# All that stands between words. `+` and `#` do not: "c++" and "c#" are names.
_SEPARATORS = re.compile(
    '[\\s\x00-\x20!"$-*,-/:-@\\[-`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u2000-\u206f\u2190-\u2bff\u3000-\u303f'
    "\u30fb\ufe30-\ufe4f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_NON_ASCII = re.compile("[^\x00-\x7f]+")
# A blank for each such byte of ASCII: this is ten times as fast as to split at the expression.
_SEPARATORS_TO_BLANKS = bytes(
    32 if code < 128 and _SEPARATORS.match(chr(code)) else code for code in range(256)
)

Lookup = Callable[[str], int | None]


class WordPieceTokenizer:
    """Cuts texts with one vocabulary and remembers the words it has seen."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._cache = _TokenIdCache(lookup)

    def ids(self, text: str) -> list[int]:
        """The ids of the text's pieces, in order; empty when nothing of it is known."""
        return list(chain.from_iterable(map(self._cache.__getitem__, split_words(text))))

    def has_known_word(self, text: str) -> bool:
        """Whether a word of the text is in the vocabulary as a whole; made-up words hardly ever
        are, though their pieces always are. Scripts without blanks between words count as
        recognised, and so do short words alone ("UI", "CI/CD").
        """
        long_words = [
            word for word in split_words(text) if len(word) > 2 or word[0] >= _FIRST_UNSPACED
        ]
        return not long_words or any(
            word[0] >= _FIRST_UNSPACED or self._lookup(word.lower()) is not None
            for word in long_words
        )


class _TokenIdCache(dict[str, tuple[int, ...]]):
    """The pieces of every word that was asked for."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        pieces = self[word] = tuple(tokenize_word(word[:_MAX_WORD_CHARACTERS], self._lookup))
        return pieces


def split_words(text: str) -> list[str]:
    """The text's words without their accents, in the case that they are written in.

    >>> split_words("getUserById: Übergrößen in C++?")
    ['getUserById', 'Ubergroßen', 'in', 'C++']
    """
    if not text.isascii():
        text = _NON_ASCII.sub(_strip_accents, text)
    return (
        text.encode("utf-8", "surrogatepass")
        .translate(_SEPARATORS_TO_BLANKS)
        .decode("utf-8", "surrogatepass")
        .split()
    )


def _strip_accents(run: re.Match[str]) -> str:
    """The same of letters beyond ASCII, with blanks in the place of signs; no accent that is kept
    belongs to a letter of ASCII, so that each run of them can be looked at by itself.
    """
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", run[0])))
    return _SEPARATORS.sub(" ", plain)


def tokenize_word(word: str, lookup: Lookup) -> Iterator[int]:
    """The ids of a word's pieces; a compound that the vocabulary has as one word ("GitHub") is not
    split.
    """
    word_id = lookup(word.lower())
    if word_id is not None:
        yield word_id
        return
    for part in _CAMEL_CASE.sub(" ", word).lower().split():
        yield from _split_pieces(part, lookup)


def _split_pieces(word: str, lookup: Lookup) -> Iterator[int]:
    """The longest known piece at each place, a continuation before a beginning."""
    at, inside = 0, False
    while at < len(word):
        token_id, end = _find_longest_piece(word, at, inside, lookup)
        if token_id is not None:
            yield token_id
        at, inside = end, token_id is not None


def _find_longest_piece(word: str, at: int, inside: bool, lookup: Lookup) -> tuple[int | None, int]:
    for end in range(min(len(word), at + LONGEST_PIECE), at, -1):
        part = word[at:end]
        token_id = lookup(CONTINUATION + part) if inside else None
        if token_id is None:
            token_id = lookup(part)
        if token_id is not None:
            return token_id, end
    return None, at + 1


def pack_vocabulary(pieces: Iterable[str]) -> tuple[bytes, list[int]]:
    """A vocabulary in the order of its bytes, as one text with a line for each, and where each
    line starts.
    """
    lines = sorted(piece.encode() for piece in pieces)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return b"".join(line + b"\n" for line in lines), starts


def unpack_vocabulary(text: bytes) -> Mapping[str, int]:
    """The packed vocabulary as a mapping, for many look-ups."""
    return {piece: number for number, piece in enumerate(text.decode().split("\n")[:-1])}


def make_disk_lookup(text: memoryview, starts: memoryview) -> Lookup:
    """A look-up in the packed vocabulary that reads about seventeen of its lines, for a few
    look-ups.
    """

    def line(number: int) -> bytes:
        return bytes(text[starts[number] : starts[number + 1] - 1])

    def lookup(piece: str) -> int | None:
        key, low, high = piece.encode("utf-8", "surrogatepass"), 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            if line(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < len(starts) - 1 and line(low) == key else None

    return lookup


# The files of a table model, mapped into memory.
#
# model.json           name, dim, vocabulary, size and digest of the other file, one golden vector
# table.safetensors    table int8 (vocabulary, dim), weight float32 (vocabulary,): a piece's vector is their product;
#                      pieces uint8: the pieces in the order of their bytes, a line each; starts uint32
#                      (vocabulary + 1,): where each line starts

REINSTALL_HINT = "reinstall capdisc; until then searching goes by words alone"
TABLE_FILE = "table.safetensors"
MODEL_FORMAT = 2
# The memoryview format of each element type.
_TYPES: dict[str, Literal["b", "B", "I", "f"]] = {"I8": "b", "U8": "B", "U32": "I", "F32": "f"}


def load_model_facts(folder: Path) -> dict[str, Any]:
    """What model.json says, once the sizes of the files agree with it. Raises EncoderError."""
    try:
        model_facts: dict[str, Any] = json.loads((folder / "model.json").read_bytes())
        needed = [model_facts[key] for key in ("name", "dim", "vocabulary", "golden")] + [
            model_facts["files"][TABLE_FILE]["sha256"]
        ]
        sizes = {name: (folder / name).stat().st_size for name in model_facts["files"]}
        wrong = [
            name for name, size in sizes.items() if size != model_facts["files"][name]["bytes"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"the encoder is missing or incomplete: {folder}", REINSTALL_HINT
        ) from error
    wrong += [str(folder)] if None in needed else []
    if wrong or model_facts.get("format") != MODEL_FORMAT:
        what = (
            f"{folder / wrong[0]} has a wrong size" if wrong else f"{folder} has an unknown format"
        )
        raise EncoderError(f"the encoder is damaged: {what}", REINSTALL_HINT)
    return model_facts


def fingerprint(model_facts: Mapping[str, Any]) -> str:
    """The same for the same model, another for any other."""
    text = json.dumps(
        [model_facts["name"], model_facts["dim"], model_facts["files"]], sort_keys=True
    )
    return f"{model_facts['name']}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def open_tensors(folder: Path, model_facts: Mapping[str, Any]) -> dict[str, memoryview[Any]]:
    """Each tensor as a flat view of the mapped file. Raises EncoderError when one is missing or
    has another shape.
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
    """All tensors of a safetensors file: 8 bytes with the header's length, a JSON header, then the
    data.
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


MODEL_FOLDER = Path(__file__).parent / "model"
# The vector of a long text is an average that changes little after the first few hundred pieces.
MAX_PIECES = 512
MAX_CHARACTERS = 8_000
# Texts whose rows are gathered at a time: their table rows as floats should stay in the
# processor's cache.
_BATCH_SIZE = 64
# Texts for which loading the vocabulary takes longer than looking their words up on disk.
_SMALL_BATCH = 16
# Worths are compared and added up as so many parts of one: what whole numbers add up to depends on
# no order.
FIXED_POINT_ONE = 1 << 16


@frozen
class PairwiseDistances:
    """How far each of some pieces is from each of others (1 - cosine), a row for each of the
    former, and what each piece is worth, in `FIXED_POINT_ONE`ths.
    """

    distances: list[list[float]]
    weights: list[int]
    other_weights: list[int]


class StaticEncoder:
    """An open table model."""

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
        self._weights: dict[int, float] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """(n, dim) float32 unit rows; a row of zeros for a text without any known piece."""
        np = lazy_imports.numpy()
        vectors: NDArray[Any] = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _BATCH_SIZE):
            vectors[start : start + _BATCH_SIZE] = self._unit_rows(
                texts[start : start + _BATCH_SIZE]
            )
        return vectors

    def encode_few(self, texts: Sequence[str]) -> bytes:
        """The same rows as bytes, without numpy, whose import takes as long as all else that a
        small change needs.
        """
        return b"".join(array("f", self._unit_row(text)).tobytes() for text in texts)

    def _unit_rows(self, texts: Sequence[str]) -> NDArray[Any]:
        """In double precision, where sums in any order give the same floats: `encode_few` adds
        piece by piece.
        """
        np = lazy_imports.numpy()
        table, weight = self._arrays
        vectors: NDArray[Any] = np.zeros((len(texts), self.dim))
        token_ids = list(
            map(self.token_ids if len(texts) <= _SMALL_BATCH else self.bulk_token_ids, texts)
        )
        filled_rows = [row for row, ids in enumerate(token_ids) if ids]
        if filled_rows:
            flat = np.concatenate([token_ids[row] for row in filled_rows])
            starts = np.cumsum([0, *(len(token_ids[row]) for row in filled_rows[:-1])])
            vectors[filled_rows] = np.add.reduceat(
                table[flat] * weight[flat, None].astype(float), starts, axis=0
            )
        unit_rows: NDArray[Any] = vectors / np.maximum(
            np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny
        )
        return unit_rows

    def encode_query(self, text: str) -> bytes:
        """dim int8 values that point where the query's vector points; all zero when nothing is
        known of it.
        """
        total = self._sum_rows(text)
        peak = max(map(abs, total), default=0.0)
        return array(
            "b", [round(value * 127.0 / peak) for value in total] if peak else [0] * self.dim
        ).tobytes()

    def _sum_rows(self, text: str) -> list[float]:
        weights, table = self._tensors["weight"], self._tensors["table"]
        total = [0.0] * self.dim
        for piece in self.token_ids(text):
            row, weight = table[piece * self.dim : (piece + 1) * self.dim], weights[piece]
            total = [t + weight * value for t, value in zip(total, row, strict=True)]
        return total

    def _unit_row(self, text: str) -> list[float]:
        """A row of `encode`."""
        total = self._sum_rows(text)
        length = math.hypot(*total)
        return [value / length for value in total] if length else total

    def token_ids(self, text: str) -> list[int]:
        """The ids of the text's pieces, for a few texts."""
        return self._tokenizer.ids(text[:MAX_CHARACTERS])[:MAX_PIECES]

    def has_known_word(self, text: str) -> bool:
        """Whether the text holds a word that the vocabulary has as a whole."""
        return self._tokenizer.has_known_word(text[:MAX_CHARACTERS])

    def bulk_token_ids(self, text: str) -> list[int]:
        """The same for many texts: the first call takes longer, the others less."""
        return self._bulk_tokenizer.ids(text[:MAX_CHARACTERS])[:MAX_PIECES]

    def compute_distances(
        self, token_ids: Sequence[int], other_ids: Sequence[int]
    ) -> PairwiseDistances:
        """How far the pieces of the one list and those of the other are apart, and what each of
        them is worth.
        """
        rows, other_rows = self._rows(token_ids), self._rows(other_ids)
        distances: Any = memoryview(lazy_imports.simsimd().cdist(rows, other_rows, metric="cosine"))
        weights, other_weights = (
            [int(FIXED_POINT_ONE * length) for length in self._compute_weights(*ids_and_rows)]
            for ids_and_rows in ((token_ids, rows), (other_ids, other_rows))
        )
        return PairwiseDistances(distances.tolist(), weights, other_weights)

    def _compute_weights(self, pieces: Sequence[int], rows: memoryview[Any]) -> list[float]:
        """The length of each piece's vector: how much it says."""
        weights = self._tensors["weight"]
        squares = memoryview(lazy_imports.simsimd().dot(rows, rows)).tolist()
        return [
            weights[piece] * math.sqrt(square)
            for piece, square in zip(pieces, squares, strict=True)
        ]

    def token_weight(self, piece: int) -> float:
        """What one piece is worth, remembered."""
        weight = self._weights.get(piece)
        if weight is None:
            weight = self._weights[piece] = self._compute_weights([piece], self._rows([piece]))[0]
        return weight

    def _rows(self, pieces: Sequence[int]) -> memoryview[Any]:
        table, dim = self._tensors["table"], self.dim
        rows = b"".join([table[piece * dim : (piece + 1) * dim] for piece in pieces])
        return memoryview(rows).cast("b", (len(pieces), dim))

    def check(self) -> None:
        """Reads every byte and compares: digests, and the golden vector. Raises EncoderError on
        any difference.
        """
        facts = load_model_facts(self._folder)
        for name, expected in facts["files"].items():
            digest = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()
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
    def _bulk_tokenizer(self) -> WordPieceTokenizer:
        try:
            return WordPieceTokenizer(unpack_vocabulary(bytes(self._tensors["pieces"])).get)
        except UnicodeDecodeError as error:
            raise EncoderError(
                "the encoder is damaged: its vocabulary cannot be read", REINSTALL_HINT
            ) from error

    @cached_property
    def token_weights(self) -> list[float]:
        """What every piece of the vocabulary is worth: the very numbers of `token_weight`."""
        all_ids = range(len(self._tensors["weight"]))
        return self._compute_weights(
            all_ids, self._tensors["table"].cast("B").cast("b", (len(all_ids), self.dim))
        )

    @cached_property
    def fixed_point_weights(self) -> NDArray[Any]:
        """What every piece is worth, (vocabulary,) int64 in `FIXED_POINT_ONE`ths: the very numbers
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
        return table, np.frombuffer(self._tensors["weight"], np.float32)
