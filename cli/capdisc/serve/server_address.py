"""Where the server of a workspace is met: asked on every command line, so it imports nothing."""

from __future__ import annotations

import os
import stat

from capdisc.serve import request

TYPE_CHECKING = False

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from pathlib import Path

# A server on 127.0.0.1, where there are no sockets in the file system: whoever can read a file of
# the owner's may ask.
#
# The file holds the port and a secret. The port may belong to somebody else by the time it is read,
# so each side shows the other that it knows the secret before it says anything: the server answers a
# number that the client has drawn, and the question carries another answer to it.

SUFFIX = ".port"
_PORT_FILE = rb"([0-9]{1,5}) ([0-9a-f]{64})"
NONCE_BYTES = PROOF_BYTES = 32


def bind_loopback(path: Path) -> socket.socket:
    """A socket on a free port, described in a new file. Raises OSError."""
    import socket

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
    """Port and secret. Raises OSError, or ValueError for a file that is none of ours."""
    import re

    with open(path, "rb") as file:  # noqa: PTH123
        match = re.fullmatch(_PORT_FILE, file.read(100))
    if not match:
        raise ValueError(f"{path} does not name a port")
    return int(match[1]), bytes.fromhex(match[2].decode())


def sign_nonce(secret: bytes, side: bytes, nonce: bytes) -> bytes:
    """What only one who knows the secret can say about the number."""
    import hashlib
    import hmac

    return hmac.digest(secret, side + nonce, hashlib.sha256)


def connect_loopback(path: str, patience_s: float) -> tuple[socket.socket, bytes]:
    """A connection to the server, and the proof that goes with the question. Raises OSError or
    ValueError.
    """
    import hmac
    import socket

    port, secret = read_port_file(path)
    nonce = os.urandom(NONCE_BYTES)
    connection = socket.create_connection(("127.0.0.1", port), patience_s)
    try:
        connection.sendall(request.encode_parts([nonce]))
        shown = connection.recv(PROOF_BYTES, socket.MSG_WAITALL)
        if not hmac.compare_digest(shown, sign_nonce(secret, b"server", nonce)):
            raise ValueError("somebody else answers at its port")
    except BaseException:
        connection.close()
        raise
    return connection, sign_nonce(secret, b"client", nonce)


# ruff: noqa: PTH109, PTH115, PTH116, PTH120


_MAX_LINKS = 40  # as many as Linux follows
_WORKSPACE_MARKERS = (".capdisc", "capdisc.toml", ".git")
# Paths of any length leave a remainder of at most 32 hex digits; the factor keeps short ones from
# showing in them.
_PRIME, _FACTOR = (1 << 127) - 1, 0x5DEECE66D1CE4E5B9BF58476D1CE4E5B


def find_address(environ: Mapping[str, str]) -> str:
    """The socket to ask at; empty where there is none, or where others could have put one."""
    path = socket_path(environ)
    if not path or not is_private_folder(os.path.dirname(path)):
        return ""
    ways = (path, path.removesuffix(".sock") + ".port")
    return next((way for way in ways if _exists(way)), "")


def socket_path(environ: Mapping[str, str]) -> str:
    """The socket for where we are; empty where there can be none, because there is no home or no
    current folder.
    """
    home = environ.get("HOME", "")
    runtime, cache = environ.get("XDG_RUNTIME_DIR", ""), environ.get("XDG_CACHE_HOME", "")
    if not home.startswith("/"):
        return ""
    folder = (
        f"{runtime}/capdisc"
        if runtime.startswith("/")
        else f"{cache or home + '/.cache'}/capdisc/run"
    )
    try:
        return f"{folder}/{_path_digits(workspace_folder(current_folder(environ), home))}.sock"
    except OSError:
        return ""


def own_socket_path() -> Path:
    """Where the server of this process's workspace is met. Raises InputError where there is no
    place for one.
    """
    from pathlib import Path

    from capdisc_indexer.model.errors import InputError

    try:
        current_folder(os.environ)
    except OSError as error:
        raise InputError("the current folder is gone", "change to another folder") from error
    if not (path := socket_path(os.environ)):
        raise InputError("there is no place for a server", "set HOME to your home folder")
    return Path(path)


def current_folder(environ: Mapping[str, str]) -> str:
    """The current folder by the shell's own name, where that is one of its names. Raises OSError
    when it is gone.
    """
    logical = environ.get("PWD", "")
    if logical.startswith("/") and os.path.samestat(os.stat(logical), os.stat(".")):
        return logical
    return os.getcwd()


def workspace_folder(folder: str, home: str) -> str:
    """What `capdisc_indexer.config.configuration.find_workspace` says, without its imports."""
    upwards = folder
    while True:
        if (upwards == folder or upwards != home) and any(
            _exists(f"{upwards}/{mark}") for mark in _WORKSPACE_MARKERS
        ):
            return upwards
        if upwards == (upwards := os.path.dirname(upwards)):
            return folder


def is_private_folder(folder: str) -> bool:
    """Whether the folder is this user's, nobody else can reach into it, and nobody else decides
    what its path means.
    """
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077 and not path_flaw(folder)


def path_flaw(folder: str) -> str:
    """Which part of a path lets somebody else decide what lies there, and why; empty when none
    does.

    Each part must be a folder of this user's or root's that others may not write to, unless it is
    sticky. A link counts as what its owner may: root's, as /var/run is, and this user's own are
    followed, their targets part by part as well; the folder itself may be none, and its mode is
    for `is_own`. What is not there yet has no flaw.
    """
    parts, above, links = folder.rstrip("/").split("/")[::-1], "", 0
    while parts:
        if (part := parts.pop()) in ("", ".", ".."):
            above = os.path.dirname(above) if part == ".." else above
            continue
        path = f"{above}/{part}"
        try:
            status = os.lstat(path)
            target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError)
            return "" if is_absent else f"{path} cannot be looked at ({error.strerror})"
        if status.st_uid not in (os.geteuid(), 0):
            return f"{path} belongs to another user"
        if target:
            links += 1
            if not parts or links > _MAX_LINKS:
                return f"{path} is a link"
            above = "" if target.startswith("/") else above
            parts += target.split("/")[::-1]
        elif not stat.S_ISDIR(status.st_mode):
            return f"{path} is no folder"
        elif parts and _is_open(status):
            return f"others may write to {path}"
        else:
            above = path
    return ""


def _is_open(status: os.stat_result) -> bool:
    """Whether others may move what lies in a folder. A group with its user's number is that user's
    alone: many systems give each user one, and let it write.
    """
    group = 0 if status.st_gid == status.st_uid else stat.S_IWGRP
    return bool(status.st_mode & (group | stat.S_IWOTH)) and not status.st_mode & stat.S_ISVTX


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def _path_digits(path: str) -> str:
    """32 hex digits for a path. Another path with the same would only share its server, which
    answers for any.
    """
    return f"{int.from_bytes(b'/' + os.fsencode(path), 'big') * _FACTOR % _PRIME:032x}"
