"""Where the server of a workspace is met: asked on every command line, so it imports nothing."""

# ruff: noqa: PTH109, PTH116, PTH120

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MARKS = (".capdisc", "capdisc.toml", ".git")
# Paths of any length leave a remainder of at most 32 hex digits; the factor keeps short ones from showing in them.
_PRIME, _FACTOR = (1 << 127) - 1, 0x5DEECE66D1CE4E5B9BF58476D1CE4E5B


def address(environ: Mapping[str, str]) -> str:
    """The socket to ask at; empty where there is none, or where others could have put one."""
    path = socket_path(environ)
    if not path or not is_own(os.path.dirname(path)):
        return ""
    ways = (path, path.removesuffix(".sock") + ".port")
    return next((way for way in ways if _exists(way)), "")


def socket_path(environ: Mapping[str, str]) -> str:
    """The socket for where we are; empty where there can be none, because there is no home or no current folder."""
    home = environ.get("HOME", "")
    runtime, cache = environ.get("XDG_RUNTIME_DIR", ""), environ.get("XDG_CACHE_HOME", "")
    if not home.startswith("/"):
        return ""
    folder = f"{runtime}/capdisc" if runtime.startswith("/") else f"{cache or home + '/.cache'}/capdisc/run"
    try:
        return f"{folder}/{_digits(workspace(current(environ), home))}.sock"
    except OSError:
        return ""


def own_socket() -> Path:
    """Where the server of this process's workspace is met. Raises InputError where there is no place for one."""
    from pathlib import Path

    from capdisc_indexer.errors import InputError

    try:
        current(os.environ)
    except OSError as error:
        raise InputError("the current folder is gone", "change to another folder") from error
    if not (found := socket_path(os.environ)):
        raise InputError("there is no place for a server", "set HOME to your home folder")
    return Path(found)


def current(environ: Mapping[str, str]) -> str:
    """The current folder by the shell's own name, where that is one of its names. Raises OSError when it is gone."""
    logical = environ.get("PWD", "")
    if logical.startswith("/") and os.path.samestat(os.stat(logical), os.stat(".")):
        return logical
    return os.getcwd()


def workspace(folder: str, home: str) -> str:
    """What `capdisc_indexer.paths.workspace_of` says, without its imports."""
    upwards = folder
    while True:
        if (upwards == folder or upwards != home) and any(_exists(f"{upwards}/{mark}") for mark in _MARKS):
            return upwards
        if upwards == (upwards := os.path.dirname(upwards)):
            return folder


def is_own(folder: str) -> bool:
    """Whether the folder is this user's, and nobody else can reach into it."""
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def _digits(path: str) -> str:
    """32 hex digits for a path. Another path with the same would only share its server, which answers for any."""
    return f"{int.from_bytes(b'/' + os.fsencode(path), 'big') * _FACTOR % _PRIME:032x}"
