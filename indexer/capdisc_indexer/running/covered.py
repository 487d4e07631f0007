"""The files that a call names, by their bytes: beside the call itself, what a yes to it holds for.

Named are the words of its command, parts of such a word (`--file=x`, `sh -c 'cd a && ./x'`), the defaults of its
parameters, and Python modules after `-m`. What these files read, import or start in their turn is not followed.
"""

# ruff: noqa: PTH112, PTH113, PTH118, PTH120, PTH123

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from capdisc_indexer.arguments import filled
from capdisc_indexer.errors import InputError
from capdisc_indexer.running.values import Call, HttpCall
from capdisc_indexer.running.words import filled_in
from capdisc_indexer.types import Descriptor

# Folders that the words name, in which other words are looked for too: `--directory server`, `cd scripts`.
_MAX_FOLDERS = 16
_MAX_BYTES = 64 * 1024 * 1024
# What stands between words where a shell reads them, and between an option and its value.
_BETWEEN = re.compile(r"[\s;|&()<>\"'`=,]+")
# An option with its value in one word, and options of which the last is -m.
_ATTACHED, _DASH_M = re.compile(r"-[^-\W]."), re.compile(r"-[A-Za-z]*m")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def files(descriptor: Descriptor, call: Call) -> dict[str, str]:
    """A digest of each file by its path. Raises InputError for one that cannot be read."""
    return {path: _digest(real) for path, real in _paths(descriptor, call)}


def shown(descriptor: Descriptor, call: Call) -> list[str]:
    """Where these files lie, each once, without links."""
    return list(dict.fromkeys(real for _, real in _paths(descriptor, call)))


def _paths(descriptor: Descriptor, call: Call) -> Iterator[tuple[str, str]]:
    """The files as named and without links: in the capability's folder, where it will run, and in folders that it
    names."""
    if isinstance(call, HttpCall):
        return
    names = list(dict.fromkeys(_names(descriptor)))
    for folder in _folders(os.path.dirname(descriptor.source.path), str(call.cwd), names):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(real := os.path.realpath(path)):
                yield path, real


def _folders(own: str, cwd: str, names: Sequence[str]) -> Iterator[str]:
    """Each folder once; those that are named after the two that are always looked into."""
    named = (os.path.join(folder, name) for name in names for folder in (own, cwd))
    known: set[str] = set()
    for folder in (own, cwd, *named):
        if (real := os.path.realpath(folder)) in known or not os.path.isdir(real):
            continue
        known.add(real)
        yield folder
        if len(known) == _MAX_FOLDERS:
            return


def _names(descriptor: Descriptor) -> Iterator[str]:
    """What may be the name of a file. `__main__.py` is what Python runs of a folder."""
    words = [word for word in _words(descriptor) if word and "\0" not in word]
    parts = [part for word in words for part in _BETWEEN.split(word) if part]
    yield "__main__.py"
    yield from (*words, *parts)
    yield from (word.partition("=")[2] for word in words if "=" in word)
    for part in parts:
        yield from (part[1:],) if part.startswith("@") else (part[2:],) if _ATTACHED.match(part) else ()
        yield from _modules(part[2:]) if part.startswith("-m") else ()
    for option, part in pairwise(parts):
        yield from _modules(part) if _DASH_M.fullmatch(option) else ()


def _modules(name: str) -> Iterator[str]:
    """The files of which Python makes the module, its packages first."""
    if not _MODULE.fullmatch(name):
        return
    steps = name.split(".")
    for count in range(1, len(steps) + 1):
        yield os.path.join(*steps[:count], "__init__.py")
    yield f"{os.path.join(*steps)}.py"
    yield os.path.join(*steps, "__main__.py")


def _words(descriptor: Descriptor) -> list[str]:
    """The words of the command as they are written and with the parameters' defaults, and these alone."""
    run, defaults = descriptor.run or {}, filled(descriptor.schema, {})
    mcp = run.get("mcp")
    if "command" in run or not isinstance(mcp, Mapping):
        groups = run.get("command")
    else:
        groups = [mcp.get("command"), mcp.get("args")]
    written = list(_texts(groups))
    return [*written, *(text for word in written for text in filled_in(word, defaults)), *_texts(defaults)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _digest(path: str) -> str:
    """The SHA-256 of its bytes; of a file too large to be read each time, what changes with them (no program sets the
    time of the last change to an inode)."""
    try:
        with open(path, "rb") as stream:
            found = os.fstat(stream.fileno())
            if found.st_size > _MAX_BYTES:
                return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check its permissions") from error
