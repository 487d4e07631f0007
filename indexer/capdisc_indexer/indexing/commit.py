"""Write the next generation beside the last one, and make it the current one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capdisc_indexer import __version__, lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing.build_request import BuildRequest, SelectedEncoder
from capdisc_indexer.indexing.category_overview import (
    count_kinds,
    full_catalogue_size,
    summarise_categories,
)
from capdisc_indexer.indexing.change_detection import Changes
from capdisc_indexer.indexing.document_changes import SMALL_BATCH as FEW_TEXTS
from capdisc_indexer.indexing.document_changes import (
    SMALL_BUILD,
    DocumentBuilder,
    EmbeddingBatcher,
    build_in_worker,
    write_documents,
)
from capdisc_indexer.indexing.embeddings import EmbeddingResult, reusable_rows, write_vectors
from capdisc_indexer.indexing.previous_build import PreviousBuild, scan_record
from capdisc_indexer.indexing.worker_pool import WorkerPool
from capdisc_indexer.model.json_types import BuildFacts, CapabilityCard
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Generation
from capdisc_indexer.rendering.token_accounting import frame_counts, guidance_counts
from capdisc_indexer.store import builders, file_states, publication
from capdisc_indexer.store.columns import columns_document
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.file_states import (
    DeclaredId,
    FileState,
    content_hashes_by_id,
    text_hashes_by_id,
)
from capdisc_indexer.store.text_queries import IndexedDocument
from capdisc_indexer.text.embedding_text import embedding_texts
from capdisc_indexer.text.token_counts import TokenCounter

# The small files beside the stores of a generation: the state of every file, and what overviews
# and lists are made from.


def write_metadata(
    target: Path,
    files: Mapping[str, FileState],
    previous: file_states.SavedStates,
    guidance: Mapping[str, Mapping[str, str]],
    counter: TokenCounter,
) -> None:
    """Write them into a new folder; `guidance` is by category, as `check.guiding` gives it."""
    target.mkdir()
    file_states.save_states(target / "files.json", files, previous)
    by_id = {
        declared_id.resolved_id: declared_id.card
        for state in files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id and declared_id.card
    }
    cards = list(by_id.values())
    counts = guidance_counts(
        counter, {entry["category"]: entry["text"] for entry in guidance.values()}
    )
    contents = {
        "overview": _overview_metadata(cards, sorted(guidance), counter),
        "guidance": {"categories": guidance, "counts": counts},
        "columns": columns_document(by_id),
    }
    write_json_files(target, contents)


def write_json_files(target: Path, contents: Mapping[str, Any]) -> None:
    """Write each as a file of JSON by its name."""
    for name, value in contents.items():
        (target / f"{name}.json").write_text(
            json.dumps(value, ensure_ascii=False), encoding="utf-8"
        )


def _overview_metadata(
    cards: list[CapabilityCard], guided_categories: list[str], counter: TokenCounter
) -> dict[str, Any]:
    visible_cards = [card for card in cards if not card["hidden"]]
    lines = summarise_categories(visible_cards)
    return {
        "categories": lines,
        "kinds": count_kinds(cards),
        "static": full_catalogue_size(visible_cards),
        "guided": guided_categories,
        "counts": frame_counts(counter, [line for entry in lines for line in entry["lines"]]),
    }


def commit_build(
    request: BuildRequest,
    previous: PreviousBuild,
    changes: Changes,
    selected: SelectedEncoder,
    now_ns: int,
    workers: WorkerPool,
) -> tuple[Generation, int]:
    """The new generation, and how many texts were encoded for it."""
    encoder, old = selected.encoder, reusable_rows(previous, selected.encoder)
    with (
        publication.staging_folder(request.index_dir) as folder,
        EmbeddingBatcher(encoder, old, request.index_dir) as batcher,
    ):
        document_build = _DocumentBuild(changes, batcher, workers, encoder)
        documents: Iterable[IndexedDocument] = document_build.documents()
        if few := len(changes.descriptors) <= SMALL_BUILD:
            documents = list(documents)
        if batcher.waiting > (FEW_TEXTS if old else 0) or (encoder is not None and not few):
            workers.wait_for_background()
            load_native_libraries(with_vector_store=not old)
        deleted_count = write_documents(
            folder / "text", previous, changes, documents, request.progress
        )
        files = _complete_states(changes, previous, document_build.declared_ids)
        embedding = _build_vectors(folder, previous, old, files, batcher, encoder)
        write_metadata(
            folder / "meta",
            files,
            previous.saved_states,
            changes.guidance,
            document_build.builder.counter,
        )
        builder_id = _builder_id(request, previous)
        write_json_files(
            folder / "meta",
            {
                "scan": scan_record(request.root_names, now_ns, builder_id),
                "probes": embedding.nearest,
            },
        )
        facts = _manifest_facts(
            builder_id,
            selected,
            embedding,
            document_build.builder.encoder_fingerprint,
            files,
            deleted_count,
        )
        number = publication.next_number(request.index_dir)
        return publication.publish_folder(
            request.index_dir, folder, facts, number, previous.generation
        ), embedding.encoded_count


def _builder_id(task: BuildRequest, last: PreviousBuild) -> str:
    """The id of whoever builds: as it was handed in, else as it was, else a new one."""
    return (
        task.options.builder_id
        or (last.generation.builder_id if last.generation else "")
        or builders.new_id()
    )


def _manifest_facts(
    builder_id: str,
    selected: SelectedEncoder,
    embedding: EmbeddingResult,
    token_fingerprint: str,
    files: Mapping[str, FileState],
    deleted_count: int,
) -> BuildFacts:
    """What the manifest says of the generation."""
    return {
        "made_by": __version__,
        "builder_id": builder_id,
        "encoder": selected.name,
        "pieces": token_fingerprint,
        "fingerprint": selected.fingerprint,
        "background": embedding.noise_floor,
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {
            "capabilities": len(content_hashes_by_id(files)),
            "rows": embedding.rows,
            "stored": embedding.stored_rows,
            "dim": selected.encoder.dim if selected.encoder else 0,
            "deleted": deleted_count,
            "files": len(files),
        },
    }


def load_native_libraries(with_vector_store: bool = True) -> None:
    """Load now what will be needed: with too little memory for it this is an error here, and in
    the middle of the text engine's work it would end the process.
    """
    lazy_imports.numpy()
    if with_vector_store:
        lazy_imports.lancedb()


class _DocumentBuild:
    """Makes the changed capabilities' documents; keeps the rest of what is made of each in
    `declared_ids` and the intake.
    """

    def __init__(
        self,
        changes: Changes,
        batcher: EmbeddingBatcher,
        workers: WorkerPool,
        checked_encoder: Encoder | None,
    ) -> None:
        self.builder = DocumentBuilder(len(changes.descriptors), checked_encoder)
        self.declared_ids: dict[str, DeclaredId] = {}
        self._changes, self._batcher, self._workers = changes, batcher, workers

    def documents(self) -> Iterator[IndexedDocument]:
        """All of them, in the order of their ids."""
        keys, record = sorted(self._changes.descriptors), self._changes.descriptors.record
        jobs = ((key, record(key)) for key in keys)
        for key, built in zip(
            keys,
            self._workers.map(build_in_worker, jobs, len(keys), self.builder.build),
            strict=True,
        ):
            texts, digest = self._batcher.add_texts(built.texts), self._changes.digests[key]
            self.declared_ids[key] = DeclaredId(id=key, texts=texts, digest=digest, card=built.card)
            yield built.document


def _complete_states(
    changes: Changes, previous: PreviousBuild, built_ids: Mapping[str, DeclaredId]
) -> dict[str, FileState]:
    """The files' states with what the overview and the vectors need of each indexed capability."""
    previous_ids = {
        declared_id.resolved_id: declared_id
        for state in previous.files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id
    }
    declared_ids, previous_files = {**previous_ids, **built_ids}, previous.files
    return {
        path: state
        if previous_files.get(path) is state
        else state.with_declared_ids(
            _complete_declared_id(declared_id, declared_ids.get(declared_id.resolved_id))
            for declared_id in state.declared_ids
        )
        for path, state in changes.files.items()
    }


def _complete_declared_id(declared_id: DeclaredId, built: DeclaredId | None) -> DeclaredId:
    if (
        not declared_id.resolved_id
        or built is None
        or (declared_id.digest == built.digest and declared_id.card is not None)
    ):
        return declared_id
    return declared_id._replace(texts=built.texts, digest=built.digest, card=built.card)


def _build_vectors(
    folder: Path,
    previous: PreviousBuild,
    old: Mapping[str, int],
    files: Mapping[str, FileState],
    batcher: EmbeddingBatcher,
    encoder: Encoder | None,
) -> EmbeddingResult:
    if encoder is None:
        return EmbeddingResult()
    if previous.generation is not None and previous.generation.fingerprint != encoder.fingerprint:
        for header in Documents(folder / "text").all_headers():
            batcher.add_texts(embedding_texts(from_record(header)))
    return write_vectors(folder, previous, old, text_hashes_by_id(files), batcher, encoder)
