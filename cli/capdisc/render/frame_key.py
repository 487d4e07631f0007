"""The secret of this user that marks of frames are made with, kept so that prompts begin alike."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from capdisc.output import console
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.platforms import system
from capdisc_indexer.rendering.formats.text import MARK_KEY_BYTES

KEY_NAME = "frame.key"


def frame_key(folder: Path) -> bytes:
    """The secret of 32 bytes in the user's state folder, made on first use. Where it cannot be
    kept, another one for each print, after a notice: no prompt cache finds such a prompt again.
    """
    path = folder / KEY_NAME
    if key := _read_key(path):
        return key
    try:
        return _make_key(path)
    except CapdiscError as error:
        console.print_notice(
            f"notice: the marks around texts differ from prompt to prompt: {error.message}"
        )
        console.print_notice(f"hint: {error.hint}")
        return os.urandom(MARK_KEY_BYTES)


def _read_key(path: Path) -> bytes:
    """The secret; b"" where there is none that only this user could write and read."""
    try:
        handle = system.open_file(path)
    except OSError:
        return b""
    try:
        status = os.fstat(handle)
        is_private = stat.S_ISREG(status.st_mode) and not system.can_others_read(status)
        key = (
            os.read(handle, MARK_KEY_BYTES + 1)
            if is_private and status.st_uid == system.own_user()
            else b""
        )
    except OSError:
        return b""
    finally:
        os.close(handle)
    return key if len(key) == MARK_KEY_BYTES else b""


def _make_key(path: Path) -> bytes:
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(path.parent):
        # Another process may have been faster.
        key = _read_key(path)
        if not key:
            key = os.urandom(MARK_KEY_BYTES)
            state_file.replace_state_file(path, key)
    return key
