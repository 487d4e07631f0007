"""Whether the store of a shared index answers, and whether its copy here is complete and current.
Checks only read.
"""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.diagnosis import published_generation, surroundings
from capdisc_indexer.diagnosis.surroundings import Check, CheckState, quote_path
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.store import generation
from capdisc_indexer.store.shared_index import SharedIndex
from capdisc_indexer.store.snapshot import Index
from capdisc_remote import remote_generation, store_layout
from capdisc_remote.bucket import Bucket


def examine_shared_index(shared: SharedIndex, deep: bool) -> Iterator[Check]:
    """The checks of the store and of the copy; `deep` reads every byte of the copy, and counts the
    rows in the store.
    """
    published_pointer, store = _examine_store(shared)
    yield store
    yield _examine_copy(shared, published_pointer)
    if generation.read_pointer(shared.copy):
        for check in _examine_copy_contents(shared, deep):
            yield replace(check, fix=_fix_for_reader(check, shared))


def _fix_for_reader(check: Check, shared: SharedIndex) -> str:
    """The command that mends a copy: a reader cannot build, only fetch a fresh copy."""
    if not check.fix.startswith("capdisc index"):
        return check.fix
    if check.name in ("files", "stores", "generation"):
        return f"rm -r {quote_path(shared.copy)}"  # the next command copies it again
    return f"whoever builds it runs: capdisc index --rebuild --index-dir {shared.url}"


def _examine_store(shared: SharedIndex) -> tuple[str, Check]:
    """The published pointer, "" where it could not be read, and the check of the store."""
    try:
        pointer = Bucket(shared).read_pointer()
        number = store_layout.parse_pointer(pointer.text if pointer else "").number
    except CapdiscError as error:
        # With a copy, commands still answer: then it is a problem, no more.
        state = CheckState.PROBLEM if generation.read_pointer(shared.copy) else CheckState.UNUSABLE
        return "", Check(name="store", state=state, text=error.message, fix=error.hint)
    text = f"{shared.url} answers, generation {number} is published"
    return pointer.text if pointer else "", Check(name="store", state=CheckState.OK, text=text)


def _examine_copy(shared: SharedIndex, published_pointer: str) -> Check:
    local_pointer = generation.read_pointer(shared.copy)
    if local_pointer and local_pointer == published_pointer:
        return Check(name="copy", state=CheckState.OK, text=str(shared.copy))
    if local_pointer:
        verb = "is" if published_pointer else "may be"
        problem = f"{shared.copy} {verb} older than what is published"
    else:
        problem = "there is none yet" if published_pointer else "there is none"
    return Check(
        name="copy", state=CheckState.NOTICE, text=f"{problem}: the next search copies it"
    )


def _examine_copy_contents(shared: SharedIndex, deep: bool) -> Iterator[Check]:
    yield from published_generation.examine_folder(shared.copy)
    manifest, check = published_generation.examine_pointer(shared.copy)
    yield check
    if manifest is not None:
        name = store_layout.parse_pointer(generation.read_pointer(shared.copy)).folder

        def find_missing_vectors(index: Index) -> str:
            rows, needed = remote_generation.count(shared, name), index.generation.counts["rows"]
            return f"the table holds {rows:,} rows of {needed:,}" if rows != needed else ""

        yield from published_generation.examine_contents(
            shared.copy, manifest, deep, find_missing_vectors
        )
        yield surroundings.examine_encoder(shared.copy, manifest, deep)
