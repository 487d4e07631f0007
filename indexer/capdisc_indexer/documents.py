"""The text half of a build: which documents go, which come, and what each holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from pathlib import Path
from typing import Any

from capdisc_indexer import encoders
from capdisc_indexer.bags import bag, packed
from capdisc_indexer.embedding_text import BODY_CHARACTERS, lexical_document
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import EncoderError
from capdisc_indexer.likeness import signature
from capdisc_indexer.previous import Previous
from capdisc_indexer.reconcile import Changes, Progress
from capdisc_indexer.records import UNCATEGORISED, from_record, to_bytes, to_record
from capdisc_indexer.render.counting import size_of
from capdisc_indexer.state import finals
from capdisc_indexer.store import publication, writer
from capdisc_indexer.store.lexical import Documents
from capdisc_indexer.store.schema import alias_key
from capdisc_indexer.store.writer import Document
from capdisc_indexer.types import Descriptor

# Deleted documents still count in BM25's statistics, and documents that came later lie behind the others: close scores
# then come out in another order than after a build from scratch. Writing all anew takes 0.5 ms a document; for a small
# catalogue it is done every time, else once so many were deleted.
SMALL = 400
MAX_DELETED_SHARE = 0.02
Bagged = Callable[[Descriptor], bytes]
_JSON_FILES = ("meta.json", ".managed.json")


def write_documents(
    target: Path, last: Previous, changes: Changes, made: Iterable[Document], progress: Progress
) -> int:
    """Bring the text index in `target` up to date with the files; the number of deleted documents it still carries.
    `made` are the documents of the changed capabilities, in the order of their ids."""
    before, now, fresh = finals(last.files), finals(changes.files), changes.descriptors
    removed = [key for key in before if key not in now or key in fresh]
    deleted = (last.generation.counts.get("deleted", 0) if last.generation else 0) + len(removed)
    added = _counted(made, len(fresh), progress)
    if last.folder is None or len(now) <= SMALL or deleted > MAX_DELETED_SHARE * len(now):
        kept = _kept(last.folder, sorted(key for key in now if key not in fresh)) if last.folder else iter(())
        writer.write(target, (), merge(kept, added, key=lambda document: document.id))
        return 0
    target.mkdir(parents=True)
    publication.clone(last.folder / "text", target, lambda name: name in _JSON_FILES)
    writer.write(target, removed, added)
    return deleted


def bagger(few: bool, checked: Encoder | None = None) -> tuple[Bagged, str]:
    """What gives each capability's packed bag of the shipped encoder's pieces, and that encoder's fingerprint; empty
    bags and no fingerprint when it is missing or damaged. For a `few` capabilities the vocabulary stays on disk. One
    that was `checked` is not read again."""
    try:
        encoder = encoders.shipped()
        if encoder is not checked:
            encoder.check()
    except EncoderError:
        return lambda descriptor: b"", ""
    cut = encoder.pieces if few else encoder.bulk_pieces
    weigh = encoder.worth_of if few else encoder.worths.__getitem__
    return lambda descriptor: packed(bag(descriptor, cut, weigh)), encoder.fingerprint


def _counted(made: Iterable[Document], count: int, progress: Progress) -> Iterator[Document]:
    for done, document in enumerate(made):
        progress("Writing", done, count)
        yield document


def _kept(folder: Path, ids: Sequence[str]) -> Iterator[Document]:
    for head, body, pieces in Documents(folder / "text").whole(ids):
        yield _document(from_record(head, body), head, body, pieces)


def make_document(descriptor: Descriptor, counts: Mapping[str, Any], bagged: Bagged) -> Document:
    """The document of a capability, with the token counts of its rendered pieces."""
    head, body = to_record(descriptor)
    parts = (descriptor.description, descriptor.content[:BODY_CHARACTERS])
    likeness = " ".join(map(signature, parts))
    head |= {"likeness": likeness, "size": size_of(counts)}
    return _document(descriptor, head, body | {"counts": counts}, bagged(descriptor))


def _document(descriptor: Descriptor, head: dict[str, Any], body: dict[str, Any], pieces: bytes) -> Document:
    d = descriptor
    plain_id = d.id.partition("@")[0]
    aliases = (d.id, plain_id, d.name, f"{d.category}/{d.name}", d.title)
    return Document(
        id=d.id,
        kind=d.kind.lower(),
        category=(d.category or UNCATEGORISED).lower(),
        tags=[tag.lower() for tag in d.tags],
        risk=d.risk,
        aliases=list(dict.fromkeys(alias_key(alias) for alias in aliases if alias)),
        name=f"{d.name} {d.title}" if d.title.lower() != d.name.lower() else d.name,
        text=lexical_document(d),
        head=to_bytes(head),
        body=to_bytes(body),
        pieces=pieces,
    )
