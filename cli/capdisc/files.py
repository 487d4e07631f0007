"""Files that a command is given to read, or told to write: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from capdisc import runtime
from capdisc_indexer.errors import InputError

STDIN = "-"


def read(here: runtime.Runtime, name: str) -> bytes:
    """The bytes of the file, or of stdin for `-`. Raises InputError when it cannot be read."""
    if name == STDIN:
        return runtime.stdin_text().encode("utf-8", "replace")
    try:
        return here.expand(Path(name)).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}", "name a file that can be read") from error


def check_target(path: Path) -> None:
    """Raises InputError where nothing could be written, before any work is done for it."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {path}", "name a file in a folder that exists and can be written")


def write(path: Path, data: bytes) -> None:
    """Replace the file in one step. What is no plain file is written to and stays what it is: a pipe, a device, a link.

    A link is never replaced: /dev/stdout is one, and with the rights to do so its whole system would lose it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(data)
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        # As any new file would be; what mkstemp makes is for its owner alone.
        fresh.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
