"""The vector half of a build: what is new is encoded, the rest is taken from the last generation.

A few new vectors are laid beside the last vector store, which is linked into the new generation as it is; only the
matrix is written anew, out of slices of the last one. With many, the store itself is written anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.background import Nearest, background, nearest
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import DamagedIndexError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.intake import Intake
from capdisc_indexer.matrix_rows import row_of, slices, write_matrix
from capdisc_indexer.previous import Previous
from capdisc_indexer.quantise import quantise
from capdisc_indexer.state import Wanted, wanted_texts
from capdisc_indexer.store import integrity, pending, publication, vectors
from capdisc_indexer.store.matrix import Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many vectors may lie beside the store, and as many of its own may be of no use: a share of it, or a few of a small.
MAX_SHARE, SMALL = 0.05, 50


@frozen(kw_only=True)
class Encoded:
    """How many vectors there are, how many rows the store has, how many texts had to be encoded for them, and what
    meaningless queries reach, with what is nearest to each of them."""

    rows: int = 0
    stored: int = 0
    embedded: int = 0
    background: float = 0.0
    nearest: Sequence[Nearest] = ()


def reusable(last: Previous, encoder: Encoder | None) -> dict[str, int]:
    """The row of the last matrix for each text hash, when it is this encoder's."""
    if encoder is None or last.generation is None or last.generation.fingerprint != encoder.fingerprint:
        return {}
    hashes = [each for texts in wanted_texts(last.files).values() for each in texts]
    if len(hashes) != last.generation.counts["rows"]:
        raise DamagedIndexError("the index is damaged: it has other vectors than its files say", integrity.REBUILD)
    return {text_hash: row for row, text_hash in enumerate(hashes)}


def write_vectors(
    target: Path, last: Previous, old: Mapping[str, int], wanted: Wanted, intake: Intake, encoder: Encoder
) -> Encoded:
    """Write store and matrix for `wanted`; what is not among the `old` rows of the last matrix was taken in."""
    intake.encode()
    embedded, rows = len(intake.position), sum(map(len, wanted.values()))
    stored = _linked(target, last, old, wanted, intake, encoder.dim)
    if stored is None:
        stored = _written(target, last, old, wanted, intake, encoder.dim)
    near = _nearest(Matrix(target / "matrix", encoder.dim), last, old, wanted, encoder)
    return Encoded(rows=rows, stored=stored, embedded=embedded, background=background(near), nearest=near)


def _nearest(
    rows: Matrix, last: Previous, old: Mapping[str, int], wanted: Wanted, encoder: Encoder
) -> Sequence[Nearest]:
    hashes = list(chain.from_iterable(wanted.values()))
    fresh = [row for row, text_hash in enumerate(hashes) if text_hash not in old]
    few = bool(old) and len(fresh) <= SMALL
    return nearest(encoder, rows, hashes, fresh, last.nearest if few else ())


def _linked(
    target: Path, last: Previous, old: Mapping[str, int], wanted: Wanted, intake: Intake, dim: int
) -> int | None:
    """Link the last store, lay beside it what it lacks, and write the matrix; how many rows the store has.

    None, and nothing done, where there is no store to link, or too much would lie beside it or be of no use in it.
    """
    if not old or last.folder is None or last.generation is None:
        return None
    hashes, rows = pending.read(last.folder / "pending")
    needed = set(chain.from_iterable(wanted.values()))
    kept = [row for row, text_hash in enumerate(hashes) if text_hash in needed]
    stored, beside = last.generation.counts["stored"], len(kept) + len(intake.position)
    used = sum(map(len, wanted.values()))
    if max(beside, stored + beside - used) > max(SMALL, int(MAX_SHARE * used)):
        return None
    publication.clone(last.folder / "vectors", target / "vectors", lambda name: False)
    parts = [rows[row * dim : (row + 1) * dim].tobytes() for row in kept]
    keys = [*(hashes[row] for row in kept), *intake.position]
    pending.write(target / "pending", keys, b"".join(parts) + intake.raw())
    write_matrix(target, wanted, slices(Matrix(last.folder / "matrix", dim), old, wanted, intake))
    return stored


def _written(target: Path, last: Previous, old: Mapping[str, int], wanted: Wanted, intake: Intake, dim: int) -> int:
    """Write store and matrix anew, with all that the last ones have and is still wanted; how many rows there are."""
    if old and last.folder is not None:
        _take_over(last.folder, {each for texts in wanted.values() for each in texts if each in old}, intake, dim)
    rows = intake.rows(dim)
    vectors.write(target / "vectors", dim, lambda: _batches(wanted, intake, rows))
    write_matrix(target, wanted, (quantise(each.vectors).tobytes() for each in _batches(wanted, intake, rows)))
    return sum(map(len, wanted.values()))


def _take_over(folder: Path, needed: set[str], intake: Intake, dim: int) -> None:
    """Add the vectors of these texts from the last generation."""
    np = engines.numpy()
    hashes, rows = pending.read(folder / "pending")
    beside = (hashes, np.frombuffer(rows, np.float32).reshape(-1, dim))
    for keys, found in chain([beside], vectors.read(folder / "vectors")):
        new = {key: row for row, key in enumerate(keys) if key in needed}
        needed -= new.keys()
        intake.add(new, found[list(new.values())])


def _batches(wanted: Wanted, intake: Intake, rows: NDArray[Any]) -> Iterator[vectors.Batch]:
    each = ((key, part, text_hash) for key, texts in wanted.items() for part, text_hash in enumerate(texts))
    while some := list(islice(each, vectors.BATCH)):
        ids, parts, hashes = zip(*some, strict=True)
        found = rows[[row_of(intake, text_hash) for text_hash in hashes]]
        yield vectors.Batch(ids=ids, parts=parts, hashes=hashes, vectors=found)
