"""The effective settings, and where each comes from: the environment wins over the file of the
workspace, that over the user's file, and that over the default. (Options of a command win over
all; commands apply them.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.config.settings import (
    ALIAS_NAMES,
    SETTINGS,
    USER_ONLY_SETTINGS,
    SettingValues,
    check_type,
    parse_declarations,
    parse_overlays,
    parse_presets,
    parse_variable,
)
from capdisc_indexer.config.settings_reader import MAX_BYTES, leads_out, parse_toml, read_text
from capdisc_indexer.config.trust import (
    Bounds,
    Grant,
    TrustRequest,
    find_other_owners,
    is_address,
    owner_requests,
    permitted_value,
    real_path,
    setting_requests,
    source_place,
    source_request,
)
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import DeclaredSource, Overlay, Presets
from capdisc_indexer.text.normalization import compile_late

_COLLECTION_NAME = compile_late(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def collection_dir(index_dir: Path, name: str) -> Path:
    """The folder of the index of this name next to the usual one; the usual one for "". Raises
    InputError for a name that could lead elsewhere.
    """
    if not name:
        return index_dir
    if not _COLLECTION_NAME.fullmatch(name):
        raise InputError(
            f"collection_name cannot be {name[:80]!r}",
            "use up to 64 letters, digits, - and _, a letter or a digit first",
        )
    return index_dir.with_name(f"{index_dir.name}.{name}")


def folder_label(workspace: Path) -> str:
    """The folder's name with eight digits of its path's digest, which keep equal names apart."""
    digits = lazy_imports.hex_sha256(workspace.as_posix().encode("utf-8", "surrogateescape"))[:8]
    return f"{workspace.name or 'root'}-{digits}"


WORKSPACE_FILES = ("capdisc.toml", ".capdisc/config.toml", "pyproject.toml")


# The value of each setting with the file or variable that it comes from.
_Layer: TypeAlias = dict[str, tuple[Any, str]]


@frozen(kw_only=True)
class Config:
    """The effective values, where each comes from, the keys that no setting has, and the declared
    sources and overlays. `presets` holds the names of members by preset.

    `file` is the workspace's own file with its `digest`, "" where there is none. `requests` are
    what it requests beyond its folder, `refused` those that its user has not allowed, `waiting`
    those of them that left a value out which nothing else sets. `left_out` are the refused
    sources. `strays` are its files that are links out of it, which are not read.
    """

    values: SettingValues
    origins: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    sources: tuple[DeclaredSource, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    presets: Presets = field(default_factory=dict)
    file: str = ""
    digest: str = ""
    requests: tuple[TrustRequest, ...] = ()
    refused: tuple[TrustRequest, ...] = ()
    waiting: tuple[TrustRequest, ...] = ()
    left_out: tuple[DeclaredSource, ...] = ()
    strays: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@frozen(kw_only=True)
class _FileSettings:
    """What one configuration file sets and declares, the keys that it may not use, and its digest;
    all empty where there is no such file.
    """

    values: SettingValues = field(default_factory=dict)
    sources: tuple[DeclaredSource, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    presets: Presets = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    digest: str = ""


@frozen(kw_only=True)
class _Permitted:
    """What a workspace's file may set, what it requests, and what of that is refused."""

    values: SettingValues = field(default_factory=dict)
    sources: tuple[DeclaredSource, ...] = ()
    left_out: tuple[DeclaredSource, ...] = ()
    requests: tuple[TrustRequest, ...] = ()
    refused: tuple[TrustRequest, ...] = ()


def load_config(
    workspace: Path,
    user_file: Path,
    environ: Mapping[str, str],
    path_separator: str,
    expand: Callable[[Path], Path] = Path.absolute,
    load_grant: Callable[[], Grant] = Grant,
    own_users: Collection[int] = (),
) -> Config:
    """The effective settings. Raises InputError for a file that is not TOML or a value of the
    wrong type.

    `expand` makes a path absolute as its readers will. `load_grant` gives what the user allowed
    this workspace, and is called only where its file requests something. A file of other users
    than `own_users` is not read without a grant (empty: whoever's it is).
    """
    user_settings = _load_file(user_file, is_users=True)
    file = find_workspace_file(workspace)
    owners = owner_requests(file.as_posix(), workspace.as_posix(), own_users) if file else ()
    grant = load_grant() if owners else Grant()
    foreign = tuple(request for request in owners if not grant.covers(request, ""))
    permitted, workspace_settings = _Permitted(requests=owners, refused=foreign), _FileSettings()
    if file and not foreign:
        workspace_settings = _load_file(file, is_users=False)
        bounds = Bounds(
            folder=real_path(workspace, str(file)),
            expand=expand,
            origin=str(file),
            own_users={
                *own_users,
                *find_other_owners(file.as_posix(), workspace.as_posix(), own_users),
            },
        )
        permitted = _permit(workspace_settings, bounds, load_grant)
        permitted = replace(permitted, requests=(*owners, *permitted.requests))
    effective = {
        **_make_layer({name: setting.default for name, setting in SETTINGS.items()}, "default"),
        **_make_layer(user_settings.values, str(user_file)),
        **_make_layer(permitted.values, str(file)),
        **_read_environment(environ, path_separator),
    }
    origins = {name: origin for name, (_, origin) in effective.items()}
    overridden = {name for name, origin in origins.items() if origin in SETTINGS[name].variables}
    waiting = [
        request
        for request in permitted.refused
        if request.setting not in overridden and not is_address(request.value)
    ]
    return Config(
        values={name: value for name, (value, _) in effective.items()},
        origins=origins,
        unknown=(*user_settings.unknown, *workspace_settings.unknown),
        sources=(*user_settings.sources, *permitted.sources),
        overlays=(*user_settings.overlays, *workspace_settings.overlays),
        # Names alone: they lead to nothing that the index does not hold.
        presets={**user_settings.presets, **workspace_settings.presets},
        file=str(file) if file else "",
        digest=workspace_settings.digest,
        requests=permitted.requests,
        refused=permitted.refused,
        waiting=tuple(waiting),
        left_out=permitted.left_out,
        strays=tuple(map(Path.as_posix, _find_strays(workspace))),
    )


def _make_layer(values: SettingValues, origin: str) -> _Layer:
    return {name: (value, origin) for name, value in values.items()}


def _permit(
    workspace_settings: _FileSettings, bounds: Bounds, load_grant: Callable[[], Grant]
) -> _Permitted:
    """What of a workspace's file counts: everything but the requests that no grant covers. Every
    source is confined to the place that was checked here.
    """
    value_requests = [
        request
        for name, value in workspace_settings.values.items()
        for request in setting_requests(name, value, bounds)
    ]
    source_requests = [source_request(source, bounds) for source in workspace_settings.sources]
    requests = (*value_requests, *(request for request in source_requests if request))
    grant = load_grant() if requests else Grant()
    refused = tuple(
        request for request in requests if not grant.covers(request, workspace_settings.digest)
    )
    values = {
        name: permitted_value(name, value, refused)
        for name, value in workspace_settings.values.items()
    }
    pairs = list(zip(workspace_settings.sources, source_requests, strict=True))
    return _Permitted(
        values={name: value for name, value in values.items() if value is not None},
        sources=tuple(
            _confine_source(source, request, bounds)
            for source, request in pairs
            if request not in refused
        ),
        left_out=tuple(source for source, request in pairs if request in refused),
        requests=requests,
        refused=refused,
    )


def _confine_source(
    source: DeclaredSource, request: TrustRequest | None, bounds: Bounds
) -> DeclaredSource:
    """The source, confined to the workspace or to the place that its user allowed."""
    if "url_secret" in source.options or source.url or source.text:
        return source
    folder = source_place(source, bounds.expand)[0] if request else bounds.folder
    return replace(source, confined_to=folder)


# From files and variables to values.


def find_workspace_file(workspace: Path) -> Path | None:
    """The configuration file of the workspace; None where it has none."""
    for name in WORKSPACE_FILES:
        path = workspace / name
        if path.is_file() and not leads_out(path, workspace) and _is_ours(path):
            return path
    return None


def _find_strays(workspace: Path) -> list[Path]:
    """The configuration files that are links out of the workspace; a pyproject.toml may be for
    others.
    """
    files = [workspace / name for name in WORKSPACE_FILES if name != "pyproject.toml"]
    return [file for file in files if file.is_file() and leads_out(file, workspace)]


def _is_ours(file: Path) -> bool:
    """Whether the file is for capdisc alone, or has a table for it within the bytes that are
    read.
    """
    if file.name != "pyproject.toml":
        return True
    with file.open("rb") as stream:
        return b"[tool.capdisc" in stream.read(MAX_BYTES)


def _load_file(file: Path, is_users: bool) -> _FileSettings:
    """What a file sets and declares, with absolute paths; what only the user's own file may set
    counts as unknown elsewhere.
    """
    table, digest = _load_table(file)
    values: dict[str, Any] = {}
    sources: list[DeclaredSource] = []
    overlays: list[Overlay] = []
    presets: Presets = {}
    unknown: list[str] = []
    for key, value in _flatten_table(table):
        name = snake_case(key)
        if name in SETTINGS and (is_users or name not in USER_ONLY_SETTINGS):
            checked = check_type(name, value, str(file))
            values[name] = _resolve_paths(name, checked, _base_folder(file))
        elif name == "source":
            sources += parse_declarations(value, file, _base_folder(file), is_users)
        elif name == "overlay":
            overlays += parse_overlays(value, file, is_users)
        elif name == "presets":
            presets = parse_presets(value, file)
        else:
            note = " (set it in your own file)" if name in USER_ONLY_SETTINGS else ""
            unknown.append(f"{file}: {key}{note or _suggest_setting(name)}")
    return _FileSettings(
        values=values,
        sources=tuple(sources),
        overlays=tuple(overlays),
        presets=presets,
        unknown=tuple(unknown),
        digest=digest,
    )


def _suggest_setting(name: str) -> str:
    """` (did you mean limit?)`, or "" where no setting has a similar name."""
    from capdisc_indexer.text.similar_names import suggest_names

    suggestion = suggest_names(name, SETTINGS)
    return f" ({suggestion})" if suggestion else ""


def _load_table(path: Path) -> tuple[JsonObject, str]:
    """The settings in a file and their digest: over all its bytes, or over our table alone in a
    file that other programs use as well. Empty without a file.
    """
    if not path.is_file():
        return {}, ""
    try:
        text = read_text(path)
        content = parse_toml(text)
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
    # `repr` is for dates, the only values of TOML that JSON does not have.
    covered = (
        text.encode() if is_ours else json.dumps(table, sort_keys=True, default=repr).encode()
    )
    return table, lazy_imports.hex_sha256(covered)


def _flatten_table(table: JsonObject) -> Iterator[tuple[str, Any]]:
    """The keys with their values; a key of an inner table of settings as `validate.select`."""
    for key, value in table.items():
        if isinstance(value, dict) and any(
            name.startswith(f"{snake_case(key)}.") for name in (*SETTINGS, *ALIAS_NAMES)
        ):
            for inner_key, inner_value in value.items():
                yield f"{key}.{inner_key}", inner_value
        else:
            yield key, value


def snake_case(key: str) -> str:
    """The name of a setting from its key in a file: `fresh-for` and `freshFor` are `fresh_for`,
    and `tier1TokenBudget`, which another program has, is `tier1_budget`.
    """
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower().replace("-", "_")
    return ALIAS_NAMES.get(name, name)


def _base_folder(file: Path) -> Path:
    """The folder at which relative paths in this file start."""
    return file.parent.parent if file.parent.name == ".capdisc" else file.parent


def _resolve_paths(name: str, value: Any, base: Path) -> Any:
    """The value with absolute paths where the setting is a path."""
    if name == "roots":
        return [text if text.startswith(("~", "$")) else str(base / text) for text in value]
    names_a_folder = name in ("index_dir", "synonyms") or (
        name == "encoder" and value.startswith((".", "/"))
    )
    is_relative = (
        names_a_folder and value and not value.startswith(("~", "$")) and "://" not in value
    )
    return str(base / value) if is_relative else value


def _read_environment(environ: Mapping[str, str], path_separator: str) -> _Layer:
    """The settings that a variable sets; a setting's own variable wins over an alias."""
    layer: _Layer = {}
    for name, setting in SETTINGS.items():
        variable = next(filter(environ.get, setting.variables), None)
        if variable:
            value = parse_variable(name, environ[variable], variable, path_separator)
            layer[name] = (value, variable)
    return layer
