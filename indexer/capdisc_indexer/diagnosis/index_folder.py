"""The folder that the index lies in: whose it is, who writes to it now, and what was left
there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer.diagnosis.diagnosis_types import Check, CheckState, index_command, quote_path
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.store import generation, locks, permissions, publication
from capdisc_indexer.store.locks import LockHolder
from capdisc_indexer.store.mounts import find_mount


def examine_presence(index_dir: Path) -> Check:
    """Whether there is a folder that can be read and holds an index."""
    name = "folder"
    if not os.path.lexists(index_dir):
        return Check(
            name=name,
            state=CheckState.UNUSABLE,
            text=f"there is no {index_dir}",
            fix=index_command(index_dir),
        )
    try:
        generation.check_folder(index_dir)
        os.listdir(index_dir)
    except CapdiscError as error:
        return Check(name=name, state=CheckState.UNUSABLE, text=error.message, fix=error.hint)
    except OSError as error:
        text = f"{index_dir} cannot be read: {error.strerror}"
        return Check(
            name=name,
            state=CheckState.UNUSABLE,
            text=text,
            fix=f"chmod u+rwx {quote_path(index_dir)}",
        )
    return Check(name=name, state=CheckState.OK, text=str(index_dir))


def examine_folder(index_dir: Path) -> Iterator[Check]:
    """What else there is to say of a folder that is there."""
    yield _examine_permissions(index_dir)
    yield _examine_lock(index_dir)
    yield _examine_file_system(index_dir)
    yield _examine_space(index_dir)


def _examine_permissions(index_dir: Path) -> Check:
    name = "permissions"
    if flaw := permissions.find_permission_flaw(index_dir, {os.geteuid()}):
        folder, reason = flaw
        fix = (
            f"chmod go-w {quote_path(folder)}"
            if "others" in reason
            else "run capdisc index as that user"
        )
        return Check(name=name, state=CheckState.PROBLEM, text=f"{folder}: {reason}", fix=fix)
    if not os.access(index_dir, os.W_OK):
        text = "may only be read: searching works, indexing does not"
        return Check(
            name=name, state=CheckState.NOTICE, text=text, fix=f"chmod u+w {quote_path(index_dir)}"
        )
    return Check(name=name, state=CheckState.OK, text="only its owner may write to it")


def _examine_lock(index_dir: Path) -> Check:
    is_locked, holder = locks.lock_status(index_dir)
    if is_locked:
        return _writing_check(holder)
    if holder and holder.is_on_other_host and find_mount(index_dir).is_shared:
        text = f"{holder} is writing, or was ended while it did"
        return Check(
            name="lock",
            state=CheckState.PROBLEM,
            text=text,
            fix=f"rm {quote_path(index_dir / 'LOCK')}",
        )
    return Check(name="lock", state=CheckState.OK, text="nobody is writing")


def _writing_check(holder: LockHolder | None) -> Check:
    name, text = "lock", f"{holder or 'another process'} is writing"
    if holder and holder.state == "stopped":
        return Check(name=name, state=CheckState.PROBLEM, text=text, fix=f"kill -CONT {holder.pid}")
    return Check(name=name, state=CheckState.NOTICE, text=text)


def _examine_file_system(index_dir: Path) -> Check:
    name, mount = "file system", find_mount(index_dir)
    description = (
        f"{mount.kind or 'unknown'}, mounted at {mount.point}" if mount.point else "unknown"
    )
    if mount.is_shared:
        text = f"{description}: locks may not reach other machines; write from one of them only"
    elif mount.is_limited:
        text = f"{description}: no permissions or hard links there, so that files are copied and others may read them"
    elif mount.kind == "overlay":
        text = f"{description}: in a container, what is there may go with it"
    else:
        return Check(name=name, state=CheckState.OK, text=description)
    return Check(
        name=name, state=CheckState.NOTICE, text=text, fix="choose another with --index-dir DIR"
    )


def _examine_space(index_dir: Path) -> Check:
    """A build needs room for a whole index beside the last one; half as much again for what it
    packs later.
    """
    status = os.statvfs(index_dir)
    free = status.f_bavail * status.f_frsize
    used = sum(path.stat().st_size for path in index_dir.rglob("*") if path.is_file())
    text = f"{free / 1e6:,.0f} MB free, {used / 1e6:,.1f} MB used"
    full = free < max(1_000_000, used) * 1.5 or (status.f_files and status.f_favail < 100)
    fix = f"free some space on {find_mount(index_dir).point or 'that disk'}" if full else ""
    return Check(
        name="space", state=CheckState.PROBLEM if full else CheckState.OK, text=text, fix=fix
    )


def examine_leftovers(index_dir: Path, published: int) -> Check:
    """What killed writers left, while nobody is writing."""
    name = "leftovers"
    if locks.lock_status(index_dir)[0]:
        return Check(name=name, state=CheckState.OK, text="not looked at while someone is writing")
    leftover_names = [path.name for path in publication.list_unfinished(index_dir)]
    leftover_names += [
        f"generation {number}" for number in publication.surplus_generations(index_dir, published)
    ]
    if leftover_names:
        fix = index_command(index_dir)
        return Check(
            name=name,
            state=CheckState.NOTICE,
            text=f"left by a writer: {', '.join(leftover_names[:5])}",
            fix=fix,
        )
    return Check(name=name, state=CheckState.OK, text="none")
