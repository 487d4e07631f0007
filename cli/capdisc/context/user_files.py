"""Reads and writes files that a user names on the command line: whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import command_process
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.platforms import system
from capdisc_indexer.store import durable_files

STDIN = "-"
# The most that is read of a file; a thousand calls or many thousand queries have less.
MAX_FILE_BYTES = 64 * 1024 * 1024


def read_file_or_stdin(
    runtime: surroundings.Runtime,
    name: str,
    limit_bytes: int = MAX_FILE_BYTES,
    hint: str = "split it",
) -> bytes:
    """The bytes of the file, or of stdin for `-`. Raises InputError where it cannot be read, where
    it is neither a plain file nor a pipe of a shell, and with `hint` where it has more than
    `limit_bytes`; no more is ever read.
    """
    if name == STDIN:
        data = (
            command_process.read_stdin_bytes(limit_bytes + 1).decode("utf-8", "replace").encode()
        )
    else:
        try:
            data = _read_bounded(runtime.expand(Path(name)), limit_bytes + 1)
        except OSError as error:
            raise InputError(
                f"cannot read {name}: {error.strerror}", "name a file that can be read"
            ) from error
    if len(data) > limit_bytes:
        raise InputError(f"{name} has more than {limit_bytes // 1024:,} KiB", hint)
    return data


def _read_bounded(path: Path, limit_bytes: int) -> bytes:
    fd = system.open_file(path, follow_link=True)
    with os.fdopen(fd, "rb") as stream:
        if not _is_readable_file(path, os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        system.set_blocking(fd)
        return stream.read(limit_bytes)


def _is_readable_file(path: Path, mode: int) -> bool:
    """Whether reading ends by itself: a plain file, or the pipe behind `<(…)` of a shell."""
    is_of_shell = (
        path.is_relative_to("/dev/fd")
        or path.is_relative_to("/proc")
        or path == Path("/dev/stdin")
    )
    return stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and is_of_shell)


def check_target(path: Path) -> None:
    """Raises InputError where the file could not be written, before any work is done for it."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            f"cannot write {path}", "name a file in a folder that exists and can be written"
        )


def write_file(path: Path, data: bytes) -> None:
    """Replace the file in one step."""
    write_blocks(path, [data])


def write_blocks(path: Path, blocks: Iterable[bytes]) -> None:
    """Replace the file by the blocks in one step. A pipe, a device or a link is written to and
    stays what it is.

    A link is never replaced: /dev/stdout is one, and root would take it from the whole system.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        remaining = iter(blocks)
        first_block = next(remaining, b"")  # made before the link's target is emptied
        with path.open("wb") as stream:
            stream.write(first_block)
            stream.writelines(remaining)
        return
    durable_files.replace_user_file(path, blocks)
