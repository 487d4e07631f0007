"""Which rows does the LanceDB table have for a generation, and how does it get them?

The table is made from the published generation: when somebody asks for it, and by a background
process after a first build that a person typed and after updates, once an hour at most, since the
import of LanceDB takes longer than an update. Only capabilities whose digest differs are written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.indexing.document_changes import assemble_document
from capdisc_indexer.indexing.embeddings import hash_text
from capdisc_indexer.indexing.passage_changes import passage_texts
from capdisc_indexer.model.errors import DamagedIndexError, IndexStateError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.records import UNCATEGORISED, from_record
from capdisc_indexer.model.types import Descriptor, Generation, PassageLimits
from capdisc_indexer.model.version import __version__
from capdisc_indexer.store import generation, lance_table
from capdisc_indexer.store.lance_table import (
    ROW_CAPABILITY,
    ROW_PASSAGE,
    ROW_PHRASE,
    CapabilityRow,
    TableState,
)
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.native_errors import REBUILD_HINT
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.state_database import StateDatabase
from capdisc_indexer.store.text_queries import IndexedDocument
from capdisc_indexer.text.embedding_text import embedding_texts
from capdisc_indexer.text.normalization import lexical_text

_FORMAT = 2
# A change of more capabilities than this share writes the whole table.
_MAX_CHANGED_SHARE, _MAX_CHANGED = 0.2, 2_000


def update_table(
    index_dir: Path,
    builder_id: str | None = None,
    timeout_s: float = lance_table.LOCK_TIMEOUT_S,
    *,
    verify: bool = False,
) -> TableState:
    """The state of the table after it was made equal to the published generation. With `verify`,
    a table that says that it is equal is compared row by row, and rewritten if it is not.

    Whatever happens, the index answers as before. Raises IndexStateError when there is no index or
    LanceDB cannot write, BusyError when another process keeps writing the table, OSError when the
    disk refuses.
    """
    while True:
        with lance_table.table_lock(index_dir, timeout_s):
            pointer, state = generation.read_pointer(index_dir), lance_table.read_state(index_dir)
            is_equal = state is not None and bool(pointer) and state.pointer == pointer
            if state is not None and is_equal and not verify:
                return state
            with Index(index_dir, builder_id) as index:
                if generation.read_pointer(index_dir) != pointer:
                    continue
                if not is_equal or _is_damaged(index):
                    state = _write_changes(index, pointer, None if is_equal else state)
            assert state is not None
            if state.changes >= lance_table.CHANGES_BETWEEN_MERGES:
                version = lance_table.merge_small_files(index_dir)
                state = replace(state, version=version, changes=0)
                lance_table.write_state(index_dir, state)
        if generation.read_pointer(index_dir) == pointer:
            return state


def _write_changes(index: Index, pointer: str, state: TableState | None) -> TableState:
    """Write what the table lacks, and its state."""
    index_dir, layout = index.index_dir, describe_layout(index.generation)
    source = RowSource(index)
    version = rows = changes = 0
    if state is not None and state.layout == layout:
        try:
            version, rows = _replace_changed(source, state)
            changes = state.changes + 1
        except IndexStateError:
            lance_table.remove_table(index_dir)  # damaged: rewritten below
    if not version:
        version, rows = lance_table.write_table(index_dir, source.dim, source.all_rows)
    new_state = TableState(
        pointer=pointer,
        generation=index.generation.number,
        version=version,
        rows=rows,
        layout=layout,
        changes=changes,
    )
    lance_table.write_state(index_dir, new_state)
    return new_state


def _replace_changed(source: RowSource, state: TableState) -> tuple[int, int]:
    """The new version and its number of rows; (0, 0) where so much changed that the whole table is
    to be written.
    """
    index_dir = source.index.index_dir
    stored = lance_table.read_digests(lance_table.open_version(index_dir, state.version))
    wanted = source.digests
    changed = {key for key, digest in wanted.items() if stored.get(key) != digest}
    removed = stored.keys() - wanted.keys()
    if len(changed) + len(removed) > min(_MAX_CHANGED_SHARE * len(wanted) + 50, _MAX_CHANGED):
        return 0, 0
    if not changed and not removed:
        return state.version, state.rows
    return lance_table.replace_rows(
        index_dir, state.version, source.dim, source.rows_of(sorted(changed)), changed | removed
    )


def describe_layout(published: Generation) -> str:
    """All that a row depends on besides its capability: release, encoders and limits."""
    counts = published.counts
    names = ("dim", "passage_dim", "passage_limit", "passage_bytes")
    numbers = [counts[name] for name in names]
    return json.dumps([_FORMAT, __version__, published.fingerprint, published.pieces, *numbers])


def _is_damaged(index: Index) -> bool:
    """Whether the rows are not those of the generation; a table that cannot be read is removed."""
    try:
        return bool(find_stale_rows(index))
    except IndexStateError:
        lance_table.remove_table(index.index_dir)
        return True


def find_stale_rows(index: Index) -> str:
    """How the table differs from the documents, by ids, digests and hashes of texts; "" where it
    does not.

    Raises IndexStateError when the table cannot be read.
    """
    state = lance_table.read_state(index.index_dir)
    if state is None:
        return "there is no table"
    table = lance_table.open_version(index.index_dir, state.version)
    state_database = StateDatabase(index.folder)
    texts = state_database.text_hashes()
    wanted = {key: (digest, set(texts[key])) for key, digest in state_database.digests().items()}
    stored: dict[str, tuple[str, set[str]]] = {}
    changed_texts = 0
    condition = f"NOT {lance_table.has_label([ROW_PASSAGE])}"
    for row in lance_table.read_columns(table, ("id", "digest", "text", "text_hash"), condition):
        identifier, digest, text, text_hash = row
        stored.setdefault(identifier, (digest, set()))[1].add(text_hash)
        changed_texts += hash_text(text) != text_hash
    counts = (
        (len(wanted.keys() - stored.keys()), "missing"),
        (len(stored.keys() - wanted.keys()), "removed since"),
        (sum(wanted.get(key, value) != value for key, value in stored.items()), "changed since"),
        (changed_texts, "with another text than their hash says"),
    )
    return ", ".join(f"{count:,} {problem}" for count, problem in counts if count)


class RowSource:
    """Makes the rows of capabilities from an open generation; `digests` are those of their records
    by id, `dim` is the number of components of a vector.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        counts = index.generation.counts
        self.dim = counts["dim"]
        self.digests = StateDatabase(index.folder).digests()
        self._limits = PassageLimits(counts["passage_limit"], counts["passage_bytes"])
        # A table has vectors of one length: those of passages come from the shipped encoder.
        is_same_length = counts["passage_dim"] == self.dim
        self._passages = index.passages.matrix if index.passages and is_same_length else None

    def all_rows(self) -> Iterator[CapabilityRow]:
        """The rows of all capabilities, in the order of their ids."""
        return self.rows_of(sorted(self.digests))

    def rows_of(self, ids: Sequence[str]) -> Iterator[CapabilityRow]:
        """The rows of these capabilities."""
        for header, body, pieces in self.index.documents.full_records(ids):
            descriptor = from_record(header, body)
            document = assemble_document(descriptor, header, body, pieces)
            row = self._make_row(descriptor, document)
            texts = list(dict.fromkeys(embedding_texts(descriptor)))
            vectors = _unit_vectors(self.index.matrix, descriptor.id) or [b""] * len(texts)
            if len(texts) != len(vectors):
                raise DamagedIndexError(
                    f"{descriptor.id} has {len(texts)} texts and {len(vectors)} vectors",
                    REBUILD_HINT,
                )
            for part, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                new_row = row._replace(text=text, text_hash=hash_text(text), vector=vector)
                yield new_row if part == 0 else _without_document(new_row, part, ROW_PHRASE)
            yield from self._passage_rows(descriptor, row, len(texts))

    def _make_row(self, descriptor: Descriptor, document: IndexedDocument) -> CapabilityRow:
        """The row of the capability itself, without its text."""
        d = descriptor
        facets = [
            f"{name}:{value.lower()}"
            for name, values in document.facets.items()
            for value in values
            if value
        ]
        analyse = self.index.documents.analyse
        aliases = [f"alias:{alias}" for alias in document.aliases]
        return CapabilityRow(
            id=d.id,
            part=0,
            kind=d.kind,
            name=d.name,
            description=d.description,
            category=d.category or UNCATEGORISED,
            tags=d.tags,
            risk=d.risk,
            root=d.source.root,
            path=d.source.path,
            section="",
            text="",
            text_hash="",
            vector=b"",
            digest=self.digests[d.id],
            labels=[ROW_CAPABILITY, *facets, *aliases],
            words=document.text,
            terms=" ".join(analyse(document.text)),
            name_terms=" ".join(analyse(lexical_text(document.name))),
            head=document.head,
            body=document.body,
            pieces=document.pieces,
        )

    def _passage_rows(
        self, descriptor: Descriptor, row: CapabilityRow, first_part: int
    ) -> Iterator[CapabilityRow]:
        """A row for each passage of the body, with its vector as the matrix of passages has it."""
        passages = passage_texts(descriptor, self._limits) if self._passages else []
        vectors = _unit_vectors(self._passages, descriptor.id) if passages else []
        for number, (passage, text) in enumerate(passages):
            yield _without_document(row, first_part + number, ROW_PASSAGE)._replace(
                section=" / ".join(passage.sections or passage.trail[-1:]),
                text=text,
                digest="",
                vector=vectors[number],
            )


def _without_document(row: CapabilityRow, part: int, label: str) -> CapabilityRow:
    """The row of another part of the same capability."""
    # Names are looked for among capabilities and requests; of passages they would be a megabyte.
    is_passage = label == ROW_PASSAGE
    labels = [text for text in row.labels[1:] if not (is_passage and text.startswith("alias:"))]
    return row._replace(
        part=part,
        labels=[label, *labels],
        words=None,
        terms=None,
        name_terms=None,
        head=None,
        body=None,
        pieces=None,
    )


def _unit_vectors(matrix: Matrix | None, identifier: str) -> list[bytes]:
    """The rows of a capability as vectors of length 1 in float32; none without a matrix.

    Raises DamagedIndexError where the matrix has no row of it.
    """
    if matrix is None:
        return []
    try:
        rows = matrix.rows_of(identifier)
    except KeyError:
        raise DamagedIndexError(
            "the index is damaged: a vector is missing", REBUILD_HINT
        ) from None
    np = lazy_imports.numpy()
    data = np.frombuffer(matrix.bytes_of(rows.start, rows.stop), np.int8)
    values = data.reshape(len(rows), -1).astype(np.float32)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return [bytes(row.tobytes()) for row in values / np.where(lengths, lengths, 1.0)]
