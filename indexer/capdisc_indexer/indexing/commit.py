"""What a generation holds beside its text index and its vectors: the states of the files, the
metadata, and the facts in its manifest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.graph.interfaces import (
    KINDS_WITHOUT_INTERFACE,
    InterfaceOwner,
    find_producers,
)
from capdisc_indexer.indexing.build_plan import BuildPlan
from capdisc_indexer.indexing.category_overview import (
    FOLDER_FILES,
    count_kinds,
    full_catalogue_size,
    summarise_categories,
)
from capdisc_indexer.indexing.change_detection import Changes, StatesByPath
from capdisc_indexer.indexing.document_changes import EmbeddingBatcher
from capdisc_indexer.indexing.embeddings import VectorBuild, write_vectors
from capdisc_indexer.indexing.passage_changes import PassageCounts
from capdisc_indexer.indexing.previous_build import (
    GuidanceByCategory,
    PreviousBuild,
)
from capdisc_indexer.model.json_types import BuildFacts, CapabilityCard, GuidanceRecord, Overview
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.version import __version__
from capdisc_indexer.rendering.token_accounting import frame_counts, guidance_counts
from capdisc_indexer.store import file_states, generation
from capdisc_indexer.store.column_writer import columns_document
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.file_states import (
    DeclaredId,
    FileState,
    content_hashes_by_id,
    text_hashes_by_id,
)
from capdisc_indexer.store.snapshot import PRODUCERS_FILE, encode_producers
from capdisc_indexer.text.embedding_text import embedding_texts
from capdisc_indexer.text.token_counts import TokenCounter


def load_native_libraries(*, with_table: bool) -> None:
    """Loads numpy, and the library of the table, before they are needed.

    With too little memory for them this raises an error here; in the middle of the text engine's
    work it would end the process.
    """
    lazy_imports.numpy()
    if with_table:
        lazy_imports.lancedb()


def complete_states(
    changes: Changes, previous: PreviousBuild, built_ids: Mapping[str, DeclaredId]
) -> dict[str, FileState]:
    """The files' states with what the overview and the vectors need of each indexed capability:
    as it was built now (`built_ids`, by final id), else as the last build stored it.
    """
    declared_by_id = {
        declared.resolved_id: declared
        for state in previous.files.values()
        for declared in state.declared_ids
        if declared.resolved_id
    }
    declared_by_id.update(built_ids)
    return {
        path: state
        if previous.files.get(path) is state
        else state.with_declared_ids(
            _complete_declared_id(declared, declared_by_id.get(declared.resolved_id))
            for declared in state.declared_ids
        )
        for path, state in changes.files.items()
    }


def _complete_declared_id(declared: DeclaredId, built: DeclaredId | None) -> DeclaredId:
    if not declared.resolved_id or built is None:
        return declared
    if declared.digest == built.digest and declared.card is not None:
        return declared
    return declared._replace(texts=built.texts, digest=built.digest, card=built.card)


def build_vectors(
    folder: Path,
    previous: PreviousBuild,
    known_rows: Mapping[str, int],
    states: StatesByPath,
    batcher: EmbeddingBatcher,
    encoder: Encoder | None,
) -> VectorBuild:
    """Writes the vectors of all capabilities into the new generation's folder; nothing without an
    encoder.
    """
    if encoder is None:
        return VectorBuild()
    if previous.generation is not None and previous.generation.fingerprint != encoder.fingerprint:
        # Another encoder than last time: all texts must be encoded, not those that changed alone.
        documents = Documents(folder / "text")
        ids = [header["id"] for header in documents.all_headers()]
        for header, body, _ in documents.full_records(ids):
            batcher.add_texts(embedding_texts(from_record(header, body)))
    hashes_by_id = text_hashes_by_id(states)
    return write_vectors(folder, previous, known_rows, hashes_by_id, batcher, encoder)


def choose_builder_id(plan: BuildPlan) -> str:
    """The id of the builder: from the options, else the last build's, else a new one."""
    published = plan.previous.generation
    previous_id = published.builder_id if published else ""
    return plan.request.options.builder_id or previous_id or generation.new_builder_id()


def write_metadata(
    target: Path,
    plan: BuildPlan,
    states: StatesByPath,
    vectors: VectorBuild,
    builder_id: str,
    counter: TokenCounter,
) -> None:
    """Writes the small files beside the stores of a generation into the new folder `target`: the
    states of all files, and what overviews, lists and the next build read.
    """
    target.mkdir()
    file_states.save_states(target / "files.json", states, plan.previous.saved_states)
    cards = {
        declared.resolved_id: declared.card
        for state in states.values()
        for declared in state.declared_ids
        if declared.resolved_id and declared.card
    }
    if producers := find_producers(_group_interfaces(states)):
        (target / PRODUCERS_FILE).write_bytes(encode_producers(producers))
    guidance = plan.changes.guidance
    contents = {
        "overview": _make_overview(list(cards.values()), sorted(guidance), counter),
        "guidance": _make_guidance_record(guidance, counter),
        "columns": columns_document(cards),
        "scan": plan.scan_record(builder_id),
        "probes": vectors.nearest,
    }
    for name, content in contents.items():
        text = json.dumps(content, ensure_ascii=False)
        (target / f"{name}.json").write_text(text, encoding="utf-8")


def _group_interfaces(states: StatesByPath) -> list[list[InterfaceOwner]]:
    """The capabilities of each source and category: those of one file, or of the files in one
    folder that hold one each. The operations of an API belong together whatever their category.
    """
    groups: dict[tuple[str, str], list[InterfaceOwner]] = defaultdict(list)
    for path, state in states.items():
        cards = [
            (declared.resolved_id, declared.card)
            for declared in state.declared_ids
            if declared.resolved_id and declared.card and not declared.card["hidden"]
        ]
        source = path if len(cards) > 1 else _surrounding_folder(path)
        is_api = any(card.get("interface", {}).get("is_api") for _, card in cards)
        for identifier, card in cards:
            if card["kind"] not in KINDS_WITHOUT_INTERFACE:
                owner = InterfaceOwner(identifier, card["name"], card.get("interface", {}))
                groups[source, "" if is_api else card["category"]].append(owner)
    return list(groups.values())


def _surrounding_folder(path: str) -> str:
    """The folder of a file, or the one around it where the file has a folder of its own."""
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[0] if name.lower() in FOLDER_FILES else folder


def _make_overview(
    cards: Sequence[CapabilityCard], guided_categories: Sequence[str], counter: TokenCounter
) -> Overview:
    visible_cards = [card for card in cards if not card["hidden"]]
    categories = summarise_categories(visible_cards)
    return {
        "categories": categories,
        "kinds": count_kinds(cards),
        "static": full_catalogue_size(visible_cards),
        "guided": guided_categories,
        "counts": frame_counts(counter.exact, categories),
    }


def _make_guidance_record(guidance: GuidanceByCategory, counter: TokenCounter) -> GuidanceRecord:
    texts = {entry["category"]: entry["text"] for entry in guidance.values()}
    return {"categories": guidance, "counts": guidance_counts(counter, texts)}


def manifest_facts(
    plan: BuildPlan,
    states: StatesByPath,
    vectors: VectorBuild,
    builder_id: str,
    token_fingerprint: str,
    deleted_count: int,
    passages: PassageCounts,
) -> BuildFacts:
    """What the manifest says of the generation; `token_fingerprint` is that of the encoder whose
    tokens the documents hold.
    """
    selected = plan.selected
    return {
        "builder_id": builder_id,
        "made_by": __version__,
        "encoder": selected.name,
        "pieces": token_fingerprint,
        "fingerprint": selected.fingerprint,
        "background": vectors.noise_floor,
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {
            "capabilities": len(content_hashes_by_id(states)),
            "rows": vectors.rows,
            "stored": vectors.stored_rows,
            "dim": selected.encoder.dim if selected.encoder else 0,
            "deleted": deleted_count,
            "files": len(states),
            "passages": passages.passages,
            "passage_dim": passages.dim,
            "deleted_passages": passages.deleted,
            "passage_limit": plan.passage_limits.passages,
            "passage_bytes": plan.passage_limits.bytes,
        },
    }
