"""Write documents into the text index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import engines
from capdisc_indexer.containment import contained
from capdisc_indexer.errors import IndexStateError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.store.schema import ANALYSER, RISKS, analyser, schema
from capdisc_indexer.text import lexical_text

_HEAP_BYTES = 64_000_000


@frozen(kw_only=True)
class Document:
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


def write(target: Path, removed: Iterable[str], added: Iterable[Document]) -> None:
    """Bring the text index in `target` up to date (made when missing); durable when this returns."""
    t = engines.tantivy()
    target.mkdir(parents=True, exist_ok=True)
    with contained(
        "the text index could not be written", "free some disk space, or choose --index-dir DIR", IndexStateError
    ):
        index = t.Index(schema(), path=str(target), reuse=True)
        index.register_tokenizer(ANALYSER, analyser())
        # One thread: documents keep their order, so that equal scores come out in the same order every time.
        writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        for identifier in removed:
            writer.delete_documents_by_term("id", identifier)
        for document in added:
            writer.add_document(_tantivy_document(document))
        writer.commit()
        writer.wait_merging_threads()


def _tantivy_document(document: Document) -> Any:
    made = engines.tantivy().Document()
    for field in ("id", "kind", "category"):
        made.add_text(field, getattr(document, field))
    made.add_text("risk", document.risk or RISKS[0])
    for tag in document.tags:
        made.add_text("tag", tag)
    for alias in document.aliases:
        made.add_text("alias", alias)
    made.add_text("name", lexical_text(document.name))
    made.add_text("text", document.text)
    made.add_bytes("head", document.head)
    made.add_bytes("body", document.body)
    made.add_bytes("pieces", document.pieces)
    return made
