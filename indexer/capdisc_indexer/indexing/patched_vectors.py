"""Which vectors and passages has the generation that follows from the last one by a few capabilities
with other texts, new ones, and ones that are gone?
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing import embeddings, passage_changes
from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.changed_tree import require
from capdisc_indexer.indexing.document_changes import EmbeddingBatcher
from capdisc_indexer.indexing.previous_build import NearestText
from capdisc_indexer.model.types import Generation, PassageLimits
from capdisc_indexer.store import publication, vector_files
from capdisc_indexer.store.file_states import StateLines, text_hashes_by_id
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_patch import write_patched_matrix
from capdisc_indexer.store.passages import PassageBlock, PassageWriter


class KnownTexts:
    """The text hashes of the last generation."""

    def __init__(self, lines: StateLines) -> None:
        self._lines = lines

    def __contains__(self, text_hash: object) -> bool:
        return next(self._owners(str(text_hash)), None) is not None

    def find_row(self, text_hash: str, matrix: Matrix) -> int:
        """The row of a text in the last matrix. Raises KeyError for an unknown one."""
        for identifier, texts in self._owners(text_hash):
            return matrix.rows_of(identifier)[texts.index(text_hash)]
        raise KeyError(text_hash)

    def is_used_beside(self, text_hash: str, ids: Mapping[str, object]) -> bool:
        """Whether another capability than these has the text."""
        return any(identifier not in ids for identifier, _ in self._owners(text_hash))

    def texts_of(self, identifier: str) -> tuple[str, ...]:
        """The text hashes of a capability. Raises KeyError for an unknown one."""
        state = self._lines.find_by_id(identifier)
        for declared in state.declared_ids if state else ():
            if declared.resolved_id == identifier:
                return declared.texts
        raise KeyError(identifier)

    def _owners(self, text_hash: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        for state in self._lines.find_all_with(text_hash):
            for declared in state.declared_ids:
                if declared.resolved_id and text_hash in declared.texts:
                    yield declared.resolved_id, declared.texts


class VectorPatch:
    """The vectors of the capabilities that have other texts now, among all others. Raises
    WiderChangeError where a build of everything would write the store anew.
    """

    def __init__(
        self,
        old_states: StatesByPath,
        states: StatesByPath,
        texts: KnownTexts,
        batcher: EmbeddingBatcher,
        published: Generation,
        old_folder: Path,
    ) -> None:
        old_texts, new_texts = text_hashes_by_id(old_states), text_hashes_by_id(states)
        changed = [
            key
            for key in sorted(old_texts.keys() | new_texts.keys())
            if old_texts.get(key) != new_texts.get(key)
        ]
        self._old_texts = {key: old_texts[key] for key in changed if key in old_texts}
        self._new_texts = {key: new_texts[key] for key in changed if key in new_texts}
        self._texts, self._batcher = texts, batcher
        self._dim, self._old_folder = published.counts["dim"], old_folder
        self.added_rows = (
            sum(map(len, self._new_texts.values())) - sum(map(len, self._old_texts.values()))
            if self._dim
            else 0
        )
        batcher.encode()
        self._is_same = not self._dim or not changed
        if self._is_same:
            return
        require(all(self._old_texts.values()) and all(self._new_texts.values()))
        kept = {text_hash for hashes in self._new_texts.values() for text_hash in hashes}
        self._gone = {
            text_hash
            for hashes in self._old_texts.values()
            for text_hash in hashes
            if text_hash not in kept and not texts.is_used_beside(text_hash, self._old_texts)
        }
        self._pending_hashes, self._pending_rows = vector_files.read_pending(
            old_folder / "pending"
        )
        self._needed = [
            row for row, key in enumerate(self._pending_hashes) if key not in self._gone
        ]
        pending_count = len(self._needed) + len(batcher.position)
        row_count = published.counts["rows"] + self.added_rows
        require(embeddings.may_link_store(published.counts["stored"], pending_count, row_count))

    def write(
        self, target: Path, nearest: Sequence[NearestText], encoder: Encoder | None
    ) -> Sequence[NearestText]:
        """Writes store and matrix; the texts that are nearest to null queries now."""
        if self._is_same or encoder is None:
            for name in ("vectors", "pending", "matrix"):
                publication.link_folder(self._old_folder / name, target / name)
            return nearest
        publication.link_folder(self._old_folder / "vectors", target / "vectors")
        self._write_pending(target / "pending")
        old_matrix = Matrix(self._old_folder / "matrix", self._dim)
        write_patched_matrix(old_matrix, target / "matrix", self._make_rows(old_matrix))
        return self._find_nearest(Matrix(target / "matrix", self._dim), nearest, encoder)

    def _write_pending(self, target: Path) -> None:
        dim, rows = self._dim, self._pending_rows
        parts = [rows[row * dim : (row + 1) * dim].tobytes() for row in self._needed]
        keys = [*(self._pending_hashes[row] for row in self._needed), *self._batcher.position]
        vector_files.write_pending(target, keys, b"".join(parts) + self._batcher.raw())

    def _make_rows(self, old_matrix: Matrix) -> dict[str, bytes]:
        quantise_new = embeddings.make_row_quantiser(self._batcher, self._dim)

        def make_row(text_hash: str) -> bytes:
            if text_hash in self._batcher.position:
                return quantise_new(self._batcher.position[text_hash])
            row = self._texts.find_row(text_hash, old_matrix)
            return bytes(old_matrix.bytes_of(row, row + 1))

        new_rows = {key: b"".join(map(make_row, texts)) for key, texts in self._new_texts.items()}
        return dict.fromkeys(self._old_texts, b"") | new_rows

    def _find_nearest(
        self, matrix: Matrix, nearest: Sequence[NearestText], encoder: Encoder
    ) -> Sequence[NearestText]:
        def find_hash(row: int) -> str:
            identifier, number = matrix.place_of(row)
            texts = self._new_texts.get(identifier) or self._texts.texts_of(identifier)
            return texts[number]

        new_rows = [
            matrix.rows_of(identifier)[number]
            for identifier, hashes in sorted(self._new_texts.items())
            for number, text_hash in enumerate(hashes)
            if text_hash in self._batcher.position
        ]
        return embeddings.update_nearest(encoder, matrix, find_hash, new_rows, nearest, self._gone)


class PassagePatch:
    """The passages of changed capabilities, among those of all others, which are in `source`."""

    def __init__(self, source: Path, published: Generation, limits: PassageLimits) -> None:
        self._source, self._stored, self._limits = source, published.counts, limits
        self._blocks: dict[str, PassageBlock] = {}
        self._old_counts: dict[str, int] = {}
        self._matrix: Matrix | None = None
        self.counts: Mapping[str, int] = {}

    @property
    def limits(self) -> PassageLimits:
        """The limits of passages."""
        return self._limits

    def add(self, owner: str, block: PassageBlock) -> None:
        """Adds the passages of a changed capability."""
        if block.passages:
            self._blocks[owner] = block

    def check(self, old_owners: Collection[str]) -> None:
        """Given the ids of capabilities that changed or are gone, raises WiderChangeError where the
        text index has to be written anew, or there are no passages at all before or now.
        """
        if self._stored["passages"]:
            self._matrix = Matrix(self._source / "matrix", self._stored["passage_dim"])
        self._old_counts = {
            owner: count for owner in old_owners if (count := self._count_old(owner))
        }
        if not self._blocks and not self._old_counts:
            return
        old_count = sum(self._old_counts.values())
        deleted = self._stored["deleted_passages"] + old_count
        total = self._stored["passages"]
        require(passage_changes.may_keep_passages(total, deleted))
        dim = self._stored["passage_dim"]
        blocks = self._blocks.values()
        require(all(len(block.rows) == dim * len(block.passages) for block in blocks))
        new_total = total + sum(len(block.passages) for block in blocks) - old_count
        require(new_total > 0)
        self.counts = {"passages": new_total, "deleted_passages": deleted}

    def _count_old(self, owner: str) -> int:
        if self._matrix is None:
            return 0
        try:
            return len(self._matrix.rows_of(owner))
        except KeyError:
            return 0

    def write(self, target: Path) -> None:
        """Writes the passages of the next generation."""
        if not self.counts or self._matrix is None:
            publication.link_folder(self._source, target)
            return
        publication.clone_text_index(self._source / "text", target / "text")
        writer = PassageWriter(target / "text")
        writer.remove(sorted(self._old_counts))
        for owner, block in sorted(self._blocks.items()):
            writer.add(owner, block.passages)
        writer.commit()
        no_rows = dict.fromkeys(self._old_counts, b"")
        rows = {owner: block.rows for owner, block in self._blocks.items()}
        write_patched_matrix(self._matrix, target / "matrix", no_rows | rows)
