"""Who may change the index: its owner alone.

What is inside reveals what someone's agents can do, and whoever can write there decides what they
do next.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.store.durable_files import sync_folder

_OTHER_FOLDER_HINT = "choose another with --index-dir DIR"


def make_private_folder(path: Path) -> None:
    """Make the folder, and what is missing above it, for its owner alone; a power cut does not
    undo it.
    """
    try:
        for missing in reversed(
            [folder for folder in (path, *path.parents) if not folder.exists()]
        ):
            missing.mkdir(mode=0o700, exist_ok=True)
            sync_folder(missing.parent)
        path.mkdir(exist_ok=True)  # which says so when a file has the name
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be made: {path} ({error.strerror})", _OTHER_FOLDER_HINT
        ) from error


def check_ownership(index_dir: Path) -> None:
    """Raises IndexStateError unless only this user may write to the index, and it is this user's.

    Not even root may write to another user's: what it made there would be beyond that user's
    reach.
    """
    if (index_dir / "gens").is_symlink():
        # It can have come with a clone, and what is published and collected there is whole
        # folders.
        raise IndexStateError(
            f"not writing to {index_dir / 'gens'}: it is a link",
            f"remove it; or {_OTHER_FOLDER_HINT}",
        )
    if reason := find_permission_flaw(index_dir, {os.geteuid()}):
        hint = f"run: chmod go-w {reason[0]}" if "others" in reason[1] else "run this as that user"
        raise IndexStateError(
            f"not writing to {reason[0]}: {reason[1]}", f"{hint}; or {_OTHER_FOLDER_HINT}"
        )


def distrust_reason(index_dir: Path) -> str:
    """Why someone else may have made the index what it is; empty when only this user and root
    could.
    """
    reason = find_permission_flaw(index_dir, {os.geteuid(), 0})
    return f"what is in {reason[0]} may not be yours: {reason[1]}" if reason else ""


def find_permission_flaw(index_dir: Path, owners: Collection[int]) -> tuple[Path, str] | None:
    """The folder of the index that others may write to, or that belongs to none of `owners`, and
    which it is.
    """
    for folder in (index_dir, index_dir / "gens"):
        try:
            status = folder.stat()
        except OSError:
            continue
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return folder, f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_uid not in owners:
            return folder, f"it belongs to another user (number {status.st_uid})"
    return None
