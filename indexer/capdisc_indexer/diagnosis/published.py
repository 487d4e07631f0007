"""The published generation: whether it is whole, and whether its stores say the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from capdisc_indexer import __version__, state
from capdisc_indexer.diagnosis.commands import index_command, quoted
from capdisc_indexer.diagnosis.values import Check, State
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.index import Index
from capdisc_indexer.previous import is_built_by
from capdisc_indexer.store import collecting, generation, integrity, pending, vectors
from capdisc_indexer.types import Generation


def pointed_to(index_dir: Path) -> tuple[Generation | None, Check]:
    """The generation that CURRENT points to, by its manifest."""
    name = "generation"
    try:
        found = generation.described(index_dir)
    except (CapdiscError, OSError) as error:
        return None, _unusable(name, index_dir, str(error))
    if found is None:
        text = "none is published" + (", though some are there" if collecting.numbers(index_dir) else "")
        return None, _unusable(name, index_dir, text)
    text = f"{found.number}, of {found.built_at}, by capdisc {found.made_by}"
    if found.made_by != __version__:
        text = f"{text}; the next build of this release, {__version__}, starts anew"
        return found, Check(name=name, state=State.NOTICE, text=text, fix=index_command(index_dir))
    return found, Check(name=name, state=State.OK, text=text)


def is_by(index_dir: Path, found: Generation | None, builder_id: str) -> bool:
    """Whether this builder made what is published, or where that cannot be read, what is there."""
    return found.builder_id == builder_id if found else is_built_by(index_dir, builder_id)


def foreign(index_dir: Path, problem: Check | None) -> Check:
    """What is to be said of an index that another built, or of the `problem` with one that nobody vouches for."""
    place = quoted(index_dir)
    text = problem.text if problem else f"it was not built by you; to see whose it is: capdisc trust {place}"
    return Check(name="generation", state=State.UNUSABLE, text=text, fix=f"capdisc index --index-dir {place}")


def _lack(index: Index) -> str:
    """Which texts have no vector, in the vector store or beside it."""
    beside, _ = pending.read(index.folder / "pending")
    texts = state.wanted_texts(state.load(index.folder / "meta" / "files.json").files)
    wanted = set(chain.from_iterable(texts.values()))
    missing = len(wanted - vectors.hashes(index.folder / "vectors") - set(beside))
    return f"the vector store lacks {missing:,} of {len(wanted):,} texts" if missing else ""


Lack = Callable[[Index], str]


def contents(index_dir: Path, found: Generation, deep: bool, lack: Lack = _lack) -> Iterator[Check]:
    """Files, then the stores that they make up; with `deep`, every byte and every row. `lack` says what the vector
    store lacks."""
    files = _files(index_dir, found, deep)
    yield files
    if files.state is State.OK:
        stores = _stores(index_dir, lack if deep else None)
        yield stores
        if stores.state is State.OK:
            yield from _definitions(index_dir, found)


def _files(index_dir: Path, found: Generation, deep: bool) -> Check:
    name, gen = "files", generation.folder(index_dir, found.number)
    try:
        integrity.check(gen, found.files)
    except (CapdiscError, OSError) as error:
        return _unusable(name, index_dir, str(error))
    if not deep:
        return Check(name=name, state=State.OK, text=f"{len(found.files)}, of the right sizes")
    if wrong := integrity.wrong(gen, found.files):
        return _unusable(name, index_dir, f"changed since they were published: {', '.join(wrong[:5])}")
    if strange := integrity.strange(gen, found.files):
        return _unusable(name, index_dir, f"nobody published: {', '.join(strange[:5])}")
    return Check(name=name, state=State.OK, text=f"{len(found.files)}, every byte as published")


def _stores(index_dir: Path, lack: Lack | None) -> Check:
    name = "stores"
    try:
        with Index(index_dir) as index:
            count, rows = index.generation.counts["capabilities"], index.generation.counts["rows"]
            problem = _disagreement(index, lack) if lack else ""
    except (CapdiscError, OSError) as error:
        return _unusable(name, index_dir, str(error))
    if problem:
        return _unusable(name, index_dir, problem)
    return Check(name=name, state=State.OK, text=f"{count:,} capabilities, {rows:,} vectors")


def _disagreement(index: Index, lack: Lack) -> str:
    """How the three stores differ; opening has compared their sizes, but for the vector store's, which takes 1 s."""
    ids = [head["id"] for head in index.documents.everything()]
    for identifier in ids:
        index.documents.body(identifier)
    if index.columns.ids != sorted(ids):
        return "the columns of lists name other capabilities than the text index"
    if index.matrix is None:
        return ""
    if index.matrix.names() != sorted(ids):
        return "the matrix names other capabilities than the text index"
    return lack(index)


def _unusable(name: str, index_dir: Path, text: str) -> Check:
    return Check(name=name, state=State.UNUSABLE, text=text, fix=index_command(index_dir, "--rebuild"))


def _definitions(index_dir: Path, found: Generation) -> Iterator[Check]:
    """Whether something waits for its user's yes; nothing where nothing does."""
    files = state.load(generation.folder(index_dir, found.number) / "meta" / "files.json").files
    held = sorted({claim.id for one in files.values() for claim in one.claims if claim.status == state.HELD})
    if held:
        more = f" and {len(held) - 1:,} more" if len(held) > 1 else ""
        text = f"held back, since their definitions changed: {held[0]}{more}"
        yield Check(name="definitions", state=State.NOTICE, text=text, fix=f"capdisc trust {shlex.quote(held[0])}")
