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
