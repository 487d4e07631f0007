"""What a program that is run gets to know of the environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping

from capdisc_indexer.links.linked_files import resolve_file
from capdisc_indexer.model.errors import InputError, LinkRefusedError
from capdisc_indexer.model.prerequisites import missing_on_machine
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.program_text.steering import is_steering, steering_hint

_PASSED_VARIABLES = ("PATH", "HOME", "LANG")


def build_environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """PATH, HOME, LANG and what is named, nothing else: no variable that decides what programs
    find or load, and no relative part of PATH. Raises InputError naming all that are not set.
    """
    named_secrets = {
        name: value for name, value in read_secrets(environ, names).items() if not is_steering(name)
    }
    base = {name: environ[name] for name in _PASSED_VARIABLES if environ.get(name)}
    return {"LANG": "C.UTF-8"} | base | named_secrets | {"PATH": _absolute_search_path(environ)}


def check_secrets(names: Iterable[str]) -> None:
    """Raises InputError for a variable that steers programs and is declared as a secret."""
    for name in names:
        if is_steering(name):
            raise InputError(
                f"{name} is no secret: it decides what programs find, load or start",
                steering_hint(name),
            )


def read_secrets(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What is named, with values. Raises InputError naming all that are not set."""
    unique = list(dict.fromkeys(names))
    if missing := [name for name in unique if not environ.get(name)]:
        raise InputError(
            f"it needs what is not set here: {', '.join(missing)}", "set it in the environment"
        )
    return {name: environ[name] for name in unique}


def check_usable(descriptor: Descriptor, environ: Mapping[str, str]) -> None:
    """Raises InputError where the capability is switched off, or a program that it needs is not
    here.
    """
    if not descriptor.available:
        raise InputError(
            f"{one_line(descriptor.id)} is switched off in its manifest",
            "available: true switches it on",
        )
    needs = {"bins": descriptor.bins, "systems": descriptor.systems}
    if missing := missing_on_machine(needs, _absolute_search_path(environ), sys.platform):
        raise InputError(
            f"{one_line(descriptor.id)} needs what is not here: {', '.join(missing)}", "install it"
        )


def find_program(name: str, environ: Mapping[str, str], folder: str) -> str:
    """The absolute path of a program: by PATH, or, with a slash, in the capability's own folder.
    Raises InputError.
    """
    if "/" not in name:
        executable = shutil.which(name, path=_absolute_search_path(environ))
    else:
        path = name if name.startswith("/") else _program_in_folder(name, folder)
        executable = path if os.path.isfile(path) and os.access(path, os.X_OK) else None  # noqa: PTH113
    if executable is None:
        raise InputError(
            f"there is no program {name} here", "install it, or add its folder to PATH"
        )
    return executable


def _program_in_folder(name: str, folder: str) -> str:
    try:
        return resolve_file(folder, name)
    except LinkRefusedError:
        message = f"its program {name} lies outside its folder"
        raise InputError(message, "name it by its whole path, or by PATH") from None


def _absolute_search_path(environ: Mapping[str, str]) -> str:
    """PATH without what depends on the current folder, where anyone may have put a program."""
    return os.pathsep.join(
        part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part.startswith("/")
    )
