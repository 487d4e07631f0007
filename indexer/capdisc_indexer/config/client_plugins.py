"""Which plugins and extensions of clients are installed and switched on here, and where do their
skills, agents, commands and MCP servers lie?

Read are the plugins of Claude Code, Codex and Copilot CLI and the extensions of Gemini CLI, as
these clients read them in 2026 (Claude Code 2.1.330, Codex 0.169, Copilot CLI 1.0.102, Gemini CLI
0.61), and those of Cursor that lie in its folder of local plugins, as its documents describe them.
Which plugins are installed, and where, is said by files of the user alone. A file of the workspace
can only switch one of them on or off, and nothing outside of a plugin's own folder is taken.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.config.client_table import (
    client_sections,
    settings_folders,
    workspace_switches,
)
from capdisc_indexer.config.settings_reader import leads_out, parse_settings, read_text
from capdisc_indexer.config.trust import is_inside
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import resolve_path, system

# Paths are strings where many are only looked at: a Path for each takes half of the time.
# ruff: noqa: PTH117, PTH120

# Clients' own lists of plugins have a few KiB, the catalogue of a marketplace up to a few MiB.
MAX_BYTES = 16 * 1024 * 1024
MAX_PLUGINS = 500
_MANIFESTS = {"claude": ".claude-plugin/plugin.json", "codex": ".codex-plugin/plugin.json"}
_MANAGED_FOLDERS = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:/Program Files/ClaudeCode",
}
_MANAGED_SETTINGS = Path(
    _MANAGED_FOLDERS.get(system.NAME, "/etc/claude-code"), "managed-settings.json"
)

_Table: TypeAlias = Mapping[str, object]
_EMPTY: _Table = {}


@frozen(kw_only=True)
class ClientPlugin:
    """One plugin that is switched on: `folder` is where it was installed, `id` what its client
    calls it. The other fields are the folders and files of each kind in it that exist.
    """

    client: str
    id: str
    name: str
    folder: Path
    skills: tuple[Path, ...] = ()
    agents: tuple[Path, ...] = ()
    commands: tuple[Path, ...] = ()
    servers: tuple[Path, ...] = ()


@frozen(kw_only=True)
class InstalledPlugins:
    """The plugins that are switched on, and a sentence for each file that could not be read."""

    plugins: tuple[ClientPlugin, ...] = ()
    problems: tuple[str, ...] = ()


def find_plugins(
    profile: str,
    home: Path,
    workspace: Path,
    environ: Mapping[str, str],
    left_out: Collection[Path] = (),
) -> InstalledPlugins:
    """The plugins of the profile's clients ("all": of every client) that count in the workspace,
    whose files in `left_out` are not read.

    Costs a few reads where nothing is installed, and one or two more for each plugin.
    """
    reader = _Reader(workspace, left_out)
    folders = {
        name: Path(path)
        for name, path in settings_folders(home, workspace, environ, system.NAME).items()
    }
    finders = {
        "claude": _claude_plugins,
        "codex": _codex_plugins,
        "copilot": _copilot_plugins,
        "gemini": _gemini_extensions,
    }
    plugins: list[ClientPlugin] = []
    for client, section in client_sections("plugins", ranking="plugins").items():
        if profile not in ("all", client):
            continue
        if client in finders:
            plugins += finders[client](reader, folders)
        else:
            place = Path(section["folder"].format_map(folders))
            plugins += _local_plugins(reader, client, place, section["manifests"])
    return InstalledPlugins(plugins=tuple(plugins), problems=tuple(reader.problems))


class _Reader:
    """Reads files of clients once each, and keeps a sentence about those that cannot be read."""

    def __init__(self, workspace: Path, left_out: Collection[Path]) -> None:
        self.workspace, self.left_out = workspace, left_out
        self.problems: list[str] = []
        self._tables: dict[Path, _Table] = {}

    def table(self, path: Path) -> _Table:
        """The JSON or TOML table of the file; an empty one where it has none, or is missing."""
        if path not in self._tables:
            self._tables[path] = self._read(path)
        return self._tables[path]

    def is_in_workspace(self, path: Path) -> bool:
        """Whether the file lies in the workspace; a link out of it is recorded as a problem."""
        if not os.path.lexists(path) or not leads_out(path, self.workspace):
            return True
        self.problems.append(f"{path} is not read: it is a link out of the workspace")
        return False

    def _read(self, path: Path) -> _Table:
        try:
            value = parse_settings(path, read_text(path, MAX_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return _EMPTY
        except OSError as error:
            self.problems.append(f"{path} cannot be read: {error.strerror or error}")
            return _EMPTY
        except ValueError:
            self.problems.append(
                f"{path} cannot be read: it is not valid {path.suffix[1:].upper()}"
            )
            return _EMPTY
        return value if isinstance(value, dict) else _EMPTY


def _text(table: _Table, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _table(table: _Table, key: str) -> _Table:
    value = table.get(key)
    return value if isinstance(value, dict) else _EMPTY


def _tables(value: object) -> list[_Table]:
    """The tables in a list; none in anything else."""
    return [item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict)]


def _find_entry(catalogue: _Table, name: str) -> _Table:
    """What the catalogue of a marketplace says of the plugin; an empty table for nothing."""
    entries = _tables(catalogue.get("plugins"))
    return next((entry for entry in entries if entry.get("name") == name), _EMPTY)


def _make_plugin(
    client: str,
    plugin_id: str,
    folder: Path,
    manifest: _Table,
    manifest_name: str,
    **parts: tuple[Path, ...],
) -> ClientPlugin:
    """The plugin with what its manifest names, else with the usual folders; `parts` come first."""
    usual = {
        kind: _paths(folder, manifest.get(kind) or kind)
        for kind in ("skills", "agents", "commands")
    }
    servers = _merge(_paths(folder, ".mcp.json"), _server_files(folder, manifest, manifest_name))
    name = _text(manifest, "name") or plugin_id.rpartition("@")[0] or plugin_id
    return ClientPlugin(
        client=client,
        id=plugin_id,
        name=name,
        folder=folder,
        servers=servers,
        **(usual | parts),
    )


# Claude Code: plugins/installed_plugins.json says what is installed where, `enabledPlugins` of the
# settings what is switched on, the manifest of a plugin or its entry in the catalogue of its
# marketplace what it holds.


def _claude_plugins(reader: _Reader, folders: Mapping[str, Path]) -> Iterator[ClientPlugin]:
    settings_folder, plugins_folder = folders["claude"], folders["claude_plugins"]
    installed = _table(reader.table(plugins_folder / "installed_plugins.json"), "plugins")
    if not installed:
        return
    is_enabled = _claude_switches(reader, settings_folder)
    for plugin_id, records in list(installed.items())[:MAX_PLUGINS]:
        folder = _claude_folder(records, reader.workspace) if is_enabled.get(plugin_id) else None
        if folder is not None and folder.is_dir():
            manifest, adds_skills = _claude_manifest(reader, plugins_folder, folder, plugin_id)
            # The key skills adds to the folder; commands and agents take its place.
            skills = _paths(folder, manifest.get("skills"))
            if adds_skills or not skills:
                skills = _merge(_paths(folder, "skills"), skills)
            if not skills and not manifest.get("skills"):
                skills = _paths(folder, "SKILL.md")
            name = _MANIFESTS["claude"]
            yield _make_plugin("claude", plugin_id, folder, manifest, name, skills=skills)


def _claude_switches(reader: _Reader, settings_folder: Path) -> dict[str, bool]:
    """Whether each plugin is switched on, by its id: the project's settings win over the user's,
    those of the machine's administrator over all.
    """
    files = [
        settings_folder / "settings.json",
        *(
            path
            for path in workspace_switches(reader.workspace, "claude")
            if path not in reader.left_out and reader.is_in_workspace(path)
        ),
    ]
    switches: dict[str, bool] = {}
    for path in (*files, _MANAGED_SETTINGS):
        # Instead of true, an entry may list the versions that it wants.
        for plugin_id, value in _table(reader.table(path), "enabledPlugins").items():
            switches[plugin_id] = value is True or isinstance(value, list)
    return switches


def _claude_folder(records: object, workspace: Path) -> Path | None:
    """Where the plugin lies that counts in the workspace: one of the project before one of the
    user. Version 1 of the file has one record for each plugin, version 2 a list of them.
    """
    by_scope: dict[str, str] = {}
    for record in _tables(records if isinstance(records, list) else [records]):
        scope = str(record.get("scope", "user"))
        is_here = scope not in ("project", "local") or _is_same_folder(
            _text(record, "projectPath"), workspace
        )
        if is_here and isinstance(path := record.get("installPath"), str):
            by_scope.setdefault(scope, path)
    paths = (by_scope.get(scope) for scope in ("local", "project", "user", "managed"))
    chosen = next((path for path in paths if path is not None), "")
    # Only whole paths: a relative one would lead into whatever folder is the current one.
    return Path(chosen) if os.path.isabs(chosen) else None


def _is_same_folder(project: str, workspace: Path) -> bool:
    return bool(project) and resolve_path(project) == resolve_path(workspace)


def _claude_manifest(
    reader: _Reader, plugins_folder: Path, folder: Path, plugin_id: str
) -> tuple[_Table, bool]:
    """What says where the plugin's parts lie, and whether its key `skills` adds to the folder of
    that name. A plugin without a manifest is described by its entry in the marketplace; the
    skills of one that is the whole marketplace are those that its entry lists.
    """
    manifest = reader.table(folder / _MANIFESTS["claude"])
    if manifest:
        return manifest, True
    name, _, marketplace = plugin_id.rpartition("@")
    known = reader.table(plugins_folder / "known_marketplaces.json")
    location = _text(_table(known, marketplace), "installLocation")
    if not location:
        return _EMPTY, True
    catalogue = reader.table(Path(location) / ".claude-plugin" / "marketplace.json")
    entry = _find_entry(catalogue, name)
    return entry, entry.get("source") not in ("./", ".")


# Codex: `[plugins."name@marketplace"]` of config.toml switches a plugin on; the folder of its one
# version lies in plugins/cache.


def _codex_plugins(reader: _Reader, folders: Mapping[str, Path]) -> Iterator[ClientPlugin]:
    cache = folders["codex"] / "plugins" / "cache"
    if not cache.is_dir():
        return
    declared = _table(reader.table(folders["codex"] / "config.toml"), "plugins")
    for plugin_id, entry in list(declared.items())[:MAX_PLUGINS]:
        name, _, marketplace = plugin_id.rpartition("@")
        if not isinstance(entry, dict) or entry.get("enabled") is not True or not name:
            continue
        versions = _folders_in(cache / marketplace / name)
        if not versions or not is_inside(resolve_path(versions[-1]), [resolve_path(cache)]):
            continue
        folder = versions[-1]
        manifest = reader.table(folder / _MANIFESTS["codex"])
        yield ClientPlugin(
            client="codex",
            id=plugin_id,
            name=_text(manifest, "name") or name,
            folder=folder,
            skills=_merge(_paths(folder, "skills"), _paths(folder, manifest.get("skills"))),
            servers=_merge(
                _paths(folder, ".mcp.json"), _paths(folder, manifest.get("mcpServers"))
            ),
        )


# Copilot CLI: `installedPlugins` of config.json says what is installed where, `enabledPlugins` of
# settings.json what is switched on, where there is such a table and the plugin comes from a
# marketplace; else its own `enabled` does. Plugins of a marketplace that is a folder are not
# installed: they are read where they lie. (`copilot skill list` was the judge of all this.)

_COPILOT_MANIFESTS = tuple(
    f"{folder}plugin.json" for folder in (".plugin/", "", ".github/plugin/", ".claude-plugin/")
)
_COPILOT_CATALOGUES = tuple(
    f"{folder}marketplace.json"
    for folder in ("", ".plugin/", ".github/plugin/", ".claude-plugin/")
)


def _copilot_plugins(reader: _Reader, folders: Mapping[str, Path]) -> Iterator[ClientPlugin]:
    folder = folders["copilot"]
    settings = reader.table(folder / "settings.json")
    has_switches = isinstance(settings.get("enabledPlugins"), dict)
    switches = _table(settings, "enabledPlugins")
    records = _tables(reader.table(folder / "config.json").get("installedPlugins"))
    for record in records[:MAX_PLUGINS]:
        if not (name := _text(record, "name")):
            continue
        marketplace, path = _text(record, "marketplace"), _text(record, "cache_path")
        plugin_id = f"{name}@{marketplace}" if marketplace else name
        by_settings = has_switches and bool(marketplace)
        is_on = (switches.get(plugin_id) if by_settings else record.get("enabled")) is True
        if is_on and os.path.isabs(path) and Path(path).is_dir():
            yield _copilot_plugin(reader, plugin_id, Path(path))
    for plugin_id in [key for key, value in switches.items() if value is True][:MAX_PLUGINS]:
        name, _, marketplace = plugin_id.rpartition("@")
        known = _table(_table(settings, "extraKnownMarketplaces"), marketplace)
        source = _table(known, "source")
        root = _text(source, "path")
        if _text(source, "source") == "directory" and os.path.isabs(root):
            catalogues = (reader.table(Path(root) / path) for path in _COPILOT_CATALOGUES)
            listed = next((table for table in catalogues if "plugins" in table), _EMPTY)
            for place in _paths(Path(root), _find_entry(listed, name).get("source")):
                yield _copilot_plugin(reader, plugin_id, place)


def _copilot_plugin(reader: _Reader, plugin_id: str, folder: Path) -> ClientPlugin:
    name = next(
        (path for path in _COPILOT_MANIFESTS if (folder / path).is_file()), _COPILOT_MANIFESTS[1]
    )
    return _make_plugin("copilot", plugin_id, folder, reader.table(folder / name), name)


# Cursor, and clients that the table describes in the same way: every folder in one folder counts.
# Where plugins of Cursor's marketplaces lie, and what switches them on, is in no document.


def _local_plugins(
    reader: _Reader, client: str, place: Path, manifests: Sequence[str]
) -> Iterator[ClientPlugin]:
    for folder in _folders_in(place)[:MAX_PLUGINS]:
        names = [name for name in manifests if (folder / name).is_file()]
        manifest = reader.table(folder / names[0]) if names else _EMPTY
        if not (name := _text(manifest, "name")):
            continue
        yield ClientPlugin(
            client=client,
            id=name,
            name=name,
            folder=folder,
            skills=_paths(folder, manifest.get("skills", "skills")),
            agents=_paths(folder, manifest.get("agents", "agents")),
            commands=_paths(folder, manifest.get("commands", "commands")),
            servers=_merge(_paths(folder, "mcp.json"), _server_files(folder, manifest, names[0])),
        )


# Gemini CLI: every folder in extensions counts unless extension-enablement.json switches it off.


def _gemini_extensions(reader: _Reader, folders: Mapping[str, Path]) -> Iterator[ClientPlugin]:
    folder = folders["gemini"] / "extensions"
    for installed in _folders_in(folder)[:MAX_PLUGINS]:
        install = reader.table(installed / ".gemini-extension-install.json")
        source = _text(install, "source")
        # `gemini extensions link` leaves the extension where its author works on it.
        is_linked = install.get("type") == "link" and os.path.isabs(source)
        extension = Path(source) if is_linked else installed
        manifest = reader.table(extension / "gemini-extension.json")
        name = _text(manifest, "name")
        switches = _table(reader.table(folder / "extension-enablement.json"), name)
        if not name or not _is_enabled_here(switches.get("overrides"), reader.workspace):
            continue
        yield ClientPlugin(
            client="gemini",
            id=name,
            name=name,
            folder=extension,
            skills=_paths(extension, "skills"),
            agents=_paths(extension, "agents"),
            commands=_paths(extension, "commands"),
            servers=(extension / "gemini-extension.json",) if manifest.get("mcpServers") else (),
        )


def _is_enabled_here(overrides: object, workspace: Path) -> bool:
    """Whether the last rule that fits the workspace switches the extension on; it is on where none
    fits. A rule is a folder, with ! to switch off, and with * for all folders in it.
    """
    here = f"{workspace.as_posix().rstrip('/')}/"
    is_enabled = True
    for rule in overrides if isinstance(overrides, list) else []:
        if not isinstance(rule, str):
            continue
        text = rule.removeprefix("!")
        base = f"{text.removesuffix('*').rstrip('/')}/"
        if here == base or (text.endswith("*") and here.startswith(base)):
            is_enabled = not rule.startswith("!")
    return is_enabled


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _paths(folder: Path, declared: object) -> tuple[Path, ...]:
    """The declared paths that exist and that lie, links resolved, in the plugin's folder. Commands
    may also be declared as a table of names with the `source` of each.
    """
    values: Sequence[object] = declared if isinstance(declared, list) else [declared]
    if isinstance(declared, dict):
        values = [entry.get("source") for entry in declared.values() if isinstance(entry, dict)]
    base = system.normpath(folder)
    paths = [system.normpath(f"{base}/{value}") for value in values if isinstance(value, str)]
    return tuple(Path(path) for path in paths if _is_part(path, base))


def _is_part(path: str, folder: str) -> bool:
    """Whether something lies at the path, below the folder also with its links resolved."""
    if path != folder and not path.startswith(f"{folder}/"):
        return False
    try:
        status = os.lstat(path)
    except OSError:
        return False
    # For an entry of the folder itself that is not a link, nothing has to be resolved.
    if os.path.dirname(path) == folder and not stat.S_ISLNK(status.st_mode):
        return True
    return is_inside(resolve_path(path), [resolve_path(folder)])


def _server_files(folder: Path, manifest: _Table, manifest_name: str) -> tuple[Path, ...]:
    """The files that the key `mcpServers` names, or the manifest where the servers stand in it."""
    declared = manifest.get("mcpServers")
    if isinstance(declared, dict):
        return _paths(folder, manifest_name)
    return tuple(path for path in _paths(folder, declared) if path.suffix == ".json")


def _merge(*lists: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for paths in lists for path in paths))
