"""The text half of a build: the documents of changed capabilities, and the text index that they go
into.

Everything that is made of one capability is made in one pass, in this process or in a worker: its
document, the texts to encode, and its card. The texts go to an `EmbeddingBatcher`, which keeps
their vectors on disk until the vector half of the build takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from heapq import merge
from itertools import chain, islice, starmap
from pathlib import Path, PurePath
from typing import TypeAlias

from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.encoders.word_pieces import build_token_bag, encode_bag
from capdisc_indexer.graph import find_skill_requirements
from capdisc_indexer.graph.interfaces import describe_interface
from capdisc_indexer.indexing.build_request import Progress
from capdisc_indexer.indexing.category_overview import find_category
from capdisc_indexer.indexing.changes import Changes
from capdisc_indexer.indexing.embeddings import (
    FEW_PASSAGES,
    FEW_TEXTS,
    EmbeddingBatcher,
    encode_rows,
)
from capdisc_indexer.indexing.passage_changes import PassageBuild, build_passages
from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.indexing.worker_pool import MIN_PARALLEL_ITEMS, WorkerPool
from capdisc_indexer.model.errors import ENDING_ERRORS, EncoderError, UnusableFilesError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityCard, CapabilityHeader, JsonObject
from capdisc_indexer.model.records import (
    UNCATEGORISED,
    decode_descriptor,
    encode_json,
    from_record,
    to_record,
)
from capdisc_indexer.model.types import Descriptor, Finding, PassageLimits
from capdisc_indexer.rendering.token_accounting import PieceCounts, count_pieces, full_size
from capdisc_indexer.sources.scan.scanned_files import internal_finding, printable_path
from capdisc_indexer.store import publication, text_queries
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.file_states import DeclaredId
from capdisc_indexer.store.passages import PassageBlock
from capdisc_indexer.store.text_queries import IndexedDocument, alias_key, facet_values
from capdisc_indexer.text.embedding_text import (
    BODY_CHARACTERS,
    embedding_texts,
    lexical_document,
    signature,
    topic_words,
)
from capdisc_indexer.text.exclusions import read_exclusions
from capdisc_indexer.text.o200k import load_counter
from capdisc_indexer.text.token_counts import TokenCounter

# Up to this number of changed capabilities are built without loading the whole vocabulary.
SMALL_BUILD = 50

EncodeBag: TypeAlias = Callable[[Descriptor], bytes]
# The record of a capability, and its final id.
BuildJob: TypeAlias = tuple[bytes, str]
# Documents that are made together: the tokens of all their texts are counted in one call, and
# their passages encoded in another. Tables of 60 MB that only one of them looks into at a time
# stay in the processor's cache.
_JOBS_AT_A_TIME = 32


@frozen(kw_only=True)
class BuiltDocument:
    """What is made of one capability: its document, the texts that become vectors, their rows (one
    after the other; b"" where they are encoded later), its card, and the passages of its body.
    """

    document: IndexedDocument
    texts: tuple[str, ...]
    rows: bytes
    card: CapabilityCard
    passages: PassageBlock


class DocumentBuilder:
    """Makes documents: holds a token counter and the shipped encoder's tokens.

    `count` says how many documents to expect; `encoder_fingerprint` is the shipped encoder's, ""
    where it cannot be used. An encoder that is `checked_encoder` is not checked again. Paths are
    also counted as they are printed in `workspace`. Of many documents, the shipped encoder encodes
    the texts as well: it has the words of most at hand.
    """

    def __init__(
        self,
        count: int,
        limits: PassageLimits,
        workspace: str = "",
        checked_encoder: Encoder | None = None,
    ) -> None:
        load = load_counter if count <= SMALL_BUILD else lazy_imports.load_token_counter
        is_large = count >= MIN_PARALLEL_ITEMS
        load_bulk = lazy_imports.load_bulk_token_counter if is_large else None
        self.counter = TokenCounter(load, load_bulk=load_bulk)
        self._workspace = PurePath(workspace) if workspace else None
        self._limits = limits
        reader = load_reader(checked_encoder)
        self.encoder_fingerprint = reader.fingerprint if reader else ""
        self._encode_bag = make_bag_encoder(reader, few=count <= SMALL_BUILD)
        self._encode_passages = partial(encode_rows, reader, few=FEW_PASSAGES) if reader else None
        self._encode = partial(encode_rows, reader, few=0) if reader and is_large else None

    def build(self, jobs: Sequence[BuildJob]) -> list[BuiltDocument | Finding]:
        """Document, texts, card and passages of each record; where capdisc itself fails on one,
        the finding that says so.
        """
        try:
            return self._build_all(jobs)
        except ENDING_ERRORS:
            raise
        except BaseException as error:
            if len(jobs) == 1:
                return [internal_finding("", error)]
        return [built for job in jobs for built in self.build([job])]

    def _build_all(self, jobs: Sequence[BuildJob]) -> list[BuiltDocument | Finding]:
        descriptors = [*starmap(decode_descriptor, jobs)]
        counts = count_pieces(descriptors, self.counter, self._workspace)
        passages = build_passages(descriptors, self._limits, self._encode_passages)
        pieces = [self._encode_bag(descriptor) for descriptor in descriptors]
        return [*map(self._build_document, descriptors, counts, passages, pieces)]

    def _build_document(
        self, descriptor: Descriptor, counts: PieceCounts, passages: PassageBlock, pieces: bytes
    ) -> BuiltDocument:
        card: CapabilityCard = {
            "kind": descriptor.kind,
            "name": descriptor.name,
            "category": find_category(descriptor),
            "is_general": descriptor.category in ("", UNCATEGORISED),
            "hidden": descriptor.hidden,
            "size": full_size(counts),
        }
        if interface := describe_interface(descriptor):
            card["interface"] = interface
        texts = embedding_texts(descriptor)
        return BuiltDocument(
            document=build_document(descriptor, counts, pieces),
            texts=texts,
            rows=self._encode(texts) if self._encode else b"",
            card=card,
            passages=passages,
        )


@cache
def _worker_builder(workspace: str, limits: PassageLimits) -> DocumentBuilder:
    return DocumentBuilder(MIN_PARALLEL_ITEMS, limits, workspace)


def load_tables() -> None:
    """Loads what all builders of workers look into: half a second."""
    lazy_imports.load_bulk_token_counter()([""])
    if reader := load_reader():
        encode_rows(reader, [""] * MIN_PARALLEL_ITEMS)


def build_in_worker(
    workspace: str, limits: PassageLimits, jobs: Sequence[BuildJob]
) -> list[BuiltDocument | Finding]:
    """The same in a worker process, which keeps one builder."""
    return _worker_builder(workspace, limits).build(jobs)


class DocumentBuild:
    """The documents of all changed capabilities, in the order of their ids.

    `documents` can be iterated once: meanwhile `declared_ids` fills with what the overview and the
    vectors need of each capability, the texts go to the batcher, and the passages to `passages`. A
    small build makes all documents at once, so that the number of texts to encode is known.
    """

    def __init__(
        self,
        changes: Changes,
        batcher: EmbeddingBatcher,
        passages: PassageBuild,
        workers: WorkerPool,
        encoder: Encoder | None,
        workspace: str,
    ) -> None:
        limits = passages.limits
        self.builder = DocumentBuilder(len(changes.descriptors), limits, workspace, encoder)
        self._build_in_worker = partial(build_in_worker, workspace, limits)
        self.declared_ids: dict[str, DeclaredId] = {}
        self._failed: dict[str, Finding] = {}
        self._changes, self._batcher, self._workers = changes, batcher, workers
        self._passages = passages
        self._has_encoder = encoder is not None
        shipped = self.builder.encoder_fingerprint
        self._takes_rows = encoder is not None and encoder.fingerprint == shipped
        self._is_small = len(changes.descriptors) <= SMALL_BUILD
        documents = self._build_documents()
        self.documents: Iterable[IndexedDocument] = (
            list(documents) if self._is_small else documents
        )

    @property
    def needs_numpy(self) -> bool:
        """Whether numpy will be loaded for the vectors of these documents."""
        return self._batcher.waiting > FEW_TEXTS or (self._has_encoder and not self._is_small)

    def _build_documents(self) -> Iterator[IndexedDocument]:
        descriptors = self._changes.descriptors
        ids = sorted(descriptors)
        jobs = ((descriptors.record(identifier), identifier) for identifier in ids)
        size = 1 if self._is_small else _JOBS_AT_A_TIME
        batches = iter(lambda: list(islice(jobs, size)), [])
        results = self._workers.map(
            self._build_in_worker, batches, len(ids), self.builder.build, batch_size=1
        )
        for identifier, built in zip(ids, chain.from_iterable(results), strict=True):
            if isinstance(built, Finding):
                self._failed[identifier] = built
                continue
            self.declared_ids[identifier] = DeclaredId(
                id=identifier,
                texts=self._batcher.add_texts(
                    built.texts, built.rows if self._takes_rows else b""
                ),
                digest=self._changes.digests[identifier],
                card=built.card,
            )
            self._passages.add(identifier, built.passages)
            yield built.document

    def require_usable(self) -> None:
        """Raises UnusableFilesError where a document or a vector could not be made; call it when
        all documents are written.
        """
        self._batcher.encode()
        failed, failed_texts = self._failed, self._batcher.failed
        for identifier, declared in self.declared_ids.items() if failed_texts else ():
            if text := next(filter(failed_texts.__contains__, declared.texts), ""):
                failed[identifier] = failed_texts[text]
        if failed:
            raise UnusableFilesError(
                {
                    path: replace(failed[declared.resolved_id], path=printable_path(path))
                    for path, state in self._changes.files.items()
                    for declared in state.declared_ids
                    if declared.resolved_id in failed
                }
            )


# Deleted documents still count in BM25's statistics, and documents that came later lie behind the
# others: close scores then come out in another order than after a build from scratch. Writing all
# documents again takes 0.5 ms each: a small catalogue is always rewritten, a larger one once more
# than this share of its documents was deleted.
SMALL_CATALOGUE = 400
MAX_DELETED_SHARE = 0.02


def may_keep_documents(count: int, deleted_count: int) -> bool:
    """Whether the text index of `count` capabilities is changed and not rewritten, where
    `deleted_count` of its documents are deleted.
    """
    return count > SMALL_CATALOGUE and deleted_count <= MAX_DELETED_SHARE * count


def write_documents(
    target: Path,
    previous: PreviousBuild,
    changes: Changes,
    documents: Iterable[IndexedDocument],
    progress: Progress,
) -> int:
    """Writes the text index of the next generation; the number of deleted documents that it still
    carries. `documents` are those of the changed capabilities, in the order of their ids.
    """
    outdated_ids = changes.outdated_ids
    if previous.generation is None or previous.state is None or previous.folder is None:
        text_queries.update_text_index(
            target, (), _with_progress(documents, len(changes.descriptors), progress)
        )
        return 0
    counts = previous.generation.counts
    if not outdated_ids and not changes.descriptors:
        publication.link_folder(previous.folder / "text", target)
        return counts["deleted"]
    deleted_count = counts["deleted"] + len(outdated_ids)
    capability_count = counts["capabilities"] + len(changes.ids) - len(changes.last_ids)
    new_documents = _with_progress(documents, len(changes.descriptors), progress)
    if may_keep_documents(capability_count, deleted_count):
        target.mkdir(parents=True)
        publication.clone_text_index(previous.folder / "text", target)
        text_queries.update_text_index(target, outdated_ids, new_documents)
        return deleted_count
    outdated = set(outdated_ids)
    unchanged_ids = [key for key in previous.state.ids() if key not in outdated]
    unchanged = _unchanged_documents(previous.folder, unchanged_ids)
    all_documents = merge(unchanged, new_documents, key=lambda document: document.id)
    text_queries.update_text_index(target, (), all_documents)
    return 0


def _with_progress(
    documents: Iterable[IndexedDocument], count: int, progress: Progress
) -> Iterator[IndexedDocument]:
    for done, document in enumerate(documents):
        progress("Writing", done, count)
        yield document


def _unchanged_documents(folder: Path, ids: Sequence[str]) -> Iterator[IndexedDocument]:
    """The documents of these capabilities from a generation."""
    for header, body, pieces in Documents(folder / "text").full_records(ids):
        yield assemble_document(from_record(header, body), header, body, pieces)


def load_reader(checked_encoder: Encoder | None = None) -> StaticEncoder | None:
    """The shipped encoder, checked unless it is `checked_encoder`; None when it is missing or
    damaged.
    """
    try:
        reader = encoders.load_shipped_encoder()
        if reader is not checked_encoder:
            reader.check()
    except EncoderError:
        return None
    return reader


def make_bag_encoder(reader: StaticEncoder | None, few: bool) -> EncodeBag:
    """A function from a capability to its packed bag of the shipped encoder's tokens; empty bags
    without the encoder. For a `few` capabilities the vocabulary stays on disk.
    """
    if reader is None:
        return lambda descriptor: b""
    if not few:
        reader.load_vocabulary()
    weigh_token = reader.token_weight if few else reader.token_weights.__getitem__

    def encode_descriptor_bag(descriptor: Descriptor) -> bytes:
        return encode_bag(build_token_bag(descriptor, reader.token_ids, weigh_token))

    return encode_descriptor_bag


def build_document(descriptor: Descriptor, counts: PieceCounts, pieces: bytes) -> IndexedDocument:
    """The document of a capability; `counts` are the tokens of its rendered pieces, `pieces` its
    packed token bag.
    """
    header, body = to_record(descriptor)
    parts = (descriptor.description, descriptor.content[:BODY_CHARACTERS])
    signatures = " ".join(map(signature, parts))
    if descriptor.kind == "skill" and (needs := find_skill_requirements(descriptor.extra)):
        header["skill_requirements"] = needs
    if exclusions := read_exclusions(
        (descriptor.description, descriptor.usage_hint), descriptor.not_for
    ):
        header["exclusions"] = exclusions
    header["likeness"], header["size"] = signatures, full_size(counts)
    return assemble_document(descriptor, header, body | {"counts": counts}, pieces)


def assemble_document(
    descriptor: Descriptor, header: CapabilityHeader, body: JsonObject, pieces: bytes
) -> IndexedDocument:
    """The document of a capability from its stored parts."""
    d = descriptor
    line = {
        "counts": {name: body["counts"][name] for name in ("pieces", "locations")},
        "extra": d.extra if find_skill_requirements(d.extra) else {},
    }
    plain_id = d.id.partition("@")[0]
    categories = {(d.category or UNCATEGORISED).lower(), find_category(d).lower()}
    qualified = (f"{category}/{d.name}" for category in sorted(categories))
    aliases = (d.id, plain_id, d.name, *qualified, d.title, *d.other_names)
    facets = facet_values(d) | {"category": tuple(sorted(categories))}
    return IndexedDocument(
        id=d.id,
        facets=facets,
        aliases=list(dict.fromkeys(alias_key(alias) for alias in aliases if alias)),
        name=f"{d.name} {d.title}" if d.title.lower() != d.name.lower() else d.name,
        text=lexical_document(d),
        topics=topic_words(d),
        head=encode_json(header),
        body=encode_json(body),
        pieces=pieces,
        line=encode_json(line),
    )
