"""The text half of a build: which documents go, which come, and what each holds."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.token_bags import build_token_bag, encode_bag
from capdisc_indexer.indexing.change_detection import Changes, Progress
from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityCard, CapabilityHeader
from capdisc_indexer.model.records import (
    UNCATEGORISED,
    decode_descriptor,
    encode_json,
    from_record,
    to_record,
)
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.token_accounting import count_pieces, full_size
from capdisc_indexer.store import publication, text_queries
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.file_states import content_hashes_by_id
from capdisc_indexer.store.text_queries import IndexedDocument, alias_key
from capdisc_indexer.text.embedding_text import BODY_CHARACTERS, embedding_texts, lexical_document
from capdisc_indexer.text.minhash import signature
from capdisc_indexer.text.token_counts import TokenCounter

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Texts on their way to vectors: each new one is encoded once, in batches, and its vector kept on
# disk meanwhile.

# So many texts take less time without numpy than its import does.
SMALL_BATCH = 16
_BATCH_SIZE = 2_048


def hash_text(text: str) -> str:
    """A digest of an embedding text; equal text, equal vector."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


class EmbeddingBatcher:
    """Rows of float32 in a file without a name in `scratch`; `position` says which row is whose
    text's.

    Not in a folder that is published meanwhile: network file systems give such a file a name
    there.
    """

    def __init__(
        self, encoder: Encoder | None, known_hashes: Container[str], scratch: Path
    ) -> None:
        self.position: dict[str, int] = {}
        self._encoder, self._known_hashes = encoder, known_hashes
        self._pending: dict[str, str] = {}
        self._file: Any = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    def __enter__(self) -> EmbeddingBatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add_texts(self, embedding_texts: Iterable[str]) -> tuple[str, ...]:
        """The hashes of a capability's embedding texts; those that are not known will be
        encoded.
        """
        texts = {hash_text(text): text for text in embedding_texts}
        if self._encoder is not None:
            new = {
                key: text
                for key, text in texts.items()
                if key not in self.position and key not in self._known_hashes
            }
            self._pending.update(new)
            if len(self._pending) >= _BATCH_SIZE:
                self.encode()
        return tuple(texts)

    @property
    def waiting(self) -> int:
        """How many texts were taken that have to be encoded."""
        return len(self._pending)

    def encode(self) -> None:
        """Encode what was taken and waits for that."""
        if self._encoder is not None and self._pending:
            waiting, self._pending = self._pending, {}
            texts = list(waiting.values())
            if len(texts) <= SMALL_BATCH:
                self._append_rows(waiting, self._encoder.encode_few(texts))
            else:
                self.add(waiting, self._encoder.encode(texts))

    def add(self, hashes: Iterable[str], vectors: NDArray[Any]) -> None:
        """Keep vectors that were made before."""
        self._append_rows(hashes, vectors.astype("float32", copy=False).tobytes())

    def _append_rows(self, hashes: Iterable[str], rows: bytes) -> None:
        start = len(self.position)
        self.position.update((key, row) for row, key in enumerate(hashes, start))
        self._file.write(rows)

    def rows(self, dim: int) -> NDArray[Any]:
        """All rows, (n, dim) float32, which stay on disk until they are used."""
        np = lazy_imports.numpy()
        self._file.flush()
        shape = (len(self.position), dim)
        array: NDArray[Any] = (
            np.memmap(self._file, np.float32, "r", shape=shape)
            if shape[0]
            else np.zeros(shape, "f4")
        )
        return array

    def raw(self) -> bytes:
        """The same as bytes."""
        self._file.seek(0)
        data: bytes = self._file.read()
        return data


# Deleted documents still count in BM25's statistics, and documents that came later lie behind the
# others: close scores then come out in another order than after a build from scratch. Writing all
# anew takes 0.5 ms a document; for a small catalogue it is done every time, else once so many were
# deleted.
SMALL_CATALOGUE = 400
MAX_DELETED_SHARE = 0.02
EncodeBag = Callable[[Descriptor], bytes]
_COPIED_FILES = ("meta.json", ".managed.json")


def write_documents(
    target: Path,
    previous: PreviousBuild,
    changes: Changes,
    documents: Iterable[IndexedDocument],
    progress: Progress,
) -> int:
    """Bring the text index in `target` up to date with the files; the number of deleted documents
    it still carries. `documents` are the documents of the changed capabilities, in the order of
    their ids.
    """
    old_hashes, new_hashes, changed = (
        content_hashes_by_id(previous.files),
        content_hashes_by_id(changes.files),
        changes.descriptors,
    )
    removed_ids = [key for key in old_hashes if key not in new_hashes or key in changed]
    deleted_count = (
        previous.generation.counts.get("deleted", 0) if previous.generation else 0
    ) + len(removed_ids)
    new_documents = _with_progress(documents, len(changed), progress)
    if (
        previous.folder is None
        or len(new_hashes) <= SMALL_CATALOGUE
        or deleted_count > MAX_DELETED_SHARE * len(new_hashes)
    ):
        unchanged = (
            _unchanged_documents(
                previous.folder, sorted(key for key in new_hashes if key not in changed)
            )
            if previous.folder
            else iter(())
        )
        text_queries.update_text_index(
            target, (), merge(unchanged, new_documents, key=lambda document: document.id)
        )
        return 0
    target.mkdir(parents=True)
    publication.clone_folder(previous.folder / "text", target, lambda name: name in _COPIED_FILES)
    text_queries.update_text_index(target, removed_ids, new_documents)
    return deleted_count


def make_bag_encoder(few: bool, checked_encoder: Encoder | None = None) -> tuple[EncodeBag, str]:
    """What gives each capability's packed bag of the shipped encoder's pieces, and that encoder's
    fingerprint; empty bags and no fingerprint when it is missing or damaged. For a `few`
    capabilities the vocabulary stays on disk. One that was `checked_encoder` is not read again.
    """
    try:
        encoder = encoders.load_shipped_encoder()
        if encoder is not checked_encoder:
            encoder.check()
    except EncoderError:
        return lambda descriptor: b"", ""
    tokenize = encoder.token_ids if few else encoder.bulk_token_ids
    weigh_token = encoder.token_weight if few else encoder.token_weights.__getitem__
    return lambda descriptor: encode_bag(
        build_token_bag(descriptor, tokenize, weigh_token)
    ), encoder.fingerprint


def _with_progress(
    documents: Iterable[IndexedDocument], count: int, progress: Progress
) -> Iterator[IndexedDocument]:
    for done, document in enumerate(documents):
        progress("Writing", done, count)
        yield document


def _unchanged_documents(folder: Path, ids: Sequence[str]) -> Iterator[IndexedDocument]:
    for header, body, pieces in Documents(folder / "text").full_records(ids):
        yield _assemble_document(from_record(header, body), header, body, pieces)


def build_document(
    descriptor: Descriptor, counts: Mapping[str, Any], encode_bag: EncodeBag
) -> IndexedDocument:
    """The document of a capability, with the token counts of its rendered pieces."""
    header, body = to_record(descriptor)
    parts = (descriptor.description, descriptor.content[:BODY_CHARACTERS])
    signatures = " ".join(map(signature, parts))
    header["likeness"], header["size"] = signatures, full_size(counts)
    return _assemble_document(descriptor, header, body | {"counts": counts}, encode_bag(descriptor))


def _assemble_document(
    descriptor: Descriptor, header: CapabilityHeader, body: dict[str, Any], pieces: bytes
) -> IndexedDocument:
    d = descriptor
    plain_id = d.id.partition("@")[0]
    aliases = (d.id, plain_id, d.name, f"{d.category}/{d.name}", d.title)
    return IndexedDocument(
        id=d.id,
        kind=d.kind.lower(),
        category=(d.category or UNCATEGORISED).lower(),
        tags=[tag.lower() for tag in d.tags],
        risk=d.risk,
        aliases=list(dict.fromkeys(alias_key(alias) for alias in aliases if alias)),
        name=f"{d.name} {d.title}" if d.title.lower() != d.name.lower() else d.name,
        text=lexical_document(d),
        head=encode_json(header),
        body=encode_json(body),
        pieces=pieces,
    )


# All that is made of one changed capability, in one pass and in any process: document, texts to
# encode, its card.

# For so many changed capabilities the encoder's vocabulary is not loaded.
SMALL_BUILD = 50

# The id that the index calls it by, and its record.
BuildJob = tuple[str, bytes]


@frozen(kw_only=True)
class BuiltDocument:
    """What the stores are given of a capability; `texts` become vectors, `card` is what an
    overview shows of it.
    """

    document: IndexedDocument
    texts: tuple[str, ...]
    card: CapabilityCard


class DocumentBuilder:
    """What it takes to make them: a tokenizer, and the shipped encoder's pieces
    (`encoder_fingerprint` is its fingerprint).
    """

    def __init__(self, count: int, checked_encoder: Encoder | None = None) -> None:
        self.counter = TokenCounter(lazy_imports.load_token_counter)
        self._encode_bag, self.encoder_fingerprint = make_bag_encoder(
            few=count <= SMALL_BUILD, checked_encoder=checked_encoder
        )

    def build(self, job: BuildJob) -> BuiltDocument:
        """What is made of a record."""
        key, record = job
        d = decode_descriptor(record)
        d = d if d.id == key else replace(d, id=key)
        counts = count_pieces(d, self.counter)
        return BuiltDocument(
            document=build_document(d, counts, self._encode_bag),
            texts=embedding_texts(d),
            card={
                "kind": d.kind,
                "name": d.name,
                "category": d.category,
                "hidden": d.hidden,
                "size": full_size(counts),
            },
        )


def build_in_worker(job: BuildJob) -> BuiltDocument:
    """The same in a process that does nothing else."""
    return _worker_builder().build(job)


@cache
def _worker_builder() -> DocumentBuilder:
    return DocumentBuilder(SMALL_BUILD + 1)
