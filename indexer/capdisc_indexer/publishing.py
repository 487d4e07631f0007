"""Write the next generation beside the last one, and make it the current one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from capdisc_indexer import __version__, engines
from capdisc_indexer.documents import bagger, finals, write_documents
from capdisc_indexer.embedding_text import embedding_texts
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoding import Encoded, text_hashes, write_vectors
from capdisc_indexer.previous import Previous, scan_record
from capdisc_indexer.reconcile import Changes, Progress
from capdisc_indexer.records import from_record
from capdisc_indexer.render.counting import size_of, stored_counts
from capdisc_indexer.small_files import write_small_files
from capdisc_indexer.state import Claim, FileState
from capdisc_indexer.store import publication
from capdisc_indexer.store.lexical import Documents
from capdisc_indexer.tokens import TokenCounter
from capdisc_indexer.types import Descriptor, Generation

Counts: TypeAlias = Mapping[str, Any]


def publish(
    index_dir: Path,
    last: Previous,
    changes: Changes,
    encoder: Encoder | None,
    name: str,
    now_ns: int,
    progress: Progress,
) -> tuple[Generation, int]:
    """The new generation, and how many texts were encoded for it."""
    counter = TokenCounter(engines.token_count)
    bagged, pieces = bagger()
    counted = _counted(changes, counter, progress)
    files = _described(changes, last, counted)
    with publication.building(index_dir) as folder:
        deleted = write_documents(folder / "text", last, files, changes.descriptors, counted, bagged, progress)
        encoded = _vectors(folder, last, changes, files, encoder, progress)
        write_small_files(folder / "meta", files, scan_record(last.roots, now_ns), changes.guidance, counter)
        facts = {
            "made_by": __version__,
            "encoder": name,
            "pieces": pieces,
            "fingerprint": encoder.fingerprint if encoder else "",
            "background": encoded.background,
            "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "counts": {
                "capabilities": len(finals(files)),
                "rows": encoded.rows,
                "dim": encoder.dim if encoder else 0,
                "deleted": deleted,
                "files": len(files),
            },
        }
        published = publication.publish(index_dir, folder, facts, publication.next_number(index_dir))
    return published, encoded.embedded


def _counted(changes: Changes, counter: TokenCounter, progress: Progress) -> dict[str, Counts]:
    """The token counts of every changed capability's rendered pieces."""
    counted: dict[str, Counts] = {}
    for done, (key, descriptor) in enumerate(changes.descriptors.items()):
        progress("Counting", done, len(changes.descriptors))
        counted[key] = stored_counts(descriptor, counter)
    return counted


def _described(changes: Changes, last: Previous, counted: Mapping[str, Counts]) -> dict[str, FileState]:
    """The files' states with what the overview and the vectors need of each indexed capability."""
    known = {claim.final: claim for one in last.files.values() for claim in one.claims if claim.final}
    return {
        path: one.with_claims(_described_claim(claim, changes, known, counted) for claim in one.claims)
        for path, one in changes.files.items()
    }


def _described_claim(
    claim: Claim, changes: Changes, known: Mapping[str, Claim], counted: Mapping[str, Counts]
) -> Claim:
    if claim.final in changes.descriptors:
        descriptor, digest = changes.descriptors[claim.final], changes.digests[claim.final]
        card = _card(descriptor, counted[claim.final])
        return replace(claim, texts=text_hashes(descriptor), digest=digest, card=card)
    if claim.final in known:
        old = known[claim.final]
        return replace(claim, texts=old.texts, digest=old.digest, card=old.card)
    return claim


def _vectors(
    folder: Path,
    last: Previous,
    changes: Changes,
    files: Mapping[str, FileState],
    encoder: Encoder | None,
    progress: Progress,
) -> Encoded:
    if encoder is None:
        return Encoded(rows=0, embedded=0)
    wanted = {claim.final: claim.texts for one in files.values() for claim in one.claims if claim.final}
    return write_vectors(folder, last, wanted, _texts(folder, last, changes, encoder), encoder, progress)


def _card(descriptor: Descriptor, counts: Counts) -> dict[str, Any]:
    d = descriptor
    return {"kind": d.kind, "name": d.name, "category": d.category, "hidden": d.hidden, "size": size_of(counts)}


def _texts(folder: Path, last: Previous, changes: Changes, encoder: Encoder) -> dict[str, str]:
    """Every embedding text that may have to be encoded: of what changed, or of all when the encoder is another."""
    descriptors: Iterable[Descriptor] = changes.descriptors.values()
    if last.generation is not None and last.generation.fingerprint != encoder.fingerprint:
        descriptors = [from_record(head) for head in Documents(folder / "text").everything()]
    return {
        text_hash: text
        for descriptor in descriptors
        for text_hash, text in zip(text_hashes(descriptor), embedding_texts(descriptor), strict=True)
    }
