"""Where the clients of this user keep agents, commands and plugins, and which links lead to more
of them: what an index reads besides the folders of skills.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc_indexer.config.client_table import (
    client_sections,
    conventional_places,
    own_folders,
    settings_folders,
    workspace_switches,
)
from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.config.trust import LINK, OWNER, is_inside
from capdisc_indexer.model.types import DeclaredSource, LinkRules
from capdisc_indexer.platforms import resolve_path

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.client_plugins import ClientPlugin
    from capdisc_indexer.config.client_servers import ClientFile
    from capdisc_indexer.config.configuration import Config

# The plugins that were read inside `read_plugins_once`, by profile and place; None outside.
_READ: ContextVar[dict[object, tuple[Sequence[ClientPlugin], Sequence[str]]] | None] = ContextVar(
    "plugins that were read", default=None
)


@contextmanager
def read_plugins_once() -> Iterator[None]:
    """Inside, the files about plugins are read once: a build asks for folders, sources and rules,
    each of which needs them.
    """
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def place_folders(runtime: Runtime, config: Config) -> list[tuple[str, Path]]:
    """The folders of agents and commands as pairs of scope and path; they need not exist."""
    folders = {path: scope for scope, _, path, _ in list_places(runtime, config)}
    return [(scope, path) for path, scope in folders.items()]


def has_places(runtime: Runtime, config: Config) -> bool:
    """Whether there is a folder of agents or commands, or a plugin that has some."""
    return any(path.exists() for _, path in place_folders(runtime, config)) or any(
        plugin.agents or plugin.commands
        for plugin in find_plugins_here(runtime, config["folders"])[0]
    )


def plugin_roots(runtime: Runtime, config: Config) -> list[tuple[str, Path]]:
    """The folders of skills of the plugins that are switched on, as pairs of origin and path. A
    notice names each file about plugins that cannot be read.
    """
    plugins, problems = find_plugins_here(runtime, config["folders"])
    if problems:
        from capdisc.output import console
    for problem in problems:
        console.print_notice(f"notice: {console.sanitise(problem)}; its plugins are left out")
    return [(f"plugin {plugin.id}", path) for plugin in plugins for path in plugin.skills]


def plugin_folders(runtime: Runtime, config: Config) -> set[str]:
    """What the plugins that are switched on here bring: their folders and files."""
    plugins, _ = find_plugins_here(runtime, config["folders"])
    return {
        path.as_posix()
        for plugin in plugins
        for path in (*plugin.skills, *plugin.agents, *plugin.commands)
    }


def plugin_switches(runtime: Runtime) -> list[Path]:
    """The files and folders that say which plugins are installed and switched on; they need not
    exist.
    """
    return _plugin_paths(runtime, "switches")


def _plugin_paths(runtime: Runtime, key: str) -> list[Path]:
    folders = settings_folders(runtime.home, runtime.workspace, runtime.environ, runtime.system)
    return [
        Path(path.format_map(folders))
        for section in client_sections("plugins").values()
        for path in section.get(key) or [section["folder"]]
    ]


def server_files(runtime: Runtime) -> list[ClientFile]:
    """The files of clients, and of their plugins that are switched on, which may name MCP servers;
    they need not exist.
    """
    from capdisc_indexer.config.client_servers import ClientFile, client_files

    return [
        *client_files(runtime.home, runtime.workspace, runtime.environ, runtime.system),
        *(
            ClientFile(
                client=plugin.client, path=path, scope="user", plugin_folder=str(plugin.folder)
            )
            for plugin in find_plugins_here(runtime, "all")[0]
            for path in plugin.servers
        ),
    ]


def named_server_files(runtime: Runtime, paths: Sequence[Path]) -> tuple[DeclaredSource, ...]:
    """The named paths that are clients' files of MCP servers, as sources: their names alone, such
    as config.toml, say nothing.
    """
    if not any(runtime.expand(path).is_file() for path in paths):
        return ()
    from capdisc_indexer.config.client_servers import client_files

    files = client_files(runtime.home, runtime.workspace, runtime.environ, runtime.system)
    client_paths = {resolve_path(file.path) for file in files}
    named = [runtime.expand(path) for path in paths]
    return tuple(
        DeclaredSource(
            format="mcp-servers",
            path=path.as_posix(),
            origin="the command line",
            trusted=not is_inside(resolve_path(path), [runtime.real_workspace]),
        )
        for path in named
        if path.is_file() and resolve_path(path) in client_paths
    )


def link_rules(runtime: Runtime) -> LinkRules:
    """Which links a scan here follows: those in the user's own folders, those inside the
    workspace, and those that the user trusts.
    """
    from capdisc_indexer.store.state_file import list_grants

    # A workspace that is the home folder, or above it, holds other people's clones, too.
    is_home_inside = is_inside(resolve_path(runtime.home), [runtime.real_workspace])
    lines = (line for stored in list_grants(runtime.trust_dir) for line in stored.grant.lines)
    return LinkRules(
        workspace="" if is_home_inside else runtime.real_workspace,
        own_places=tuple(dict.fromkeys(map(resolve_path, own_folders(runtime.home)))),
        trusted=frozenset(line for line in lines if line.startswith((f"{LINK} ", f"{OWNER} "))),
        own_users=runtime.own_users,
    )


def list_places(runtime: Runtime, config: Config) -> list[tuple[str, str, Path, str]]:
    """Scope, format, folder and pattern ("": every file) of each place of agents and commands."""
    places = conventional_places(config["folders"], runtime.cwd, runtime.workspace, runtime.home)
    return [(scope, form, *_split_pattern(path)) for scope, form, path in places]


def _split_pattern(path: Path) -> tuple[Path, str]:
    if "*" not in path.name:
        return path, ""
    return Path(fixed_part(path.as_posix())[0]), path.name


def find_plugins_here(
    runtime: Runtime, profile: str
) -> tuple[Sequence[ClientPlugin], Sequence[str]]:
    """The plugins that are switched on here, and what is wrong with files about them."""
    # Six stats, where the module takes 3 ms to load: most queries need no more than these.
    if not any(path.exists() for path in _plugin_paths(runtime, "places")):
        return (), ()
    cache, key = _READ.get(), (profile, runtime.home, runtime.workspace)
    if cache is not None and key in cache:
        return cache[key]
    from capdisc_indexer.config.client_plugins import find_plugins

    left_out = [
        path for path in workspace_switches(runtime.workspace) if runtime.is_of_others(path)
    ]
    installed = find_plugins(profile, runtime.home, runtime.workspace, runtime.environ, left_out)
    answer = (installed.plugins, installed.problems)
    if cache is not None:
        cache[key] = answer
    return answer
