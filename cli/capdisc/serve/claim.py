"""Makes a process the one server of a workspace: a lock, and a socket that only this user reaches.

On systems without sockets in the file system, that is one on 127.0.0.1, which whoever can read a
file of the owner's may ask. The file holds the port and a secret. The port may belong to another
program by the time it is read, so each side proves that it knows the secret before it says
anything: the client draws a number (nonce), the server signs it, and the question carries the
client's own signature of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc.serve import protocol
from capdisc_indexer.model.errors import BusyError, IndexStateError, InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject

SUFFIX = ".port"
# Beside the socket: how a server of the workspace notices changes.
_NOTE_SUFFIX, _NOTE_BYTES = ".watch", 4_096
_PORT_FILE = re.compile(rb"([0-9]{1,5}) ([0-9a-f]{64})")
NONCE_BYTES = PROOF_BYTES = 32


@frozen(kw_only=True)
class ServerClaim:
    """A bound socket with its path, and device and inode of the file that was made for it."""

    path: Path
    socket: socket.socket
    file: tuple[int, int]

    def is_ours(self) -> bool:
        """Whether the file at the path is still that of this socket."""
        return _file_identity(self.path) == self.file


@contextmanager
def claim_socket(path: Path, loopback: bool = False) -> Iterator[ServerClaim]:
    """A bound socket while the block runs; with `loopback`, or on a system without sockets in the
    file system, one on 127.0.0.1.

    Raises BusyError where another server runs, IndexStateError where something else lies at the
    path or others can reach into its folder, InputError where the path is too long for a socket.
    """
    _prepare_folder(path.parent)
    with _hold_lock(path.with_suffix(".lock")):
        for stale in (path, path.with_suffix(SUFFIX)):
            _remove_stale(stale)
        note = path.with_suffix(_NOTE_SUFFIX)
        _remove_note(note)
        claim = (
            _bind_loopback(path)
            if loopback or not hasattr(socket, "AF_UNIX")
            else _bind_socket(path)
        )
        try:
            yield claim
        finally:
            claim.socket.close()
            if claim.is_ours():
                claim.path.unlink(missing_ok=True)
                _remove_note(note)


def server_pid() -> int:
    """The process id of the server of the current workspace; 0 where none runs."""
    path = Path(protocol.socket_path(os.environ))
    if not path.is_absolute() or protocol.path_flaw(str(path.parent)):
        return 0
    return _lock_holder(path)


def _remove_note(note: Path) -> None:
    with suppress(OSError):
        note.unlink()


def write_watch_note(path: Path, note: JsonObject) -> None:
    """Leave a note for `status` and `doctor` beside the socket of a server: how it notices changes.
    A full disk is no error.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        fd = os.open(path.with_suffix(_NOTE_SUFFIX), flags, 0o600)
        try:
            os.write(fd, json.dumps(note).encode())
        finally:
            os.close(fd)


def read_watch_note() -> JsonObject:
    """How the server of the current workspace notices changes: `folders`, which the kernel reports
    changes in, and the `problem` where there are none. Both are empty while it has not said so.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        path = Path(protocol.socket_path(os.environ)).with_suffix(_NOTE_SUFFIX)
        if protocol.is_private_folder(str(path.parent)):
            with path.open("rb") as file:
                note = json.loads(file.read(_NOTE_BYTES))
            problem = note["problem"]
            return {"folders": int(note["folders"]), "problem": problem and str(problem)}
    return {"folders": 0, "problem": None}


def describe_watch(note: JsonObject) -> str:
    """The same as a part of a sentence; "" where nothing is known yet."""
    if note["problem"]:
        return f"it compares all stamps before each answer: {note['problem']}"
    return f"the kernel reports changes in {note['folders']:,} folders" if note["folders"] else ""


def _lock_holder(path: Path) -> int:
    try:
        fd = os.open(path.with_suffix(".lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_pid(fd)
    except OSError:
        return 0
    finally:
        os.close(fd)
    return 0


def _prepare_folder(folder: Path) -> None:
    _check_path(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise IndexStateError(
            f"{folder} cannot be made ({error.strerror})",
            "set XDG_RUNTIME_DIR to a folder of yours",
        ) from error
    _check_path(folder)
    if not protocol.is_private_folder(str(folder)):
        raise IndexStateError(
            f"others can reach into {folder}, or it is not yours", f"run: chmod 700 {folder}"
        )


def _check_path(folder: Path) -> None:
    """Raises IndexStateError where another user could decide what the path leads to."""
    if flaw := protocol.path_flaw(str(folder)):
        hint = "set XDG_RUNTIME_DIR to a folder of yours, here and where you ask"
        raise IndexStateError(f"no server can be met at {folder}: {flaw}", hint)


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock while the block runs. Its file stays: removing it would let two servers hold a
    lock each.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise IndexStateError(
            f"{path} cannot be used as a lock ({error.strerror})", "move it away"
        ) from error
    try:
        _acquire_lock(fd)
        os.truncate(fd, 0)
        os.write(fd, str(os.getpid()).encode())
        yield
    finally:
        os.close(fd)


def _acquire_lock(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = _read_pid(fd)
        message = f"a server runs here already (process {pid})"
        raise BusyError(message, f"let it answer, or end it first: kill {pid}") from error


def _read_pid(fd: int) -> int:
    with suppress(OSError, ValueError):
        return int(os.pread(fd, 20, 0))
    return 0


def _remove_stale(path: Path) -> None:
    """Remove what a killed server left behind, which is gone since we hold the lock. Raises
    IndexStateError for any other file.
    """
    with suppress(FileNotFoundError):
        if not _is_stale(path, path.lstat().st_mode):
            raise IndexStateError(
                f"{path} is no socket", "move it away: it was not made by capdisc"
            )
        path.unlink()


def _is_stale(path: Path, mode: int) -> bool:
    if path.suffix != SUFFIX:
        return stat.S_ISSOCK(mode)
    with suppress(OSError, ValueError):
        return stat.S_ISREG(mode) and bool(read_port_file(str(path)))
    return False


def _bind_loopback(path: Path) -> ServerClaim:
    path = path.with_suffix(SUFFIX)
    try:
        bound_socket = bind_loopback(path)
    except OSError as error:
        raise IndexStateError(
            f"no port can be had ({error.strerror})", "see whether 127.0.0.1 can be used"
        ) from error
    return ServerClaim(path=path, socket=bound_socket, file=_file_identity(path))


def _bind_socket(path: Path) -> ServerClaim:
    server_socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    umask = os.umask(0o077)
    try:
        server_socket.bind(str(path))
    except OSError as error:
        server_socket.close()
        if "too long" in str(error):
            hint = (
                "set XDG_RUNTIME_DIR to a shorter path, here and where you ask; or use --loopback"
            )
            raise InputError(f"the path is too long for a socket: {path}", hint) from error
        raise IndexStateError(
            f"no socket can be made: {path} ({error.strerror})", "set XDG_RUNTIME_DIR"
        ) from error
    finally:
        os.umask(umask)
    return ServerClaim(path=path, socket=server_socket, file=_file_identity(path))


def _file_identity(path: Path) -> tuple[int, int]:
    with suppress(OSError):
        file_stat = path.lstat()
        return file_stat.st_dev, file_stat.st_ino
    return 0, 0


def bind_loopback(path: Path) -> socket.socket:
    """A socket on a free port; port and secret are written to a new file. Raises OSError."""
    listening_socket = socket.socket(socket.AF_INET)
    try:
        listening_socket.bind(("127.0.0.1", 0))
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        listening_socket.close()
        raise
    with os.fdopen(fd, "w") as file:
        file.write(f"{listening_socket.getsockname()[1]} {os.urandom(32).hex()}")
    return listening_socket


def read_port_file(path: str) -> tuple[int, bytes]:
    """The port and the secret. Raises OSError, or ValueError for a file that is not ours."""
    with open(path, "rb") as file:  # noqa: PTH123
        match = _PORT_FILE.fullmatch(file.read(100))
    if not match:
        raise ValueError(f"{path} does not name a port")
    return int(match[1]), bytes.fromhex(match[2].decode())


def sign_nonce(secret: bytes, side: bytes, nonce: bytes) -> bytes:
    """The signature of the number with the secret, by one side."""
    return hmac.digest(secret, side + nonce, hashlib.sha256)


def connect_loopback(path: str, patience_s: float) -> tuple[socket.socket, bytes]:
    """A connection to the server, and the proof that goes with the question. Raises OSError or
    ValueError.
    """
    port, secret = read_port_file(path)
    nonce = os.urandom(NONCE_BYTES)
    connection = socket.create_connection(("127.0.0.1", port), patience_s)
    try:
        connection.sendall(protocol.encode_parts([nonce]))
        shown = connection.recv(PROOF_BYTES, socket.MSG_WAITALL)
        if not hmac.compare_digest(shown, sign_nonce(secret, b"server", nonce)):
            raise ValueError("another program answers at its port")
    except BaseException:
        connection.close()
        raise
    return connection, sign_nonce(secret, b"client", nonce)
