"""Settings, each with where it comes from: flag over environment over workspace file over user
file over default.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer.config.settings import (
    ALIAS_VARIABLES,
    SETTINGS,
    USER_ONLY_SETTINGS,
    VALUE_RANGES,
    parse_declarations,
)
from capdisc_indexer.config.trust import (
    Bounds,
    Grant,
    TrustRequest,
    is_address,
    permitted,
    real_path,
    setting_requests,
    source_place,
    source_request,
)
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import DeclaredSource

# Where things lie by convention: the workspace, its index, and what is kept of it.

MARKS = (".capdisc", "capdisc.toml", ".git")


def find_workspace(cwd: Path, home: Path) -> Path:
    """The nearest folder upwards that holds capdisc's own files or a repository; else the folder
    itself.

    The home folder counts only when one stands in it: what lies there belongs to the user, not to
    every project.
    """
    upwards = [folder for folder in (cwd, *cwd.parents) if folder == cwd or folder != home]
    return next(
        (folder for folder in upwards if any((folder / mark).exists() for mark in MARKS)), cwd
    )


def default_index_dir(workspace: Path, cache_home: Path) -> Path:
    """The workspace's index below the user's cache folder; the digits keep equal folder names
    apart.
    """
    return cache_home / "capdisc" / _folder_label(workspace)


def default_state_dir(workspace: Path, state_home: Path) -> Path:
    """Where what cannot be made again is kept: sessions and facts of the workspace, below the
    user's state folder.
    """
    return state_home / "capdisc" / _folder_label(workspace)


def _folder_label(workspace: Path) -> str:
    digits = hashlib.sha256(str(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{workspace.name or 'root'}-{digits}"


_TRUTHS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
WORKSPACE_FILES = ("capdisc.toml", ".capdisc/config.toml", "pyproject.toml")


@frozen(kw_only=True)
class Config:
    """Effective values, where each comes from, keys that no setting has, and the declared sources.

    `file` is the workspace's own file with its `digest`, empty where there is none. `requests` are
    what it asks for beyond its folder, `refused` those that its user has not allowed, and
    `waiting` those of them that are left out of the values here and that nothing else overrides.
    `left_out` are the declared sources among them.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    sources: tuple[DeclaredSource, ...] = ()
    file: str = ""
    digest: str = ""
    requests: tuple[TrustRequest, ...] = ()
    refused: tuple[TrustRequest, ...] = ()
    waiting: tuple[TrustRequest, ...] = ()
    left_out: tuple[DeclaredSource, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@frozen(kw_only=True)
class _Permitted:
    """What a workspace's file may set, and what it asks for and what of that is refused."""

    values: Mapping[str, Any]
    sources: tuple[DeclaredSource, ...]
    left_out: tuple[DeclaredSource, ...]
    requests: tuple[TrustRequest, ...]
    refused: tuple[TrustRequest, ...]


def load_config(
    workspace: Path,
    user_file: Path,
    environ: Mapping[str, str],
    path_separator: str,
    expand: Callable[[Path], Path] = Path.absolute,
    load_grant: Callable[[], Grant] = Grant,
) -> Config:
    """The effective settings. Raises InputError for a file that is not TOML or a value of the
    wrong type.

    `expand` makes a path whole as its readers will. `load_grant` gives what the user allowed this
    workspace, and is called only where its file asks for something.
    """
    values = {name: setting.default for name, setting in SETTINGS.items()}
    origins = dict.fromkeys(SETTINGS, "default")
    unknown: list[str] = []
    user_values, sources = _settings_of(user_file, _load_table(user_file)[0], True, unknown)
    values.update(user_values)
    origins.update(dict.fromkeys(user_values, str(user_file)))
    if (file := _find_workspace_file(workspace)) is None:
        _take_environment(values, origins, environ, path_separator)
        return Config(values=values, origins=origins, unknown=tuple(unknown), sources=sources)
    table, digest = _load_table(file)
    own_values, own_sources = _settings_of(file, table, False, unknown)
    bounds = Bounds(folder=real_path(workspace, str(file)), expand=expand, origin=str(file))
    permitted_parts = _permit(own_values, own_sources, bounds, digest, load_grant)
    values.update(permitted_parts.values)
    origins.update(dict.fromkeys(permitted_parts.values, str(file)))
    _take_environment(values, origins, environ, path_separator)
    overridden = {name for name, origin in origins.items() if origin in _variables(name)}
    waiting = [
        request
        for request in permitted_parts.refused
        if request.setting not in overridden and not is_address(request.value)
    ]
    return Config(
        values=values,
        origins=origins,
        unknown=tuple(unknown),
        sources=(*sources, *permitted_parts.sources),
        file=str(file),
        digest=digest,
        requests=permitted_parts.requests,
        refused=permitted_parts.refused,
        waiting=tuple(waiting),
        left_out=permitted_parts.left_out,
    )


def _settings_of(
    file: Path, table: Mapping[str, Any], is_users: bool, unknown: list[str]
) -> tuple[dict[str, Any], tuple[DeclaredSource, ...]]:
    """The values and sources that a file names, with whole paths; what it may not name goes to
    `unknown`.
    """
    values: dict[str, Any] = {}
    sources: list[DeclaredSource] = []
    for key, value in _flatten_table(table):
        name = _to_snake_case(key)
        if name in SETTINGS and (is_users or name not in USER_ONLY_SETTINGS):
            values[name] = _resolve_paths(
                name, _check_type(name, value, str(file)), _base_folder(file)
            )
        elif name == "source":
            sources += parse_declarations(value, file, _base_folder(file), is_users)
        else:
            unknown.append(
                f"{file}: {key}{' (set it in your own file)' if name in USER_ONLY_SETTINGS else ''}"
            )
    return values, tuple(sources)


def _permit(
    values: Mapping[str, Any],
    sources: tuple[DeclaredSource, ...],
    bounds: Bounds,
    digest: str,
    load_grant: Callable[[], Grant],
) -> _Permitted:
    """What of a workspace's file counts: all but the requests that no grant covers. Every source
    is kept to the place that was looked at here.
    """
    asked = [
        request
        for name, value in values.items()
        for request in setting_requests(name, value, bounds)
    ]
    asked_by_source = [source_request(source, bounds) for source in sources]
    requests = (*asked, *(request for request in asked_by_source if request))
    grant = load_grant() if requests else Grant()
    refused = tuple(request for request in requests if not grant.covers(request, digest))
    kept = {name: permitted(name, value, refused) for name, value in values.items()}
    pairs = list(zip(sources, asked_by_source, strict=True))
    return _Permitted(
        values={name: value for name, value in kept.items() if value is not None},
        sources=tuple(
            _confined(source, request, bounds)
            for source, request in pairs
            if request not in refused
        ),
        left_out=tuple(source for source, request in pairs if request in refused),
        requests=requests,
        refused=refused,
    )


def _confined(
    source: DeclaredSource, request: TrustRequest | None, bounds: Bounds
) -> DeclaredSource:
    """The source, kept to the workspace or to the place that its user allowed."""
    if "url_secret" in source.options:
        return source
    folder = source_place(source, bounds.expand)[0] if request else bounds.folder
    return replace(source, confined_to=folder)


def _variables(name: str) -> tuple[str, ...]:
    return (SETTINGS[name].variable, *ALIAS_VARIABLES.get(name, ()))


def _take_environment(
    values: dict[str, Any], origins: dict[str, str], environ: Mapping[str, str], path_separator: str
) -> None:
    """Let the variables that are set win over the files."""
    for name, setting in SETTINGS.items():
        for variable in _variables(name):
            if environ.get(variable) and origins[name] != setting.variable:
                values[name] = _parse_variable(name, environ[variable], variable, path_separator)
                origins[name] = variable


def _find_workspace_file(workspace: Path) -> Path | None:
    candidates = [workspace / name for name in WORKSPACE_FILES if (workspace / name).is_file()]
    return next(
        (
            path
            for path in candidates
            if path.name != "pyproject.toml" or b"[tool.capdisc" in path.read_bytes()
        ),
        None,
    )


def _load_table(path: Path) -> tuple[dict[str, Any], str]:
    """The settings in a file with their digest: of all its bytes, or of our table in a file of
    many programs.
    """
    if not path.is_file():
        return {}, ""
    import tomllib

    try:
        data = path.read_bytes()
        content = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the configuration cannot be read: {path}: {error}", "mend the file, or move it away"
        ) from error
    is_ours = path.name != "pyproject.toml"
    table = content if is_ours else content.get("tool", {}).get("capdisc", {})
    if not isinstance(table, dict):
        raise InputError(
            f"{path}: tool.capdisc must be one table", "write [tool.capdisc], with single brackets"
        )
    # Dates are the one thing in TOML that JSON has not.
    covered = data if is_ours else json.dumps(table, sort_keys=True, default=repr).encode()
    return table, hashlib.sha256(covered).hexdigest()


def _flatten_table(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys with their values, those of an inner table of settings as `validate.select`."""
    for key, value in table.items():
        if isinstance(value, dict) and any(
            name.startswith(f"{_to_snake_case(key)}.") for name in SETTINGS
        ):
            yield from ((f"{key}.{inner}", setting_value) for inner, setting_value in value.items())
        else:
            yield key, value


def _to_snake_case(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower().replace("-", "_")


def _base_folder(path: Path) -> Path:
    """The folder that relative paths in this file are meant from."""
    return path.parent.parent if path.parent.name == ".capdisc" else path.parent


def _resolve_paths(name: str, value: Any, base: Path) -> Any:
    if name == "roots":
        return [text if text.startswith("~") else str(base / text) for text in value]
    names_a_folder = name == "index_dir" or (name == "encoder" and value.startswith((".", "/")))
    relative = names_a_folder and value and not value.startswith("~") and "://" not in value
    return str(base / value) if relative else value


def _check_type(name: str, value: Any, origin: str) -> Any:
    default = SETTINGS[name].default
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(default, list) and isinstance(value, str):
        return [value]
    wrong_items = isinstance(value, list) and not all(isinstance(item, str) for item in value)
    if type(value) is not type(default) or wrong_items:
        type_name = "list of texts" if isinstance(default, list) else type(default).__name__
        raise InputError(
            f"{origin}: {name} must be a {type_name}, not {value!r}", "see: capdisc config"
        )
    return _check_range(name, value, origin)


def _check_range(name: str, value: Any, origin: str) -> Any:
    if isinstance(value, bool):
        return value
    minimum, maximum = VALUE_RANGES.get(name, (1, math.inf))
    if isinstance(value, int | float) and not minimum <= value <= maximum:
        limits = (
            f"at least {minimum}" if maximum == math.inf else f"between {minimum} and {maximum:g}"
        )
        raise InputError(f"{origin}: {name} must be {limits}, not {value}", "see: capdisc config")
    return value


def _parse_variable(name: str, text: str, origin: str, path_separator: str) -> Any:
    default = SETTINGS[name].default
    if isinstance(default, list):
        return [part for part in text.split(path_separator) if part]
    if isinstance(default, bool):
        return _truth(text, origin)
    try:
        return _check_range(name, type(default)(text), origin)
    except ValueError as error:
        raise InputError(
            f"{origin} must be a {type(default).__name__}, not {text!r}", "see: capdisc config"
        ) from error


def _truth(text: str, origin: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise InputError(f"{origin} must be true or false, not {text!r}", "see: capdisc config")
    return _TRUTHS[text.lower()]
