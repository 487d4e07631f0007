"""What is wrong with an index, and the command that mends it. Checks only read.

`published_generation` checks the index folder and what is published in it, `surroundings` what the
index depends on. For an index on an object store, it is checked whether the store answers, and
whether the local copy is complete and up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer import remote
from capdisc_indexer.diagnosis import published_generation, surroundings
from capdisc_indexer.diagnosis.surroundings import Check, CheckState, quote_path, worst_state
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.remote import SharedIndex, remote_generation
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.store import generation
from capdisc_indexer.store.snapshot import Index

__all__ = ["Check", "CheckState", "examine_index", "worst_state"]


def examine_index(
    index_dir: Path, deep: bool, now_ns: int, builder_id: str | None = None
) -> Iterator[Check]:
    """The checks of a local index, as far as the results of earlier checks allow them; `deep`
    reads every byte and every row.

    Of an index by another builder than `builder_id` (None: any builder) nothing is printed, not
    even its folders.
    """
    presence = published_generation.examine_presence(index_dir)
    yield presence
    if presence.state is CheckState.UNUSABLE:
        return
    yield from published_generation.examine_folder(index_dir)
    manifest, generation = published_generation.examine_pointer(index_dir)
    if builder_id is not None and not published_generation.is_built_by_user(
        index_dir, manifest, builder_id
    ):
        yield published_generation.foreign_check(
            index_dir, generation if manifest is None else None
        )
        return
    yield generation
    if manifest is not None:
        yield published_generation.examine_leftovers(index_dir, manifest.number)
        yield from published_generation.examine_contents(index_dir, manifest, deep)
        yield published_generation.examine_table(index_dir, deep)
        yield from surroundings.examine_surroundings(index_dir, manifest, deep, now_ns)


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
        return f"rm -r {quote_path(shared.copy)}"  # the next command copies it anew
    return f"whoever builds it runs: capdisc index --rebuild --index-dir {shared.url}"


def _examine_store(shared: SharedIndex) -> tuple[str, Check]:
    """The published pointer, "" where it could not be read, and the check of the store."""
    try:
        pointer = Bucket(shared).read_pointer()
        number, _ = remote.parse_pointer(pointer.text if pointer else "")
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
        number, digest = remote.parse_pointer(generation.read_pointer(shared.copy))
        name = remote.generation_path(number, digest)

        def find_missing_vectors(index: Index) -> str:
            rows, needed = remote_generation.count(shared, name), index.generation.counts["rows"]
            return f"the vector store holds {rows:,} rows of {needed:,}" if rows != needed else ""

        yield from published_generation.examine_contents(
            shared.copy, manifest, deep, find_missing_vectors
        )
        yield surroundings.examine_encoder(shared.copy, manifest, deep)
