"""The vector half of a build: new texts are encoded, all other vectors come from the last
generation.

A few new vectors are laid beside the last vector store, which is linked into the new generation as
it is; only the matrix is written anew, out of slices of the last one. With many, the store itself
is written anew.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.quantisation import quantise_rows
from capdisc_indexer.indexing.build_plan import BuildPlan
from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.document_changes import SMALL_BATCH, EmbeddingBatcher
from capdisc_indexer.indexing.previous_build import PreviousBuild, check_digests
from capdisc_indexer.model.errors import (
    MALFORMED_DATA_ERRORS,
    DamagedIndexError,
    IndexStateError,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.store import generation, matrix, native_errors, publication, vector_files
from capdisc_indexer.store.file_states import NearestText, TextHashesById, text_hashes_by_id
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_patch import write_patched_matrix

if TYPE_CHECKING:
    from capdisc_indexer.store.state_database import StateDatabase

# So many vectors may lie beside the store, and as many of its own may be out of use: a share of
# all, or this number for a small catalogue.
MAX_PENDING_SHARE, SMALL_CHANGE = 0.05, 50


@frozen(kw_only=True)
class VectorBuild:
    """How many vectors a generation has, how many of them lie in the vector store, and how many
    texts were encoded for them; the noise floor, with the text nearest to each null query.
    """

    rows: int = 0
    stored_rows: int = 0
    encoded_count: int = 0
    noise_floor: float = 0.0
    nearest: Sequence[NearestText] = ()


class KnownTexts:
    """The texts of the last generation whose vectors can be taken over: none where another encoder
    made them.

    Raises DamagedIndexError when the matrix and the state disagree.
    """

    def __init__(self, previous: PreviousBuild, encoder: Encoder | None) -> None:
        published = previous.generation
        is_known = (
            encoder is not None
            and published is not None
            and published.fingerprint == encoder.fingerprint
        )
        self.state = previous.state if is_known else None
        self.folder = previous.folder if is_known else None
        self.counts = published.counts if published is not None and is_known else {}
        if self.state is not None and self.state.count_texts() != self.counts["rows"]:
            raise DamagedIndexError(
                "the index is damaged: it has other vectors than its files say",
                native_errors.REBUILD_HINT,
            )

    def __contains__(self, text_hash: object) -> bool:
        return self.state is not None and self.state.find_text(str(text_hash)) is not None

    def __bool__(self) -> bool:
        return bool(self.counts and self.counts["rows"])

    @property
    def nearest(self) -> Sequence[NearestText]:
        """The text that is nearest to each null query; none without known texts."""
        return self.state.nearest if self.state is not None else ()

    def read_row(self, text_hash: str, matrix: Matrix) -> bytes:
        """The row of a text in the last matrix. Raises DamagedIndexError where it has none."""
        place = self.state.find_text(text_hash) if self.state is not None else None
        if place is None:
            raise _missing_vector()
        identifier, number = place
        row = matrix.rows_of(identifier)[number]
        return bytes(matrix.bytes_of(row, row + 1))


def load_stored_vectors(plan: BuildPlan) -> vector_files.StoredVectors | None:
    """The vectors of the published generation, for a build that takes nothing else from it, so
    that a rebuild encodes no text again; None unless the same release made them with the same
    encoder, and their files have their published digests.
    """
    encoder, request = plan.selected.encoder, plan.request
    if encoder is None or plan.previous.generation is not None:
        return None
    with suppress(IndexStateError, OSError, *MALFORMED_DATA_ERRORS):
        manifest = generation.load_unchecked(request.index_dir)
        made_by = (describe_release(), encoder.fingerprint)
        if manifest is None or (manifest.made_by, manifest.fingerprint) != made_by:
            return None
        generation.check_builder(
            request.index_dir, manifest.builder_id, request.options.builder_id
        )
        folder = generation.generation_folder(request.index_dir, manifest.number)
        of_vectors = {
            name: entry
            for name, entry in manifest.files.items()
            if name.startswith(("vectors/", "pending/"))
        }
        check_digests(folder, replace(manifest, files=of_vectors))
        return vector_files.StoredVectors(folder, encoder.dim)
    return None


def write_vectors(
    target: Path,
    known: KnownTexts,
    changes: TextChanges,
    state: StateDatabase,
    batcher: EmbeddingBatcher,
    encoder: Encoder,
) -> VectorBuild:
    """Writes vector store and matrix of the generation with this state; texts that are not `known`
    are in the batcher.
    """
    batcher.encode()
    row_count = known.counts["rows"] + changes.count_added() if known else state.count_texts()
    nearest = known.nearest
    stored_rows = _link_store(target, known, changes, state, batcher, encoder.dim, row_count)
    if stored_rows is None:
        stored_rows = _rewrite_store(target, known, state, batcher, encoder.dim)
    if changes.old != changes.new or not known:
        nearest = _find_nearest(target, known, changes, state, batcher, encoder)
    return VectorBuild(
        rows=row_count,
        stored_rows=stored_rows,
        encoded_count=batcher.encoded_count,
        noise_floor=noise_floor(nearest),
        nearest=nearest,
    )


@frozen(kw_only=True)
class TextChanges:
    """The text hashes of the capabilities that have other ones now, before and now."""

    old: TextHashesById
    new: TextHashesById

    def count_added(self) -> int:
        """How many texts more there are now."""
        return sum(map(len, self.new.values())) - sum(map(len, self.old.values()))


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
    known: KnownTexts,
    changes: TextChanges,
    state: StateDatabase,
    batcher: EmbeddingBatcher,
    encoder: Encoder,
) -> Sequence[NearestText]:
    rows = Matrix(target / "matrix", encoder.dim)
    last = known.nearest
    new_rows = [
        rows.rows_of(identifier)[number]
        for identifier, hashes in sorted(changes.new.items())
        for number, text_hash in enumerate(hashes)
        if text_hash in batcher.position
    ]
    if len(new_rows) > SMALL_CHANGE:
        last = ()
    gone = {text_hash for _, text_hash in last if state.find_text(text_hash) is None}

    def hash_of_row(row: int) -> str:
        return state.text_of(*rows.place_of(row))

    return nearest_to_null_queries(encoder, rows, hash_of_row, new_rows, last, gone)


def _link_store(
    target: Path,
    known: KnownTexts,
    changes: TextChanges,
    state: StateDatabase,
    batcher: EmbeddingBatcher,
    dim: int,
    row_count: int,
) -> int | None:
    """Links the last store, writes beside it the vectors that it lacks, and writes the matrix; how
    many rows the store has.

    Returns None and writes nothing where there is no store to link, or too many rows would lie
    beside it or be out of use in it.
    """
    if not known or known.folder is None:
        return None
    stored_rows = known.counts["stored"]
    if changes.old == changes.new:
        for name in ("vectors", "pending", "matrix"):
            publication.link_folder(known.folder / name, target / name)
        return stored_rows
    hashes, rows = vector_files.read_pending(known.folder / "pending")
    needed_rows = [row for row, key in enumerate(hashes) if state.find_text(key) is not None]
    pending_count = len(needed_rows) + len(batcher.position)
    if not may_link_store(stored_rows, pending_count, row_count):
        return None
    publication.link_folder(known.folder / "vectors", target / "vectors")
    parts = [rows[row * dim : (row + 1) * dim].tobytes() for row in needed_rows]
    keys = [*(hashes[row] for row in needed_rows), *batcher.position]
    vector_files.write_pending(target / "pending", keys, b"".join(parts) + batcher.rows())
    old_matrix = Matrix(known.folder / "matrix", dim)
    quantise_new = make_row_quantiser(batcher, dim)

    def read_rows(identifier: str) -> bytes:
        return b"".join(
            quantise_new(batcher.position[text_hash])
            if text_hash in batcher.position
            else known.read_row(text_hash, old_matrix)
            for text_hash in changes.new[identifier]
        )

    counts = dict.fromkeys(changes.old, 0) | {
        key: len(texts) for key, texts in changes.new.items()
    }
    write_patched_matrix(old_matrix, target / "matrix", counts, read_rows)
    return stored_rows


def may_link_store(stored_rows: int, pending_count: int, row_count: int) -> bool:
    """Whether a store of so many rows stays, with so many beside it, where a generation has so
    many in all.
    """
    most = max(SMALL_CHANGE, int(MAX_PENDING_SHARE * row_count))
    return max(pending_count, stored_rows + pending_count - row_count) <= most


def _rewrite_store(
    target: Path,
    known: KnownTexts,
    state: StateDatabase,
    batcher: EmbeddingBatcher,
    dim: int,
) -> int:
    """Writes store and matrix anew, with the vectors of the last generation that are still in use;
    how many rows there are.
    """
    hashes_by_id = state.text_hashes()
    if known and known.folder is not None:
        needed_hashes = {*chain.from_iterable(hashes_by_id.values())} - batcher.position.keys()
        _copy_vectors(known.folder, needed_hashes, batcher, dim)
    vector_files.write_vectors(target / "vectors", _row_batches(hashes_by_id, batcher, dim))
    owners = array(
        "I", (owner for owner, texts in enumerate(hashes_by_id.values()) for _ in texts)
    )
    matrix.write_matrix_files(
        target / "matrix",
        (
            quantise_rows(batch.rows, dim, are_many=True)
            for batch in _row_batches(hashes_by_id, batcher, dim)
        ),
        owners,
        list(hashes_by_id),
    )
    return len(owners)


def _copy_vectors(
    folder: Path, needed_hashes: set[str], batcher: EmbeddingBatcher, dim: int
) -> None:
    """Adds the vectors of these texts from the last generation to the batcher."""
    stored = vector_files.StoredVectors(folder, dim)
    for key in filter(needed_hashes.__contains__, stored.numbers):
        batcher.add([key], stored.row(key))


def _row_batches(
    hashes_by_id: TextHashesById, batcher: EmbeddingBatcher, dim: int
) -> Iterator[vector_files.VectorBatch]:
    all_hashes, rows, size = chain.from_iterable(hashes_by_id.values()), batcher.rows(), 4 * dim
    while hashes := list(islice(all_hashes, vector_files.BATCH_ROWS)):
        starts = [size * find_row(batcher, text_hash) for text_hash in hashes]
        data = b"".join([rows[start : start + size] for start in starts])
        yield vector_files.VectorBatch(hashes=hashes, rows=data)


def make_row_quantiser(batcher: EmbeddingBatcher, dim: int) -> Callable[[int], bytes]:
    """A function from a row of the batcher to its bytes of int8, as the matrix stores them."""
    quantised = quantise_rows(batcher.rows(), dim, len(batcher.position) > SMALL_BATCH)
    return lambda row: quantised[row * dim : (row + 1) * dim]


def find_row(batcher: EmbeddingBatcher, text_hash: str) -> int:
    """The batcher's row of a text. Raises DamagedIndexError where the last generation should have
    had its vector, and did not.
    """
    try:
        return batcher.position[text_hash]
    except KeyError:
        raise _missing_vector() from None


def _missing_vector() -> DamagedIndexError:
    return DamagedIndexError(
        "the index is damaged: a vector is missing", native_errors.REBUILD_HINT
    )


# The noise floor: how near a text without meaning comes to something in this catalogue.
#
# The more capabilities there are, the nearer the nearest one is to any text at all: 0.29 for 120
# of them, 0.40 for 1,800. So the cosine above which a hit says something is measured for each
# build and encoder, with queries of words that nobody uses (null queries).

NULL_QUERY_COUNT = 64
NOISE_PERCENTILE = 75
_SYLLABLES = (
    "ba bi bo bu da de di do fa fe fi ga go gri ka ke ki ko lo lu ma me mi mo na ne ni no pa pe pi"
    " po qua ra re ri ro sa se si so ta te ti to tra va ve vi vo wa we xi ya zo zu ble fru ploz"
    " snar gnix quorp zimb"
).split()


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
