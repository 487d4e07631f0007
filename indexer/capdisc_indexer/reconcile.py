"""What changed on disk since the last build."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capdisc_indexer.frozen import field, frozen
from capdisc_indexer.hands import Hands
from capdisc_indexer.ownership import assign
from capdisc_indexer.reading import Reader
from capdisc_indexer.records import record_digest
from capdisc_indexer.sources.files import FileStat
from capdisc_indexer.sources.scan import ScanResult
from capdisc_indexer.spool import Spool, Spooled, Stored
from capdisc_indexer.state import FileState
from capdisc_indexer.types import BuildOptions, Finding, HeldDefinition

if TYPE_CHECKING:
    from capdisc_indexer.changed_definitions import Published, Review

Progress = Callable[[str, int, int], None]


def _nothing(ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    return {}


@frozen(kw_only=True)
class Changes:
    """The files as they are now, and the descriptors that differ from the last build's, with their digests; `guidance`
    is by category, as `check.guiding` gives it."""

    files: dict[str, FileState]
    descriptors: Spooled
    digests: dict[str, str]
    findings: tuple[Finding, ...]
    parsed: int
    hashed: int
    guidance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    held_definitions: tuple[HeldDefinition, ...] = ()
    changed_definitions: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def reconcile(
    found: ScanResult,
    old: Mapping[str, FileState],
    scanned_at_ns: int,
    options: BuildOptions,
    spool: Spool,
    hands: Hands,
    progress: Progress,
    published: Published = _nothing,
) -> Changes:
    """Every file's state as it was `found`; `descriptors` holds, by final id, those whose document must be written
    again; they lie in the spool. `published` gives records of the last generation by their ids."""
    reader = Reader(old, spool, scanned_at_ns, options.verify, options.grace_s)
    files: dict[str, FileState] = {}
    for done, state in enumerate(reader.states(found.files, hands), 1):
        files[state.path] = state
        progress("Reading", done, len(found.files))
    review = _reviewed(found, files, old, reader, options, spool, published)
    if review:
        files.update(review.files)
    if not _same(files, old):
        assign(files, found.files)
    by_path = {file.path: file for file in found.files}
    places: dict[str, Stored] = {}
    for path, state in files.items():
        if reader.has(path) or _renamed(state, old.get(path)):
            now = _final(state, reader.stored(by_path[path]))
            places.update(now)
            # A file that changed again since it was looked at keeps only what it still declares.
            files[path] = state.with_claims(c for c in state.claims if not c.final or c.final in now)
    spooled = Spooled(spool, places)
    digests = {key: _digest(key, place, spooled) for key, place in places.items()}
    known = _digests(old) if digests else {}
    changed = [key for key, digest in digests.items() if known.get(key) != digest]
    guidance, wrong = _guided(found.guidance)
    return Changes(
        files=files,
        descriptors=Spooled(spool, {key: places[key] for key in changed}),
        digests={key: digests[key] for key in changed},
        findings=(*found.findings, *reader.unfinished, *wrong),
        parsed=reader.parsed,
        hashed=reader.hashed,
        guidance=guidance,
        held_definitions=review.held if review else (),
        changed_definitions=review.changed if review else (),
        notices=review.notices if review else (),
    )


def _reviewed(
    found: ScanResult,
    files: Mapping[str, FileState],
    old: Mapping[str, FileState],
    reader: Reader,
    options: BuildOptions,
    spool: Spool,
    published: Published,
) -> Review | None:
    if options.guard is None or not reader.parsed_files:
        return None
    # With SQLite and the rules on changes, which a run that parses nothing has no use for.
    from capdisc_indexer.changed_definitions import ParsedFiles, review_definitions

    parsed = ParsedFiles(files=found.files, stored=reader.parsed_files, now=files, old=old, spool=spool)
    return review_definitions(parsed, options.guard, published)


def _digests(files: Mapping[str, FileState]) -> dict[str, str]:
    return {claim.final: claim.digest for state in files.values() for claim in state.claims if claim.final}


def _guided(files: Sequence[FileStat]) -> tuple[Mapping[str, Mapping[str, str]], Sequence[Finding]]:
    if not files:
        return {}, ()
    from capdisc_indexer.check.guiding import guided  # with the rules for what a prompt may show

    return guided(files)


def _same(files: Mapping[str, FileState], old: Mapping[str, FileState]) -> bool:
    """Whether these are the very states of the last build, in their order: then every id stays whose it is."""
    return len(files) == len(old) and all(map(operator.is_, files.values(), old.values()))


def _renamed(state: FileState, known: FileState | None) -> bool:
    if known is state:
        return False
    return known is None or [claim.final for claim in state.claims] != [claim.final for claim in known.claims]


def _final(state: FileState, stored: Sequence[Stored]) -> dict[str, Stored]:
    pairs = [(claim, each) for claim, each in zip(state.claims, stored, strict=False) if claim.id == each.id]
    return {claim.final: place for claim, place in pairs if claim.final}


def _digest(final: str, place: Stored, spooled: Spooled) -> str:
    return place.digest if place.id == final else record_digest(spooled[final])
