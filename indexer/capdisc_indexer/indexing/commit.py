"""What a generation holds besides its text index and its vectors: the states of the files, the
metadata, and the facts in its manifest.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.graph.interfaces import KINDS_WITHOUT_INTERFACE, InterfaceOwner
from capdisc_indexer.graph.producer_edges import find_producers
from capdisc_indexer.indexing.build_plan import BuildPlan
from capdisc_indexer.indexing.category_overview import FOLDER_FILES, summarise_categories
from capdisc_indexer.indexing.changes import Changes, StatesByPath
from capdisc_indexer.indexing.embeddings import (
    EmbeddingBatcher,
    KnownVectors,
    VectorBuild,
    compare_texts,
    write_vectors,
)
from capdisc_indexer.indexing.passage_changes import PassageCounts
from capdisc_indexer.indexing.previous_build import (
    GuidanceByCategory,
    PreviousBuild,
)
from capdisc_indexer.model.json_types import (
    BuildFacts,
    ColumnsRecord,
    GuidanceRecord,
    NumberedColumn,
    Overview,
)
from capdisc_indexer.model.records import from_record
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.rendering.token_accounting import frame_counts, guidance_counts
from capdisc_indexer.store import generation, publication
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.file_states import DeclaredId, FileState
from capdisc_indexer.store.snapshot import PRODUCERS_FILE, encode_producers
from capdisc_indexer.store.state_database import CardRow, StateDatabase, StateWriter
from capdisc_indexer.text.embedding_text import embedding_texts
from capdisc_indexer.text.token_counts import TokenCounter


def complete_states(
    changes: Changes, previous: PreviousBuild, built_ids: Mapping[str, DeclaredId]
) -> dict[str, FileState]:
    """The states of changed files with what the overview and the vectors need of each indexed
    capability: as it was built now (`built_ids`, by final id), else as the last build stored it.
    """

    def complete(declared: DeclaredId) -> DeclaredId:
        if not declared.resolved_id:
            return declared
        built = built_ids.get(declared.resolved_id)
        if built is None and previous.state is not None:
            built = previous.state.find_declared(declared.resolved_id)
        if built is None or (declared.digest == built.digest and declared.card is not None):
            return declared
        return declared._replace(texts=built.texts, digest=built.digest, card=built.card)

    return {
        path: state.with_declared_ids(map(complete, state.declared_ids))
        for path, state in changes.changed.items()
    }


def write_state(folder: Path, plan: BuildPlan, states: StatesByPath) -> StateWriter:
    """The state of the generation that is being built in `folder`, given the completed states of
    changed files.
    """
    previous, changes = plan.previous, plan.changes
    roots = list(dict.fromkeys(state.root for state in changes.files.values()))
    if previous.state is None or not (plan.tree.is_part or roots == list(previous.state.roots)):
        writer = StateWriter(folder, None)
        writer.update(dict(changes.files) | dict(states), ())
        return writer
    writer = StateWriter(folder, previous.folder)
    if previous.scan is not None:
        writer.restamp(previous.scan["stats"])
    writer.update(states, changes.removed)
    return writer


def build_vectors(
    folder: Path,
    plan: BuildPlan,
    known: KnownVectors,
    states: StatesByPath,
    state: StateWriter,
    batcher: EmbeddingBatcher,
) -> VectorBuild:
    """Writes the vectors of all capabilities into the new generation's folder; nothing without an
    encoder.
    """
    encoder, published = plan.selected.encoder, plan.previous.generation
    if encoder is None:
        return VectorBuild()
    if published is not None and published.fingerprint != encoder.fingerprint:
        # Another encoder than last time: all texts must be encoded, not those that changed alone.
        documents = Documents(folder / "text")
        ids = [header["id"] for header in documents.all_headers()]
        for header, body, _ in documents.full_records(ids):
            batcher.add_texts(embedding_texts(from_record(header, body)))
    text_changes = compare_texts(plan.changes.last, states)
    return write_vectors(folder, known, text_changes, state, batcher, encoder)


def choose_builder_id(plan: BuildPlan) -> str:
    """The id of the builder: from the options, else the last build's, else a new one."""
    published = plan.previous.generation
    previous_id = published.builder_id if published else ""
    return plan.request.options.builder_id or previous_id or generation.new_builder_id()


def write_metadata(
    target: Path,
    plan: BuildPlan,
    states: StatesByPath,
    state: StateDatabase,
    builder_id: str,
    counter: TokenCounter,
) -> None:
    """Writes what overviews, lists and the next build read of the `state` into `target`."""
    changes, last_folder = plan.changes, plan.previous.folder
    last_meta = last_folder / "meta" if last_folder is not None else None
    contents: dict[str, object] = {"scan": plan.scan_record(builder_id)}
    last_cards, cards = _cards_by_id(changes.last), _cards_by_id(states)
    is_same_guidance = last_meta is not None and changes.guidance == plan.previous.guidance
    if last_meta is not None and is_same_guidance:
        publication.link_file(last_meta / "guidance.json", target / "guidance.json")
    else:
        contents["guidance"] = _make_guidance_record(changes.guidance, counter)
    if last_meta is not None and is_same_guidance and last_cards == cards:
        names = ("overview.json", "columns.json")
        for name in (*names, *(path.name for path in last_meta.glob(PRODUCERS_FILE))):
            publication.link_file(last_meta / name, target / name)
    else:
        last = json.loads((last_meta / "overview.json").read_bytes()) if last_meta else None
        rows = state.cards()
        contents["overview"] = _make_overview(rows, sorted(changes.guidance), counter, last)
        contents["columns"] = _make_columns(rows)
        has_interfaces = not {row.kind for row in rows} <= KINDS_WITHOUT_INTERFACE
        if has_interfaces and (producers := find_producers(_group_interfaces(state))):
            (target / PRODUCERS_FILE).write_bytes(encode_producers(producers))
    for name, content in contents.items():
        text = json.dumps(content, ensure_ascii=False)
        (target / f"{name}.json").write_text(text, encoding="utf-8")


def _cards_by_id(states: StatesByPath) -> dict[str, object]:
    """The card of each indexed capability, with the file that it comes from."""
    return {
        declared.resolved_id: (path, json.dumps(declared.card))
        for path, state in states.items()
        for declared in state.declared_ids
        if declared.resolved_id
    }


def _make_columns(rows: Sequence[CardRow]) -> ColumnsRecord:
    return {
        "ids": [row.id for row in rows],
        "names": [row.name for row in rows],
        "kinds": _number_values([row.kind for row in rows]),
        "categories": _number_values([row.category for row in rows]),
        "tokens": [row.tokens for row in rows],
        "characters": [row.characters for row in rows],
        "listing_tokens": [row.listing_tokens for row in rows],
        "general": [place for place, row in enumerate(rows) if row.is_general],
        "hidden": [place for place, row in enumerate(rows) if row.hidden],
    }


def _number_values(values: Sequence[str]) -> NumberedColumn:
    """The different values and their numbers, since there are few kinds and categories."""
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return {"values": list(numbers), "numbers": [numbers[value] for value in values]}


def _group_interfaces(state: StateDatabase) -> list[list[InterfaceOwner]]:
    """The capabilities of each source and category: those of one file, or of the files in one
    folder that hold one each. The operations of an API belong together whatever their category.
    """
    groups: dict[tuple[str, str], list[InterfaceOwner]] = defaultdict(list)
    for path, rows in groupby(state.visible_interfaces(), key=itemgetter(0)):
        cards = [(identifier, card) for _, identifier, card in rows]
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
    rows: Sequence[CardRow],
    guided_categories: Sequence[str],
    counter: TokenCounter,
    last: Overview | None,
) -> Overview:
    """The overview of these capabilities; the tokens of most lines are known from the last one."""
    visible = [row for row in rows if not row.hidden]
    categories = summarise_categories(
        {"kind": row.kind, "name": row.name, "category": row.category} for row in visible
    )
    known = last["counts"] if last else {}

    def count_tokens(text: str) -> int:
        return known[text] if text in known else counter.exact(text)

    return {
        "categories": categories,
        "kinds": dict(sorted(Counter(row.kind for row in rows).items())),
        "static": [sum(row.tokens for row in visible), sum(row.characters for row in visible)],
        "guided": guided_categories,
        "counts": frame_counts(count_tokens, categories),
    }


def _make_guidance_record(guidance: GuidanceByCategory, counter: TokenCounter) -> GuidanceRecord:
    texts = {entry["category"]: entry["text"] for entry in guidance.values()}
    return {"categories": guidance, "counts": guidance_counts(counter, texts)}


def manifest_facts(
    plan: BuildPlan,
    state: StateDatabase,
    vectors: VectorBuild,
    builder_id: str,
    token_fingerprint: str,
    deleted_count: int,
    passages: PassageCounts,
    reranker: Encoder | None,
) -> BuildFacts:
    """What the manifest says of the generation; `token_fingerprint` is that of the encoder whose
    tokens the documents hold, `reranker` the one whose vectors it has besides those of the index.
    """
    selected = plan.selected
    return {
        "builder_id": builder_id,
        "made_by": describe_release(),
        "encoder": selected.name,
        "pieces": token_fingerprint,
        "fingerprint": selected.fingerprint,
        "background": vectors.noise_floor,
        "reranker": plan.reranker_name,
        "reranker_fingerprint": reranker.fingerprint if reranker else "",
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {
            "capabilities": state.count_ids(),
            "rows": vectors.rows,
            "dim": selected.encoder.dim if selected.encoder else 0,
            "deleted": deleted_count,
            "files": len(state),
            "passages": passages.passages,
            "passage_dim": passages.dim,
            "deleted_passages": passages.deleted,
            "passage_limit": plan.passage_limits.passages,
            "passage_bytes": plan.passage_limits.bytes,
            "reranker_dim": reranker.dim if reranker else 0,
        },
    }
