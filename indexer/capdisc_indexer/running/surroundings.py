"""What a program that is run gets to know of the environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping

from capdisc_indexer.errors import InputError, LinkRefusedError
from capdisc_indexer.linked_files import file_in
from capdisc_indexer.needs import not_here
from capdisc_indexer.program_text.steering import is_steering, steering_hint
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

_KEPT = ("PATH", "HOME", "LANG")


def environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """PATH, HOME, LANG and what is named, nothing else: no variable that decides what programs find or load, and no
    relative part of PATH. Raises InputError naming all that are not set."""
    wanted = {name: value for name, value in secrets(environ, names).items() if not is_steering(name)}
    base = {name: environ[name] for name in _KEPT if environ.get(name)}
    return {"LANG": "C.UTF-8"} | base | wanted | {"PATH": _absolute(environ)}


def check_secrets(names: Iterable[str]) -> None:
    """Raises InputError for a variable that steers programs and is declared as a secret."""
    for name in names:
        if is_steering(name):
            raise InputError(f"{name} is no secret: it decides what programs find, load or start", steering_hint(name))


def secrets(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What is named, with values. Raises InputError naming all that are not set."""
    unique = list(dict.fromkeys(names))
    if missing := [name for name in unique if not environ.get(name)]:
        raise InputError(f"it needs what is not set here: {', '.join(missing)}", "set it in the environment")
    return {name: environ[name] for name in unique}


def check_usable(descriptor: Descriptor, environ: Mapping[str, str]) -> None:
    """Raises InputError where the capability is switched off, or a program that it needs is not here."""
    if not descriptor.available:
        raise InputError(f"{one_line(descriptor.id)} is switched off in its manifest", "available: true switches it on")
    needs = {"bins": descriptor.bins, "systems": descriptor.systems}
    if missing := not_here(needs, _absolute(environ), sys.platform):
        raise InputError(f"{one_line(descriptor.id)} needs what is not here: {', '.join(missing)}", "install it")


def program(name: str, environ: Mapping[str, str], folder: str) -> str:
    """The absolute path of a program: by PATH, or, with a slash, in the capability's own folder. Raises InputError."""
    if "/" not in name:
        found = shutil.which(name, path=_absolute(environ))
    else:
        path = name if name.startswith("/") else _own(name, folder)
        found = path if os.path.isfile(path) and os.access(path, os.X_OK) else None  # noqa: PTH113
    if found is None:
        raise InputError(f"there is no program {name} here", "install it, or add its folder to PATH")
    return found


def _own(name: str, folder: str) -> str:
    try:
        return file_in(folder, name)
    except LinkRefusedError:
        message = f"its program {name} lies outside its folder"
        raise InputError(message, "name it by its whole path, or by PATH") from None


def _absolute(environ: Mapping[str, str]) -> str:
    """PATH without what depends on the current folder, where anyone may have put a program."""
    return os.pathsep.join(part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part.startswith("/"))
