"""The checks of the index folder and of what is published in it: whether files are complete and
stores agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.diagnosis.surroundings import (
    NOTICE,
    OK,
    PROBLEM,
    UNUSABLE,
    Check,
    index_command,
    quote_path,
)
from capdisc_indexer.indexing.previous_build import is_built_by
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.types import Generation, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.store import (
    durable_files,
    generation,
    lance_table,
    locks,
    native_errors,
    publication,
)
from capdisc_indexer.store.durable_files import find_mount
from capdisc_indexer.store.locks import LockHolder
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.state_database import StateDatabase
from capdisc_indexer.text.normalization import name_first

# Up to this many files that a build left out are named in a command; of more, their folders.
_MAX_NAMED_FILES = 3


def examine_presence(index_dir: Path) -> Check:
    """Whether the folder exists, can be read, and holds an index."""
    name = "folder"
    if not os.path.lexists(index_dir):
        return Check(name, UNUSABLE, f"there is no {index_dir}", index_command(index_dir))
    try:
        generation.check_folder(index_dir)
        os.listdir(index_dir)
    except CapdiscError as error:
        return Check(name, UNUSABLE, error.message, error.hint)
    except OSError as error:
        text = f"{index_dir} cannot be read: {error.strerror}"
        return Check(name, UNUSABLE, text, f"chmod u+rwx {quote_path(index_dir)}")
    return Check(name, OK, index_dir.as_posix())


def examine_folder(index_dir: Path) -> Iterator[Check]:
    """The checks of an existing folder: permissions, lock, file system and space."""
    yield _examine_permissions(index_dir)
    yield _examine_lock(index_dir)
    yield _examine_file_system(index_dir)
    yield _examine_space(index_dir)


def _examine_permissions(index_dir: Path) -> Check:
    name = "permissions"
    if flaw := durable_files.find_permission_flaw(index_dir, {system.own_user()}):
        folder, reason = flaw
        fix = (
            f"chmod go-w {quote_path(folder)}"
            if "others" in reason
            else "run capdisc index as that user"
        )
        return Check(name, PROBLEM, f"{folder}: {reason}", fix)
    if not os.access(index_dir, os.W_OK):
        text = "may only be read: searching works, indexing does not"
        return Check(name, NOTICE, text, f"chmod u+w {quote_path(index_dir)}")
    return Check(name, OK, "only its owner may write to it")


def _examine_lock(index_dir: Path) -> Check:
    is_locked, holder = locks.lock_status(index_dir)
    if is_locked:
        return _writing_check(holder)
    if holder and holder.is_on_other_host and find_mount(index_dir).is_shared:
        text = f"{holder} is writing, or was killed while it wrote"
        return Check("lock", PROBLEM, text, f"rm {quote_path(index_dir / 'LOCK')}")
    return Check("lock", OK, "no process is writing")


def _writing_check(holder: LockHolder | None) -> Check:
    name, text = "lock", f"{holder or 'another process'} is writing"
    if holder and holder.state == "stopped":
        return Check(name, PROBLEM, text, f"kill -CONT {holder.pid}")
    return Check(name, NOTICE, text)


def _examine_file_system(index_dir: Path) -> Check:
    name, mount = "file system", find_mount(index_dir)
    description = (
        f"{mount.kind or 'unknown'}, mounted at {mount.point}" if mount.point else "unknown"
    )
    if mount.is_shared:
        text = f"{description}: locks may not reach other machines; write from one of them only"
    elif mount.is_limited:
        text = (
            f"{description}: no permissions or hard links there, so that files are copied and"
            " others may read them"
        )
    elif mount.kind == "overlay":
        text = f"{description}: in a container, what is there may go with it"
    else:
        return Check(name, OK, description)
    return Check(name, NOTICE, text, "choose another with --index-dir DIR")


def _examine_space(index_dir: Path) -> Check:
    """Whether a build has space for an index next to the last one, and for half as much again that
    it compresses later.
    """
    free, free_files = system.find_free_space(index_dir)
    used = durable_files.measure_folder(index_dir).bytes
    text = f"{free / 1e6:,.0f} MB free, {used / 1e6:,.1f} MB used"
    is_full = free < max(1_000_000, used) * 1.5 or (free_files is not None and free_files < 100)
    if not is_full:
        return Check("space", OK, text)
    fix = f"free some space on {find_mount(index_dir).point or 'that disk'}"
    return Check("space", PROBLEM, text, fix)


def examine_leftovers(index_dir: Path, published: int) -> Check:
    """Whether killed writers left something behind; not checked while one is writing."""
    name = "leftovers"
    if locks.lock_status(index_dir)[0]:
        return Check(name, OK, "not checked while a process is writing")
    leftover_names = [path.name for path in publication.list_unfinished(index_dir)]
    leftover_names += [
        f"generation {number}" for number in publication.surplus_generations(index_dir, published)
    ]
    if leftover_names:
        fix = index_command(index_dir)
        return Check(name, NOTICE, f"left by a writer: {', '.join(leftover_names[:5])}", fix)
    return Check(name, OK, "none")


def examine_pointer(index_dir: Path) -> tuple[Generation | None, Check]:
    """The manifest of the generation that CURRENT points to, None where it cannot be used; and its
    check.
    """
    name = "generation"
    try:
        manifest = generation.load_unchecked(index_dir)
    except (CapdiscError, OSError) as error:
        return None, _unusable_check(name, index_dir, str(error))
    if manifest is None:
        text = "none is published" + (
            ", though some are there" if publication.generation_numbers(index_dir) else ""
        )
        return None, _unusable_check(name, index_dir, text)
    text = f"{manifest.number}, of {manifest.built_at}, by capdisc {manifest.made_by}"
    if manifest.made_by != describe_release():
        text = f"{text}; the next build of this release, {describe_release()}, starts from scratch"
        return manifest, Check(name, NOTICE, text, index_command(index_dir))
    return manifest, Check(name, OK, text)


def is_built_by_user(index_dir: Path, manifest: Generation | None, builder_id: str) -> bool:
    """Whether this builder made the published generation, or the newest one where the published
    one cannot be read.
    """
    return manifest.builder_id == builder_id if manifest else is_built_by(index_dir, builder_id)


def foreign_check(index_dir: Path, problem: Check | None) -> Check:
    """The check of an index that somebody else built, or the `problem` with one whose builder is
    unknown.
    """
    place = quote_path(index_dir)
    text = f"it was not built by you; to see whose it is: capdisc trust {place}"
    return Check(
        "generation",
        UNUSABLE,
        problem.text if problem else text,
        f"capdisc index --index-dir {place}",
    )


def _find_missing_vectors(index: Index) -> str:
    """How many texts have no vector; "" for none."""
    texts = StateDatabase(index.folder).text_hashes()
    rows = index.matrix.rows_by_owner() if index.matrix else {}
    missing_count = sum(
        max(0, len(hashes) - rows.get(identifier, 0)) for identifier, hashes in texts.items()
    )
    if not missing_count:
        return ""
    return f"{missing_count:,} of {sum(map(len, texts.values())):,} texts have no vector"


# Says which vectors an open index lacks; "" for nothing.
FindMissingVectors: TypeAlias = Callable[[Index], str]


def examine_contents(
    index_dir: Path,
    manifest: Generation,
    deep: bool,
    find_missing_vectors: FindMissingVectors = _find_missing_vectors,
) -> Iterator[Check]:
    """The checks of the files, of the stores that they make up, and of definitions that were held
    back; with `deep`, every byte and every row is read.
    """
    files = _examine_files(index_dir, manifest, deep)
    yield files
    if files.state is OK:
        stores = _examine_stores(index_dir, find_missing_vectors if deep else None)
        yield stores
        if stores.state is OK:
            yield from _examine_sources(index_dir, manifest)


def examine_table(index_dir: Path) -> Check:
    """Whether the LanceDB table equals the documents, by every id and hash."""
    name = "table"
    state = lance_table.read_state(index_dir)
    if state is None:
        text = "there is no LanceDB table; capdisc index --wait writes one"
        return Check(name, OK, text)
    if not lance_table.equals_index(index_dir):
        text = f"of generation {state.generation}; capdisc index --wait brings it up to date"
        return Check(name, OK, text)
    if problem := _find_table_damage(index_dir):
        fix = index_command(index_dir, "--wait --verify")
        return Check(name, PROBLEM, problem, fix)
    text = f"{state.rows:,} rows, every id and hash as in the documents"
    return Check(name, OK, text)


def _find_table_damage(index_dir: Path) -> str:
    """How the table differs from the documents though it should not; "" where it does not."""
    from capdisc_indexer.indexing.table_update import find_stale_rows  # all that makes documents

    try:
        with Index(index_dir) as index:
            return find_stale_rows(index)
    except (CapdiscError, OSError) as error:
        return str(error)


def _examine_files(index_dir: Path, manifest: Generation, deep: bool) -> Check:
    name, folder = "files", generation.generation_folder(index_dir, manifest.number)
    try:
        native_errors.check_files(folder, manifest.files)
    except (CapdiscError, OSError) as error:
        return _unusable_check(name, index_dir, str(error))
    if not deep:
        return Check(name, OK, f"{len(manifest.files)}, of the right sizes")
    if changed := native_errors.find_changed_files(folder, manifest.files):
        text = f"changed since they were published: {', '.join(changed[:5])}"
        return _unusable_check(name, index_dir, text)
    if unknown := native_errors.find_unknown_files(folder, manifest.files):
        return _unusable_check(
            name, index_dir, f"files that were never published: {', '.join(unknown[:5])}"
        )
    return Check(name, OK, f"{len(manifest.files)}, every byte as published")


def _examine_stores(index_dir: Path, find_missing_vectors: FindMissingVectors | None) -> Check:
    name = "stores"
    try:
        with Index(index_dir) as index:
            count, rows = index.generation.counts["capabilities"], index.generation.counts["rows"]
            problem = (
                _find_disagreement(index, find_missing_vectors) if find_missing_vectors else ""
            )
    except (CapdiscError, OSError) as error:
        return _unusable_check(name, index_dir, str(error))
    if problem:
        return _unusable_check(name, index_dir, problem)
    capabilities = f"{count:,} {'capability' if count == 1 else 'capabilities'}"
    text = f"{capabilities}, {rows:,} vector{'' if rows == 1 else 's'}"
    return Check(name, OK, text)


def _find_disagreement(index: Index, find_missing_vectors: FindMissingVectors) -> str:
    """How the stores differ; "" where they agree. Opening the index has compared their sizes."""
    ids = [header["id"] for header in index.documents.all_headers()]
    for identifier in ids:
        index.documents.body(identifier)
    if index.columns.ids != sorted(ids):
        return "the columns of lists name other capabilities than the text index"
    if index.matrix is None:
        return ""
    if index.matrix.names() != sorted(ids):
        return "the matrix names other capabilities than the text index"
    return find_missing_vectors(index)


def _unusable_check(name: str, index_dir: Path, text: str) -> Check:
    return Check(name, UNUSABLE, text, index_command(index_dir, "--rebuild"))


def _examine_sources(index_dir: Path, manifest: Generation) -> Iterator[Check]:
    """Checks that name files which the build left out, and definitions which are held back; no
    check where there are none.
    """
    folder = generation.generation_folder(index_dir, manifest.number)
    files = StateDatabase(folder)
    failed = [
        state
        for state in files.values()
        if not state.declared_ids
        and any(finding.severity is Severity.ERROR for finding in state.findings)
    ]
    if failed:
        paths = [state.path for state in failed]
        roots = list(dict.fromkeys(state.root for state in failed))
        named_paths = paths if len(paths) <= _MAX_NAMED_FILES else roots
        verb = "is" if len(paths) == 1 else "are"
        yield Check(
            "files left out",
            NOTICE,
            (
                f"{len(paths):,} of {len(files):,} {verb} broken or cannot be read: "
                f"{name_first(paths, 1)}"
            ),
            f"capdisc validate {' '.join(map(system.quote_word, named_paths))}",
        )
    if held_ids := files.held_ids():
        yield Check(
            "definitions",
            NOTICE,
            f"held back, since their definitions changed: {name_first(held_ids, 1)}",
            f"capdisc trust {system.quote_word(held_ids[0])}",
        )
