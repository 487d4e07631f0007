"""What a capability cannot be used without: secrets, programs, an operating system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# One of several programs is enough.
OR = "|"
# The names of systems, as Python's `sys.platform` has them, by those that skills use.
_SYSTEMS = {
    "linux": "linux",
    "darwin": "darwin",
    "macos": "darwin",
    "win32": "win32",
    "windows": "win32",
}


def systems(words: Iterable[str]) -> tuple[str, ...]:
    """The systems that are meant; what is the name of none is passed over.

    >>> systems(["macOS", "Linux", "ubuntu-latest"])
    ('darwin', 'linux')
    """
    return tuple(dict.fromkeys(_SYSTEMS[word.lower()] for word in words if word.lower() in _SYSTEMS))


def named_any(programs: Iterable[str]) -> tuple[str, ...]:
    """The need of one of these programs, as one name."""
    joined = OR.join(programs)
    return (joined,) if joined else ()


def named(systems: Iterable[str]) -> tuple[str, ...]:
    """How it is said that one of these systems is needed; nothing where any will do."""
    words = " or ".join(systems)
    return (words,) if words else ()


def lacking(needs: Mapping[str, Any], environ: Mapping[str, str], path: str | None, system: str) -> tuple[str, ...]:
    """The secrets that are not set, the programs that are not on the path, and the systems that this is none of."""
    secrets = [name for name in needs.get("secrets", ()) if not environ.get(name)]
    return tuple(dict.fromkeys((*secrets, *not_here(needs, path, system))))


def not_here(needs: Mapping[str, Any], path: str | None, system: str) -> tuple[str, ...]:
    """The same without secrets."""
    programs = [name for name in needs.get("bins", ()) if not _on(path, name.split(OR))]
    wanted = needs.get("systems", ())
    return (*programs, *(named(wanted) if system not in wanted else ()))


def _on(path: str | None, programs: Sequence[str]) -> bool:
    from shutil import which  # which brings every archive format along

    return any(which(one, path=path) for one in programs)
