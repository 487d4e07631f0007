"""What a capability cannot be used without: secrets, programs, an operating system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# One of several programs is enough.
ANY_OF_SEPARATOR = "|"
# The names of systems, as Python's `sys.platform` has them, by those that skills use.
_SYSTEM_NAMES = {
    "linux": "linux",
    "darwin": "darwin",
    "macos": "darwin",
    "win32": "win32",
    "windows": "win32",
}


def parse_systems(words: Iterable[str]) -> tuple[str, ...]:
    """The systems that are meant; what is the name of none is passed over.

    >>> parse_systems(["macOS", "Linux", "ubuntu-latest"])
    ('darwin', 'linux')
    """
    return tuple(
        dict.fromkeys(
            _SYSTEM_NAMES[word.lower()] for word in words if word.lower() in _SYSTEM_NAMES
        )
    )


def any_of_name(programs: Iterable[str]) -> tuple[str, ...]:
    """The need of one of these programs, as one name."""
    alternatives = ANY_OF_SEPARATOR.join(programs)
    return (alternatives,) if alternatives else ()


def any_of_systems(systems: Iterable[str]) -> tuple[str, ...]:
    """How it is said that one of these systems is needed; nothing where any will do."""
    words = " or ".join(systems)
    return (words,) if words else ()


def missing_prerequisites(
    needs: Mapping[str, Any], environ: Mapping[str, str], path: str | None, system: str
) -> tuple[str, ...]:
    """The secrets that are not set, the programs that are not on the path, and the systems that
    this is none of.
    """
    secrets = [name for name in needs.get("secrets", ()) if not environ.get(name)]
    return tuple(dict.fromkeys((*secrets, *missing_on_machine(needs, path, system))))


def missing_on_machine(needs: Mapping[str, Any], path: str | None, system: str) -> tuple[str, ...]:
    """The same without secrets."""
    programs = [
        name
        for name in needs.get("bins", ())
        if not _is_on_path(path, name.split(ANY_OF_SEPARATOR))
    ]
    required_systems = needs.get("systems", ())
    return (
        *programs,
        *(any_of_systems(required_systems) if system not in required_systems else ()),
    )


def _is_on_path(path: str | None, programs: Sequence[str]) -> bool:
    from shutil import which  # which brings every archive format along

    return any(which(program, path=path) for program in programs)
