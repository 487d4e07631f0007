"""Write the next generation beside the last one, and make it the current one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capdisc_indexer import __version__, engines
from capdisc_indexer.choice import Chosen
from capdisc_indexer.documents import write_documents
from capdisc_indexer.embedding_text import embedding_texts
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoding import Encoded, reusable, write_vectors
from capdisc_indexer.hands import Hands
from capdisc_indexer.intake import FEW as FEW_TEXTS
from capdisc_indexer.intake import Intake
from capdisc_indexer.last_scan import scan_record
from capdisc_indexer.making import FEW, Maker, make_elsewhere
from capdisc_indexer.previous import Previous
from capdisc_indexer.reconcile import Changes
from capdisc_indexer.records import from_record
from capdisc_indexer.small_files import write_notes, write_small_files
from capdisc_indexer.state import Claim, FileState, finals, wanted_texts
from capdisc_indexer.store import builders, publication
from capdisc_indexer.store.lexical import Documents
from capdisc_indexer.store.writer import Document
from capdisc_indexer.task import Task
from capdisc_indexer.types import Generation


def publish(
    task: Task, last: Previous, changes: Changes, chosen: Chosen, now_ns: int, hands: Hands
) -> tuple[Generation, int]:
    """The new generation, and how many texts were encoded for it."""
    encoder, old = chosen.encoder, reusable(last, chosen.encoder)
    with publication.building(task.index_dir) as folder, Intake(encoder, old, task.index_dir) as intake:
        making = _Making(changes, intake, hands, encoder)
        documents: Iterable[Document] = making.documents()
        if few := len(changes.descriptors) <= FEW:
            documents = list(documents)
        if intake.waiting > (FEW_TEXTS if old else 0) or (encoder is not None and not few):
            hands.settle()
            load_engines(whole=not old)
        deleted = write_documents(folder / "text", last, changes, documents, task.progress)
        files = _described(changes, last, making.made)
        encoded = _vectors(folder, last, old, files, intake, encoder)
        write_small_files(folder / "meta", files, last.saved, changes.guidance, making.maker.counter)
        builder_id = _builder_id(task, last)
        write_notes(folder / "meta", {"scan": scan_record(task.names, now_ns, builder_id), "probes": encoded.nearest})
        facts = {"builder_id": builder_id, **_facts(chosen, encoded, making.maker.pieces, files, deleted)}
        number = publication.next_number(task.index_dir)
        return publication.publish(task.index_dir, folder, facts, number, last.generation), encoded.embedded


def _builder_id(task: Task, last: Previous) -> str:
    """The id of whoever builds: as it was handed in, else as it was, else a new one."""
    return task.options.builder_id or (last.generation.builder_id if last.generation else "") or builders.new_id()


def _facts(
    chosen: Chosen, encoded: Encoded, pieces: str, files: Mapping[str, FileState], deleted: int
) -> dict[str, Any]:
    """What the manifest says of the generation."""
    return {
        "made_by": __version__,
        "encoder": chosen.name,
        "pieces": pieces,
        "fingerprint": chosen.fingerprint,
        "background": encoded.background,
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {
            "capabilities": len(finals(files)),
            "rows": encoded.rows,
            "stored": encoded.stored,
            "dim": chosen.encoder.dim if chosen.encoder else 0,
            "deleted": deleted,
            "files": len(files),
        },
    }


def load_engines(whole: bool = True) -> None:
    """Load now what will be needed: with too little memory for it this is an error here, and in the middle of the text
    engine's work it would end the process."""
    engines.numpy()
    if whole:
        engines.lancedb()


class _Making:
    """Makes the changed capabilities' documents; keeps the rest of what is made of each in `made` and the intake."""

    def __init__(self, changes: Changes, intake: Intake, hands: Hands, checked: Encoder | None) -> None:
        self.maker = Maker(len(changes.descriptors), checked)
        self.made: dict[str, Claim] = {}
        self._changes, self._intake, self._hands = changes, intake, hands

    def documents(self) -> Iterator[Document]:
        """All of them, in the order of their ids."""
        keys, record = sorted(self._changes.descriptors), self._changes.descriptors.record
        jobs = ((key, record(key)) for key in keys)
        for key, each in zip(keys, self._hands.map(make_elsewhere, jobs, len(keys), self.maker.make), strict=True):
            texts, digest = self._intake.take(each.texts), self._changes.digests[key]
            self.made[key] = Claim(id=key, texts=texts, digest=digest, card=each.card)
            yield each.document


def _described(changes: Changes, last: Previous, made: Mapping[str, Claim]) -> dict[str, FileState]:
    """The files' states with what the overview and the vectors need of each indexed capability."""
    known = {claim.final: claim for one in last.files.values() for claim in one.claims if claim.final}
    found, before = {**known, **made}, last.files
    return {
        path: one
        if before.get(path) is one
        else one.with_claims(_described_claim(claim, found.get(claim.final)) for claim in one.claims)
        for path, one in changes.files.items()
    }


def _described_claim(claim: Claim, found: Claim | None) -> Claim:
    if not claim.final or found is None or (claim.digest == found.digest and claim.card is not None):
        return claim
    return claim._replace(texts=found.texts, digest=found.digest, card=found.card)


def _vectors(
    folder: Path,
    last: Previous,
    old: Mapping[str, int],
    files: Mapping[str, FileState],
    intake: Intake,
    encoder: Encoder | None,
) -> Encoded:
    if encoder is None:
        return Encoded()
    if last.generation is not None and last.generation.fingerprint != encoder.fingerprint:
        for head in Documents(folder / "text").everything():
            intake.take(embedding_texts(from_record(head)))
    return write_vectors(folder, last, old, wanted_texts(files), intake, encoder)
