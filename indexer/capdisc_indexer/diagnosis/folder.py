"""The folder that the index lies in: whose it is, who writes to it now, and what was left there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer.diagnosis.commands import index_command, quoted
from capdisc_indexer.diagnosis.values import Check, State
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.store import collecting, generation, locks, permissions
from capdisc_indexer.store.filesystem import mount_of
from capdisc_indexer.store.holder import Holder


def present(index_dir: Path) -> Check:
    """Whether there is a folder that can be read and holds an index."""
    name = "folder"
    if not os.path.lexists(index_dir):
        return Check(name=name, state=State.UNUSABLE, text=f"there is no {index_dir}", fix=index_command(index_dir))
    try:
        generation.check_folder(index_dir)
        os.listdir(index_dir)
    except CapdiscError as error:
        return Check(name=name, state=State.UNUSABLE, text=error.message, fix=error.hint)
    except OSError as error:
        text = f"{index_dir} cannot be read: {error.strerror}"
        return Check(name=name, state=State.UNUSABLE, text=text, fix=f"chmod u+rwx {quoted(index_dir)}")
    return Check(name=name, state=State.OK, text=str(index_dir))


def about(index_dir: Path) -> Iterator[Check]:
    """What else there is to say of a folder that is there."""
    yield _permissions(index_dir)
    yield _lock(index_dir)
    yield _file_system(index_dir)
    yield _space(index_dir)


def _permissions(index_dir: Path) -> Check:
    name = "permissions"
    if found := permissions.flaw(index_dir, {os.geteuid()}):
        folder, reason = found
        fix = f"chmod go-w {quoted(folder)}" if "others" in reason else "run capdisc index as that user"
        return Check(name=name, state=State.PROBLEM, text=f"{folder}: {reason}", fix=fix)
    if not os.access(index_dir, os.W_OK):
        text = "may only be read: searching works, indexing does not"
        return Check(name=name, state=State.NOTICE, text=text, fix=f"chmod u+w {quoted(index_dir)}")
    return Check(name=name, state=State.OK, text="only its owner may write to it")


def _lock(index_dir: Path) -> Check:
    held, who = locks.held_by(index_dir)
    if held:
        return _held(who)
    if who and who.is_elsewhere and mount_of(index_dir).shared:
        text = f"{who} is writing, or was ended while it did"
        return Check(name="lock", state=State.PROBLEM, text=text, fix=f"rm {quoted(index_dir / 'LOCK')}")
    return Check(name="lock", state=State.OK, text="nobody is writing")


def _held(who: Holder | None) -> Check:
    name, text = "lock", f"{who or 'another process'} is writing"
    if who and who.state == "stopped":
        return Check(name=name, state=State.PROBLEM, text=text, fix=f"kill -CONT {who.pid}")
    return Check(name=name, state=State.NOTICE, text=text)


def _file_system(index_dir: Path) -> Check:
    name, mount = "file system", mount_of(index_dir)
    where = f"{mount.kind or 'unknown'}, mounted at {mount.point}" if mount.point else "unknown"
    if mount.shared:
        text = f"{where}: locks may not reach other machines; write from one of them only"
    elif mount.plain:
        text = f"{where}: no permissions or hard links there, so that files are copied and others may read them"
    elif mount.kind == "overlay":
        text = f"{where}: in a container, what is there may go with it"
    else:
        return Check(name=name, state=State.OK, text=where)
    return Check(name=name, state=State.NOTICE, text=text, fix="choose another with --index-dir DIR")


def _space(index_dir: Path) -> Check:
    """A build needs room for a whole index beside the last one; half as much again for what it packs later."""
    status = os.statvfs(index_dir)
    free = status.f_bavail * status.f_frsize
    used = sum(path.stat().st_size for path in index_dir.rglob("*") if path.is_file())
    text = f"{free / 1e6:,.0f} MB free, {used / 1e6:,.1f} MB used"
    full = free < max(1_000_000, used) * 1.5 or (status.f_files and status.f_favail < 100)
    fix = f"free some space on {mount_of(index_dir).point or 'that disk'}" if full else ""
    return Check(name="space", state=State.PROBLEM if full else State.OK, text=text, fix=fix)


def leftovers(index_dir: Path, published: int) -> Check:
    """What killed writers left, while nobody is writing."""
    name = "leftovers"
    if locks.held_by(index_dir)[0]:
        return Check(name=name, state=State.OK, text="not looked at while someone is writing")
    found = [path.name for path in collecting.unfinished(index_dir)]
    found += [f"generation {number}" for number in collecting.surplus(index_dir, published)]
    if found:
        fix = index_command(index_dir)
        return Check(name=name, state=State.NOTICE, text=f"left by a writer: {', '.join(found[:5])}", fix=fix)
    return Check(name=name, state=State.OK, text="none")
