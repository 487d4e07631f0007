"""A shared index: whether its store answers, and whether the copy here is what is published and
whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.diagnosis import published_generation, surroundings
from capdisc_indexer.diagnosis.surroundings import Check, CheckState, quote_path
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.remote import remote_types, remote_vectors
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.remote.remote_types import SharedIndex
from capdisc_indexer.store import generation
from capdisc_indexer.store.snapshot import Index


def examine_shared_index(shared: SharedIndex, deep: bool) -> Iterator[Check]:
    """Every check that makes sense; `deep` reads every byte of the copy, and counts the rows in
    the store.
    """
    text, store = _examine_store(shared)
    yield store
    yield _examine_copy(shared, text)
    if generation.read_pointer(shared.copy):
        own_fix = f"rm -r {quote_path(shared.copy)}"  # the next command copies it anew
        for check in _examine_copy_contents(shared, deep):
            ours = check.name in ("files", "stores", "generation") and check.fix.startswith(
                "capdisc index"
            )
            builder_fix = (
                f"whoever builds it runs: capdisc index --rebuild --index-dir {shared.url}"
            )
            fix = (
                own_fix
                if ours
                else builder_fix
                if check.fix.startswith("capdisc index")
                else check.fix
            )
            yield replace(check, fix=fix)


def _examine_store(shared: SharedIndex) -> tuple[str, Check]:
    """What the pointer says, if it could be read."""
    try:
        pointer = Bucket(shared).read_pointer()
        number, _ = remote_types.parse_pointer(pointer.text if pointer else "")
    except CapdiscError as error:
        # What can still answer is only a problem.
        state = CheckState.PROBLEM if generation.read_pointer(shared.copy) else CheckState.UNUSABLE
        return "", Check(name="store", state=state, text=error.message, fix=error.hint)
    text = f"{shared.url} answers, generation {number} is published"
    return pointer.text if pointer else "", Check(name="store", state=CheckState.OK, text=text)


def _examine_copy(shared: SharedIndex, text: str) -> Check:
    local_pointer = generation.read_pointer(shared.copy)
    if local_pointer and local_pointer == text:
        return Check(name="copy", state=CheckState.OK, text=str(shared.copy))
    problem = (
        f"{shared.copy} is older than what is published" if local_pointer else "there is none yet"
    )
    if not text:
        problem = (
            f"{shared.copy} may be older than what is published"
            if local_pointer
            else "there is none"
        )
    return Check(name="copy", state=CheckState.NOTICE, text=f"{problem}: the next search copies it")


def _examine_copy_contents(shared: SharedIndex, deep: bool) -> Iterator[Check]:
    yield from published_generation.examine_folder(shared.copy)
    manifest, check = published_generation.examine_pointer(shared.copy)
    yield check
    if manifest is not None:
        number, digest = remote_types.parse_pointer(generation.read_pointer(shared.copy))
        name = remote_types.generation_path(number, digest)

        def lack(index: Index) -> str:
            rows, needed = remote_vectors.count(shared, name), index.generation.counts["rows"]
            return f"the vector store holds {rows:,} rows of {needed:,}" if rows != needed else ""

        yield from published_generation.examine_contents(shared.copy, manifest, deep, lack)
        yield surroundings.examine_encoder(shared.copy, manifest, deep)
