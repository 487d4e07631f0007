"""The `[[source]]` tables of a configuration: files that are read as the format that they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.types import DeclaredSource

_SOURCE_KEYS = frozenset({"format", "path", "name"})
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SIGNS = re.compile(r"[*?\[]")
_SOURCE_HINT = 'write [[source]] with lines such as format = "openapi" and path = "apis/shop.yaml"'


def parse_declarations(
    tables: Any, file: Path, base: Path, trusted: bool
) -> Iterator[DeclaredSource]:
    """The declarations in `file`, whose relative paths are meant from `base`; `~` is left for who
    knows the home.

    Raises InputError for what is no declaration. Formats and their options are known to those who
    read them.
    """
    for table in (
        [tables] if isinstance(tables, dict) else tables if isinstance(tables, list) else [tables]
    ):
        if not isinstance(table, dict):
            raise InputError(f"{file}: source must be a table", _SOURCE_HINT)
        # A database that is asked has an address instead, which is a secret: its name is an
        # option.
        path = _read_text(table, "path", file, needed="url_secret" not in table)
        _check_secret(table.get("url_secret", "URL"), file)
        options = {
            key.replace("-", "_"): value for key, value in table.items() if key not in _SOURCE_KEYS
        }
        yield DeclaredSource(
            format=_read_text(table, "format", file),
            path=path if path.startswith("~") else str(base / path),
            name=_read_text(table, "name", file, needed=False),
            options=options,
            origin=str(file),
            trusted=trusted,
        )


def _check_secret(name: Any, file: Path) -> None:
    """Raises InputError for what is no name; it may be the secret itself, so no message repeats
    it.
    """
    if not isinstance(name, str) or not _VARIABLE_NAME.fullmatch(name):
        message = f"{file}: url_secret of a source must be the name of an environment variable"
        raise InputError(
            message, "write a name such as DATABASE_URL, and set it in the environment"
        )


def _read_text(table: dict[str, Any], key: str, file: Path, needed: bool = True) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (needed and not value.strip()) or "\0" in value:
        raise InputError(f"{file}: {key} of a source must be text, not {value!r}", _SOURCE_HINT)
    return value.strip()


def fixed_part(path: str) -> tuple[str, str]:
    """The folder that a path with a pattern begins with, and the pattern below it; "" where there
    is none.

    >>> fixed_part("/a/apis/*.json"), fixed_part("/a/b.json")
    (('/a/apis', '*.json'), ('/a/b.json', ''))
    """
    found = _SIGNS.search(path)
    if not found:
        return path, ""
    folder, _, _ = path[: found.start()].rpartition("/")
    return folder or "/", path[len(folder) + 1 :]
