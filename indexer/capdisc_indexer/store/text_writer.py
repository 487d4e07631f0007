"""Write documents into the text index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store.native_errors import translate_native_errors
from capdisc_indexer.store.text_queries import ANALYSER_NAME, RISKS, build_analyser, build_schema
from capdisc_indexer.text.normalization import lexical_text

_HEAP_BYTES = 64_000_000


@frozen(kw_only=True)
class IndexedDocument:
    """What the text index is given for one capability."""

    id: str
    kind: str
    category: str
    tags: Sequence[str]
    risk: str
    aliases: Sequence[str]
    name: str
    text: str
    head: bytes
    body: bytes
    pieces: bytes


def update_text_index(
    target: Path, removed: Iterable[str], added: Iterable[IndexedDocument]
) -> None:
    """Bring the text index in `target` up to date (made when missing); durable when this
    returns.
    """
    t = lazy_imports.tantivy()
    target.mkdir(parents=True, exist_ok=True)
    with translate_native_errors(
        "the text index could not be written",
        "free some disk space, or choose --index-dir DIR",
        IndexStateError,
    ):
        index = t.Index(build_schema(), path=str(target), reuse=True)
        index.register_tokenizer(ANALYSER_NAME, build_analyser())
        # One thread: documents keep their order, so that equal scores come out in the same order
        # every time.
        writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        for identifier in removed:
            writer.delete_documents_by_term("id", identifier)
        for document in added:
            writer.add_document(_to_tantivy_document(document))
        writer.commit()
        writer.wait_merging_threads()


def _to_tantivy_document(document: IndexedDocument) -> Any:
    engine_document = lazy_imports.tantivy().Document()
    for field in ("id", "kind", "category"):
        engine_document.add_text(field, getattr(document, field))
    engine_document.add_text("risk", document.risk or RISKS[0])
    for tag in document.tags:
        engine_document.add_text("tag", tag)
    for alias in document.aliases:
        engine_document.add_text("alias", alias)
    engine_document.add_text("name", lexical_text(document.name))
    engine_document.add_text("text", document.text)
    engine_document.add_bytes("head", document.head)
    engine_document.add_bytes("body", document.body)
    engine_document.add_bytes("pieces", document.pieces)
    return engine_document
