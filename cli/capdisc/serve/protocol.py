"""What a client and the server agree on: where the server of a workspace is met, the messages
between the two, and what a request holds of a command line.

One message goes each way, every part of it behind its length. The parts of a request, in this
order: version, words, environment (of most variables the names alone), folder, device and inode of
the folder, terminals, stdin. The client imports this module on every command line, so it imports
nothing that the interpreter has not loaded already.
"""

from __future__ import annotations

import io
import os
import stat
import sys

from capdisc_indexer.model.version import __version__

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import IO

# ruff: noqa: PTH109, PTH115, PTH116, PTH120


_MAX_LINKS = 40  # as many as Linux follows
# What marks a folder as a workspace.
_WORKSPACE_MARKS = (".capdisc", "capdisc.toml", ".git")
# The remainder of a path of any length has at most 32 hexadecimal digits; the factor keeps short
# paths from being readable in it.
_PRIME, _FACTOR = (1 << 127) - 1, 0x5DEECE66D1CE4E5B9BF58476D1CE4E5B


def find_address(environ: Mapping[str, str]) -> str:
    """The path of the server's socket; "" where there is none, or where other users could have
    made it.
    """
    path = socket_path(environ)
    if not path or not is_private_folder(os.path.dirname(path)):
        return ""
    candidates = (path, path.removesuffix(".sock") + ".port")
    return next((candidate for candidate in candidates if _exists(candidate)), "")


def socket_path(environ: Mapping[str, str]) -> str:
    """The path of the socket for the current workspace; "" without a home or a current folder."""
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
    """The path of the socket for the workspace of this process. Raises InputError where there can
    be none.
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
    """The current folder, by the name in PWD where that leads to it. Raises OSError where the
    folder is gone.
    """
    logical = environ.get("PWD", "")
    if logical.startswith("/") and os.path.samestat(os.stat(logical), os.stat(".")):
        return logical
    return os.getcwd()


def workspace_folder(folder: str, home: str) -> str:
    """The nearest folder upwards that holds capdisc's own files or a repository; else the folder
    itself. Both arguments are absolute paths.

    The home folder counts only as the current one: what lies there belongs to the user, not to
    every project. All commands use this function; it stands here, since the thin client imports
    no other module that could have it.
    """
    upwards = folder
    while True:
        if (upwards == folder or upwards != home) and is_workspace(upwards):
            return upwards
        if upwards == (upwards := os.path.dirname(upwards)):
            return folder


def is_workspace(folder: str) -> bool:
    """Whether the folder holds what marks a workspace."""
    return any(_exists(f"{folder}/{mark}") for mark in _WORKSPACE_MARKS)


def is_private_folder(folder: str) -> bool:
    """Whether the folder belongs to this user, no other user can reach into it, and none decides
    where its path leads.
    """
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077 and not path_flaw(folder)


def path_flaw(folder: str) -> str:
    """Which part of a path lets another user decide what lies there, and why; "" where none does.

    Each part must be a folder of this user or of root that others may not write to, unless it is
    sticky. Links of root, as /var/run is, and of this user are followed, and their targets are
    checked part by part. The folder itself may be no link; its mode is checked by
    `is_private_folder`. Parts that do not exist yet have no flaw.
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
    """Whether others may move what lies in a folder. A group with the number of its user is taken
    for that user's own: many systems give each user one that may write.
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
    """32 hexadecimal digits for a path. Two paths with the same digits would only share a server,
    which answers for any workspace.
    """
    return f"{int.from_bytes(b'/' + os.fsencode(path), 'big') * _FACTOR % _PRIME:032x}"


# A request is long where stdin is; with a longer one, the client runs the command itself.
MAX_REQUEST = 1 << 20
# A longer answer is not sent: all of it would lie in memory until the client has read it.
MAX_ANSWER = 16 << 20
_LENGTH_BYTES = 4

# Sent where other questions are before this one; the answer follows as another message.
QUEUED = bytes(_LENGTH_BYTES)
ANSWERED, DECLINED, STDIN = b"answered", b"declined", b"stdin"
# Why a server declines to answer from an index that files have changed under: the client takes
# them in.
FILES_CHANGED = "files changed since the index was built"


def encode_parts(parts: Iterable[bytes]) -> bytes:
    """The message with these parts."""
    body = b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def missing_bytes(data: bytes | bytearray, max_bytes: int) -> int:
    """How many bytes the message still lacks, at least. Raises ValueError for a message of more
    than `max_bytes` bytes.
    """
    if len(data) < _LENGTH_BYTES:
        return _LENGTH_BYTES - len(data)
    length = int.from_bytes(data[:_LENGTH_BYTES], "big")
    if length > max_bytes:
        raise ValueError(f"a message of {length:,} bytes")
    return _LENGTH_BYTES + length - len(data)


def decode_parts(data: bytes | bytearray) -> list[bytes]:
    """The parts of a whole message. Raises ValueError where their lengths do not add up."""
    parts, position = [], _LENGTH_BYTES
    while position < len(data):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(data[position:start], "big")
        if start > len(data) or position > len(data):
            raise ValueError("a part is longer than its message")
        parts.append(bytes(data[start:position]))
    return parts


PROTOCOL = 1
PART_COUNT = 7
# The part for stdin: not read yet, or what was read behind a sign.
UNREAD, READ = b"", b"="

# The server only has to know whether the secrets of capabilities are set. So it gets the values of
# these variables, and of all others the names.
_SENT_VARIABLES = frozenset(
    b"HOME PATH PWD NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LINES LANG LANGUAGE TZ TMPDIR WUNDERLAND_CAPABILITY_DIRS".split()
)
_SENT_PREFIXES = (b"CAPDISC_", b"XDG_", b"LC_", b"PYTHON")


def identity() -> bytes:
    """The version of this program and its interpreter. A server answers only clients with the
    same, since another version could answer otherwise.
    """
    package = os.path.dirname(os.path.dirname(__file__))
    parts = (str(PROTOCOL), __version__, package, sys.version, sys.getfilesystemencoding())
    return b"\0".join(os.fsencode(part) for part in parts)


def encode_request(words: Sequence[str]) -> list[bytes]:
    """The parts of a request but for stdin. Raises OSError where the current folder is gone."""
    folder = os.stat(".")
    return [
        identity(),
        b"\0".join(os.fsencode(word) for word in words),
        b"\0".join(encode_environment(os.environb)),
        os.fsencode(os.getcwd()),
        b"%d:%d" % (folder.st_dev, folder.st_ino),
        _encode_terminals(),
    ]


def encode_environment(environ: Mapping[bytes, bytes]) -> list[bytes]:
    """NAME=VALUE for the variables that are sent and those that are empty, NAME for all others."""
    return [
        name + b"=" + value
        if not value or name in _SENT_VARIABLES or name.startswith(_SENT_PREFIXES)
        else name
        for name, value in environ.items()
    ]


def _encode_terminals() -> bytes:
    """Which of the standard streams are terminals, and how wide stdout is where it is one."""
    flags = [os.isatty(stream) for stream in range(3)]
    columns = os.get_terminal_size(1).columns if flags[1] else 0
    return b"%d%d%d%d" % (*flags, columns)


class _ReplayedStdin(io.BytesIO):
    """Data that was read once, and what is left in `remaining`."""

    def __init__(self, data: bytes, is_terminal: bool, remaining: IO[bytes] | None) -> None:
        super().__init__(data)
        self._is_terminal, self._remaining = is_terminal, remaining

    def isatty(self) -> bool:
        return self._is_terminal

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        size = -1 if size is None or size < 0 else size - len(chunk)
        return chunk + (self._remaining.read(size) if self._remaining and size else b"")


def replay_stdin(
    data: bytes, is_terminal: bool, remaining: IO[bytes] | None = None
) -> io.TextIOWrapper:
    """A stdin that gives this data once more, and after it what is left in `remaining`."""
    return io.TextIOWrapper(_ReplayedStdin(data, is_terminal, remaining))
