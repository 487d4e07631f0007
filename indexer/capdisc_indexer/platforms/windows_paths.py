"""Calls of `os.path` whose answers Windows writes with backslashes, here with slashes, which it
reads as well. So capdisc's own paths have slashes on every system: in an index, in ids, and
printed.
"""

from __future__ import annotations

import ntpath
import os

StrPath = str | os.PathLike[str]


def with_slashes(path: StrPath) -> str:
    """The path with slashes. The beginning of long paths stays, which is read in no other form."""
    text = os.fspath(path)
    return text if text.startswith("\\\\?\\") else text.replace("\\", "/")


def abspath(path: StrPath) -> str:
    """The absolute path, without `..`."""
    return with_slashes(ntpath.abspath(path))


def join(path: StrPath, *names: StrPath) -> str:
    """The path of a name in a folder; an absolute name stays as it is."""
    return with_slashes(ntpath.join(path, *names))


def normpath(path: StrPath) -> str:
    """The path without `.`, `..` and empty names."""
    return with_slashes(ntpath.normpath(path))


def realpath(path: StrPath, *, strict: bool = False) -> str:
    """The absolute path without links."""
    return with_slashes(os.path.realpath(path, strict=strict))


def relpath(path: StrPath, start: StrPath) -> str:
    """The path as seen from a folder; absolute on another drive, to which nothing leads."""
    try:
        return with_slashes(ntpath.relpath(path, start))
    except ValueError:
        return abspath(path)


def expanduser(path: StrPath) -> str:
    """The path with the home folder for `~`."""
    return with_slashes(ntpath.expanduser(path))
