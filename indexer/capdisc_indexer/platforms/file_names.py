"""How file systems differ: those of macOS and Windows find a name in any case, and most in any
Unicode form, so that paths are compared as their folders list them.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache

if sys.platform == "win32":
    from capdisc_indexer.platforms import windows as system
else:
    from capdisc_indexer.platforms import posix as system

__all__ = ["system"]  # what else `platforms` hands on is defined here


# Paths are strings: a Path for each takes long.


def to_nfc(text: str) -> str:
    """The text in the Unicode form NFC, in which it is typed. HFS+ lists names in another one."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def resolve_path(path: str | os.PathLike[str], strict: bool = False) -> str:
    """The path with its links followed, as its folders list it. With `strict`, raises OSError
    where there is nothing.
    """
    return spell_path(system.realpath(path, strict=strict))


def spell_path(path: str) -> str:
    """The absolute path with each name as its folder lists it, where the file system takes other
    spellings for the same name. What does not exist stays as it is.
    """
    folder, names = path, list[str]()
    while (parts := os.path.split(folder))[1]:
        folder = parts[0]
        names.append(parts[1])
    for name in reversed(names):
        folder = _spell_name(folder, name)
    return folder


def _spell_name(folder: str, name: str) -> str:
    """The path of the name in the folder, as that lists it."""
    full_path = system.join(folder, name)
    variant = name.swapcase()
    if variant == name:
        from unicodedata import normalize

        variant = normalize("NFD", name)
        variant = to_nfc(name) if variant == name else variant
    try:
        # Where no other spelling leads here, that is all: one call for each name.
        if variant == name or not os.path.samefile(system.join(folder, variant), full_path):
            return full_path
        names = _list_names(folder, os.stat(folder).st_mtime_ns)
    except (OSError, ValueError):
        return full_path
    if name not in names:
        name = next((listed for listed in names if _fold(listed) == _fold(name)), name)
    return system.join(folder, name)


@lru_cache(maxsize=64)
def _list_names(folder: str, mtime_ns: int) -> frozenset[str]:
    """The names in the folder, which do not change while its stamp does not."""
    return frozenset(os.listdir(folder))


def _fold(name: str) -> str:
    """What all spellings of the name have in common."""
    return to_nfc(to_nfc(name).casefold())
