"""The vector half of a build: new texts are encoded, all other vectors come from the last
generation.

A few new vectors are laid beside the last vector store, which is linked into the new generation as
it is; only the matrix is written anew, out of slices of the last one. With many, the store itself
is written anew.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.quantisation import quantise, quantise_row
from capdisc_indexer.indexing.document_changes import SMALL_BATCH, EmbeddingBatcher
from capdisc_indexer.indexing.previous_build import NearestText, PreviousBuild
from capdisc_indexer.model.errors import DamagedIndexError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store import matrix, native_errors, publication, vector_files
from capdisc_indexer.store.file_states import TextHashesById, text_hashes_by_id
from capdisc_indexer.store.matrix import Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def reusable_rows(previous: PreviousBuild, encoder: Encoder | None) -> dict[str, int]:
    """The row of the last matrix by text hash; nothing when another encoder made it.

    Raises DamagedIndexError when the matrix and the states of the files disagree.
    """
    if (
        encoder is None
        or previous.generation is None
        or previous.generation.fingerprint != encoder.fingerprint
    ):
        return {}
    hashes = [
        text_hash for texts in text_hashes_by_id(previous.files).values() for text_hash in texts
    ]
    if len(hashes) != previous.generation.counts["rows"]:
        raise DamagedIndexError(
            "the index is damaged: it has other vectors than its files say",
            native_errors.REBUILD_HINT,
        )
    return {text_hash: row for row, text_hash in enumerate(hashes)}


def write_vectors(
    target: Path,
    previous: PreviousBuild,
    known_rows: Mapping[str, int],
    hashes_by_id: TextHashesById,
    batcher: EmbeddingBatcher,
    encoder: Encoder,
) -> VectorBuild:
    """Writes vector store and matrix; texts without a row in the last matrix (`known_rows`) are in
    the batcher.
    """
    batcher.encode()
    encoded_count, rows = len(batcher.position), sum(map(len, hashes_by_id.values()))
    stored_rows = _link_store(target, previous, known_rows, hashes_by_id, batcher, encoder.dim)
    if stored_rows is None:
        stored_rows = _rewrite_store(
            target, previous, known_rows, hashes_by_id, batcher, encoder.dim
        )
    near = _find_nearest_to_null_queries(
        Matrix(target / "matrix", encoder.dim), previous, known_rows, hashes_by_id, encoder
    )
    return VectorBuild(
        rows=rows,
        stored_rows=stored_rows,
        encoded_count=encoded_count,
        noise_floor=noise_floor(near),
        nearest=near,
    )


def _find_nearest_to_null_queries(
    rows: Matrix,
    previous: PreviousBuild,
    known_rows: Mapping[str, int],
    hashes_by_id: TextHashesById,
    encoder: Encoder,
) -> Sequence[NearestText]:
    hashes = list(chain.from_iterable(hashes_by_id.values()))
    new_rows = [row for row, text_hash in enumerate(hashes) if text_hash not in known_rows]
    is_small_change = bool(known_rows) and len(new_rows) <= SMALL_CHANGE
    return nearest_to_null_queries(
        encoder, rows, hashes, new_rows, previous.nearest if is_small_change else ()
    )


def _link_store(
    target: Path,
    previous: PreviousBuild,
    known_rows: Mapping[str, int],
    hashes_by_id: TextHashesById,
    batcher: EmbeddingBatcher,
    dim: int,
) -> int | None:
    """Links the last store, writes beside it the vectors that it lacks, and writes the matrix; how
    many rows the store has.

    Returns None and writes nothing where there is no store to link, or too many rows would lie
    beside it or be out of use in it.
    """
    if not known_rows or previous.folder is None or previous.generation is None:
        return None
    hashes, rows = vector_files.read_pending(previous.folder / "pending")
    needed_hashes = set(chain.from_iterable(hashes_by_id.values()))
    needed_rows = [row for row, text_hash in enumerate(hashes) if text_hash in needed_hashes]
    stored_rows, pending_count = (
        previous.generation.counts["stored"],
        len(needed_rows) + len(batcher.position),
    )
    row_count = sum(map(len, hashes_by_id.values()))
    if not may_link_store(stored_rows, pending_count, row_count):
        return None
    publication.link_folder(previous.folder / "vectors", target / "vectors")
    parts = [rows[row * dim : (row + 1) * dim].tobytes() for row in needed_rows]
    keys = [*(hashes[row] for row in needed_rows), *batcher.position]
    vector_files.write_pending(target / "pending", keys, b"".join(parts) + batcher.raw())
    write_matrix(
        target,
        hashes_by_id,
        iterate_rows(Matrix(previous.folder / "matrix", dim), known_rows, hashes_by_id, batcher),
    )
    return stored_rows


def may_link_store(stored_rows: int, pending_count: int, row_count: int) -> bool:
    """Whether a store of so many rows stays, with so many beside it, where a generation has so many
    in all.
    """
    most = max(SMALL_CHANGE, int(MAX_PENDING_SHARE * row_count))
    return max(pending_count, stored_rows + pending_count - row_count) <= most


def _rewrite_store(
    target: Path,
    previous: PreviousBuild,
    known_rows: Mapping[str, int],
    hashes_by_id: TextHashesById,
    batcher: EmbeddingBatcher,
    dim: int,
) -> int:
    """Writes store and matrix anew, with the vectors of the last generation that are still in use;
    how many rows there are.
    """
    if known_rows and previous.folder is not None:
        needed_hashes = {*chain.from_iterable(hashes_by_id.values())} & known_rows.keys()
        _copy_vectors(previous.folder, needed_hashes, batcher, dim)
    rows = batcher.rows(dim)
    vector_files.write_vectors(target / "vectors", _row_batches(hashes_by_id, batcher, rows))
    write_matrix(
        target,
        hashes_by_id,
        (quantise(batch.vectors).tobytes() for batch in _row_batches(hashes_by_id, batcher, rows)),
    )
    return sum(map(len, hashes_by_id.values()))


def _copy_vectors(
    folder: Path, needed_hashes: set[str], batcher: EmbeddingBatcher, dim: int
) -> None:
    """Adds the vectors of these texts from the last generation to the batcher."""
    np = lazy_imports.numpy()
    hashes, rows = vector_files.read_pending(folder / "pending")
    pending = (hashes, np.frombuffer(rows, np.float32).reshape(-1, dim))
    for keys, vectors in (pending, vector_files.read_vectors(folder / "vectors", dim)):
        new = {key: row for row, key in enumerate(keys) if key in needed_hashes}
        needed_hashes -= new.keys()
        batcher.add(new, vectors[list(new.values())])


def _row_batches(
    hashes_by_id: TextHashesById, batcher: EmbeddingBatcher, rows: NDArray[Any]
) -> Iterator[vector_files.VectorBatch]:
    all_hashes = chain.from_iterable(hashes_by_id.values())
    while hashes := list(islice(all_hashes, vector_files.BATCH_ROWS)):
        vectors = rows[[find_row(batcher, text_hash) for text_hash in hashes]]
        yield vector_files.VectorBatch(hashes=hashes, vectors=vectors)


def write_matrix(
    target: Path, hashes_by_id: TextHashesById, rows: Iterable[bytes | memoryview]
) -> None:
    """Writes the matrix of these texts; each item of `rows` is one row of int8 or more."""
    owners = array(
        "I", (owner for owner, texts in enumerate(hashes_by_id.values()) for _ in texts)
    )
    matrix.write_matrix_files(target / "matrix", rows, owners, list(hashes_by_id))


def iterate_rows(
    old_matrix: Matrix,
    known_rows: Mapping[str, int],
    hashes_by_id: TextHashesById,
    batcher: EmbeddingBatcher,
) -> Iterator[bytes | memoryview]:
    """The rows of these texts: runs out of the last matrix, and single new rows."""
    quantise_new = make_row_quantiser(batcher, old_matrix.dim)
    start = end = 0
    for text_hash in chain.from_iterable(hashes_by_id.values()):
        row = known_rows.get(text_hash)
        if row == end and end > start:
            end += 1
            continue
        if end > start:
            yield old_matrix.bytes_of(start, end)
        start, end = (row, row + 1) if row is not None else (0, 0)
        if row is None:
            yield quantise_new(find_row(batcher, text_hash))
    if end > start:
        yield old_matrix.bytes_of(start, end)


def make_row_quantiser(batcher: EmbeddingBatcher, dim: int) -> Callable[[int], bytes]:
    """A function from a row of the batcher to its bytes of int8, as the matrix stores them."""
    if len(batcher.position) <= SMALL_BATCH:
        rows = memoryview(batcher.raw()).cast("f")
        return lambda row: quantise_row(array("f", rows[row * dim : (row + 1) * dim]))
    quantised = quantise(batcher.rows(dim))
    return lambda row: quantised[row].tobytes()


def find_row(batcher: EmbeddingBatcher, text_hash: str) -> int:
    """The batcher's row of a text. Raises DamagedIndexError where the last generation should have
    had its vector, and did not.
    """
    try:
        return batcher.position[text_hash]
    except KeyError:
        raise DamagedIndexError(
            "the index is damaged: a vector is missing", native_errors.REBUILD_HINT
        ) from None


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
    hashes: Sequence[str],
    new_rows: Sequence[int],
    previous: Sequence[NearestText],
) -> list[NearestText]:
    """The nearest row to each null query, given the text hash of each row; nothing without rows.

    Where the row that was nearest in the `previous` build is still there, only one of `new_rows`
    can be nearer: of 10,000 rows that saves 30 ms, of 100,000 ten times as much.
    """
    current_hashes = set(hashes)
    if not current_hashes or (
        previous and not new_rows and all(text in current_hashes for _, text in previous)
    ):
        return list(previous) if current_hashes else []
    queries = [query for query in map(encoder.encode_query, null_queries()) if any(query)]
    old_nearest: list[NearestText | None] = [
        entry if entry[1] in current_hashes else None for entry in previous
    ] or [None] * len(queries)
    return [
        min([entry, *(_distance_to_row(matrix, row, query, hashes) for row in new_rows)])
        if entry
        else _nearest_row(matrix, query, hashes)
        for query, entry in zip(queries, old_nearest, strict=True)
    ]


def update_nearest(
    encoder: Encoder,
    matrix: Matrix,
    hash_of_row: Callable[[int], str],
    new_rows: Sequence[int],
    previous: Sequence[NearestText],
    gone_hashes: Set[str],
) -> Sequence[NearestText]:
    """The same as `nearest_to_null_queries` for a small change, without the hashes of all rows:
    `gone_hashes` are those that no row has any more.
    """
    is_kept = all(text_hash not in gone_hashes for _, text_hash in previous)
    if not new_rows and is_kept:
        return previous
    queries = [query for query in map(encoder.encode_query, null_queries()) if any(query)]
    return [
        _nearest_of_all(matrix, query, hash_of_row)
        if entry[1] in gone_hashes
        else min([entry, *((matrix.distance(query, row), hash_of_row(row)) for row in new_rows)])
        for query, entry in zip(queries, previous, strict=True)
    ]


def _nearest_of_all(
    matrix: Matrix, query: bytes, hash_of_row: Callable[[int], str]
) -> NearestText:
    distances = matrix.distances(query).tolist()
    smallest = min(distances)
    return smallest, hash_of_row(distances.index(smallest))


def _distance_to_row(matrix: Matrix, row: int, query: bytes, hashes: Sequence[str]) -> NearestText:
    return matrix.distance(query, row), hashes[row]


def _nearest_row(matrix: Matrix, query: bytes, hashes: Sequence[str]) -> NearestText:
    return _nearest_of_all(matrix, query, hashes.__getitem__)


def null_queries() -> list[str]:
    """64 queries of one to four made-up words, the same in every build."""
    rng = random.Random(7)
    return [
        " ".join(_make_word(rng) for _ in range(rng.randint(1, 4)))
        for _ in range(NULL_QUERY_COUNT)
    ]


def _make_word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))
