"""A shared index: whether its store answers, and whether the copy here is what is published and whole."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.diagnosis import folder, published, surroundings
from capdisc_indexer.diagnosis.commands import quoted
from capdisc_indexer.diagnosis.values import Check, State
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.frozen import replace
from capdisc_indexer.index import Index
from capdisc_indexer.remote import layout, table
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.remote.values import Shared
from capdisc_indexer.store import generation


def examine_shared(shared: Shared, deep: bool) -> Iterator[Check]:
    """Every check that makes sense; `deep` reads every byte of the copy, and counts the rows in the store."""
    text, store = _store(shared)
    yield store
    yield _copy(shared, text)
    if generation.pointer(shared.copy):
        again = f"rm -r {quoted(shared.copy)}"  # the next command copies it anew
        for check in _of_copy(shared, deep):
            ours = check.name in ("files", "stores", "generation") and check.fix.startswith("capdisc index")
            theirs = f"whoever builds it runs: capdisc index --rebuild --index-dir {shared.url}"
            fix = again if ours else theirs if check.fix.startswith("capdisc index") else check.fix
            yield replace(check, fix=fix)


def _store(shared: Shared) -> tuple[str, Check]:
    """What the pointer says, if it could be read."""
    try:
        head = Bucket(shared).look()
        number, _ = layout.pointed(head.text if head else "")
    except CapdiscError as error:
        # What can still answer is only a problem.
        state = State.PROBLEM if generation.pointer(shared.copy) else State.UNUSABLE
        return "", Check(name="store", state=state, text=error.message, fix=error.hint)
    text = f"{shared.url} answers, generation {number} is published"
    return head.text if head else "", Check(name="store", state=State.OK, text=text)


def _copy(shared: Shared, text: str) -> Check:
    held = generation.pointer(shared.copy)
    if held and held == text:
        return Check(name="copy", state=State.OK, text=str(shared.copy))
    what = f"{shared.copy} is older than what is published" if held else "there is none yet"
    if not text:
        what = f"{shared.copy} may be older than what is published" if held else "there is none"
    return Check(name="copy", state=State.NOTICE, text=f"{what}: the next search copies it")


def _of_copy(shared: Shared, deep: bool) -> Iterator[Check]:
    yield from folder.about(shared.copy)
    found, check = published.pointed_to(shared.copy)
    yield check
    if found is not None:
        number, digest = layout.pointed(generation.pointer(shared.copy))
        name = layout.folder_name(number, digest)

        def lack(index: Index) -> str:
            rows, needed = table.count(shared, name), index.generation.counts["rows"]
            return f"the vector store holds {rows:,} rows of {needed:,}" if rows != needed else ""

        yield from published.contents(shared.copy, found, deep, lack)
        yield surroundings.encoder(shared.copy, found, deep)
