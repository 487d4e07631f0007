"""The secret that the marks of frames are made with, kept for this user so that a prompt repeats
its prefix.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from capdisc.output import console

KEY_NAME = "frame.key"
KEY_BYTES = 32


def frame_key(folder: Path) -> bytes:
    """The 32 bytes in the user's state folder, made on first use. Where they cannot be kept,
    others for each print, and a notice: a prompt cache then finds nothing again.
    """
    path = folder / KEY_NAME
    if key := _read_key(path):
        return key
    from capdisc_indexer.model.errors import CapdiscError

    try:
        return _make_key(path)
    except CapdiscError as error:
        console.print_notice(
            f"notice: the marks of frames are other ones in each print: {error.message}"
        )
        console.print_notice(f"hint: {error.hint}")
        return os.urandom(KEY_BYTES)


def _read_key(path: Path) -> bytes:
    """The key; empty where there is none that only this user can have written and read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        status = os.fstat(handle)
        is_private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077
        key = (
            os.read(handle, KEY_BYTES + 1) if is_private and status.st_uid == os.geteuid() else b""
        )
    except OSError:
        return b""
    finally:
        os.close(handle)
    return key if len(key) == KEY_BYTES else b""


def _make_key(path: Path) -> bytes:
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(path.parent):
        # Another process may have been faster.
        key = _read_key(path)
        if not key:
            key = os.urandom(KEY_BYTES)
            state_file.replace_state_file(path, key)
    return key
