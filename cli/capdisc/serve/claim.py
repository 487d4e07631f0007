"""The right to be the one server of a workspace: a lock, and a socket that only this user reaches."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc.serve import places
from capdisc.serve.loopback import SUFFIX, bound, described
from capdisc_indexer.errors import BusyError, IndexStateError, InputError
from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Claim:
    """A bound socket with its path, and the file that was made for it."""

    path: Path
    socket: socket.socket
    file: tuple[int, int]

    def is_ours(self) -> bool:
        """Whether the path still leads to this socket."""
        return _file(self.path) == self.file


@contextmanager
def claimed(path: Path, loopback: bool = False) -> Iterator[Claim]:
    """The socket, bound, until the block is left; with `loopback`, or where there are no others, one on 127.0.0.1.

    Raises BusyError where another server has it, IndexStateError where something else lies there or others can reach
    into its folder, InputError where the path is too long for a socket.
    """
    _prepare(path.parent)
    with _locked(path.with_suffix(".lock")):
        for stale in (path, path.with_suffix(SUFFIX)):
            _remove_stale(stale)
        claim = _on_loopback(path) if loopback or not hasattr(socket, "AF_UNIX") else _bound(path)
        try:
            yield claim
        finally:
            claim.socket.close()
            if claim.is_ours():
                claim.path.unlink(missing_ok=True)


def running() -> int:
    """The number of the process that answers for this process's workspace; 0 when there is none."""
    path = Path(places.socket_path(os.environ))
    return _holder(path) if path.is_absolute() and not places.path_flaw(str(path.parent)) else 0


def _holder(path: Path) -> int:
    try:
        handle = os.open(path.with_suffix(".lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _number(handle)
    except OSError:
        return 0
    finally:
        os.close(handle)
    return 0


def _prepare(folder: Path) -> None:
    _check_path(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise IndexStateError(
            f"{folder} cannot be made ({error.strerror})", "set XDG_RUNTIME_DIR to a folder of yours"
        ) from error
    _check_path(folder)
    if not places.is_own(str(folder)):
        raise IndexStateError(f"others can reach into {folder}, or it is not yours", f"run: chmod 700 {folder}")


def _check_path(folder: Path) -> None:
    """Raises IndexStateError where another user could decide what the path leads to."""
    if flaw := places.path_flaw(str(folder)):
        hint = "set XDG_RUNTIME_DIR to a folder of yours, here and where you ask"
        raise IndexStateError(f"no server can be met at {folder}: {flaw}", hint)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The file stays: removing it would let two hold a lock each."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise IndexStateError(f"{path} cannot be used as a lock ({error.strerror})", "move it away") from error
    try:
        _lock(handle)
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        what = f"a server runs here already (process {_number(handle)})"
        raise BusyError(what, "end that one first, or let it answer") from error


def _number(handle: int) -> int:
    with suppress(OSError, ValueError):
        return int(os.pread(handle, 20, 0))
    return 0


def _remove_stale(path: Path) -> None:
    """What a server that was killed left behind, which the lock shows to be gone. Anything else stays."""
    with suppress(FileNotFoundError):
        if not _is_stale(path, path.lstat().st_mode):
            raise IndexStateError(f"{path} is no socket", "move it away: it was not made by capdisc")
        path.unlink()


def _is_stale(path: Path, mode: int) -> bool:
    if path.suffix != SUFFIX:
        return stat.S_ISSOCK(mode)
    with suppress(OSError, ValueError):
        return stat.S_ISREG(mode) and bool(described(str(path)))
    return False


def _on_loopback(path: Path) -> Claim:
    path = path.with_suffix(SUFFIX)
    try:
        made = bound(path)
    except OSError as error:
        raise IndexStateError(f"no port can be had ({error.strerror})", "see whether 127.0.0.1 can be used") from error
    return Claim(path=path, socket=made, file=_file(path))


def _bound(path: Path) -> Claim:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o077)
    try:
        made.bind(str(path))
    except OSError as error:
        made.close()
        if "too long" in str(error):
            hint = "set XDG_RUNTIME_DIR to a shorter path, here and where you ask; or use --loopback"
            raise InputError(f"the path is too long for a socket: {path}", hint) from error
        raise IndexStateError(f"no socket can be made: {path} ({error.strerror})", "set XDG_RUNTIME_DIR") from error
    finally:
        os.umask(before)
    return Claim(path=path, socket=made, file=_file(path))


def _file(path: Path) -> tuple[int, int]:
    with suppress(OSError):
        found = path.lstat()
        return found.st_dev, found.st_ino
    return 0, 0
