"""The vector half of a build: new texts are encoded, and all other vectors come from the last
generation.

The matrix of a generation is the only place of its vectors, as rows of int8. Equal texts have
equal rows, so a text that the last generation knows is never encoded again.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.quantisation import quantise_rows
from capdisc_indexer.indexing.build_plan import BuildPlan
from capdisc_indexer.indexing.changes import StatesByPath
from capdisc_indexer.indexing.previous_build import check_digests
from capdisc_indexer.model.errors import (
    ENDING_ERRORS,
    MALFORMED_DATA_ERRORS,
    DamagedIndexError,
    IndexStateError,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.sources.scan.scanned_files import internal_finding
from capdisc_indexer.store import generation, native_errors
from capdisc_indexer.store.file_states import NearestText, TextHashesById, text_hashes_by_id
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_writer import write_matrix

if TYPE_CHECKING:
    from capdisc_indexer.store.state_database import StateDatabase

# Encoding up to this many texts without numpy takes less time than importing numpy does: 32
# passages take 60 ms without it and 90 with it.
FEW_TEXTS = 16
FEW_PASSAGES = 32
_BATCH_SIZE = 2_048
# With more new rows than this, null queries are compared with all rows.
_FEW_ROWS = 50
NULL_QUERY_COUNT = 64
NOISE_PERCENTILE = 75
_SYLLABLES = (
    "ba bi bo bu da de di do fa fe fi ga go gri ka ke ki ko lo lu ma me mi mo na ne ni no pa pe pi"
    " po qua ra re ri ro sa se si so ta te ti to tra va ve vi vo wa we xi ya zo zu ble fru ploz"
    " snar gnix quorp zimb"
).split()


def hash_text(text: str) -> str:
    """32 hexadecimal digits for an embedding text: equal texts have equal vectors."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def encode_rows(encoder: Encoder, texts: Sequence[str], few: int = FEW_TEXTS) -> bytes:
    """The rows (int8, one after the other) of these texts; without numpy where they are `few`, or
    it is not installed.
    """
    are_many = len(texts) > few
    if lazy_imports.numpy_if_installed(are_many) is None:
        floats = encoder.encode_few(texts)
    else:
        floats = encoder.encode(texts).astype("float32", copy=False).tobytes()
    return quantise_rows(floats, encoder.dim, are_many)


class KnownVectors:
    """The vectors of a generation by text. Where it `is_base`, the next matrix is made of its
    matrix; else (of a rebuild, or of another encoder) rows of it are looked up at most.
    """

    def __init__(
        self, folder: Path | None, dim: int, state: StateDatabase | None, is_base: bool
    ) -> None:
        self._matrix = Matrix(folder / "matrix" if folder else None, dim)
        self._state, self.is_base = state, is_base
        self.base = self._matrix if is_base else Matrix(None, dim)

    @property
    def nearest(self) -> Sequence[NearestText]:
        """The text that is nearest to each null query in the base."""
        return self._state.nearest if self._state is not None and self.is_base else ()

    def find_row(self, text_hash: str) -> bytes:
        """The row of a text; b"" for an unknown one."""
        place = self._state.find_text(text_hash) if self._state is not None else None
        if place is None:
            return b""
        identifier, number = place
        row = self._matrix.rows_of(identifier)[number]
        return bytes(self._matrix.bytes_of(row, row + 1))


def load_known_vectors(plan: BuildPlan) -> KnownVectors:
    """The vectors of the last generation, where the same encoder made them; for a build that takes
    nothing else from it, where also the same release did, so that a rebuild encodes no text again.

    Raises DamagedIndexError where matrix and state of a generation that is built upon disagree.
    """
    encoder, previous = plan.selected.encoder, plan.previous
    nothing = KnownVectors(None, encoder.dim if encoder else 0, None, is_base=False)
    published = previous.generation
    if encoder is None:
        return nothing
    if published is None:
        return _load_replaced(plan, encoder) or nothing
    if published.fingerprint != encoder.fingerprint:
        return nothing
    if previous.state is not None and previous.state.count_texts() != published.counts["rows"]:
        raise DamagedIndexError(
            "the index is damaged: it has other vectors than its files say",
            native_errors.REBUILD_HINT,
        )
    return KnownVectors(previous.folder, encoder.dim, previous.state, is_base=True)


def _load_replaced(plan: BuildPlan, encoder: Encoder) -> KnownVectors | None:
    """The vectors of the published generation, which is not built upon; None unless the same
    release made them with the same encoder, and their files have their published digests.
    """
    request = plan.request
    with suppress(IndexStateError, OSError, *MALFORMED_DATA_ERRORS):
        manifest = generation.load_unchecked(request.index_dir)
        made_by = (describe_release(), encoder.fingerprint)
        if manifest is None or (manifest.made_by, manifest.fingerprint) != made_by:
            return None
        generation.check_builder(
            request.index_dir, manifest.builder_id, request.options.builder_id
        )
        folder = generation.generation_folder(request.index_dir, manifest.number)
        needed = {
            name: entry
            for name, entry in manifest.files.items()
            if name.startswith(("matrix/", "meta/state"))
        }
        check_digests(folder, replace(manifest, files=needed))
        from capdisc_indexer.store.state_database import StateDatabase

        state = StateDatabase(folder)
        if state.count_texts() == manifest.counts["rows"]:
            return KnownVectors(folder, encoder.dim, state, is_base=False)
    return None


class EmbeddingBatcher:
    """Collects embedding texts, encodes each new one once unless it is `known`, and keeps the
    vectors as rows of int8 in a file without a name; `position` is the row of each text hash.
    `failed` has a finding for each text that the encoder itself fails on.

    The file lies in `scratch`, which must not be a folder that is published: network file systems
    give such a file a name.
    """

    def __init__(self, encoder: Encoder | None, known: KnownVectors, scratch: Path) -> None:
        self.position: dict[str, int] = {}
        self.encoded_count = 0
        self.failed: dict[str, Finding] = {}
        self._encoder, self._known = encoder, known
        self._pending: dict[str, str] = {}
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    def __enter__(self) -> EmbeddingBatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add_texts(self, embedding_texts: Iterable[str], rows: bytes = b"") -> tuple[str, ...]:
        """The hashes of a capability's embedding texts; the new ones wait to be encoded, unless
        all are new and their `rows` are at hand.
        """
        texts = {hash_text(text): text for text in embedding_texts}
        if self._encoder is not None:
            new = {}
            for key, text in texts.items():
                if key in self.position or key in self._pending:
                    continue
                if row := self._known.find_row(key):
                    self._add([key], row)
                else:
                    new[key] = text
            if len(rows) == self._encoder.dim * len(texts) == self._encoder.dim * len(new):
                self._add(texts, rows)
                self.encoded_count += len(texts)
            else:
                self._pending |= new
            if len(self._pending) >= _BATCH_SIZE:
                self.encode()
        return tuple(texts)

    @property
    def waiting(self) -> int:
        """How many texts wait to be encoded."""
        return len(self._pending)

    def encode(self) -> None:
        """Encodes the texts that wait."""
        if self._encoder is not None and self._pending:
            batch, self._pending = self._pending, {}
            self._add(batch, self._encode_batch(self._encoder, batch))
            self.encoded_count += len(batch)

    def _encode_batch(self, encoder: Encoder, batch: Mapping[str, str]) -> bytes:
        try:
            rows = encode_rows(encoder, list(batch.values()))
            if len(rows) != encoder.dim * len(batch):
                raise ValueError(f"the encoder gave {len(rows):,} bytes for {len(batch)} texts")
            return rows
        except ENDING_ERRORS:
            raise
        except BaseException as error:
            if len(batch) == 1:
                self.failed.update((key, internal_finding("", error)) for key in batch)
                return bytes(encoder.dim)
        return b"".join(self._encode_batch(encoder, {key: text}) for key, text in batch.items())

    def _add(self, hashes: Iterable[str], rows: bytes) -> None:
        start = len(self.position)
        self.position.update((key, row) for row, key in enumerate(hashes, start))
        self._file.seek(0, 2)
        self._file.write(rows)

    def read_rows(self, hashes: Iterable[str], dim: int) -> bytes:
        """The rows of these texts, one after the other."""
        rows = []
        for text_hash in hashes:
            self._file.seek(self.position[text_hash] * dim)
            rows.append(self._file.read(dim))
        return b"".join(rows)


@frozen(kw_only=True)
class VectorBuild:
    """How many vectors a generation has, and how many texts were encoded for them; the noise
    floor, with the text nearest to each null query.
    """

    rows: int = 0
    encoded_count: int = 0
    noise_floor: float = 0.0
    nearest: Sequence[NearestText] = ()


def write_vectors(
    target: Path,
    known: KnownVectors,
    changes: TextChanges,
    state: StateDatabase,
    batcher: EmbeddingBatcher,
    encoder: Encoder,
) -> VectorBuild:
    """Writes the matrix of the generation with this state, whose new texts are in the batcher."""
    batcher.encode()
    texts = changes.new if known.is_base else state.text_hashes()
    gone = changes.old if known.is_base else ()
    counts = dict.fromkeys(gone, 0) | {key: len(hashes) for key, hashes in texts.items()}
    write_matrix(
        known.base,
        target / "matrix",
        counts,
        lambda identifier: batcher.read_rows(texts[identifier], encoder.dim),
    )
    nearest = known.nearest
    if counts or not known.is_base:
        nearest = _find_nearest(target, nearest, texts, state, encoder)
    return VectorBuild(
        rows=state.count_texts(),
        encoded_count=batcher.encoded_count,
        noise_floor=noise_floor(nearest),
        nearest=nearest,
    )


@frozen(kw_only=True)
class TextChanges:
    """The text hashes of the capabilities that have other ones now, before and now."""

    old: TextHashesById
    new: TextHashesById


def compare_texts(last: StatesByPath, states: StatesByPath) -> TextChanges:
    """Which capabilities have other texts, given the last states of files that changed or are
    gone, and their states now.
    """
    old, new = text_hashes_by_id(last), text_hashes_by_id(states)
    return TextChanges(
        old={key: texts for key, texts in old.items() if new.get(key) != texts},
        new={key: texts for key, texts in new.items() if old.get(key) != texts},
    )


def _find_nearest(
    target: Path,
    last: Sequence[NearestText],
    new_texts: TextHashesById,
    state: StateDatabase,
    encoder: Encoder,
) -> Sequence[NearestText]:
    matrix = Matrix(target / "matrix", encoder.dim)
    new_rows = [row for identifier in sorted(new_texts) for row in matrix.rows_of(identifier)]
    still_near = last if len(new_rows) <= _FEW_ROWS else ()
    gone = {text_hash for _, text_hash in still_near if state.find_text(text_hash) is None}

    def hash_of_row(row: int) -> str:
        return state.text_of(*matrix.place_of(row))

    return nearest_to_null_queries(encoder, matrix, hash_of_row, new_rows, still_near, gone)


# The noise floor: how near a text without meaning comes to something in this catalogue.
#
# The more capabilities there are, the nearer the nearest one is to any text at all: 0.29 for 120
# of them, 0.40 for 1,800. So the cosine above which a hit says something is measured for each
# build and encoder, with queries of words that nobody uses (null queries).


def noise_floor(nearest_texts: Sequence[NearestText]) -> float:
    """The cosine (0..1) that three of four null queries stay below; 0 without rows."""
    cosines = sorted(1.0 - distance for distance, _ in nearest_texts)
    rank, part = divmod(NOISE_PERCENTILE * max(len(cosines) - 1, 0), 100)
    low, high = [*cosines, 0.0][rank], [*cosines, 0.0, 0.0][rank + 1]
    return round(float(low + (high - low) * part / 100), 4)


def nearest_to_null_queries(
    encoder: Encoder,
    matrix: Matrix,
    hash_of_row: Callable[[int], str],
    new_rows: Sequence[int],
    last: Sequence[NearestText],
    gone_hashes: Set[str],
) -> Sequence[NearestText]:
    """The nearest row to each null query; nothing without rows.

    Where the row that was nearest in the `last` build is still there, only one of `new_rows` can
    be nearer: of 10,000 rows that saves 30 ms, of 100,000 ten times as much. `gone_hashes` are
    those that no row has any more.
    """
    if not len(matrix):
        return ()
    if last and not new_rows and not gone_hashes:
        return last
    queries = [query for query in map(encoder.encode_query, null_queries()) if any(query)]
    known = [None if entry[1] in gone_hashes else entry for entry in last] or [None] * len(queries)
    return [
        min([entry, *((matrix.distance(query, row), hash_of_row(row)) for row in new_rows)])
        if entry
        else _nearest_row(matrix, query, hash_of_row)
        for query, entry in zip(queries, known, strict=True)
    ]


def _nearest_row(matrix: Matrix, query: bytes, hash_of_row: Callable[[int], str]) -> NearestText:
    distances = matrix.distances(query).tolist()
    smallest = min(distances)
    return smallest, hash_of_row(distances.index(smallest))


def null_queries() -> list[str]:
    """64 queries of one to four made-up words, the same in every build."""
    rng = random.Random(7)
    return [
        " ".join(_make_word(rng) for _ in range(rng.randint(1, 4)))
        for _ in range(NULL_QUERY_COUNT)
    ]


def _make_word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))
