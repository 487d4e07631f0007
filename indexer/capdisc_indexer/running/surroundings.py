"""What a program that is run gets to know, and what of it must not come back."""

from __future__ import annotations

import json
import os
import shutil
import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, quote_plus

from capdisc_indexer.errors import InputError, LinkRefusedError
from capdisc_indexer.linked_files import file_in
from capdisc_indexer.needs import not_here
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

_KEPT = ("PATH", "HOME", "LANG")
# Shorter ones are words of every text; to hide them would garble it and hide nothing.
_LEAST_HIDDEN = 6


def environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """PATH, HOME, LANG and what is named, nothing else. Raises InputError naming all that are not set."""
    wanted = secrets(environ, names)
    base = {name: environ[name] for name in _KEPT if environ.get(name)}
    return {"LANG": "C.UTF-8"} | base | {"PATH": _absolute(environ)} | wanted


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


def redacted(data: bytes, values: Mapping[str, str]) -> bytes:
    """The bytes with each secret, plain or as JSON, URLs and base64 write it, replaced by its name."""
    for name, value in values.items():
        if len(value) >= _LEAST_HIDDEN:
            for form in _forms(value):
                data = data.replace(form, f"<secret {name}>".encode())
    return data


def _forms(value: str) -> Sequence[bytes]:
    data = value.encode("utf-8", "surrogateescape")
    in_urls = (quote(data, safe=""), quote(data), quote_plus(data))
    written = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], *in_urls)
    plain = {form.encode("utf-8", "surrogateescape") for form in written}
    return sorted(plain | {b64encode(data)}, key=len, reverse=True)


def _absolute(environ: Mapping[str, str]) -> str:
    """PATH without what depends on the current folder, where anyone may have put a program."""
    return os.pathsep.join(part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part.startswith("/"))
