"""Settings, each with where it comes from: flag over environment over workspace file over user file over default."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer.declarations import declarations
from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.settings import LIMITS, OTHER_VARIABLES, SETTINGS, USERS_OWN
from capdisc_indexer.types import DeclaredSource

_TRUTHS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
WORKSPACE_FILES = ("capdisc.toml", ".capdisc/config.toml", "pyproject.toml")


@frozen(kw_only=True)
class Config:
    """Effective values, where each comes from, keys that no setting has, and the declared sources."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    sources: tuple[DeclaredSource, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def load_config(workspace: Path, user_file: Path, environ: Mapping[str, str], path_separator: str) -> Config:
    """The effective settings. Raises InputError for a file that is not TOML or a value of the wrong type."""
    values = {name: setting.default for name, setting in SETTINGS.items()}
    origins = dict.fromkeys(SETTINGS, "default")
    unknown: list[str] = []
    sources: list[DeclaredSource] = []
    files = [path for path in (user_file, _workspace_file(workspace)) if path]
    for path in files:
        for key, value in _flat(_table(path)):
            name = _snake(key)
            if name in SETTINGS and not (name in USERS_OWN and path != user_file):
                values[name] = _anchored(name, _typed(name, value, str(path)), _base(path))
                origins[name] = str(path)
            elif name == "source":
                sources += declarations(value, path, _base(path), path == user_file)
            else:
                unknown.append(f"{path}: {key}{' (set it in your own file)' if name in USERS_OWN else ''}")
    for name, setting in SETTINGS.items():
        for variable in (setting.variable, *OTHER_VARIABLES.get(name, ())):
            if environ.get(variable) and origins[name] != setting.variable:
                values[name] = _from_text(name, environ[variable], variable, path_separator)
                origins[name] = variable
    return Config(values=values, origins=origins, unknown=tuple(unknown), sources=tuple(sources))


def _workspace_file(workspace: Path) -> Path | None:
    found = [workspace / name for name in WORKSPACE_FILES if (workspace / name).is_file()]
    return next(
        (path for path in found if path.name != "pyproject.toml" or b"[tool.capdisc" in path.read_bytes()), None
    )


def _table(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the configuration cannot be read: {path}: {error}", "mend the file, or move it away"
        ) from error
    table = content.get("tool", {}).get("capdisc", {}) if path.name == "pyproject.toml" else content
    if not isinstance(table, dict):
        raise InputError(f"{path}: tool.capdisc must be one table", "write [tool.capdisc], with single brackets")
    return table


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys with their values, those of an inner table of settings as `validate.select`."""
    for key, value in table.items():
        if isinstance(value, dict) and any(name.startswith(f"{_snake(key)}.") for name in SETTINGS):
            yield from ((f"{key}.{inner}", each) for inner, each in value.items())
        else:
            yield key, value


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower().replace("-", "_")


def _base(path: Path) -> Path:
    """The folder that relative paths in this file are meant from."""
    return path.parent.parent if path.parent.name == ".capdisc" else path.parent


def _anchored(name: str, value: Any, base: Path) -> Any:
    if name == "roots":
        return [text if text.startswith("~") else str(base / text) for text in value]
    names_a_folder = name == "index_dir" or (name == "encoder" and value.startswith((".", "/")))
    relative = names_a_folder and value and not value.startswith("~") and "://" not in value
    return str(base / value) if relative else value


def _typed(name: str, value: Any, origin: str) -> Any:
    default = SETTINGS[name].default
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(default, list) and isinstance(value, str):
        return [value]
    wrong_items = isinstance(value, list) and not all(isinstance(item, str) for item in value)
    if type(value) is not type(default) or wrong_items:
        wanted = "list of texts" if isinstance(default, list) else type(default).__name__
        raise InputError(f"{origin}: {name} must be a {wanted}, not {value!r}", "see: capdisc config")
    return _in_range(name, value, origin)


def _in_range(name: str, value: Any, origin: str) -> Any:
    if isinstance(value, bool):
        return value
    least, most = LIMITS.get(name, (1, math.inf))
    if isinstance(value, int | float) and not least <= value <= most:
        limits = f"at least {least}" if most == math.inf else f"between {least} and {most:g}"
        raise InputError(f"{origin}: {name} must be {limits}, not {value}", "see: capdisc config")
    return value


def _from_text(name: str, text: str, origin: str, path_separator: str) -> Any:
    default = SETTINGS[name].default
    if isinstance(default, list):
        return [part for part in text.split(path_separator) if part]
    if isinstance(default, bool):
        return _truth(text, origin)
    try:
        return _in_range(name, type(default)(text), origin)
    except ValueError as error:
        raise InputError(f"{origin} must be a {type(default).__name__}, not {text!r}", "see: capdisc config") from error


def _truth(text: str, origin: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise InputError(f"{origin} must be true or false, not {text!r}", "see: capdisc config")
    return _TRUTHS[text.lower()]
