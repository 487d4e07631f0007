"""The vectors of the reranker: an encoder beside that of the index, which only reads the first
candidates of a query, so that it may take a thousand times as long as a table.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from capdisc_indexer.encoders import Encoder, try_load_encoder
from capdisc_indexer.encoders.quantisation import quantise
from capdisc_indexer.indexing.build_plan import BuildPlan
from capdisc_indexer.indexing.file_reader import Progress
from capdisc_indexer.model.errors import ENDING_ERRORS
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.matrix import Matrix, write_matrix_files
from capdisc_indexer.text.embedding_text import description_text, embedding_texts

# What of a body follows the description in one text more: the nearest of both texts counts. It
# gained 0.8 points on skills with bodies, where the description alone gained none.
_BODY_CHARACTERS = 1_500
# Texts between two steps of the progress.
_STEP = 64


def write_reranker_vectors(
    folder: Path, plan: BuildPlan, ids: Sequence[str], progress: Progress
) -> tuple[Encoder | None, str]:
    """The reranker, whose vectors were written into the generation in `folder`, given the ids of its
    documents, in order; None without vectors where it cannot be loaded or fails on every text. And
    its problem, "" for none: a text on which it fails has a row of zeros.

    The rows of capabilities that did not change come from the last generation.
    """
    reranker, problem = try_load_encoder(plan.reranker_name)
    if reranker is None:
        return None, problem
    rows = _read_unchanged_rows(plan, reranker)
    new_ids = [key for key in ids if key not in rows]
    new_rows, problem = _encode_rows(folder, new_ids, reranker, progress)
    rows |= new_rows
    if problem and not any(map(any, rows.values())):
        return None, problem
    counts = (len(rows[key]) // reranker.dim for key in ids)
    owners = array("I", chain.from_iterable([place] * count for place, count in enumerate(counts)))
    write_matrix_files(folder / "reranker", (rows[key] for key in ids), owners, ids)
    return reranker, problem


def _read_unchanged_rows(plan: BuildPlan, reranker: Encoder) -> dict[str, bytes]:
    """The rows of the last generation by id, without those of what changed or is gone; none where
    another encoder made them.
    """
    published, folder = plan.previous.generation, plan.previous.folder
    if published is None or folder is None:
        return {}
    if published.reranker_fingerprint != reranker.fingerprint:
        return {}
    matrix, outdated = Matrix(folder / "reranker", reranker.dim), {*plan.changes.outdated_ids}
    places = ((key, matrix.rows_of(key)) for key in matrix.names() if key not in outdated)
    return {key: bytes(matrix.bytes_of(rows.start, rows.stop)) for key, rows in places}


def _encode_rows(
    folder: Path, ids: Sequence[str], reranker: Encoder, progress: Progress
) -> tuple[dict[str, bytes], str]:
    """The rows of these capabilities by id, and on how many texts the reranker fails, "" for none."""
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
    # A model of somebody else may raise anything; a panic of Rust is no Exception.
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
