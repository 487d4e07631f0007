"""Which generation follows from the last one by a few files that changed, came or are gone?

Its files are those of the last one, as hard links where nothing changes in them, else copied with
the new rows, numbers and lines in place of the old ones. The result is that of a build that looks
at everything, byte for byte (but for the names of the text engine's segments).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from capdisc_indexer.indexing import commit, document_changes, embeddings
from capdisc_indexer.indexing.build_plan import WrittenGeneration
from capdisc_indexer.indexing.change_detection import Review
from capdisc_indexer.indexing.changed_tree import WiderChangeError, require
from capdisc_indexer.indexing.document_changes import DocumentBuild, EmbeddingBatcher
from capdisc_indexer.indexing.patched_metadata import compare_cards, write_patched_metadata
from capdisc_indexer.indexing.patched_vectors import KnownTexts, PassagePatch, VectorPatch
from capdisc_indexer.indexing.previous_build import PreviousBuild, check_changed_digests
from capdisc_indexer.indexing.small_change import SmallChange
from capdisc_indexer.indexing.worker_pool import BackgroundTask, WorkerPool
from capdisc_indexer.model.types import Generation
from capdisc_indexer.store import publication, text_queries


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
    texts = KnownTexts(change.lines)
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
        build.require_usable()
        states = commit.complete_states(changes, plan.previous, build.declared_ids)
        cards = compare_cards(change.old_states, states)
        vectors = VectorPatch(change.old_states, states, texts, batcher, published, old_folder)
        old_ids, new_ids = change.old_ids, change.new_ids
        # What has another document now, or none.
        outdated_ids = sorted((old_ids - new_ids) | (old_ids & changes.descriptors.keys()))
        deleted_count = published.counts["deleted"] + len(outdated_ids)
        capability_count = published.counts["capabilities"] + len(new_ids) - len(old_ids)
        is_same_text = not changes.descriptors and not outdated_ids
        require(
            is_same_text or document_changes.may_keep_documents(capability_count, deleted_count)
        )
        passages.check(outdated_ids)
        result = review()
        require(not result.files and not result.held_definitions)
        check.result()
        text_folder = folder / "text"
        if is_same_text:
            publication.link_folder(old_folder / "text", text_folder)
        else:
            publication.clone_text_index(old_folder / "text", text_folder)
            text_queries.update_text_index(text_folder, outdated_ids, build.documents)
        passages.write(folder / "passages")
        nearest = vectors.write(folder, plan.previous.nearest, encoder)
        meta, old_meta, counter = folder / "meta", old_folder / "meta", build.builder.counter
        write_patched_metadata(change, meta, old_meta, states, cards, nearest, counter)
        counts = {
            **published.counts,
            "capabilities": capability_count,
            "files": published.counts["files"] + len(states) - len(change.old_states),
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
