"""The passages of bodies in a build: those of changed capabilities are made again, all others come
from the last generation.

Passages depend on nothing but the capability, the shipped encoder and the limits, so a capability
whose record is unchanged keeps its passages and their vectors as they are.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, TypeAlias

from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, PassageLimits
from capdisc_indexer.store import publication
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_writer import write_matrix
from capdisc_indexer.store.passages import (
    IndexedPassage,
    PassageBlock,
    build_passage_schema,
    passage_documents,
)
from capdisc_indexer.store.text_queries import TextWriter
from capdisc_indexer.text.embedding_text import BODY_CHARACTERS, is_english, truncate_stem
from capdisc_indexer.text.normalization import lexical_text
from capdisc_indexer.text.sections import Passage, split_passages

# The rows (int8, one after the other) of some texts.
EncodeRows: TypeAlias = Callable[[Sequence[str]], bytes]
# Up to this number, all passages are rewritten whenever one changes (0.1 ms each), so that the
# statistics of BM25 are those of a build from nothing; of more, once this share was deleted.
SMALL_COUNT = 1_000
MAX_DELETED_SHARE = 0.02
# Blocks that wait in memory until the engines are loaded; more than a small build has.
_WAITING_BLOCKS = 64


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


def may_keep_passages(count: int, deleted_count: int) -> bool:
    """Whether the text index of `count` passages is changed and not rewritten, where
    `deleted_count` of them are deleted.
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


class PassageBuild:
    """Collects the passages of changed capabilities, in the order of their ids, and writes those
    of the next generation into `target`; `outdated_ids` are those of capabilities of the last one
    that changed or are gone.

    New rows lie in a file without a name in `scratch`, as in `EmbeddingBatcher`.
    """

    def __init__(
        self,
        target: Path,
        previous: PreviousBuild,
        outdated_ids: Sequence[str],
        limits: PassageLimits,
        scratch: Path,
    ) -> None:
        self._target, self._limits = target, limits
        counts = previous.generation.counts if previous.generation else {}
        self._last = PassageCounts(
            passages=counts.get("passages", 0),
            deleted=counts.get("deleted_passages", 0),
            dim=counts.get("passage_dim", 0),
        )
        folder = previous.folder if self._last.passages else None
        self._text_folder = folder / "text" if folder else None
        self._folder = folder / "passages" if folder else None
        self._matrix = Matrix(self._folder / "matrix" if self._folder else None, self._last.dim)
        self._removed = {
            key: count for key in outdated_ids if (count := self._matrix.count_rows(key))
        }
        self._new_counts: dict[str, int] = {}
        self._waiting: list[tuple[str, PassageBlock]] = []
        self._writer: TextWriter | None = None
        self._dim = self._last.dim
        self._deleted_count = self._last.deleted + sum(self._removed.values())
        self._is_rewritten = not may_keep_passages(self._last.passages, self._deleted_count)
        self._kept: Sequence[str] = ()
        if self._is_rewritten:
            self._kept = [key for key in self._matrix.names() if key not in self._removed]
        self._rewritten = 0  # how many of `_kept` are rewritten so far
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
        self._dim = self._dim or len(block.rows) // len(block.passages)
        size = self._dim * len(block.passages)
        # Without the encoder of the last build the new rows are like no query.
        self._file.write(block.rows if len(block.rows) == size else bytes(size))
        self._waiting.append((owner, block))
        if len(self._waiting) >= _WAITING_BLOCKS:
            self._write_waiting()

    def finish(self) -> PassageCounts:
        """Writes what was collected, and takes over what is unchanged; the counts of the next
        generation.
        """
        if not self._new_counts and not self._removed:
            if self._folder is not None:
                publication.link_folder(self._folder, self._target)
            return self._last
        new_count = sum(self._new_counts.values())
        total = self._last.passages - sum(self._removed.values()) + new_count
        if not total:
            return PassageCounts()
        writer = self._open_writer()
        self._write_waiting()
        self._rewrite_kept(until=len(self._kept))
        writer.commit()
        self._write_matrix()
        return PassageCounts(
            passages=total,
            deleted=0 if self._is_rewritten else self._deleted_count,
            dim=self._dim,
        )

    def _write_waiting(self) -> None:
        writer = self._open_writer()
        for owner, block in self._waiting:
            self._rewrite_kept(until=bisect_left(self._kept, owner))
            writer.add(passage_documents(owner, block.passages))
        self._waiting = []

    def _rewrite_kept(self, until: int) -> None:
        """Writes the next of the unchanged capabilities, in a new text index."""
        owners, self._rewritten = self._kept[self._rewritten : until], until
        if not owners or self._text_folder is None:
            return
        for header, body, _ in Documents(self._text_folder).full_records(owners):
            (block,) = build_passages([from_record(header, body)], self._limits, None)
            self._open_writer().add(passage_documents(header["id"], block.passages))

    def _open_writer(self) -> TextWriter:
        """The writer of the text index: a new one, or one that continues the last generation's."""
        if self._writer is None:
            linked = None if self._is_rewritten else self._folder
            if linked is not None:
                publication.clone_text_index(linked / "text", self._target / "text")
            self._writer = TextWriter(self._target / "text", build_passage_schema(), "owner")
            if linked is not None:
                self._writer.remove(sorted(self._removed))
        return self._writer

    def _write_matrix(self) -> None:
        self._file.seek(0)  # the rows lie in the order of the ids
        target, counts = self._target / "matrix", self._new_counts

        def read_rows(owner: str) -> bytes:
            return self._file.read(counts[owner] * self._dim)

        write_matrix(self._matrix, target, dict.fromkeys(self._removed, 0) | counts, read_rows)
