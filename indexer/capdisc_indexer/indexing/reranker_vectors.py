"""The vectors of the reranker: an encoder besides that of the index, which only reads the first
candidates of a query, so that it may take a thousand times as long as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from capdisc_indexer.encoders import Encoder, try_load_encoder
from capdisc_indexer.encoders.quantisation import quantise
from capdisc_indexer.indexing.build_plan import BuildPlan
from capdisc_indexer.indexing.build_request import Progress
from capdisc_indexer.model.errors import ENDING_ERRORS
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.matrix_writer import write_matrix
from capdisc_indexer.text.embedding_text import description_text, embedding_texts

# What of a body follows the description in one text more: the nearest of both texts counts. It
# gained 0.8 points on skills with bodies, where the description alone gained none.
_BODY_CHARACTERS = 1_500
# Texts between two steps of the progress.
_STEP = 64


def write_reranker_vectors(
    folder: Path, plan: BuildPlan, ids: Sequence[str], progress: Progress
) -> tuple[Encoder | None, str]:
    """The reranker, whose vectors were written into the generation in `folder`, given the ids of
    its documents, in order; None without vectors where it cannot be loaded or fails on every text.
    And its problem, "" for none: a text on which it fails has a row of zeros.

    The rows of capabilities that did not change come from the last generation.
    """
    reranker, problem = try_load_encoder(plan.reranker_name)
    if reranker is None:
        return None, problem
    last_matrix = _open_last_matrix(plan, reranker)
    outdated = {*plan.changes.outdated_ids}.intersection(last_matrix.names())
    kept = {*last_matrix.names()} - outdated
    rows, problem = _encode_rows(
        folder, [key for key in ids if key not in kept], reranker, progress
    )
    if problem and not kept and not any(map(any, rows.values())):
        return None, problem
    counts = {key: len(data) // reranker.dim for key, data in rows.items()}
    write_matrix(
        last_matrix, folder / "reranker", dict.fromkeys(outdated, 0) | counts, rows.__getitem__
    )
    return reranker, problem


def _open_last_matrix(plan: BuildPlan, reranker: Encoder) -> Matrix:
    """The rows of the last generation; none where another encoder made them."""
    published, folder = plan.previous.generation, plan.previous.folder
    is_same = published and published.reranker_fingerprint == reranker.fingerprint
    return Matrix(folder / "reranker" if folder and is_same else None, reranker.dim)


def _encode_rows(
    folder: Path, ids: Sequence[str], reranker: Encoder, progress: Progress
) -> tuple[dict[str, bytes], str]:
    """The rows of these capabilities by id, and on how many texts the reranker fails, or ""."""
    documents = Documents(folder / "text")
    texts_by_id = {
        header["id"]: _list_texts(from_record(header, body))
        for header, body, _ in documents.full_records(ids)
    }
    texts = list(dict.fromkeys(chain.from_iterable(texts_by_id.values())))
    rows: dict[str, bytes] = {}
    for start in range(0, len(texts), _STEP):
        batch = texts[start : start + _STEP]
        rows |= zip(batch, _encode_batch(reranker, batch), strict=True)
        progress("Encoding", len(rows), len(texts))
    zeros = bytes(reranker.dim)
    joined = {
        key: b"".join(rows[text] or zeros for text in own) for key, own in texts_by_id.items()
    }
    failed_count = sum(not row for row in rows.values())
    return joined, f"it fails on {failed_count} of {len(texts)} texts" if failed_count else ""


def _encode_batch(reranker: Encoder, texts: Sequence[str]) -> list[bytes]:
    """The row of each text, b"" for one on which the reranker fails."""
    try:
        return [row.tobytes() for row in quantise(reranker.encode(texts))]
    except ENDING_ERRORS:
        raise
    # A model of somebody else may raise anything; a panic of Rust is not an Exception.
    except BaseException:
        if len(texts) == 1:
            return [b""]
    return list(chain.from_iterable(_encode_batch(reranker, [text]) for text in texts))


def _list_texts(descriptor: Descriptor) -> tuple[str, ...]:
    """The texts of a capability that are compared with a query, the nearest of which counts."""
    texts = embedding_texts(descriptor)
    if len(texts) > 1 or not descriptor.content:
        return texts
    return (*texts, f"{description_text(descriptor)} {descriptor.content[:_BODY_CHARACTERS]}")
