"""Where the server of a workspace is met: asked on every command line, so it imports nothing but
`os` and `stat`, which the interpreter has loaded already.
"""

# ruff: noqa: PTH109, PTH115, PTH116, PTH120

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
