"""Which generation follows from the last one when a few capabilities say something else, and their
ids, names and places are the same?

Its files are those of the last one, as hard links where nothing changes in them, else copied with
the new rows, numbers and lines in place of the old ones. The result is that of a build that looks
at everything, byte for byte (but for the names of the text engine's segments).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing import commit, document_changes, embeddings, passage_changes
from capdisc_indexer.indexing.build_plan import WrittenGeneration
from capdisc_indexer.indexing.change_detection import Review, StatesByPath
from capdisc_indexer.indexing.document_changes import DocumentBuild, EmbeddingBatcher
from capdisc_indexer.indexing.previous_build import (
    NearestText,
    PreviousBuild,
    check_changed_digests,
    repeat_scan_record,
)
from capdisc_indexer.indexing.small_change import SmallChange, WiderChangeError, require
from capdisc_indexer.indexing.worker_pool import BackgroundTask, WorkerPool
from capdisc_indexer.model.json_types import CapabilityCard
from capdisc_indexer.model.types import Generation, PassageLimits
from capdisc_indexer.store import publication, text_queries, vector_files
from capdisc_indexer.store.file_states import StateLines, text_hashes_by_id
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.passages import PassageBlock, PassageWriter


def write_patched_generation(
    change: SmallChange, workers: WorkerPool, review: Callable[[], Review]
) -> tuple[WrittenGeneration, Review]:
    """Publishes the next generation. `review` is called when it is clear that it can be made so.

    Raises WiderChangeError where it cannot; then nothing was published.
    """
    plan = change.plan
    request, changes, encoder = plan.request, plan.changes, plan.selected.encoder
    published, old_folder = _published_parts(plan.previous)
    # Files that are linked from it keep their digests: a changed byte must not be among them.
    check = BackgroundTask(
        partial(check_changed_digests, request.index_dir, published, change.stored)
    )
    texts = _KnownTexts(change.lines)
    passages = PassagePatch(old_folder / "passages", published, plan.passage_limits)
    with (
        publication.staging_folder(request.index_dir) as folder,
        EmbeddingBatcher(encoder, texts, request.index_dir) as batcher,
    ):
        build = DocumentBuild(
            changes, batcher, passages, workers, encoder, request.options.workspace
        )
        if build.needs_native_libraries(has_known_rows=True):
            commit.load_native_libraries(with_table=False)
        states = commit.complete_states(changes, plan.previous, build.declared_ids)
        cards = _compare_cards(plan.previous.files, states)
        vectors = VectorPatch(plan.previous.files, states, texts, batcher, published, old_folder)
        deleted_count = published.counts["deleted"] + len(changes.descriptors)
        require(
            not changes.descriptors
            or document_changes.may_keep_documents(published.counts["capabilities"], deleted_count)
        )
        passages.check(changes.descriptors.keys())
        result = review()
        require(not result.files and not result.held_definitions)
        check.result()
        text_folder = folder / "text"
        if changes.descriptors:
            publication.clone_text_index(old_folder / "text", text_folder)
            text_queries.update_text_index(text_folder, list(changes.descriptors), build.documents)
        else:
            publication.link_folder(old_folder / "text", text_folder)
        passages.write(folder / "passages")
        nearest = vectors.write(folder, plan.previous.nearest, encoder)
        _write_metadata(change, folder / "meta", old_folder / "meta", states, cards, nearest)
        counts = {
            **published.counts,
            "deleted": deleted_count,
            "rows": published.counts["rows"] + vectors.added_rows,
            **passages.counts,
        }
        background = (
            embeddings.noise_floor(nearest) if encoder is not None else published.background
        )
        next_generation = publication.publish_folder(
            request.index_dir,
            folder,
            {
                "builder_id": published.builder_id,
                "made_by": published.made_by,
                "encoder": plan.selected.name,
                "pieces": build.builder.encoder_fingerprint,
                "fingerprint": plan.selected.fingerprint,
                "background": background,
                "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "counts": counts,
            },
            publication.next_number(request.index_dir),
            published,
        )
    written = WrittenGeneration(generation=next_generation, embedded_count=len(batcher.position))
    return written, result


def _published_parts(previous: PreviousBuild) -> tuple[Generation, Path]:
    if previous.generation is None or previous.folder is None:
        raise WiderChangeError
    return previous.generation, previous.folder


# Vectors.


class _KnownTexts:
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
        texts: _KnownTexts,
        batcher: EmbeddingBatcher,
        published: Generation,
        old_folder: Path,
    ) -> None:
        old_texts = text_hashes_by_id({path: old_states[path] for path in states})
        new_texts = text_hashes_by_id(states)
        require(old_texts.keys() == new_texts.keys())
        self._old_texts = {
            key: old_texts[key] for key in old_texts if old_texts[key] != new_texts[key]
        }
        self._new_texts = {key: new_texts[key] for key in self._old_texts}
        self._texts, self._batcher = texts, batcher
        self._dim, self._old_folder = published.counts["dim"], old_folder
        self.added_rows = (
            sum(map(len, self._new_texts.values())) - sum(map(len, self._old_texts.values()))
            if self._dim
            else 0
        )
        batcher.encode()
        if not self._dim or not self._old_texts:
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
        if not self._old_texts or encoder is None:
            for name in ("vectors", "pending", "matrix"):
                publication.link_folder(self._old_folder / name, target / name)
            return nearest
        publication.link_folder(self._old_folder / "vectors", target / "vectors")
        self._write_pending(target / "pending")
        old_matrix = Matrix(self._old_folder / "matrix", self._dim)
        old_matrix.write_patched(target / "matrix", self._make_rows(old_matrix))
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

        return {
            identifier: b"".join(map(make_row, hashes))
            for identifier, hashes in self._new_texts.items()
        }

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


# Passages.


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

    def check(self, owners: Collection[str]) -> None:
        """Raises WiderChangeError unless these capabilities, which changed, have passages now where
        they had some before, and the text index need not be written anew.
        """
        if self._stored["passages"]:
            self._matrix = Matrix(self._source / "matrix", self._stored["passage_dim"])
        self._old_counts = {owner: count for owner in owners if (count := self._count_old(owner))}
        require(self._old_counts.keys() == self._blocks.keys())
        if not self._blocks:
            return
        deleted = self._stored["deleted_passages"] + sum(self._old_counts.values())
        total = self._stored["passages"]
        require(passage_changes.may_keep_passages(total, deleted))
        dim = self._stored["passage_dim"]
        blocks = self._blocks.values()
        require(all(len(block.rows) == dim * len(block.passages) for block in blocks))
        added = sum(len(block.passages) for block in blocks) - sum(self._old_counts.values())
        self.counts = {"passages": total + added, "deleted_passages": deleted}

    def _count_old(self, owner: str) -> int:
        if self._matrix is None:
            return 0
        try:
            return len(self._matrix.rows_of(owner))
        except KeyError:
            return 0

    def write(self, target: Path) -> None:
        """Writes the passages of the next generation."""
        if not self._blocks or self._matrix is None:
            publication.link_folder(self._source, target)
            return
        publication.clone_text_index(self._source / "text", target / "text")
        writer = PassageWriter(target / "text")
        writer.remove(sorted(self._old_counts))
        for owner, block in sorted(self._blocks.items()):
            writer.add(owner, block.passages)
        writer.commit()
        rows = {owner: block.rows for owner, block in self._blocks.items()}
        self._matrix.write_patched(target / "matrix", rows)


# Metadata.


class CardChange(NamedTuple):
    """The card of one capability, before and now; only its size differs."""

    id: str
    before: CapabilityCard
    now: CapabilityCard


def _compare_cards(old_states: StatesByPath, states: StatesByPath) -> list[CardChange]:
    """The cards with another size. Raises WiderChangeError where anything else in one differs: lists
    and overviews show it.
    """
    changed: list[CardChange] = []
    for path, state in states.items():
        pairs = zip(old_states[path].declared_ids, state.declared_ids, strict=True)
        for old, new in pairs:
            if old.card is None or new.card is None:
                raise WiderChangeError
            now = json.loads(json.dumps(new.card))  # lists as a stored card has them
            require({**old.card, "size": 0} == {**now, "size": 0})
            if list(old.card["size"]) != list(new.card["size"]):
                changed.append(CardChange(new.resolved_id, old.card, new.card))
    return changed


def _write_metadata(
    change: SmallChange,
    target: Path,
    source: Path,
    states: StatesByPath,
    cards: Sequence[CardChange],
    nearest: Sequence[NearestText],
) -> None:
    plan = change.plan
    target.mkdir()
    change.lines.write(target / "files.json", {**change.restamped, **states}.values())
    scan = repeat_scan_record(change.scan, plan.scanned_at_ns)
    _write_json(target / "scan.json", scan)
    written = {"files.json", "scan.json"}
    if nearest is not plan.previous.nearest:
        _write_json(target / "probes.json", nearest)
        written.add("probes.json")
    if cards:
        _patch_columns(source / "columns.json", target / "columns.json", cards)
        _patch_overview(source / "overview.json", target / "overview.json", cards)
        written |= {"columns.json", "overview.json"}
    for path in source.iterdir():
        if path.name not in written:
            publication.link_file(path, target / path.name)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _patch_columns(source: Path, target: Path, cards: Sequence[CardChange]) -> None:
    """Writes the columns with the new sizes. Raises ValueError for columns of another form."""
    data = source.read_bytes()
    end = data.index(b'], "names": [') + 1
    ids = json.loads(data[len(b'{"ids": ') : end])
    places = [bisect_left(ids, card.id) for card in cards]
    require(all(ids[place] == card.id for place, card in zip(places, cards, strict=True)))
    for part, column in enumerate(("tokens", "characters", "listing_tokens")):
        sizes = {place: card.now["size"][part] for place, card in zip(places, cards, strict=True)}

        def put_sizes(numbers: list[bytes], sizes: Mapping[int, int] = sizes) -> None:
            for place, size in sizes.items():
                numbers[place] = b"%d" % size

        data = _replace_numbers(data, column, put_sizes)
    target.write_bytes(data)


def _patch_overview(source: Path, target: Path, cards: Sequence[CardChange]) -> None:
    """Writes the overview with the new size of the whole catalogue. Raises ValueError for one of
    another form.
    """

    def add_differences(numbers: list[bytes]) -> None:
        for part in (0, 1):
            difference = sum(
                card.now["size"][part] - card.before["size"][part]
                for card in cards
                if not card.now["hidden"]
            )
            numbers[part] = b"%d" % (int(numbers[part]) + difference)

    target.write_bytes(_replace_numbers(source.read_bytes(), "static", add_differences))


def _replace_numbers(data: bytes, key: str, change: Callable[[list[bytes]], None]) -> bytes:
    """The JSON text with changed numbers in the list of this key, which occurs once: a quote inside
    a string has a backslash before it. Raises ValueError where there is no such list.
    """
    start = data.index(b'"%b": [' % key.encode()) + len(key) + 5
    end = data.index(b"]", start)
    numbers = data[start:end].split(b", ")
    change(numbers)
    return data[:start] + b", ".join(numbers) + data[end:]
