"""The passages of bodies in a build: those of changed capabilities are made anew, all others come
from the last generation.

Passages depend on nothing but the capability, the shipped encoder and the limits, so a capability
whose record is unchanged keeps its passages and their vectors as they are.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Protocol, TypeAlias

from capdisc_indexer.indexing.change_detection import Changes
from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, PassageLimits
from capdisc_indexer.store import publication
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.file_states import content_hashes_by_id
from capdisc_indexer.store.matrix import Matrix, write_matrix_files
from capdisc_indexer.store.passages import IndexedPassage, PassageBlock, PassageWriter
from capdisc_indexer.text.embedding_text import BODY_CHARACTERS, is_english, truncate_stem
from capdisc_indexer.text.normalization import lexical_text
from capdisc_indexer.text.sections import Passage, split_passages

# The rows (int8, one after the other) of some texts.
EncodeRows: TypeAlias = Callable[[Sequence[str]], bytes]


def build_passages(
    descriptors: Sequence[Descriptor], limits: PassageLimits, encode_rows: EncodeRows | None
) -> list[PassageBlock]:
    """The passages of each capability, with rows of one zero where no encoder gives any; none of a
    short body: the capability's own document holds all of its words.
    """
    passages = [passage_texts(descriptor, limits) for descriptor in descriptors]
    texts = [_embedding_text(*passage) for passage in chain.from_iterable(passages)]
    rows = (encode_rows(texts) if encode_rows and texts else b"") or bytes(len(texts))
    row_size, end = len(rows) // max(len(texts), 1), 0
    blocks = []
    for descriptor, own_passages in zip(descriptors, passages, strict=True):
        start, end = end, end + len(own_passages) * row_size
        indexed = _index_passages(descriptor, own_passages, limits)
        blocks.append(PassageBlock(indexed, rows[start:end]))
    return blocks


def _index_passages(
    descriptor: Descriptor, passages: Sequence[tuple[Passage, str]], limits: PassageLimits
) -> tuple[IndexedPassage, ...]:
    if not passages:
        return ()
    body = _limit_body(descriptor.content, limits)
    extend = _identity if is_english(f"{descriptor.description} {body}") else _with_stems
    return tuple(
        IndexedPassage(
            passage.sections,
            extend(lexical_text(" ".join(passage.sections))),
            extend(lexical_text(text)),
        )
        for passage, text in passages
    )


def passage_texts(descriptor: Descriptor, limits: PassageLimits) -> list[tuple[Passage, str]]:
    """The passages of a capability and their texts; none of a short body."""
    if len(descriptor.content) <= BODY_CHARACTERS or not limits.passages:
        return []
    body = _limit_body(descriptor.content, limits)
    passages = islice(split_passages(body), limits.passages)
    return [(passage, body[passage.start : passage.end]) for passage in passages]


def _limit_body(body: str, limits: PassageLimits) -> str:
    """The part of the body that has passages."""
    if 4 * len(body) <= limits.bytes:
        return body
    return body.encode("utf-8", "replace")[: limits.bytes].decode("utf-8", "ignore")


def _embedding_text(passage: Passage, text: str) -> str:
    """The headings above the passage, which say what it is about, and its text."""
    return "\n".join([*passage.trail, text])


def _identity(text: str) -> str:
    return text


def _with_stems(text: str) -> str:
    return f"{text}\n{truncate_stem(text)}"


# So few passages are written anew whenever one changes, so that the statistics of BM25 are those of
# a build from nothing (0.1 ms each); of more, once this share of them was deleted.
SMALL_COUNT = 1_000
MAX_DELETED_SHARE = 0.02
# Blocks that wait in memory until the engines are loaded; more than a small build has.
_WAITING_BLOCKS = 64


def may_keep_passages(count: int, deleted_count: int) -> bool:
    """Whether the text index of so many passages is changed and not written anew, where so many of
    them are deleted.
    """
    return count > SMALL_COUNT and deleted_count <= MAX_DELETED_SHARE * count


@frozen(kw_only=True)
class PassageCounts:
    """How many passages a generation has, how many deleted ones its text index still carries, and
    the bytes of a row; all 0 without passages.
    """

    passages: int = 0
    deleted: int = 0
    dim: int = 0


class PassageSink(Protocol):
    """What takes the passages of changed capabilities, made within `limits`."""

    @property
    def limits(self) -> PassageLimits:
        """The limits of passages."""

    def add(self, owner: str, block: PassageBlock) -> None:
        """Adds the passages of a changed capability."""


class PassageBuild:
    """Collects the passages of changed capabilities, in the order of their ids, and writes those of
    the next generation into `target`.

    New rows lie in a file without a name in `scratch`, as in `EmbeddingBatcher`.
    """

    def __init__(
        self,
        target: Path,
        previous: PreviousBuild,
        changes: Changes,
        limits: PassageLimits,
        scratch: Path,
    ) -> None:
        self._target, self._limits = target, limits
        self._old = _read_old_passages(previous)
        new_ids = content_hashes_by_id(changes.files)
        self._kept = [
            owner
            for owner in self._old.counts
            if owner in new_ids and owner not in changes.descriptors
        ]
        self._new_counts: dict[str, int] = {}
        self._waiting: list[tuple[str, PassageBlock]] = []
        self._rewritten = 0  # how many of `_kept` are written anew so far
        self._writer: PassageWriter | None = None
        self._dim = self._old.total_counts.dim
        old, kept_count = (
            self._old.total_counts,
            sum(self._old.counts[owner] for owner in self._kept),
        )
        self._deleted_count = old.deleted + old.passages - kept_count
        self._is_rewritten = not may_keep_passages(old.passages, self._deleted_count)
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    @property
    def limits(self) -> PassageLimits:
        """The limits of passages."""
        return self._limits

    def __enter__(self) -> PassageBuild:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, owner: str, block: PassageBlock) -> None:
        """Adds the passages of a changed capability."""
        if not block.passages:
            return
        self._new_counts[owner] = len(block.passages)
        self._dim = len(block.rows) // len(block.passages)
        self._file.write(block.rows)
        self._waiting.append((owner, block))
        if len(self._waiting) >= _WAITING_BLOCKS:
            self._write_waiting()

    def finish(self) -> PassageCounts:
        """Writes what was collected, and takes over what is unchanged; the counts of the next
        generation.
        """
        has_removed = len(self._kept) < len(self._old.counts)
        if not self._waiting and not self._new_counts and not has_removed:
            if self._old.folder is not None:
                publication.link_folder(self._old.folder, self._target)
            return self._old.total_counts
        counts = self._new_counts | {owner: self._old.counts[owner] for owner in self._kept}
        if not counts:
            return PassageCounts()
        writer = self._open_writer()
        self._write_waiting()
        self._rewrite_kept(until=len(self._kept))
        writer.commit()
        self._write_matrix({owner: counts[owner] for owner in sorted(counts)})
        return PassageCounts(
            passages=sum(counts.values()),
            deleted=0 if self._is_rewritten else self._deleted_count,
            dim=self._dim,
        )

    def _write_waiting(self) -> None:
        writer = self._open_writer()
        for owner, block in self._waiting:
            self._rewrite_kept(until=bisect_left(self._kept, owner))
            writer.add(owner, block.passages)
        self._waiting = []

    def _rewrite_kept(self, until: int) -> None:
        """Writes the next of the unchanged capabilities, in a text index that begins anew."""
        owners, self._rewritten = self._kept[self._rewritten : until], until
        if not owners or not self._is_rewritten or self._old.text_folder is None:
            return
        for header, body, _ in Documents(self._old.text_folder).full_records(owners):
            (block,) = build_passages([from_record(header, body)], self._limits, None)
            self._open_writer().add(header["id"], block.passages)

    def _open_writer(self) -> PassageWriter:
        """The writer of the text index: a new one, or one that continues the last generation's."""
        if self._writer is None:
            is_linked = self._old.folder is not None and not self._is_rewritten
            if self._old.folder is not None and is_linked:
                publication.clone_text_index(self._old.folder / "text", self._target / "text")
            self._writer = PassageWriter(self._target / "text")
            if is_linked:
                self._writer.remove(sorted(self._old.counts.keys() - set(self._kept)))
        return self._writer

    def _write_matrix(self, counts: Mapping[str, int]) -> None:
        """Writes the rows of these capabilities, which are in order, with so many of each."""
        owners = array("I")
        for number, count in enumerate(counts.values()):
            owners.extend([number] * count)
        write_matrix_files(self._target / "matrix", self._rows(counts), owners, list(counts))

    def _rows(self, counts: Mapping[str, int]) -> Iterator[bytes | memoryview]:
        self._file.seek(0)
        for owner, count in counts.items():
            if owner in self._new_counts:
                yield self._file.read(count * self._dim)
            elif self._old.matrix is not None:
                start = self._old.matrix.first_row(owner)
                yield self._old.matrix.bytes_of(start, start + count)


@frozen(kw_only=True)
class OldPassages:
    """The passages of the last generation: where they lie, how many each capability has, in the
    order of the ids, and their rows; empty without any.
    """

    total_counts: PassageCounts = PassageCounts()
    folder: Path | None = None
    text_folder: Path | None = None
    matrix: Matrix | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


def _read_old_passages(previous: PreviousBuild) -> OldPassages:
    if previous.generation is None or previous.folder is None:
        return OldPassages()
    stored = previous.generation.counts
    if not stored["passages"]:
        return OldPassages()
    folder = previous.folder / "passages"
    matrix = Matrix(folder / "matrix", stored["passage_dim"])
    return OldPassages(
        total_counts=PassageCounts(
            passages=stored["passages"],
            deleted=stored["deleted_passages"],
            dim=stored["passage_dim"],
        ),
        folder=folder,
        text_folder=previous.folder / "text",
        matrix=matrix,
        counts=matrix.rows_by_owner(),
    )
